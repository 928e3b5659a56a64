"""The sliced distance of two samples with its gradient in PyTorch on two threads, to compare with
`just bench-table`: sort both sides, autodiff through the sort. Needs torch.
"""

import time

import torch

torch.set_num_threads(2)
torch.manual_seed(0)
d = 6
for n, k in ((600, 100), (10_000, 50), (100_000, 50)):
    theta = torch.nn.functional.normalize(torch.randn(d, k), dim=0)
    u = torch.randn(n, d, requires_grad=True)
    v = torch.randn(n, d)
    taken = []
    for _ in range(8):
        u.grad = None
        start = time.perf_counter()
        a = torch.sort(u @ theta, dim=0).values
        b = torch.sort(v @ theta, dim=0).values
        ((a - b) ** 2).mean().backward()
        taken.append(time.perf_counter() - start)
    print(f"n = {n}, k = {k}: {sorted(taken[1:])[3] * 1e3:.2f} ms", flush=True)

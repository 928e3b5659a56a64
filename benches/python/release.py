"""One release of `just bench-table --only release` in the published form: slices sampled and normalised, a product, noise, and the
sort of each slice. Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, algorithm 1. Needs torch."""

import time

import torch

torch.set_num_threads(2)
d, k, sigma = 794, 1000, 1.0
print("cpu, 2 threads; ms of the release, and with the sort of what was released")
for batch in (100, 1000):
    rows = torch.rand(batch, d)
    rows = rows / rows.norm(dim=1, keepdim=True)
    parts = []
    for _ in range(30):
        start = time.perf_counter()
        slices = torch.randn(k, d)
        slices = slices / slices.norm(dim=1, keepdim=True)
        released = rows @ slices.T
        released = released + sigma * torch.randn_like(released)
        middle = time.perf_counter()
        torch.sort(released, dim=0)
        parts.append((middle - start, time.perf_counter() - start))
    median = [sorted(times)[len(times) // 2] * 1e3 for times in zip(*parts[1:])]
    print(f"{batch} rows, {k} slices: {median[0]:.2f} ms, {median[1]:.2f} ms", flush=True)

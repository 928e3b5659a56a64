"""torch.sort (stable) on the sizes of `just bench-table --only device`, on a GPU if torch has one. Needs torch."""

import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
sync = torch.cuda.synchronize if device == "cuda" else lambda: None
torch.set_num_threads(2)
print(torch.cuda.get_device_name() if device == "cuda" else "cpu, 2 threads")
for k, n in ((100, 600), (50, 10_000), (50, 100_000), (50, 1_000_000)):
    keys = torch.rand(k, n, device=device) * 2 - 1
    times = []
    for _ in range(10):
        sync()
        start = time.perf_counter()
        torch.sort(keys, dim=1, stable=True)
        sync()
        times.append(time.perf_counter() - start)
    print(f"{k} x {n}: {sorted(times[1:])[4] * 1e3:.2f} ms", flush=True)

"""Entropic transport of two batches of 400 images in POT on two threads, to compare with
`just bench-table --only transport`. Needs POT (`pip install POT==0.9.7.post1`).
"""

import os

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "2"

import time
import warnings

import numpy as np
import ot

warnings.filterwarnings("ignore")
rng = np.random.default_rng(0)
x, y = rng.random((400, 784)), rng.random((400, 784))
for name, metric in (("Manhattan", "cityblock"), ("SquaredEuclidean", "sqeuclidean")):
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        costs = ot.dist(x, y, metric=metric)
        plan = ot.sinkhorn([], [], costs, 1.0, method="sinkhorn_log", numItermax=400, stopThr=0.0)
        if metric == "sqeuclidean":
            gradient = 2 * (plan.sum(1)[:, None] * x - plan @ y)
        else:
            gradient = np.stack([(plan[i][:, None] * np.sign(x[i] - y)).sum(0) for i in range(400)])
        taken.append(time.perf_counter() - start)
    print(f"| {name} | {sorted(taken)[1] * 1e3:.1f} ms |", flush=True)

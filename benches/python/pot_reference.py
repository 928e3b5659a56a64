"""Golden values of sliced distances by POT: reprints `crates/swd/tests/data/pot.json`.

Needs POT (`pip install POT==0.9.7.post1`): `python3 benches/python/pot_reference.py > crates/swd/tests/data/pot.json`.
"""

import json

import numpy as np
import ot
from ot.sliced import get_random_projections

SEED = 42


def f32(values):
    """Values that a tensor of f32 holds without rounding."""
    return np.float64(np.float32(values))


np.random.seed(SEED)
x, y = f32(np.random.randn(20, 5)), f32(np.random.randn(15, 5) + 0.5)
u, v = f32(np.random.randn(9)), f32(np.random.randn(12) - 0.3)
a, b = np.random.rand(9), np.random.rand(12)
a[3] = 0.0
a, b = a / a.sum(), b / b.sum()
theta = get_random_projections(5, 50, seed=0)
long = theta * np.linspace(0.1, 3.0, 50)

columns = {"projections": theta}
cases = {
    "pot": ot.__version__,
    "seed": SEED,
    "x": x,
    "y": y,
    "projections": theta,
    "sliced": ot.sliced_wasserstein_distance(x, y, **columns),
    "sliced_same": ot.sliced_wasserstein_distance(x, x, **columns),
    "sliced_equal_sizes": ot.sliced_wasserstein_distance(x[:15], y, **columns),
    # POT takes projections as they are; these are the ones above, not of unit norm.
    "sliced_long": ot.sliced_wasserstein_distance(x, y, projections=long),
    "lengths": np.linspace(0.1, 3.0, 50),
    "u": u,
    "v": v,
    "a": a,
    "b": b,
    "weighted": {str(p): ot.wasserstein_1d(u, v, a, b, p=p) for p in (1, 1.5, 2, 3)},
}


def sinkhorn(cost, factor):
    """Entropic transport between x and y, lambda a multiple of the median cost, iterated to the end."""
    M = ot.dist(x, y, metric=cost)
    reg = factor * np.median(M)
    # numItermax is generous: POT's warning says where it was not.
    plan = ot.sinkhorn([], [], M, reg, method="sinkhorn_log", numItermax=2_000_000, stopThr=1e-12)
    a = 1.0 / plan.size
    linear = np.sum(plan * M)
    return {
        "lambda": reg,
        "plan": plan,
        "linear": linear,
        # The relative entropy to the independent coupling: the mutual information.
        "value": linear + reg * np.sum(plan * (np.log(np.maximum(plan, 1e-300)) - np.log(a))),
        # POT's entropy without the marginals.
        "entropy": linear + reg * np.sum(plan * np.log(np.maximum(plan, 1e-300))),
    }


cases["sinkhorn"] = {
    f"{name} {factor}": sinkhorn(cost, factor)
    for name, cost in (("manhattan", "cityblock"), ("squared", "sqeuclidean"))
    for factor in (0.02, 0.1, 1.0, 1e3)
}


def plain(value):
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        # Row after row; as many digits as tell one f32, or f64, from the next.
        flat = value.ravel()
        exact = np.array_equal(flat, f32(flat))
        return [float(str(np.float32(entry))) if exact else float(entry) for entry in flat]
    return value if isinstance(value, (str, int)) else float(value)


lines = [f"  {json.dumps(key)}: {json.dumps(plain(value))}" for key, value in cases.items()]
print("{\n" + ",\n".join(lines) + "\n}")

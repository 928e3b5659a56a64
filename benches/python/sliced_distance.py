"""The sliced distance of two samples with its gradient in Python on two threads, to compare with
`just bench-table --only transport`. PyTorch: sort both sides, autodiff through the sort. POT: on tensors of PyTorch.
ott-jax: compiled. Needs torch; `pip install POT ott-jax` for the others.
"""

import time

import torch

torch.set_num_threads(2)
torch.manual_seed(0)
D = 6


def pytorch():
    def step(u, v, theta):
        u.grad = None
        a = torch.sort(u @ theta, dim=0).values
        b = torch.sort(v @ theta, dim=0).values
        ((a - b) ** 2).mean().backward()

    return f"PyTorch {torch.__version__.split('+')[0]}", step


def pot():
    import ot

    def step(u, v, theta):
        u.grad = None
        (ot.sliced_wasserstein_distance(u, v, projections=theta) ** 2).backward()

    return f"POT {ot.__version__}", step


def ott_jax():
    import jax
    import ott
    from ott.tools import sliced

    def value(u, v, theta):
        return sliced.sliced_wasserstein(u, v, proj_fn=lambda x: x @ theta)[0]

    both = jax.jit(jax.value_and_grad(value))
    arrays = {}

    def step(u, v, theta):
        key = (u.shape, theta.shape)
        if key not in arrays:
            arrays.clear()
            arrays[key] = [jax.numpy.asarray(x.detach().numpy()) for x in (u, v, theta)]
        jax.block_until_ready(both(*arrays[key]))

    return f"ott-jax {ott.__version__}", step


def peer(make):
    try:
        return make()
    except ModuleNotFoundError:
        return f"{make.__name__.replace('_', '-')}", None


peers = [peer(make) for make in (pytorch, pot, ott_jax)]
print("| points | slices | " + " | ".join(f"{name}, ms" for name, _ in peers) + " |")
print("|---|---|" + "---|" * len(peers))
for n, k in ((600, 100), (10_000, 50), (100_000, 50), (1_000_000, 50)):
    theta = torch.nn.functional.normalize(torch.randn(D, k), dim=0)
    u = torch.randn(n, D, requires_grad=True)
    v = torch.randn(n, D)
    cells = []
    for _, step in peers:
        if step is None:
            cells.append("not installed")
            continue
        taken = []
        for _ in range(8 if n < 1_000_000 else 4):
            start = time.perf_counter()
            step(u, v, theta)
            taken.append(time.perf_counter() - start)
        taken = sorted(taken[1:])
        cells.append(f"{taken[len(taken) // 2] * 1e3:.2f}")
    print(f"| {n} | {k} | " + " | ".join(cells) + " |", flush=True)

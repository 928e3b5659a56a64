"""Errors of correlated noise beside those of jax_privacy's strategies, for the same steps and participations, at equal epsilon:
pip install jax-privacy==2.0.0 && python3 benches/python/correlated_noise.py.

The root mean squared error of sums of steps times the sensitivity, of a record in one step of each epoch: ours / that of its
optimized banded Toeplitz strategy of the same bandwidth, that of its BLT of 4 buffers, and a lower bound. Ours are those of
`cargo run --release --example correlated_noise -p dp-accountant`; its formulas must give the same.
"""

import subprocess

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
from jax_privacy.matrix_factorization import buffered_toeplitz, toeplitz

COMMAND = "cargo run --release --quiet --example correlated_noise -p dp-accountant"
BANDWIDTHS = [1, 2, 4, 16, 64, 256]
SHOWN = [16, 64]
WORKLOADS = [(512, 4), (512, 16), (2000, 10)]


def of_toeplitz(n, separation, epochs, *, strategy=None, noising=None):
    if strategy is None:
        noising = toeplitz.pad_coefs_to_n(noising, n)
        strategy = toeplitz.inverse_coef(noising, n)
        error = toeplitz.per_query_error(noising_coef=noising, n=n)
    else:
        error = toeplitz.per_query_error(strategy_coef=strategy, n=n)
    sensitivity = toeplitz.minsep_sensitivity_squared(strategy, separation, epochs, n)
    return float(jnp.sqrt(jnp.mean(error) * sensitivity))


def of_buffers(n, separation, epochs):
    blt = buffered_toeplitz.optimize(
        n=n, min_sep=separation, max_participations=epochs, error="mean", min_buffers=4, max_buffers=4
    )
    return of_toeplitz(n, separation, epochs, strategy=blt.toeplitz_coefs(n))


lines = subprocess.run(COMMAND.split(), capture_output=True, check=True, text=True).stdout.splitlines()[2:]
shown = " | ".join(f"p = {bandwidth}" for bandwidth in SHOWN)
print(f"| steps, epochs | {shown} | BLT | least |\n|{'---|' * (len(SHOWN) + 3)}")
for line in lines:
    n, separation, epochs, least, *ratios = line.split()
    workload, least = (int(n), int(separation), int(epochs)), float(least)
    if (workload[0], workload[2]) not in WORKLOADS:
        continue
    cells = []
    for bandwidth in SHOWN:
        ours = float(ratios[BANDWIDTHS.index(bandwidth)]) * least
        same = of_toeplitz(*workload, noising=toeplitz.optimal_max_error_noising_coefs(bandwidth))
        assert abs(same / ours - 1) < 1e-3, (workload, bandwidth, ours, same)
        band = of_toeplitz(*workload, strategy=toeplitz.optimize_banded_toeplitz(workload[0], bandwidth))
        cells.append(f"{ours:.2f}/{band:.2f}")
    cells += [f"{of_buffers(*workload):.2f}", f"{least:.2f}"]
    print(f"| {n}, {epochs} | {' | '.join(cells)} |", flush=True)

"""The accountant beside dp_accounting's, turn by turn: 5000 Poisson-sampled Gaussian steps, both directions.
Ours is a whole process of `account`, its start included. Build it first (`cargo build --release --locked --bin
account`), then: python3 benches/python/accountant.py [target/release/account]. Needs dp-accounting.
"""

import json
import subprocess
import sys
import time

from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant

binary = sys.argv[1] if len(sys.argv) > 1 else "target/release/account"
command = [binary, "epsilon", "--sampler", "poisson", "--rate", "0.01", "--steps", "5000"]
command += ["--noise-multiplier", "0.76", "--delta", "1e-5", "--json"]
event = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(0.76))


def ours():
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["epsilon"]


def theirs(interval):
    accountant = PLDAccountant(
        NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=interval
    )
    return accountant.compose(event, 5000).get_epsilon(1e-5)


cases = {"sliver, a process": ours}
for interval in (2.5e-4, 1e-4):
    cases[f"dp_accounting, interval {interval:g}"] = lambda interval=interval: theirs(interval)
epsilons, taken = {}, {name: [] for name in cases}
for _ in range(10):
    for name, ask in cases.items():
        start = time.perf_counter()
        epsilons[name] = ask()
        taken[name].append(time.perf_counter() - start)
truth = theirs(1e-5)
for name, times in taken.items():
    # The first call pays for what is loaded once.
    median = sorted(times[1:])[4]
    error = epsilons[name] - truth
    print(f"{name}: epsilon {epsilons[name]:.6f}, error {error:.1e}, {median * 1e3:.0f} ms", flush=True)

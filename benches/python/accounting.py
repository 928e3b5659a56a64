"""The wheel's accountant beside dp_accounting's at equal accuracy, turn by turn, in one process and on one thread; what an
import costs, and how large the wheel is: `just bench-python`, or python3 benches/python/accounting.py WHEEL.

dp_accounting gets the widest interval of its list whose error is within 1e-4 min(epsilon, 1), which is what the wheel
aims at by itself. Truths are between the wheel's two bounds at an accuracy of 1e-7, of which the far end counts.
"""

import os
import subprocess
import sys
import time

from dp_accounting.pld import privacy_loss_distribution

from sliver_dp.accounting import Event, epsilon_lower, epsilon_upper

DELTA = 1e-5
INTERVALS = [1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5]
# Rate, noise multiplier, steps: Poisson-sampled DP-SGD, add-remove neighbours.
CASES = [(0.01, 0.76, 5_000), (0.01, 1.0, 1_000), (256 / 60_000, 1.1, 14_062), (0.1, 4.0, 1_000), (0.001, 0.8, 20_000)]


def ours(rate, z, steps):
    event = Event.gaussian(z).poisson_sampled(rate).self_composed(steps)
    return epsilon_upper(event, DELTA, "add-remove")


def theirs(rate, z, steps, interval):
    once = privacy_loss_distribution.from_gaussian_mechanism(
        z, value_discretization_interval=interval, sampling_prob=rate
    )
    return once.self_compose(steps).get_epsilon_for_delta(DELTA)


def seconds(asks, turns):
    taken = [[] for _ in asks]
    for _ in range(turns):
        for times, ask in zip(taken, asks):
            start = time.perf_counter()
            ask()
            times.append(time.perf_counter() - start)
    # The first turn pays for what is loaded once.
    return [sorted(times[1:])[len(times[1:]) // 2] for times in taken]


print(f"delta {DELTA:g}, Poisson samples, add-remove neighbours, medians of 9 calls\n")
print("| rate, noise multiplier, steps | epsilon | error, wheel | error, dp_accounting (interval) | s, wheel | s, dp_accounting | times |")
print("|---|---|---|---|---|---|---|")
for case in CASES:
    rate, z, steps = case
    event = Event.gaussian(z).poisson_sampled(rate).self_composed(steps)
    low, high = (ask(event, DELTA, "add-remove", accuracy=1e-7) for ask in (epsilon_lower, epsilon_upper))
    allowed = 1e-4 * min(high, 1.0)
    errors = {interval: theirs(*case, interval) - low for interval in INTERVALS[:2]}
    for interval in INTERVALS[2:]:
        if abs(errors[min(errors)]) <= allowed:
            break
        errors[interval] = theirs(*case, interval) - low
    interval = max((i for i, error in errors.items() if abs(error) <= allowed), default=min(errors))
    mine, other = seconds([lambda: ours(*case), lambda: theirs(*case, interval)], 10)
    print(
        f"| {rate:.4g}, {z:g}, {steps} | {high:.5f} | {ours(*case) - low:.1e} | {errors[interval]:.1e} ({interval:g}) "
        f"| {mine:.4f} | {other:.4f} | {other / mine:.0f} |",
        flush=True,
    )

code = "import time; start = time.perf_counter(); import sliver_dp; print(time.perf_counter() - start)"
imports = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(9)]
print(f"\nimport sliver_dp: {sorted(imports)[4] * 1e3:.0f} ms")
for wheel in sys.argv[1:]:
    print(f"{os.path.basename(wheel)}: {os.path.getsize(wheel) / 1e6:.1f} MB")

"""The wheel's accountant beside dp_accounting's at equal accuracy, turn by turn, in one process; what an import costs, and
how large the wheel is: `just bench-python`, or python3 benches/python/accounting.py WHEEL.

Seconds are of the processor. dp_accounting gets the widest interval of its list whose error is within 1e-4 min(epsilon, 1),
which is what the wheel aims at by itself. Truths are the wheel's own at an accuracy of 1e-6.
"""

import os
import subprocess
import sys
import time

from dp_accounting.pld import privacy_loss_distribution

from sliver_dp.accounting import Event, epsilon_upper

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


def seconds(asks):
    taken = [[] for _ in asks]
    for _ in range(6):
        for times, ask in zip(taken, asks):
            start = time.process_time()
            ask()
            times.append(time.process_time() - start)
    # The first turn pays for what is loaded once.
    return [sorted(times[1:])[2] for times in taken]


print(f"delta {DELTA:g}, Poisson samples, add-remove neighbours, medians of 5 calls\n")
print("| rate, noise multiplier, steps | epsilon | error, wheel | error, dp_accounting (interval) | s, wheel | s, dp_accounting | times |")
print("|---|---|---|---|---|---|---|")
for case in CASES:
    rate, z, steps = case
    event = Event.gaussian(z).poisson_sampled(rate).self_composed(steps)
    truth = epsilon_upper(event, DELTA, "add-remove", accuracy=1e-6)
    for interval in INTERVALS:
        error = theirs(*case, interval) - truth
        if abs(error) <= 1e-4 * min(truth, 1.0):
            break
    mine, other = seconds([lambda: ours(*case), lambda: theirs(*case, interval)])
    print(
        f"| {rate:.4g}, {z:g}, {steps} | {truth:.5f} | {ours(*case) - truth:.1e} | {error:.1e} ({interval:g}) "
        f"| {mine:.4f} | {other:.4f} | {other / mine:.0f} |",
        flush=True,
    )

code = "import time; start = time.perf_counter(); import sliver_dp; print(time.perf_counter() - start)"
imports = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(9)]
print(f"\nimport sliver_dp: {sorted(imports)[4] * 1e3:.0f} ms")
for wheel in sys.argv[1:]:
    print(f"{os.path.basename(wheel)}: {os.path.getsize(wheel) / 1e6:.1f} MB")

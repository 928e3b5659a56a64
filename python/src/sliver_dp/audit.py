"""What an attack proves of a mechanism: lower bounds on epsilon, to hold against what is claimed of it.

Whatever is attacked, it comes here as scores: one number a run, or one a canary, larger where the attack believes that
the record took part.

>>> from sliver_dp.audit import epsilon_lower_of_counts
>>> found = epsilon_lower_of_counts(8_400, 10_000, 1_600, 10_000, 1e-5, assumes="gaussian-curve")
>>> found.epsilon_lower > 9.5, found.violates(4.0)
(True, True)
"""

from ._native import (
    LowerBound,
    Sequential,
    best_guesses,
    epsilon_lower_of_canaries,
    epsilon_lower_of_counts,
    epsilon_lower_of_runs,
)

__all__ = [
    "LowerBound",
    "Sequential",
    "best_guesses",
    "epsilon_lower_of_canaries",
    "epsilon_lower_of_counts",
    "epsilon_lower_of_runs",
]

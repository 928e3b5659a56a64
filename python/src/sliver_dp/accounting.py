"""From mechanisms to epsilon: events as data, accountants that answer for them, calibration.

What is computed is an upper bound, and its name says so. A claim of privacy states its neighbours: they are an argument
of every question, and an event that holds under others is refused. A noise multiplier is the noise's deviation over the
sensitivity: of sums of records clipped to norm C that is C under add-remove and zero-out, and 2 C under replace-one and k-end.

>>> from sliver_dp.accounting import Event, epsilon_upper
>>> training = Event.dp_sgd(records=60_000, batch=600, steps=5_000, noise_multiplier=0.76)
>>> 9.9 < epsilon_upper(training, 1e-5, "replace-one") < 10.0
True
"""

from ._native import (
    Event,
    batch_for,
    delta_lower,
    delta_upper,
    delta_upper_curve,
    epsilon_lower,
    epsilon_upper,
    epsilon_upper_of_ledger,
    epsilon_upper_of_opacus,
    noise_multiplier_for,
    steps_for,
    trade_off_lower_curve,
)

__all__ = [
    "Event",
    "batch_for",
    "delta_lower",
    "delta_upper",
    "delta_upper_curve",
    "epsilon_lower",
    "epsilon_upper",
    "epsilon_upper_of_ledger",
    "epsilon_upper_of_opacus",
    "from_dp_accounting",
    "noise_multiplier_for",
    "steps_for",
    "trade_off_lower_curve",
]


def from_dp_accounting(event, neighbours="add-remove"):
    """The `Event` of an event of Google's dp_accounting, under "add-remove" or "zero-out" neighbours.

    Zero-out is dp_accounting's REPLACE_SPECIAL. Its noise multipliers are over the norm of one record, which is the
    sensitivity under these two relations and half of it under replace-one: that one is refused, here and where the event is
    asked about, so that nobody has an epsilon of half the sensitivity.

    Raises ValueError for another relation or kind of event, with its name.
    """
    if neighbours not in ("add-remove", "zero-out"):
        raise ValueError(
            f"neighbours is {neighbours!r}, but must be one of add-remove, zero-out: noise multipliers of "
            "dp_accounting are over the norm of one record"
        )
    return _converted(event, neighbours, sampled=False)


def _converted(event, neighbours, sampled):
    kind = type(event).__name__
    if kind in ("GaussianDpEvent", "LaplaceDpEvent"):
        make = Event.gaussian if kind == "GaussianDpEvent" else Event.laplace
        leaf = make(event.noise_multiplier)
        # A sample of everything costs the same, and has the relation: asked under another, the event is refused.
        return leaf if sampled else leaf.poisson_sampled(1.0, neighbours=neighbours)
    if kind == "PoissonSampledDpEvent":
        inner = _converted(event.event, neighbours, sampled=True)
        return inner.poisson_sampled(event.sampling_probability, neighbours=neighbours)
    if kind == "SelfComposedDpEvent":
        return _converted(event.event, neighbours, sampled).self_composed(event.count)
    if kind == "ComposedDpEvent":
        return Event.composed([_converted(part, neighbours, sampled) for part in event.events])
    if kind == "NoOpDpEvent":
        return Event.composed([])
    if kind == "NonPrivateDpEvent":
        return Event.non_private()
    raise ValueError(f"{kind} is not covered under {neighbours} neighbours")

"""Sliced Wasserstein distances with their gradients, optimal plans on a line, entropic transport, a private distance.

Nothing but `private_distance` is private: other distances and gradients depend on the points.

>>> import numpy as np
>>> from sliver_dp.transport import Slices, sliced_w2_squared_and_gradient
>>> line = Slices.from_directions(np.array([[1.0]]))
>>> u, v = np.array([[0.5], [0.0]]), np.array([[1.0], [-1.0]])
>>> distance, gradient = sliced_w2_squared_and_gradient(u, v, line)
>>> distance, gradient.tolist()
(0.625, [[-0.5], [1.0]])
"""

from ._native import (
    EntropicTransport,
    PrivateDistance,
    Slices,
    TwoSampleTest,
    plan_1d,
    private_distance,
    sinkhorn,
    sinkhorn_divergence,
    sliced_cost_and_gradient,
    sliced_w2_squared,
    sliced_w2_squared_and_gradient,
    wp_power_1d,
)

__all__ = [
    "EntropicTransport",
    "PrivateDistance",
    "Slices",
    "TwoSampleTest",
    "plan_1d",
    "private_distance",
    "sinkhorn",
    "sinkhorn_divergence",
    "sliced_cost_and_gradient",
    "sliced_w2_squared",
    "sliced_w2_squared_and_gradient",
    "wp_power_1d",
]

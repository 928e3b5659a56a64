"""Agreement with POT, gradients by finite differences, laws, refusals."""

import math

import numpy as np
import pytest

from sliver_dp import transport
from sliver_dp.transport import Slices


def sample(n, d, seed, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


@pytest.mark.parametrize("n, m, d", [(50, 50, 3), (37, 80, 5), (100, 1, 2), (1, 1, 1)])
def test_sliced_distances_are_those_of_pot(n, m, d):
    ot = pytest.importorskip("ot")
    u, v = sample(n, d, 1), sample(m, d, 2)
    slices = Slices.iid(d, 40, seed=3)
    projections = slices.directions.T
    theirs = ot.sliced_wasserstein_distance(u.astype(float), v.astype(float), projections=projections) ** 2
    assert transport.sliced_w2_squared(u, v, slices) == pytest.approx(theirs, rel=1e-9)
    cost, _ = transport.sliced_cost_and_gradient("square", u, v, slices)
    assert cost == pytest.approx(theirs, rel=1e-9)
    if n == m:
        theirs = ot.sliced_wasserstein_distance(u.astype(float), v.astype(float), projections=projections, p=3) ** 3
        assert transport.sliced_cost_and_gradient("power:3", u, v, slices)[0] == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.5])
def test_distances_on_a_line_are_those_of_pot(p):
    ot = pytest.importorskip("ot")
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=30), rng.normal(size=45)
    a, b = rng.random(30), rng.random(45)
    theirs = ot.wasserstein_1d(x, y, a / a.sum(), b / b.sum(), p=p)
    assert transport.wp_power_1d(x, y, p, weights_x=a, weights_y=b) == pytest.approx(theirs, rel=1e-9)
    assert transport.wp_power_1d(x, y, p) == pytest.approx(ot.wasserstein_1d(x, y, p=p), rel=1e-9)
    i, j, mass = transport.plan_1d(x, y, weights_x=a, weights_y=b)
    assert len(i) <= 74 and i.dtype == j.dtype == np.uint64 and mass.dtype == np.float64
    plan = np.zeros((30, 45))
    np.add.at(plan, (i, j), mass)
    theirs = ot.emd_1d(x, y, a / a.sum(), b / b.sum(), metric="sqeuclidean")
    assert np.allclose(plan, theirs, atol=1e-12)
    assert np.sum(mass * np.abs(x[i] - y[j]) ** p) == pytest.approx(transport.wp_power_1d(x, y, p, weights_x=a, weights_y=b))


@pytest.mark.parametrize("cost, name", [("squared-euclidean", "sqeuclidean"), ("manhattan", "cityblock")])
def test_entropic_transport_is_that_of_pot(cost, name):
    ot = pytest.importorskip("ot")
    x, y = sample(20, 2, 5), sample(30, 2, 6)
    found = transport.sinkhorn(x, y, 0.5, cost=cost, plan=True, iterations=10_000, tolerance=1e-11)
    costs = ot.dist(x.astype(float), y.astype(float), metric=name)
    a, b = np.full(20, 1 / 20), np.full(30, 1 / 30)
    theirs = ot.sinkhorn(a, b, costs, 0.5, method="sinkhorn_log", stopThr=1e-12, numItermax=10_000)
    assert found.converged and found.marginal_error <= 1e-11 and found.iterations > 1
    assert np.allclose(found.plan, theirs, rtol=1e-6, atol=1e-12)
    assert found.transport_cost == pytest.approx(np.sum(theirs * costs), rel=1e-7)
    assert found.value >= found.transport_cost and found.f.shape == (20,) and found.g.shape == (30,)
    lazy = transport.sinkhorn(x, y, 0.5, cost=cost, lazy=True, iterations=10_000, tolerance=1e-11)
    assert lazy.plan is None and lazy.value == pytest.approx(found.value, rel=1e-12)


def test_a_divergence_of_a_sample_to_itself_is_nothing():
    x, y = sample(20, 2, 7), sample(25, 2, 8)
    value, gradient, converged = transport.sinkhorn_divergence(x, x, 0.5)
    assert converged and abs(value) < 1e-9 and np.abs(gradient).max() < 1e-6
    value, gradient, _ = transport.sinkhorn_divergence(x, y, 0.5)
    assert value > 0.0 and gradient.shape == x.shape and gradient.dtype == np.float32


# Differences over a step that no two points of a slice change places in, of points rounded to float32: 0.2 %.
@pytest.mark.parametrize("cost", ["square", "power:3", "huber:0.5", "log-cosh:0.3", "pseudo-huber:1"])
def test_gradients_are_differences(cost):
    u, v = sample(12, 3, 9), sample(12, 3, 10)
    slices = Slices.tight(3, 7, seed=11)
    value, gradient = transport.sliced_cost_and_gradient(cost, u, v, slices)
    assert gradient.shape == (12, 3) and gradient.dtype == np.float32
    step = np.random.default_rng(12).normal(size=u.shape)
    h = 1e-4
    there, back = (transport.sliced_cost_and_gradient(cost, (u + s * h * step), v, slices)[0] for s in (1, -1))
    assert (there - back) / (2 * h) == pytest.approx(float(np.sum(gradient * step)), rel=2e-3)
    if cost == "square":
        assert (value, gradient.tolist()) == tuple(
            part if isinstance(part, float) else part.tolist()
            for part in transport.sliced_w2_squared_and_gradient(u, v, slices)
        )


def test_a_distance_is_one():
    u, v = sample(30, 4, 13), sample(30, 4, 14)
    slices = Slices.iid(4, 10, seed=15)
    distance = transport.sliced_w2_squared(u, v, slices)
    assert transport.sliced_w2_squared(u, u, slices) == 0.0 < distance
    assert transport.sliced_w2_squared(v, u, slices) == pytest.approx(distance, rel=1e-12)
    assert transport.sliced_w2_squared(u[::-1].copy(), v, slices) == pytest.approx(distance, rel=1e-12)
    # float64 is rounded to float32, and nothing else.
    assert transport.sliced_w2_squared(u.astype(np.float64), v, slices) == distance


def test_slices_come_from_their_seed():
    first, again, other = (Slices.iid(3, 8, seed=seed).directions for seed in (1, 1, 2))
    assert first.shape == (8, 3) and np.array_equal(first, again) and not np.array_equal(first, other)
    norms = np.linalg.norm(first, axis=1)
    assert np.all(norms <= 1.0) and np.allclose(norms, 1.0, atol=1e-6)
    tight = Slices.tight(3, 8, seed=1)
    assert (tight.dim, tight.count) == (3, 8)
    assert np.allclose(tight.directions.T @ tight.directions, np.eye(3) * 8 / 3, atol=1e-6)
    orthonormal = Slices.orthonormal(3, 2, seed=1).directions
    assert np.allclose(orthonormal @ orthonormal.T, np.eye(2), atol=1e-6)
    given = Slices.from_directions(np.array([[3.0, 4.0]]))
    assert np.allclose(given.directions, [[0.6, 0.8]], atol=1e-6)


def test_arrays_are_not_changed_and_may_be_read_only():
    u, v = sample(8, 2, 16), sample(8, 2, 17)
    before = u.copy()
    u.flags.writeable = False
    transport.sliced_w2_squared_and_gradient(u, v, Slices.iid(2, 4, seed=0))
    assert np.array_equal(u, before)


LINE = Slices.from_directions(np.array([[1.0]]))
ONE = np.zeros((1, 1), np.float32)


@pytest.mark.parametrize(
    "u, error, words",
    [
        ([[0.0]], TypeError, "u is .*list"),
        (None, TypeError, "u is .*None"),
        (np.zeros((1, 1), np.int64), TypeError, "int64"),
        (np.zeros((1, 1), np.float16), TypeError, "float16"),
        (np.zeros((1, 1), object), TypeError, "object"),
        (np.zeros((1, 1), ">f4"), TypeError, ">f4"),
        (np.zeros(3, np.float32), ValueError, "1 dimensions, expected 2"),
        (np.zeros((0, 1), np.float32), ValueError, r"\(0, 1\).*at least one point"),
        (np.zeros((1, 0), np.float32), ValueError, r"\(1, 0\)"),
        (np.zeros((1, 2), np.float32), ValueError, "2 coordinates, expected 1"),
        (np.zeros((4, 1), np.float32)[::2], ValueError, "ascontiguousarray"),
        (np.zeros((2, 2), np.float32)[:, :1], ValueError, "strides"),
        (np.array([[math.nan]]), ValueError, "row 0, coordinate 0 is NaN"),
        (np.array([[0.0], [-math.inf]], np.float32), ValueError, "row 1, coordinate 0 is -inf"),
        (np.array([[1e300]]), ValueError, "is 1e300, expected a number of float32"),
        (np.frombuffer(b"\0" * 5, np.uint8)[1:].view(np.float32).reshape(1, 1), ValueError, "aligned"),
    ],
)
def test_points_that_are_none_are_refused_with_value_and_bound(u, error, words):
    for of in (transport.sliced_w2_squared, transport.sliced_w2_squared_and_gradient):
        with pytest.raises(error, match=words):
            of(u, ONE, LINE)
    # The other side says its own name.
    if error is TypeError:
        with pytest.raises(error, match="v is"):
            transport.sliced_w2_squared(ONE, u, LINE)


@pytest.mark.parametrize(
    "ask, words",
    [
        (lambda: Slices.iid(0, 1, seed=0), "0"),
        (lambda: Slices.iid(2, 0, seed=0), "0"),
        (lambda: Slices.iid(2, -1, seed=0), "-1.*at least 0"),
        (lambda: Slices.tight(3, 2, seed=0), "2 < 3"),
        (lambda: Slices.orthonormal(2, 3, seed=0), "3 > 2"),
        (lambda: Slices.from_directions(np.zeros((1, 2))), "length 0"),
        (lambda: transport.sliced_cost_and_gradient("power:1", ONE, ONE, LINE), "above 1.*found 1"),
        (lambda: transport.sliced_cost_and_gradient("cube", ONE, ONE, LINE), "cube"),
        (lambda: transport.wp_power_1d([1.0], [2.0], 0.5), "at least 1, found 0.5"),
        (lambda: transport.plan_1d([], [1.0]), "first sample"),
        (lambda: transport.plan_1d([math.inf], [1.0]), "inf"),
        (lambda: transport.plan_1d([1.0], [1.0], weights_x=[-1.0]), "found -1"),
        (lambda: transport.plan_1d([1.0], [1.0], weights_y=[1.0, 1.0]), "length 2, expected 1"),
        (lambda: transport.sinkhorn(ONE, ONE, 0.0), "regularisation.*found 0"),
        (lambda: transport.sinkhorn(ONE, ONE, 1.0, cost="cosine"), "cosine.*manhattan"),
        (lambda: transport.sinkhorn(ONE, ONE, 1.0, iterations=0), "iterations"),
        (lambda: transport.sinkhorn(ONE, ONE, 1.0, tolerance=-1.0), "found -1"),
        (lambda: transport.sinkhorn(ONE, np.zeros((1, 2)), 1.0), "y has 2 coordinates, expected 1"),
    ],
)
def test_bad_input_is_refused_with_value_and_bound(ask, words):
    with pytest.raises(ValueError, match=words):
        ask()


def test_the_loss_of_torch_has_both_gradients():
    torch = pytest.importorskip("torch")
    from sliver_dp.torch import sliced_w2_squared

    u, v = (torch.tensor(sample(9, 2, seed, np.float64), requires_grad=True) for seed in (18, 19))
    slices = Slices.iid(2, 6, seed=20)
    loss = sliced_w2_squared(u, v, slices)
    (3 * loss).backward()
    for points, others in ((u, v), (v, u)):
        arrays = [p.detach().numpy() for p in (points, others)]
        value, gradient = transport.sliced_w2_squared_and_gradient(*arrays, slices)
        assert points.grad.dtype == torch.float64 and loss.item() == pytest.approx(value, rel=1e-9)
        assert np.allclose(points.grad.numpy(), 3 * gradient, rtol=1e-6)

"""Agreement with POT and the program, gradients by finite differences, laws, refusals."""

import json
import math
import re
import subprocess

import numpy as np
import pytest

from sliver_dp import accounting, transport
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
@pytest.mark.parametrize("cost", ["square", "power:3", "huber:0.5"])
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


def asked(folder, x, y, **more):
    ledger = folder / "ledger.jsonl"
    return transport.private_distance(x, y, **{"radius": 3, "epsilon": 1, "delta": 1e-5, "ledger": ledger, **more})


@pytest.mark.parametrize("protect, d, slices", [("both", 3, 100), ("y", 2, 1), ("x", 3, 2)])
def test_a_private_distance_is_that_of_the_program_to_the_last_digit(sliver, tmp_path, protect, d, slices):
    x, y = sample(300, d, 1), sample(200, d, 2) + 1
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    seeds = {"seed": 5, "insecure_noise_seed": 7}
    command = [sliver, "distance", tmp_path / "x.npy", tmp_path / "y.npy", "--backend", "flex", "--radius", "3"]
    command += ["--epsilon", "1", "--delta", "1e-5", "--slices", str(slices), "--seed", "5", "--insecure-noise-seed", "7"]
    command += ["--protect", {"both": "both", "x": "source", "y": "target"}[protect], "--test", "--permutations", "49"]
    subprocess.run([*command, "--run", tmp_path / "run", "--cache-dir", tmp_path / "cache"], check=True, capture_output=True)
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    theirs = run["test"]
    found = asked(tmp_path, x, y, protect=protect, slices=slices, **seeds)
    tested = found.test(49)
    for name in ["squared_distance", "distance", "standard_error", "standard_error_rows_and_noise", "smoothing_deviation"]:
        assert getattr(found, name) == theirs[name], name
    assert found.standard_error_slices == theirs["standard_error_slices"]
    assert found.plug_in_squared_distance == theirs["plug_in_squared_distance"]
    for name in ["p_value", "null_mean", "null_deviation"]:
        assert getattr(tested, name) == theirs[name], name
    assert tested.differ(theirs["false_alarm"]) == theirs["differ"]
    assert (tmp_path / "ledger.jsonl").read_bytes() == (tmp_path / "run" / "ledger.jsonl").read_bytes()
    assert run["plan"]["epsilon_upper"] == found.epsilon_upper


@pytest.mark.parametrize("protect, neighbours", [("both", "k-end"), ("x", "replace-one")])
def test_what_a_private_distance_costs_is_written_before_it_is_told(tmp_path, protect, neighbours):
    x, y = sample(300, 2, 1), sample(200, 2, 2)
    one, other = (asked(tmp_path, x, y, protect=protect) for _ in range(2))
    assert one.secret_noise and one.plug_in_squared_distance != other.plug_in_squared_distance
    assert one.neighbours == neighbours and one.delta == 1e-5 and one.event.neighbours == neighbours
    assert 0.999 < one.epsilon_upper <= 1
    assert accounting.epsilon_upper(one.event, 1e-5, neighbours, accountant=one.accountant) == one.epsilon_upper
    with pytest.raises(ValueError, match="neighbours"):
        accounting.epsilon_upper(one.event, 1e-5, "add-remove")
    lines = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    assert len(lines) == 2 and all(line["secret_noise"] for line in lines)
    # Orthonormal directions: 2 r, with what is added for rounding.
    assert lines[0]["sensitivity"] == pytest.approx(6, rel=1e-5) and lines[0]["sensitivity"] >= 6
    multiplier = lines[0]["event"]["noise_multiplier"]
    assert lines[0]["deviation"] == one.smoothing_deviation >= multiplier * lines[0]["sensitivity"]
    both = accounting.Event.composed([one.event, other.event])
    told = accounting.epsilon_upper(both, 1e-5, neighbours)
    assert told == accounting.epsilon_upper_of_ledger(tmp_path / "ledger.jsonl", 1e-5, neighbours) > 1.2


def test_rows_beyond_the_radius_are_scaled_down_to_it(tmp_path):
    x, y = 100 * sample(300, 2, 1, np.float64), sample(200, 2, 2)
    held = 3 * x / np.linalg.norm(x, axis=1, keepdims=True)
    known = [asked(tmp_path, u, y, insecure_noise_seed=3) for u in (x, held)]
    assert not known[0].secret_noise
    assert known[0].squared_distance == pytest.approx(known[1].squared_distance, abs=1e-4)
    # With the noise of nobody's rows the same: what is far away does move it.
    assert abs(asked(tmp_path, 0.1 * held, y, insecure_noise_seed=3).squared_distance - known[0].squared_distance) > 0.01


@pytest.mark.parametrize(
    "more, error, words",
    [
        ({"radius": -1}, ValueError, "-1"),
        ({"radius": math.nan}, ValueError, "NaN"),
        ({"epsilon": -0.5}, ValueError, "-0.5"),
        ({"epsilon": math.nan}, ValueError, "NaN"),
        ({"delta": 0.0}, ValueError, "delta = 0 is refused"),
        ({"delta": 0.02}, ValueError, "below 1/n = 0.02, n = 50"),
        ({"slices": 0}, ValueError, "0"),
        ({"slices": -3}, ValueError, "-3"),
        ({"seed": -1}, ValueError, "-1"),
        ({"insecure_noise_seed": 1.5}, TypeError, "1.5"),
        ({"protect": "a"}, ValueError, "both, x, y"),
        ({"x": sample(3, 2, 1)}, ValueError, "x has 3 rows, expected at least 4"),
        ({"x": np.zeros((0, 2))}, ValueError, "at least one point"),
        ({"y": sample(20, 3, 1)}, ValueError, "x has 2 coordinates and y 3"),
        ({"x": np.full((9, 2), np.nan)}, ValueError, "x: row 0, coordinate 0 is NaN"),
        ({"y": np.array([[0.0, 1.0]] * 8 + [[0.0, np.inf]])}, ValueError, "y: row 8, coordinate 1 is inf"),
        ({"x": np.zeros((9, 2), int)}, TypeError, "int64"),
        ({"x": np.zeros((9, 4))[:, ::2]}, ValueError, "ascontiguousarray"),
        ({"ledger": "absent/ledger.jsonl"}, OSError, "absent"),
    ],
)
def test_a_private_distance_that_cannot_be_leaves_no_ledger(tmp_path, monkeypatch, more, error, words):
    monkeypatch.chdir(tmp_path)
    u, v = more.pop("x", sample(30, 2, 1)), more.pop("y", sample(20, 2, 2))
    with pytest.raises(error, match=re.escape(words)):
        asked(tmp_path, u, v, **more)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "ledger.jsonl").write_text("no ledger\n")
    with pytest.raises(ValueError, match="line 1"):
        asked(tmp_path, sample(30, 2, 1), sample(20, 2, 2))
    assert (tmp_path / "ledger.jsonl").read_text() == "no ledger\n"


def test_a_level_that_permutations_cannot_tell_is_refused(tmp_path):
    found = asked(tmp_path, sample(30, 2, 1), sample(20, 2, 2))
    assert found.test(19).p_value == found.test(19).p_value
    found.test(19).differ(0.05)
    for ask, words in [
        (lambda: found.test(18).differ(0.05), "18 permutations"),
        (lambda: found.test(0), "permutations is 0"),
        (lambda: found.test().differ(1.0), "false_alarm is 1"),
        (lambda: found.test().differ(math.nan), "false_alarm is NaN"),
    ]:
        with pytest.raises(ValueError, match=words):
            ask()

"""Parity with the program `account`, agreement with dp_accounting and prv_accountant, laws, refusals."""

import math
import pickle

import numpy as np
import pytest

from sliver_dp import accounting
from sliver_dp.accounting import Event, epsilon_upper

TRAINING = Event.gaussian(1.0).poisson_sampled(0.01).self_composed(1000)

# Flags of `account`, the event, and its neighbours.
MECHANISMS = [
    (
        "--records 60000 --batch 600 --steps 1000 --noise-multiplier 1",
        Event.dp_sgd(60_000, 600, 1_000, 1.0),
        "replace-one",
    ),
    ("--sampler poisson --rate 0.01 --steps 1000 --noise-multiplier 1", TRAINING, "add-remove"),
    (
        "--sampler poisson --rate 0.02 --steps 50 --noise-multiplier 0.7 --neighbours zero-out",
        Event.gaussian(0.7).poisson_sampled(0.02, neighbours="zero-out").self_composed(50),
        "zero-out",
    ),
    (
        "--sampler none --mechanism laplace --steps 7 --noise-multiplier 12",
        Event.laplace(12.0).self_composed(7),
        "replace-one",
    ),
    (
        "--stratum 600:6 --stratum 900:10 --steps 30 --noise-multiplier 2",
        Event.gaussian(2.0).sampled_from_strata([(600, 6), (900, 10)]).self_composed(30),
        "k-end",
    ),
]


@pytest.mark.parametrize("flags, event, neighbours", MECHANISMS)
def test_answers_are_those_of_the_program_to_the_last_digit(account, flags, event, neighbours):
    flags = flags.split()
    found = account("epsilon", *flags, "--delta", 1e-5)
    assert found["neighbours"] in (neighbours, "those of the sensitivity")
    assert found["epsilon"] == epsilon_upper(event, 1e-5, neighbours)
    assert account("delta", *flags, "--epsilon", 0.5)["delta"] == accounting.delta_upper(event, 0.5, neighbours)
    found = account("epsilon", *flags, "--delta", 1e-5, "--accountant", "rdp")
    assert found["epsilon"] == epsilon_upper(event, 1e-5, neighbours, accountant="rdp")
    found = account("curve", *flags, "--accountant", "pld", "--points", 9)
    curve = found["curves"][0]
    assert curve["y"] == accounting.trade_off_lower_curve(event, curve["x"], neighbours).tolist()


def test_calibration_is_that_of_the_program(account):
    def event(z=1.0, batch=600, steps=1000):
        return Event.dp_sgd(60_000, batch, steps, z)

    target = ("--epsilon", 1, "--delta", 1e-5)
    found = account("noise", "--records", 60_000, "--batch", 600, "--steps", 1000, *target)
    z = accounting.noise_multiplier_for(event, 1.0, 1e-5, "replace-one")
    assert z == found["noise_multiplier"] and found["epsilon"] == epsilon_upper(event(z), 1e-5, "replace-one") <= 1.0
    found = account("steps", "--records", 60_000, "--batch", 600, "--noise-multiplier", 1, *target)
    steps = accounting.steps_for(lambda steps: event(steps=steps), 1.0, 1e-5, "replace-one")
    assert steps == found["steps"]
    found = account("batch", "--records", 60_000, "--steps", 1000, "--noise-multiplier", 1, *target)
    batch = accounting.batch_for(lambda batch: event(batch=batch), 1.0, 1e-5, "replace-one", limit=60_000)
    assert batch == found["batch"]


def test_a_ledger_is_read_as_the_program_reads_it(account, tmp_path):
    path = tmp_path / "ledger.jsonl"
    line = '{{"event": {}, "count": 3, "neighbours": "replace_one"}}\n'
    path.write_text(line.format(Event.gaussian(5.0).to_json()) + line.format(Event.laplace(20.0).to_json()))
    epsilon = accounting.epsilon_upper_of_ledger(path, 1e-5, "replace-one")
    assert epsilon == account("ledger", path, "--delta", 1e-5)["epsilon"]
    with pytest.raises(ValueError, match="neighbours is zero-out"):
        accounting.epsilon_upper_of_ledger(path, 1e-5, "zero-out")
    # Noise from a known seed protects nobody.
    path.write_text(path.read_text().replace('"count"', '"secret_noise": false, "count"'))
    assert accounting.epsilon_upper_of_ledger(path, 1e-5, "replace-one") == math.inf
    path.write_text("no entry\n")
    with pytest.raises(ValueError, match="line 1"):
        accounting.epsilon_upper_of_ledger(path, 1e-5, "replace-one")
    with pytest.raises(OSError, match="none.jsonl"):
        accounting.epsilon_upper_of_ledger(tmp_path / "none.jsonl", 1e-5, "replace-one")


# DP-SGD on MNIST as in the examples of several libraries, few steps of little noise, and many of much.
DP_SGD = [(0.01, 1.0, 1000), (0.01, 0.76, 5000), (256 / 60_000, 1.1, 14_062), (0.1, 2.0, 20), (1.0, 4.0, 3), (0.001, 0.5, 300)]


@pytest.mark.parametrize("rate, z, steps", DP_SGD)
def test_epsilon_is_between_the_bounds_of_dp_accounting(rate, z, steps):
    """Its pessimistic epsilon at a fine interval is above ours or equal but for our accuracy of 1e-4; at none of its
    intervals is ours below its optimistic one."""
    dp_event = pytest.importorskip("dp_accounting").dp_event
    from dp_accounting.pld import privacy_loss_distribution

    event = dp_event.SelfComposedDpEvent(
        dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(z)), steps
    )
    ours = accounting.from_dp_accounting(event)
    assert ours == Event.gaussian(z).poisson_sampled(rate).self_composed(steps)
    upper, lower = (
        privacy_loss_distribution.from_gaussian_mechanism(
            z, value_discretization_interval=1e-4, sampling_prob=rate, pessimistic_estimate=pessimistic
        ).self_compose(steps)
        for pessimistic in (True, False)
    )
    for delta in (1e-5, 1e-7):
        epsilon = epsilon_upper(ours, delta, "add-remove")
        slack = 1e-4 * min(epsilon, 1.0)
        assert lower.get_epsilon_for_delta(delta) <= epsilon <= upper.get_epsilon_for_delta(delta) + slack
        below = accounting.epsilon_lower(ours, delta, "add-remove")
        assert below <= upper.get_epsilon_for_delta(delta) and 0.0 <= epsilon - below < 2e-3 * epsilon


@pytest.mark.parametrize("rate, z, steps", DP_SGD[:3])
def test_epsilon_is_between_the_bounds_of_prv_accountant(rate, z, steps):
    prv = pytest.importorskip("prv_accountant")
    mechanism = prv.PoissonSubsampledGaussianMechanism(sampling_probability=rate, noise_multiplier=z)
    accountant = prv.PRVAccountant(
        prvs=[mechanism], max_self_compositions=[steps], eps_error=0.01, delta_error=1e-10
    )
    low, _, high = accountant.compute_epsilon(delta=1e-5, num_self_compositions=[steps])
    event = Event.gaussian(z).poisson_sampled(rate).self_composed(steps)
    assert low <= epsilon_upper(event, 1e-5, "add-remove") <= high


def test_laplace_and_compositions_agree_with_dp_accounting():
    dp_accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant

    event = dp_accounting.ComposedDpEvent(
        [
            dp_accounting.LaplaceDpEvent(10.0),
            dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(5.0), 4),
            dp_accounting.NoOpDpEvent(),
        ]
    )
    relation = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    theirs = PLDAccountant(relation, value_discretization_interval=1e-5).compose(event).get_epsilon(1e-5)
    ours = epsilon_upper(accounting.from_dp_accounting(event), 1e-5, "add-remove")
    assert theirs - 1e-3 <= ours <= theirs + 1e-4
    assert accounting.from_dp_accounting(dp_accounting.NonPrivateDpEvent()) == Event.non_private()
    with pytest.raises(ValueError, match="replace-one.*norm of one record"):
        accounting.from_dp_accounting(event, "replace-one")
    for other in ("replace-one", "k-end"):
        with pytest.raises(ValueError):
            epsilon_upper(accounting.from_dp_accounting(dp_accounting.GaussianDpEvent(1.0)), 1e-5, other)
    one = accounting.from_dp_accounting(dp_accounting.GaussianDpEvent(1.0))
    assert epsilon_upper(one, 1e-5, "add-remove") == epsilon_upper(Event.gaussian(1.0), 1e-5, "add-remove")
    with pytest.raises(ValueError, match="ZCDpEvent"):
        accounting.from_dp_accounting(dp_accounting.ZCDpEvent(1.0))


def test_a_history_of_opacus_is_the_composition_of_its_steps():
    history = [(1.0, 0.01, 500), (0.8, 0.02, 100)]
    first, second = (
        Event.gaussian(z).poisson_sampled(rate).self_composed(steps) for z, rate, steps in history
    )
    expected = epsilon_upper(Event.composed([first, second]), 1e-5, "add-remove")
    assert accounting.epsilon_upper_of_opacus(history, 1e-5, "add-remove") == expected
    assert accounting.epsilon_upper_of_opacus([], 1e-5, "zero-out") == 0.0
    with pytest.raises(ValueError, match="rate is 2"):
        accounting.epsilon_upper_of_opacus([(1.0, 2.0, 1)], 1e-5, "zero-out")
    with pytest.raises(ValueError, match="replace"):
        accounting.epsilon_upper_of_opacus(history, 1e-5, "replace-one")


def test_the_gaussian_mechanism_has_its_closed_form():
    """Balle and Wang 2018, arXiv 1805.06530, theorem 8."""
    def phi(x):
        return 0.5 * math.erfc(-x / math.sqrt(2.0))

    z = 2.0
    epsilons = np.linspace(0.0, 3.0, 7)
    exact = [phi(0.5 / z - e * z) - math.exp(e) * phi(-0.5 / z - e * z) for e in epsilons]
    event = Event.gaussian(z)
    for accountant, slack in (("gaussian", 1e-9), ("pld", 1e-3)):
        curve = accounting.delta_upper_curve(event, epsilons, "replace-one", accountant=accountant)
        assert curve.dtype == np.float64 and curve.shape == (7,)
        assert np.all(curve >= np.array(exact) * (1 - 1e-12))
        assert np.allclose(curve, exact, rtol=slack, atol=0)


def test_curves_are_one_question_each():
    epsilons = np.array([0.0, 0.5, 1.0, 2.0])
    curve = accounting.delta_upper_curve(TRAINING, epsilons, "add-remove")
    assert np.all(np.diff(curve) < 0)
    single = [accounting.delta_upper(TRAINING, epsilon, "add-remove") for epsilon in epsilons]
    assert np.allclose(curve, single, rtol=1e-2)
    lower = [accounting.delta_lower(TRAINING, epsilon, "add-remove") for epsilon in epsilons[1:]]
    assert np.all(lower <= curve[1:])
    alphas = np.linspace(0.0, 1.0, 11, dtype=np.float32)
    trade_off = accounting.trade_off_lower_curve(TRAINING, alphas, "add-remove")
    assert np.all(np.diff(trade_off) <= 0) and trade_off[-1] == 0.0


def test_a_more_accurate_answer_is_below_a_coarse_one():
    coarse, fine = (epsilon_upper(TRAINING, 1e-5, "add-remove", accuracy=a) for a in (1e-2, 1e-6))
    assert accounting.epsilon_lower(TRAINING, 1e-5, "add-remove", accuracy=1e-6) <= fine <= coarse


def test_the_best_of_many_runs_costs_more_than_one():
    run = Event.gaussian(3.73)
    one = epsilon_upper(run, 1e-5, "replace-one")
    best = epsilon_upper(Event.selected([run], 10.0), 1e-5, "replace-one")
    poisson = epsilon_upper(Event.selected([run], 10.0, shape=None), 1e-5, "replace-one")
    assert one < best < 2 * one and one < poisson


def test_events_are_values():
    parts = [Event.laplace(3.0), Event.failure(1e-9), Event.discrete_gaussian(2.0)]
    groups = Event.parallel("hospitals", [Event.gaussian(1.0), Event.gaussian(2.0)])
    for event in [TRAINING, Event.composed(parts), groups, Event.non_private(), Event.gaussian(0.1 + 0.2), Event.gaussian(1.1500000000000001)]:
        assert pickle.loads(pickle.dumps(event)) == event
        assert eval(repr(event)) == event and len({event, Event.from_json(event.to_json())}) == 1
    assert TRAINING != Event.gaussian(1.0) and TRAINING.neighbours == "add-remove"
    assert Event.gaussian(1.0).neighbours is None and groups.neighbours == "k-end"
    worst = epsilon_upper(Event.gaussian(1.0), 1e-5, "k-end", accountant="gaussian")
    assert epsilon_upper(groups, 1e-5, "k-end", accountant="gaussian") == worst


def test_an_event_is_refused_under_neighbours_that_it_does_not_hold_for():
    with pytest.raises(ValueError, match="replace-one neighbours.*add-remove neighbours"):
        epsilon_upper(TRAINING, 1e-5, "replace-one")
    with pytest.raises(ValueError, match="k-end"):
        epsilon_upper(Event.gaussian(1.0).sampled_from_strata([(9, 3)]), 1e-5, "replace-one")
    with pytest.raises(ValueError, match="mixes"):
        Event.composed([TRAINING, Event.dp_sgd(100, 10, 1, 1.0)])
    # What holds when any record is replaced holds when it stays in its group.
    fixed = Event.dp_sgd(100, 10, 1, 1.0)
    assert epsilon_upper(fixed, 1e-5, "k-end") == epsilon_upper(fixed, 1e-5, "replace-one")


@pytest.mark.parametrize(
    "ask, error, words",
    [
        (lambda: Event.gaussian(-1.0), ValueError, "noise multiplier is -1"),
        (lambda: Event.gaussian(0.0), ValueError, "noise multiplier is 0"),
        (lambda: Event.gaussian(math.nan), ValueError, "noise multiplier is NaN"),
        (lambda: Event.laplace(-2.0), ValueError, "noise multiplier is -2"),
        (lambda: Event.discrete_gaussian(-2.0), ValueError, "noise multiplier is -2"),
        (lambda: Event.failure(1.5), ValueError, "1.5"),
        (lambda: Event.gaussian("1"), TypeError, "noise_multiplier"),
        (lambda: Event.gaussian(1.0).poisson_sampled(1.5), ValueError, r"rate is 1.5, but must be in \(0, 1\]"),
        (lambda: Event.gaussian(1.0).poisson_sampled(0.1, neighbours="k-end"), ValueError, "k-end"),
        (lambda: Event.gaussian(1.0).sampled_without_replacement(5, 6), ValueError, "batch is 6.*5 records"),
        (lambda: Event.gaussian(1.0).sampled_from_strata([]), ValueError, "at least 1"),
        (lambda: Event.gaussian(1.0).shuffled_epoch_upper(neighbours="add-remove"), ValueError, "number of batches"),
        (lambda: Event.gaussian(1.0).self_composed(-1), ValueError, "-1.*at least 0"),
        (lambda: Event.gaussian(1.0).self_composed(1.5), TypeError, "1.5.*whole number"),
        (lambda: Event.selected([], 2.0), ValueError, "at least 1"),
        (lambda: Event.selected([TRAINING], 0.5), ValueError, "mean number of runs is 0.5"),
        (lambda: Event.parallel("p", []), ValueError, "no part"),
        (lambda: Event.composed([1]), TypeError, "Event"),
        (lambda: Event.from_json("{}"), ValueError, "type"),
        (lambda: epsilon_upper(TRAINING, -1e-5, "add-remove"), ValueError, r"delta is -0.00001.*in \[0, 1\]"),
        (lambda: epsilon_upper(TRAINING, math.nan, "add-remove"), ValueError, "delta is NaN"),
        (lambda: epsilon_upper(TRAINING, 1e-5, "nobody"), ValueError, "nobody.*add-remove"),
        (lambda: epsilon_upper(TRAINING, 1e-5, "add-remove", accountant="gdp-clt"), ValueError, "gdp-clt.*pld"),
        (lambda: epsilon_upper(TRAINING, 1e-5, "add-remove", accountant="gaussian"), ValueError, "closed form"),
        (lambda: epsilon_upper(TRAINING, 1e-5, "add-remove", accuracy=1.0), ValueError, "accuracy is 1"),
        (lambda: epsilon_upper(TRAINING, 1e-5, "add-remove", accountant="rdp", accuracy=0.1), ValueError, "accuracy"),
        (lambda: accounting.delta_upper(TRAINING, -1.0, "add-remove"), ValueError, "epsilon is -1.*at least 0"),
        (lambda: accounting.delta_upper_curve(TRAINING, np.array([-1.0]), "add-remove"), ValueError, "epsilon is -1"),
        (lambda: accounting.delta_upper_curve(TRAINING, np.array([1, 2]), "add-remove"), TypeError, "int64"),
        (lambda: accounting.delta_upper_curve(TRAINING, np.array([1.0], object), "add-remove"), TypeError, "object"),
        (lambda: accounting.delta_upper_curve(TRAINING, np.arange(4.0)[::2], "add-remove"), ValueError, "contiguous"),
        (lambda: accounting.delta_upper_curve(TRAINING, np.ones((2, 2)), "add-remove"), ValueError, "2 dimensions"),
        (lambda: accounting.trade_off_lower_curve(TRAINING, [1.5], "add-remove"), ValueError, "alpha is 1.5"),
        (
            lambda: accounting.noise_multiplier_for(Event.gaussian, -1.0, 1e-5, "replace-one"),
            ValueError,
            "target epsilon is -1.*positive",
        ),
        (
            lambda: accounting.steps_for(lambda steps: TRAINING, 0.1, 1e-5, "add-remove"),
            ValueError,
            "no steps between 1 and 1000000",
        ),
        (lambda: accounting.noise_multiplier_for(lambda z: z, 1.0, 1e-5, "add-remove"), TypeError, "expected an Event"),
        (lambda: accounting.noise_multiplier_for(lambda z: 1 / 0, 1.0, 1e-5, "add-remove"), ZeroDivisionError, "division"),
        (
            lambda: accounting.noise_multiplier_for(lambda z: TRAINING, 1.0, 1e-5, "k-end"),
            ValueError,
            "k-end",
        ),
    ],
)
def test_bad_input_is_refused_with_value_and_bound(ask, error, words):
    with pytest.raises(error, match=words):
        ask()


def test_pure_privacy_and_none():
    assert epsilon_upper(Event.laplace(2.0), 0.0, "add-remove") == pytest.approx(0.5, rel=1e-12)
    assert epsilon_upper(Event.gaussian(1.0), 0.0, "add-remove") == math.inf
    assert epsilon_upper(Event.non_private(), 1e-5, "add-remove") == math.inf
    assert epsilon_upper(Event.composed([]), 0.0, "add-remove") == 0.0

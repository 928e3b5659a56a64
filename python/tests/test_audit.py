"""Lower bounds from scores: their values where they are known, their false alarms, refusals."""

import math
import pickle

import numpy as np
import pytest

from sliver_dp import accounting, audit


def test_a_perfect_attack_on_ten_runs():
    """(1 - 0.025^(1/10)) is the least rate of misses, and the largest of alarms, at 2.5 % each."""
    found = audit.epsilon_lower_of_counts(10, 10, 0, 10, 0.0)
    missed = 1.0 - 0.025**0.1
    assert found.epsilon_lower == pytest.approx(math.log((1.0 - missed) / missed), rel=1e-9)
    assert (found.delta, found.confidence, found.assumes, found.mu_lower) == (0.0, 0.95, "nothing", None)
    assert found.violates(0.5) and not found.violates(1.5)
    assert str(found).startswith("epsilon is at least 0.80715 at delta 0,") and "without assumptions" in str(found)


def test_scores_with_a_threshold_are_their_counts():
    rng = np.random.default_rng(1)
    with_record, without = rng.normal(1.0, 1.0, 500), rng.normal(0.0, 1.0, 400)
    for assumes in ("nothing", "gaussian-curve"):
        found = audit.epsilon_lower_of_runs(with_record, without, 1e-5, assumes=assumes, threshold=1.0)
        hits, alarms = int((with_record >= 1.0).sum()), int((without >= 1.0).sum())
        expected = audit.epsilon_lower_of_counts(hits, 500, alarms, 400, 1e-5, assumes=assumes)
        assert found.epsilon_lower == expected.epsilon_lower and found.assumes == assumes


@pytest.mark.parametrize("assumes", ["nothing", "gaussian-curve", "normal-scores"])
def test_bounds_of_a_gaussian_mechanism_are_below_the_truth_and_find_half_the_noise(assumes):
    """Each bound is too high with probability 0.001 at most: with this seed none is."""
    rng = np.random.default_rng(2)
    truth = accounting.epsilon_upper(accounting.Event.gaussian(1.0), 1e-5, "replace-one", accountant="gaussian")
    half = accounting.epsilon_upper(accounting.Event.gaussian(0.5), 1e-5, "replace-one", accountant="gaussian")
    scores = rng.normal(size=100_000)
    kept = audit.epsilon_lower_of_runs(scores[:50_000] + 1.0, scores[50_000:], 1e-5, confidence=0.999, assumes=assumes)
    assert 0.0 < kept.epsilon_lower <= truth and kept.confidence == 0.999
    broken = audit.epsilon_lower_of_runs(scores[:50_000] + 2.0, scores[50_000:], 1e-5, confidence=0.999, assumes=assumes)
    assert kept.epsilon_lower < broken.epsilon_lower <= half
    assert broken.violates(truth) or assumes == "nothing"


def test_canaries_of_one_run():
    """A bound that is too high has probability 0.05 at most: with this seed neither is."""
    rng = np.random.default_rng(3)
    coins = rng.random(10_000) < 0.5
    scores = rng.normal(size=10_000) + np.where(coins, 0.5, -0.5)
    guesses = audit.best_guesses(10_000, 1.0, 1e-6)
    assert 1 <= guesses <= 10_000
    truth = accounting.epsilon_upper(accounting.Event.gaussian(1.0), 1e-6, "replace-one", accountant="gaussian")
    plain = audit.epsilon_lower_of_canaries(scores, coins, guesses, 1e-6)
    sharp = audit.epsilon_lower_of_canaries(scores, coins.tolist(), guesses, 1e-6, assumes="gaussian-curve")
    assert 0.0 < plain.epsilon_lower < sharp.epsilon_lower <= truth
    likely = audit.epsilon_lower_of_canaries(scores, coins, guesses, 1e-6, by="likelihood", assumes="gaussian-curve")
    assert 0.0 < likely.epsilon_lower <= truth


def test_a_sequential_test_stops_where_the_claim_is_wrong():
    """The right claim is refuted with probability 0.01 at most: with this seed it is not."""
    rng = np.random.default_rng(4)
    wrong, right = audit.Sequential([1.0], 0.01), audit.Sequential([2.0], 0.01)
    for _ in range(2_000):
        with_record, without = rng.normal(2.0), rng.normal(0.0)
        assert not right.observe(with_record, without)
        if wrong.observe(with_record, without):
            break
    assert wrong.all_refuted and wrong.refuted == [1.0] and wrong.p_value_upper <= 0.01 and wrong.pairs < 2_000
    assert wrong.lower_bound(1e-5).mu_lower == 1.0
    ladder = audit.Sequential.ladder(3.0, 6, 0.05)
    ladder.observe(0.0, 0.0)
    assert ladder.pairs == 1 and ladder.refuted == [] and ladder.lower_bound(1e-5).epsilon_lower == 0.0
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(wrong)


@pytest.mark.parametrize(
    "ask, error, words",
    [
        (lambda: audit.epsilon_lower_of_counts(3, 2, 0, 1, 1e-5), ValueError, "number of hits is 3"),
        (lambda: audit.epsilon_lower_of_counts(0, 0, 0, 1, 1e-5), ValueError, "number of runs is 0"),
        (lambda: audit.epsilon_lower_of_counts(-1, 2, 0, 1, 1e-5), ValueError, "-1"),
        (lambda: audit.epsilon_lower_of_counts(1, 2, 0, 1, 2.0), ValueError, "delta is 2"),
        (lambda: audit.epsilon_lower_of_counts(1, 2, 0, 1, 1e-5, confidence=1.0), ValueError, "confidence is 1"),
        (lambda: audit.epsilon_lower_of_counts(1, 2, 0, 1, 1e-5, assumes="luck"), ValueError, "luck.*nothing"),
        (lambda: audit.epsilon_lower_of_runs([1.0, math.nan], [0.0, 1.0], 1e-5), ValueError, "score is NaN"),
        (lambda: audit.epsilon_lower_of_runs([1.0], [0.0, 1.0], 1e-5), ValueError, "at least 2"),
        (lambda: audit.epsilon_lower_of_runs(["a"], [0.0], 1e-5), TypeError, "with_record is .*list"),
        (
            lambda: audit.epsilon_lower_of_runs([1.0, 2.0], [0.0, 1.0], 1e-5, threshold=math.inf),
            ValueError,
            "threshold is inf",
        ),
        (
            lambda: audit.epsilon_lower_of_runs([1.0, 2.0], [0.0, 1.0], 1e-5, threshold=1.0, assumes="normal-scores"),
            ValueError,
            "threshold is 1",
        ),
        (lambda: audit.epsilon_lower_of_canaries([1.0, 2.0], [True, False], 3, 1e-5), ValueError, "guesses"),
        (lambda: audit.epsilon_lower_of_canaries([1.0, 2.0], [True], 1, 1e-5), ValueError, "1"),
        (lambda: audit.epsilon_lower_of_canaries([1.0, 2.0], [0.5, 2], 1, 1e-5), TypeError, "booleans"),
        (lambda: audit.epsilon_lower_of_canaries([1.0, 2.0], [True, False], 1, 1e-5, by="eye"), ValueError, "eye"),
        (lambda: audit.best_guesses(0, 1.0, 1e-5), ValueError, "canaries"),
        (lambda: audit.Sequential([], 0.05), ValueError, "at least 1"),
        (lambda: audit.Sequential([1.0], 1.5), ValueError, "alarm rate is 1.5"),
        (lambda: audit.Sequential([-1.0]), ValueError, "mu is -1"),
        (lambda: audit.Sequential([1.0]).observe(math.nan, 0.0), ValueError, "score is NaN"),
    ],
)
def test_bad_input_is_refused_with_value_and_bound(ask, error, words):
    with pytest.raises(error, match=words):
        ask()

//! Scores of an attack in, lower bounds on epsilon out.

use dp_audit::{Assumption, AttackCounts, CanaryGuesses, Scores, gaussian_law};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::numbers;
use crate::refusal::{Whole, refused};

/// A lower bound on epsilon that an attack proves, and how sure it is. Printed, epsilon is rounded down.
#[pyclass(frozen, module = "sliver_dp.audit")]
pub(crate) struct LowerBound(pub(crate) dp_audit::LowerBound);

#[pymethods]
impl LowerBound {
    /// The mechanism is (epsilon', delta)-differentially private for no epsilon' below this; 0 where nothing was found.
    #[getter]
    fn epsilon_lower(&self) -> f64 {
        self.0.epsilon
    }

    /// The delta that it holds at.
    #[getter]
    fn delta(&self) -> f64 {
        self.0.delta
    }

    /// The same as the shift of a Gaussian mechanism of standard deviation 1; None where the estimator has none.
    #[getter]
    fn mu_lower(&self) -> Option<f64> {
        self.0.mu
    }

    /// The least probability with which the bound is not above the truth.
    #[getter]
    fn confidence(&self) -> f64 {
        self.0.confidence
    }

    /// What it assumes: "nothing", "gaussian-curve" or "normal-scores".
    #[getter]
    fn assumes(&self) -> &'static str {
        match self.0.assumes {
            Assumption::Nothing => "nothing",
            Assumption::GaussianCurve => "gaussian-curve",
            Assumption::NormalScores => "normal-scores",
        }
    }

    /// Whether it is above a claimed `epsilon` at the same delta. False is no proof of the claim.
    fn violates(&self, epsilon: f64) -> bool {
        self.0.against(epsilon) == dp_audit::Verdict::Violated
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<LowerBound: {}>", self.0)
    }
}

fn unknown(assumes: &str, known: &str) -> PyErr {
    PyValueError::new_err(format!(
        "assumes is {assumes:?}, but must be one of {known}"
    ))
}

fn of_counts(
    counts: AttackCounts,
    delta: f64,
    confidence: f64,
    assumes: &str,
) -> PyResult<LowerBound> {
    let bound = match assumes {
        "nothing" => counts.lower_bound(delta, confidence),
        "gaussian-curve" => counts.gaussian_lower_bound(delta, confidence),
        _ => return Err(unknown(assumes, "nothing, gaussian-curve")),
    };
    bound.map(LowerBound).map_err(refused)
}

/// A lower bound on epsilon at `delta`, from scores of many independent runs with and without one record.
///
/// with_record, without_record: one score a run, [n] and [m], each at least 2, higher where the attack believes that the
/// record took part.
/// assumes: "nothing"; "gaussian-curve", that the trade-off curve is a Gaussian mechanism's; or "normal-scores", that the
/// scores are independent and normal with one variance, which holds for a projection of a Gaussian release and for no
/// losses.
/// threshold: one that was fixed before the scores were seen; otherwise the first half of the runs chooses it, and the
/// second half counts. "normal-scores" has none.
///
/// Raises ValueError for a score that is not finite, too few runs, a delta outside of [0, 1] or a confidence outside of
/// (0, 1).
#[pyfunction]
#[pyo3(signature = (with_record, without_record, delta, *, confidence=0.95, assumes="nothing", threshold=None))]
pub(crate) fn epsilon_lower_of_runs(
    py: Python<'_>,
    with_record: &Bound<'_, PyAny>,
    without_record: &Bound<'_, PyAny>,
    delta: f64,
    confidence: f64,
    assumes: &str,
    threshold: Option<f64>,
) -> PyResult<LowerBound> {
    let with = numbers("with_record", with_record)?;
    let without = numbers("without_record", without_record)?;
    let scores = Scores::new(with.as_slice()?, without.as_slice()?).map_err(refused)?;
    let counts = match (assumes, threshold) {
        ("normal-scores", None) => {
            let bound = py.detach(|| gaussian_law(&scores, delta, confidence));
            return bound.map(LowerBound).map_err(refused);
        }
        ("nothing", None) => py.detach(|| scores.held_out(delta, confidence)),
        ("gaussian-curve", None) => py.detach(|| scores.held_out_gaussian(delta, confidence)),
        ("nothing" | "gaussian-curve", Some(threshold)) if threshold.is_finite() => {
            Ok(scores.at(threshold))
        }
        ("nothing" | "gaussian-curve", Some(threshold)) => {
            return Err(PyValueError::new_err(format!(
                "threshold is {threshold}, but must be finite"
            )));
        }
        ("normal-scores", Some(threshold)) => {
            return Err(PyValueError::new_err(format!(
                "threshold is {threshold}, but must be None where normal scores are assumed"
            )));
        }
        _ => return Err(unknown(assumes, "nothing, gaussian-curve, normal-scores")),
    };
    of_counts(counts.map_err(refused)?, delta, confidence, assumes)
}

/// The same from counts: the attack recognised the record in `recognised` of `with_record` runs with it, and raised
/// `alarms` in `without_record` runs without it. The attack must have been fixed before it was counted.
#[pyfunction]
#[pyo3(signature = (recognised, with_record, alarms, without_record, delta, *, confidence=0.95, assumes="nothing"))]
pub(crate) fn epsilon_lower_of_counts(
    recognised: Whole,
    with_record: Whole,
    alarms: Whole,
    without_record: Whole,
    delta: f64,
    confidence: f64,
    assumes: &str,
) -> PyResult<LowerBound> {
    let counts = AttackCounts::new((recognised.0, with_record.0), (alarms.0, without_record.0));
    of_counts(counts.map_err(refused)?, delta, confidence, assumes)
}

/// A lower bound on epsilon at `delta` from one run with many canaries, each of which took part by a fair coin of its own.
///
/// scores: one a canary, [m]; included: the coins, m booleans in the same order.
/// guesses: how many coins are guessed, fixed before anything was seen: `best_guesses` names a good number.
/// by: "scores", the highest are guessed to have taken part and the lowest not to; or "likelihood", logarithms of
/// likelihood ratios, those farthest from 0 being guessed.
/// assumes: "nothing" (Steinke, Nasr and Jagielski 2023, arXiv 2305.08846, theorem 5.2), or "gaussian-curve" (Mahloujifar,
/// Melis and Chaudhuri 2024, arXiv 2410.22235).
#[pyfunction]
#[pyo3(signature = (scores, included, guesses, delta, *, confidence=0.95, assumes="nothing", by="scores"))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn epsilon_lower_of_canaries(
    py: Python<'_>,
    scores: &Bound<'_, PyAny>,
    included: &Bound<'_, PyAny>,
    guesses: Whole,
    delta: f64,
    confidence: f64,
    assumes: &str,
    by: &str,
) -> PyResult<LowerBound> {
    let scores = numbers("scores", scores)?;
    let coins: Vec<bool> = included.extract().map_err(|_| {
        PyTypeError::new_err("included must be a list or an array of booleans, one a canary")
    })?;
    let found = match by {
        "scores" => CanaryGuesses::by_scores(scores.as_slice()?, &coins, guesses.0),
        "likelihood" => CanaryGuesses::by_likelihood(scores.as_slice()?, &coins, guesses.0),
        _ => {
            return Err(PyValueError::new_err(format!(
                "by is {by:?}, but must be one of scores, likelihood"
            )));
        }
    };
    let found = found.map_err(refused)?;
    let bound = match assumes {
        "nothing" => py.detach(|| found.lower_bound(delta, confidence)),
        "gaussian-curve" => py.detach(|| found.gaussian_lower_bound(delta, confidence)),
        _ => return Err(unknown(assumes, "nothing, gaussian-curve")),
    };
    bound.map(LowerBound).map_err(refused)
}

/// A good number of guesses for an audit with so many canaries of a claim of `mu`-Gaussian differential privacy.
#[pyfunction]
#[pyo3(signature = (canaries, mu, delta, *, confidence=0.95))]
pub(crate) fn best_guesses(
    py: Python<'_>,
    canaries: Whole,
    mu: f64,
    delta: f64,
    confidence: f64,
) -> PyResult<u64> {
    let canaries = canaries.0;
    py.detach(|| dp_audit::best_guesses(canaries, mu, delta, confidence))
        .map_err(refused)
}

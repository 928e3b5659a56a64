//! From events to epsilon and delta.

use std::path::PathBuf;

use dp_accountant::accounting::{self, Accountant, BatchDistribution, Event, Neighbours};
use dp_accountant::ledger::{Ledger, LedgerEntry, replay};
use numpy::{PyArray1, ToPyArray};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::accountant::{Asked, pld};
use crate::arrays::numbers;
use crate::event::{PyEvent, Relation};
use crate::refusal::{Whole, refused};

/// The event, where it holds under the neighbours that are claimed: as a ledger's line of it is read.
fn under(event: &PyEvent, neighbours: Relation) -> PyResult<&Event> {
    let line = LedgerEntry {
        event: event.0.clone(),
        count: 1,
        neighbours: neighbours.0,
        sensitivity: None,
        deviation: None,
        secret_noise: true,
        mechanism: None,
    };
    replay([&line]).map_err(refused)?;
    Ok(&event.0)
}

/// An upper bound on epsilon of `event` at `delta` in [0, 1], for these neighbours; infinite where no epsilon will do.
///
/// neighbours: "add-remove", "replace-one", "zero-out" or "k-end"; refused where the event holds under others.
/// accountant: "pld" composes dominating pairs numerically, to an error of about `accuracy * min(epsilon, 1)` above the
/// truth (1e-4 unless given, in [1e-9, 0.1]); "gaussian" is the closed form of Gaussian releases of all records; "rdp"
/// adds up Renyi divergences, and is looser.
///
/// Raises ValueError for what is out of range, or not covered, with the value and the bound.
#[pyfunction]
#[pyo3(signature = (event, delta, neighbours, *, accountant="pld", accuracy=None))]
pub(crate) fn epsilon_upper(
    py: Python<'_>,
    event: &PyEvent,
    delta: f64,
    neighbours: Relation,
    accountant: &str,
    accuracy: Option<f64>,
) -> PyResult<f64> {
    let event = under(event, neighbours)?;
    Asked::of(accountant, accuracy)?.answer(py, |asked| asked.epsilon(event, delta))
}

/// An upper bound on delta of `event` at `epsilon >= 0`. Arguments and errors as of `epsilon_upper`.
#[pyfunction]
#[pyo3(signature = (event, epsilon, neighbours, *, accountant="pld", accuracy=None))]
pub(crate) fn delta_upper(
    py: Python<'_>,
    event: &PyEvent,
    epsilon: f64,
    neighbours: Relation,
    accountant: &str,
    accuracy: Option<f64>,
) -> PyResult<f64> {
    let event = under(event, neighbours)?;
    Asked::of(accountant, accuracy)?.answer(py, |asked| asked.delta(event, epsilon))
}

/// A lower bound on the epsilon of the dominating pairs' composition, to see how near `epsilon_upper` of "pld" is. Never report it.
#[pyfunction]
#[pyo3(signature = (event, delta, neighbours, *, accuracy=None))]
pub(crate) fn epsilon_lower(
    py: Python<'_>,
    event: &PyEvent,
    delta: f64,
    neighbours: Relation,
    accuracy: Option<f64>,
) -> PyResult<f64> {
    let (event, accountant) = (under(event, neighbours)?, pld(accuracy)?);
    py.detach(|| accountant.epsilon_lower(event, delta))
        .map_err(refused)
}

/// A lower bound on the delta of the dominating pairs' composition, to see how near `delta_upper` of "pld" is. Never report it.
#[pyfunction]
#[pyo3(signature = (event, epsilon, neighbours, *, accuracy=None))]
pub(crate) fn delta_lower(
    py: Python<'_>,
    event: &PyEvent,
    epsilon: f64,
    neighbours: Relation,
    accuracy: Option<f64>,
) -> PyResult<f64> {
    let (event, accountant) = (under(event, neighbours)?, pld(accuracy)?);
    py.detach(|| accountant.delta_lower(event, epsilon))
        .map_err(refused)
}

/// `delta_upper` at several values of epsilon: the privacy profile, from one composition.
///
/// epsilons: [k], each at least 0. Returns float64, [k].
#[pyfunction]
#[pyo3(signature = (event, epsilons, neighbours, *, accountant="pld", accuracy=None))]
pub(crate) fn delta_upper_curve<'py>(
    py: Python<'py>,
    event: &PyEvent,
    epsilons: &Bound<'py, PyAny>,
    neighbours: Relation,
    accountant: &str,
    accuracy: Option<f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let event = under(event, neighbours)?;
    let (asked, epsilons) = (
        Asked::of(accountant, accuracy)?,
        numbers("epsilons", epsilons)?,
    );
    let epsilons = epsilons.as_slice()?;
    let curve = asked.answer(py, |asked| asked.profile(event, epsilons))?;
    Ok(curve.to_pyarray(py))
}

/// A lower bound on the trade-off function: the type II error that no test with type I error `alpha` goes below.
///
/// alphas: [k], each in [0, 1]. Returns float64, [k] (Dong, Roth and Su 2019, arXiv 1905.02383, proposition 6).
#[pyfunction]
#[pyo3(signature = (event, alphas, neighbours, *, accountant="pld", accuracy=None))]
pub(crate) fn trade_off_lower_curve<'py>(
    py: Python<'py>,
    event: &PyEvent,
    alphas: &Bound<'py, PyAny>,
    neighbours: Relation,
    accountant: &str,
    accuracy: Option<f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let event = under(event, neighbours)?;
    let (asked, alphas) = (Asked::of(accountant, accuracy)?, numbers("alphas", alphas)?);
    let alphas = alphas.as_slice()?;
    let curve = asked.answer(py, |asked| asked.trade_off_curve(event, alphas))?;
    Ok(curve.to_pyarray(py))
}

/// The event that a function of Python makes of a number, while the lock of the interpreter is not held; what it raises
/// ends the search.
fn made<'f, T: for<'py> IntoPyObject<'py> + 'f>(
    asked: &'f Asked,
    event_of: &'f Py<PyAny>,
    neighbours: Relation,
) -> impl Fn(T) -> Event + 'f {
    move |number| {
        let event = Python::attach(|py| {
            let found = event_of.bind(py).call1((number,))?;
            let Ok(event) = found.cast::<PyEvent>() else {
                return Err(PyTypeError::new_err(format!(
                    "event_of gave {}, expected an Event",
                    found.repr()?
                )));
            };
            under(event.get(), neighbours).cloned()
        });
        event.unwrap_or_else(|error| {
            asked.raise(error);
            Event::NonPrivate
        })
    }
}

/// The least noise multiplier, to a relative 1e-5, whose `epsilon_upper` at `delta` is at most `epsilon`.
///
/// The noise's deviation is this times the sensitivity: of sums of records clipped to norm C that is C under add-remove and
/// zero-out, and 2 C under replace-one and k-end.
///
/// event_of: a function from a noise multiplier to an Event. That of the value returned has been asked for, and meets
/// the target. Searches from 0.01 to 1e7, and can be interrupted.
///
/// >>> from sliver_dp.accounting import Event, noise_multiplier_for
/// >>> z = noise_multiplier_for(lambda z: Event.dp_sgd(60_000, 600, 1_000, z), 1.0, 1e-5, "replace-one")
/// >>> 1.5 < z < 1.6
/// True
#[pyfunction]
#[pyo3(signature = (event_of, epsilon, delta, neighbours, *, accountant="pld", accuracy=None))]
pub(crate) fn noise_multiplier_for(
    py: Python<'_>,
    event_of: Py<PyAny>,
    epsilon: f64,
    delta: f64,
    neighbours: Relation,
    accountant: &str,
    accuracy: Option<f64>,
) -> PyResult<f64> {
    Asked::of(accountant, accuracy)?.answer(py, |asked| {
        let made = made::<f64>(asked, &event_of, neighbours);
        accounting::noise_multiplier_for(asked, epsilon, delta, made)
    })
}

/// The most steps, up to `limit`, whose `epsilon_upper` at `delta` is at most `epsilon`.
///
/// event_of: a function from a number of steps to an Event, whose epsilon rises with it.
#[pyfunction]
#[pyo3(signature = (event_of, epsilon, delta, neighbours, *, limit=Whole(1_000_000), accountant="pld", accuracy=None))]
#[pyo3(
    text_signature = "(event_of, epsilon, delta, neighbours, *, limit=1000000, accountant='pld', accuracy=None)"
)]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn steps_for(
    py: Python<'_>,
    event_of: Py<PyAny>,
    epsilon: f64,
    delta: f64,
    neighbours: Relation,
    limit: Whole,
    accountant: &str,
    accuracy: Option<f64>,
) -> PyResult<u64> {
    Asked::of(accountant, accuracy)?.answer(py, |asked| {
        let made = made::<u64>(asked, &event_of, neighbours);
        accounting::steps_for(asked, epsilon, delta, limit.0, made)
    })
}

/// The largest batch, up to `limit`, whose `epsilon_upper` at `delta` is at most `epsilon`.
///
/// event_of: a function from a batch size to an Event, whose epsilon rises with it.
#[pyfunction]
#[pyo3(signature = (event_of, epsilon, delta, neighbours, *, limit, accountant="pld", accuracy=None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn batch_for(
    py: Python<'_>,
    event_of: Py<PyAny>,
    epsilon: f64,
    delta: f64,
    neighbours: Relation,
    limit: Whole,
    accountant: &str,
    accuracy: Option<f64>,
) -> PyResult<u64> {
    Asked::of(accountant, accuracy)?.answer(py, |asked| {
        let made = made::<u64>(asked, &event_of, neighbours);
        accounting::batch_for(asked, epsilon, delta, limit.0, made)
    })
}

/// An upper bound on epsilon at `delta` of what an Opacus accountant has in its `history`.
///
/// history: triples (noise_multiplier, sample_rate, steps), as `privacy_engine.accountant.history` has them.
/// neighbours: "zero-out" under Opacus's defaults, which divide by the number of records and sample at a rate that tells it;
/// "add-remove" only where rate, steps and divisor were chosen without it.
///
/// Holds for Opacus's Poisson sampler (`poisson_sampling=True`), flat or per-layer clipping, and one sampled batch for each step
/// of the optimizer. It does not hold for `clipping="adaptive"`, whose history leaves out the noisy count of clipped
/// gradients, nor for accumulated gradients.
///
/// >>> from sliver_dp.accounting import epsilon_upper_of_opacus
/// >>> epsilon_upper_of_opacus([(1.0, 0.01, 500), (0.8, 0.01, 500)], 1e-5, "zero-out") < 3.0
/// True
#[pyfunction]
#[pyo3(signature = (history, delta, neighbours, *, accountant="pld", accuracy=None))]
pub(crate) fn epsilon_upper_of_opacus(
    py: Python<'_>,
    history: Vec<(f64, f64, Whole)>,
    delta: f64,
    neighbours: Relation,
    accountant: &str,
    accuracy: Option<f64>,
) -> PyResult<f64> {
    let sampler = |rate| match neighbours.0 {
        Neighbours::AddRemove => Ok(BatchDistribution::Poisson { rate }),
        Neighbours::ZeroOut => Ok(BatchDistribution::PoissonZeroOut { rate }),
        other => Err(PyValueError::new_err(format!(
            "histories of Opacus hold under add-remove or zero-out neighbours, not under {other}"
        ))),
    };
    let steps = |(noise_multiplier, rate, steps): (f64, f64, Whole)| -> PyResult<Event> {
        let step = Event::Gaussian { noise_multiplier }.sampled(sampler(rate)?);
        Ok(step.repeated(steps.0))
    };
    let events = history
        .into_iter()
        .map(steps)
        .collect::<PyResult<Vec<_>>>()?;
    let event = Event::Composed { events };
    Asked::of(accountant, accuracy)?.answer(py, |asked| asked.epsilon(&event, delta))
}

/// An upper bound on epsilon at `delta` of what a ledger of sliver (`ledger.jsonl`) holds, under these neighbours; infinite where
/// any of its noise came from a known seed.
///
/// Raises OSError where the file cannot be read, ValueError for a line that is no entry, or whose neighbours are others.
#[pyfunction]
#[pyo3(signature = (path, delta, neighbours, *, accountant="pld", accuracy=None))]
pub(crate) fn epsilon_upper_of_ledger(
    py: Python<'_>,
    path: PathBuf,
    delta: f64,
    neighbours: Relation,
    accountant: &str,
    accuracy: Option<f64>,
) -> PyResult<f64> {
    let entries = Ledger::read(&path).map_err(|error| match error {
        dp_accountant::DpError::LedgerUnread { .. } => PyOSError::new_err(error.to_string()),
        other => refused(other),
    })?;
    for line in &entries.entries {
        let own = line.event.neighbours().map_err(refused)?;
        for named in [Some(line.neighbours), own].into_iter().flatten() {
            if named != neighbours.0 {
                return Err(PyValueError::new_err(format!(
                    "neighbours is {}, but {} has a line under {named}",
                    neighbours.0,
                    path.display()
                )));
            }
        }
    }
    let mut event = entries.event().map_err(refused)?;
    if !entries.has_secret_noise() {
        event = Event::NonPrivate;
    }
    Asked::of(accountant, accuracy)?.answer(py, |asked| asked.epsilon(&event, delta))
}

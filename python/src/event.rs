//! Mechanisms as data.

use dp_accountant::accounting::{
    Accountant, BatchDistribution, Event, Neighbours, PldAccountant, PrivateSelection,
    RdpAccountant, RepetitionDistribution, Stratum,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::refusal::{Whole, refused};

/// A neighbour relation by its name.
#[derive(Clone, Copy)]
pub(crate) struct Relation(pub(crate) Neighbours);

const RELATIONS: [Neighbours; 4] = [
    Neighbours::AddRemove,
    Neighbours::ReplaceOne,
    Neighbours::ZeroOut,
    Neighbours::KEnd,
];

impl FromPyObject<'_, '_> for Relation {
    type Error = PyErr;

    fn extract(found: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let text: String = found.extract()?;
        let known = RELATIONS.into_iter().find(|name| name.to_string() == text);
        known.map(Self).ok_or_else(|| {
            let names = RELATIONS.map(|name| name.to_string()).join(", ");
            PyValueError::new_err(format!(
                "neighbours is {text:?}, but must be one of {names}"
            ))
        })
    }
}

/// A mechanism, or many of them, as data: what is, or would be, released.
///
/// Noise multipliers are noise scale over sensitivity, the sensitivity being that of the neighbour relation of the whole
/// event. Events are values: methods give new ones, equal events compare equal, and they can be pickled.
///
/// >>> from sliver_dp.accounting import Event, epsilon_upper
/// >>> training = Event.gaussian(1.0).poisson_sampled(0.01).self_composed(1000)
/// >>> 1.8 < epsilon_upper(training, 1e-5, "add-remove") < 1.9
/// True
#[pyclass(frozen, eq, name = "Event", module = "sliver_dp.accounting")]
#[derive(Clone, PartialEq)]
pub(crate) struct PyEvent(pub(crate) Event);

/// An event whose own numbers the accountant has looked at: at delta 1 it does nothing else.
fn checked(accountant: &dyn Accountant, event: Event) -> PyResult<PyEvent> {
    accountant.epsilon(&event, 1.0).map_err(refused)?;
    Ok(PyEvent(event))
}

fn all(events: Vec<PyRef<'_, PyEvent>>) -> Vec<Event> {
    events.iter().map(|event| event.0.clone()).collect()
}

impl PyEvent {
    /// Parts that hold under one relation.
    fn together(event: Event) -> PyResult<Self> {
        event.neighbours().map_err(refused)?;
        Ok(Self(event))
    }

    fn sampled(&self, sampler: BatchDistribution) -> PyResult<Self> {
        sampler.rate().map_err(refused)?;
        Self::together(self.0.clone().sampled(sampler))
    }

    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(refused)
    }
}

#[pymethods]
impl PyEvent {
    /// Gaussian noise of standard deviation `noise_multiplier` times the L2 sensitivity.
    #[staticmethod]
    fn gaussian(noise_multiplier: f64) -> PyResult<Self> {
        let event = Event::Gaussian { noise_multiplier };
        checked(&PldAccountant::default(), event)
    }

    /// Discrete Gaussian noise of parameter `noise_multiplier` times the L2 sensitivity; accountant "rdp" covers it.
    #[staticmethod]
    fn discrete_gaussian(noise_multiplier: f64) -> PyResult<Self> {
        checked(&RdpAccountant, Event::DiscreteGaussian { noise_multiplier })
    }

    /// Laplace noise of scale `noise_multiplier` times the L1 sensitivity.
    #[staticmethod]
    fn laplace(noise_multiplier: f64) -> PyResult<Self> {
        let event = Event::Laplace { noise_multiplier };
        checked(&PldAccountant::default(), event)
    }

    /// A (0, delta)-private part of a release, which fails with probability delta in [0, 1].
    #[staticmethod]
    fn failure(delta: f64) -> PyResult<Self> {
        checked(&PldAccountant::default(), Event::Failure { delta })
    }

    /// A release without any guarantee: its epsilon is infinite.
    #[staticmethod]
    fn non_private() -> Self {
        Self(Event::NonPrivate)
    }

    /// Several events, adaptively; an empty list releases nothing.
    #[staticmethod]
    fn composed(events: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        // Flat, so that a training that is counted step by step does not nest.
        let parts = all(events).into_iter().flat_map(|event| match event {
            Event::Composed { events } => events,
            event => vec![event],
        });
        Self::together(Event::Composed {
            events: parts.collect(),
        })
    }

    /// One event for each part of a fixed public partition of the records: only the worst counts.
    ///
    /// Events that share a partition's name share its parts, in the same order. Not covered under replace-one, where
    /// a record may leave one part and enter another.
    #[staticmethod]
    fn parallel(partition: String, events: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let events = all(events);
        let event = Event::Parallel { partition, events };
        Self::together(event.clone())?;
        checked(&PldAccountant::default(), event)
    }

    /// The best of a random number of runs, each any of `events`, chosen without the data.
    ///
    /// The number follows the truncated negative binomial law of this `mean` (above 1) and `shape` (above -1; 1 is the
    /// geometric law, 0 the logarithmic one), or, where `shape` is None, the Poisson law. Neither the number nor
    /// another run's output may be released (Papernot and Steinke 2022, arXiv 2110.03620).
    #[staticmethod]
    #[pyo3(signature = (events, mean, *, shape=Some(1.0)))]
    #[pyo3(text_signature = "(events, mean, *, shape=1.0)")]
    fn selected(events: Vec<PyRef<'_, Self>>, mean: f64, shape: Option<f64>) -> PyResult<Self> {
        let events = all(events);
        let runs = match shape {
            Some(shape) => RepetitionDistribution::negative_binomial(shape, mean),
            None => RepetitionDistribution::poisson(mean),
        };
        let runs = runs.map_err(refused)?;
        PrivateSelection::new(runs, events.clone(), 0.0).map_err(refused)?;
        Ok(Self(Event::Selected { runs, events }))
    }

    /// `steps` Gaussian steps on batches of `batch` of `records` records, sampled without replacement (replace-one).
    ///
    /// The noise's deviation is noise_multiplier times the sensitivity of a sum, which is twice the norm that records are
    /// clipped to.
    #[staticmethod]
    fn dp_sgd(records: Whole, batch: Whole, steps: Whole, noise_multiplier: f64) -> PyResult<Self> {
        let step = Self::gaussian(noise_multiplier)?.sampled_without_replacement(records, batch)?;
        Ok(step.self_composed(steps))
    }

    /// This event `count` times, adaptively; 0 releases nothing.
    fn self_composed(&self, count: Whole) -> Self {
        Self(self.0.clone().repeated(count.0))
    }

    /// This event on samples that keep each record independently with probability `rate` in (0, 1].
    ///
    /// `neighbours` is "add-remove", where the rate says nothing of how many records there are, or "zero-out", where
    /// their number is public.
    #[pyo3(signature = (rate, *, neighbours=Relation(Neighbours::AddRemove)))]
    #[pyo3(text_signature = "($self, rate, *, neighbours='add-remove')")]
    fn poisson_sampled(&self, rate: f64, neighbours: Relation) -> PyResult<Self> {
        self.sampled(match neighbours.0 {
            Neighbours::AddRemove => BatchDistribution::Poisson { rate },
            Neighbours::ZeroOut => BatchDistribution::PoissonZeroOut { rate },
            other => {
                return Err(PyValueError::new_err(format!(
                    "Poisson samples hold under add-remove or zero-out neighbours, not under {other}"
                )));
            }
        })
    }

    /// This event on batches of `batch` of `records` records, sampled without replacement (replace-one).
    fn sampled_without_replacement(&self, records: Whole, batch: Whole) -> PyResult<Self> {
        let (records, batch) = (records.0, batch.0);
        self.sampled(BatchDistribution::WithoutReplacement { records, batch })
    }

    /// An upper bound on an epoch of shuffled batches of fixed size, this event being the release of a batch.
    ///
    /// For a loader that makes a fresh order of all records for each epoch and drops an incomplete last batch. Nothing is
    /// amplified: an epoch, or a part of one, costs what this event does on all records. `neighbours` is "replace-one" or
    /// "zero-out"; a record more would change the number of batches, or which record is left over.
    #[pyo3(signature = (*, neighbours=Relation(Neighbours::ReplaceOne)))]
    #[pyo3(text_signature = "($self, *, neighbours='replace-one')")]
    fn shuffled_epoch_upper(&self, neighbours: Relation) -> PyResult<Self> {
        let zero_out = match neighbours.0 {
            Neighbours::ReplaceOne => false,
            Neighbours::ZeroOut => true,
            other => {
                return Err(PyValueError::new_err(format!(
                    "shuffled batches hold under replace-one or zero-out neighbours, not under {other}: with a record \
                     more the number of batches changes, or which record is left over"
                )));
            }
        };
        self.sampled(BatchDistribution::ShuffledUpper { zero_out })
    }

    /// This event on a batch from each of several strata of public sizes (k-end neighbours).
    ///
    /// `strata`: pairs (records, batch). The largest rate counts (Rodriguez-Vitores et al. 2025, arXiv 2502.01701,
    /// lemma 5.2).
    fn sampled_from_strata(&self, strata: Vec<(Whole, Whole)>) -> PyResult<Self> {
        let of = |(records, batch): (Whole, Whole)| Stratum {
            records: records.0,
            batch: batch.0,
        };
        let strata = strata.into_iter().map(of).collect();
        self.sampled(BatchDistribution::Stratified { strata })
    }

    /// The neighbour relation that the event holds under; None where any will do.
    #[getter]
    fn neighbours(&self) -> PyResult<Option<String>> {
        let found = self.0.neighbours().map_err(refused)?;
        Ok(found.map(|name| name.to_string()))
    }

    /// The event as a line of a ledger has it.
    fn to_json(&self) -> PyResult<String> {
        self.json()
    }

    /// The event of a text that `to_json` gave, or that a ledger has.
    #[classmethod]
    fn from_json(_: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
        Self::together(serde_json::from_str(text).map_err(refused)?)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!(
            "Event.from_json('{}')",
            self.json()?.replace('\\', "\\\\").replace('\'', "\\'")
        ))
    }

    fn __hash__(&self) -> PyResult<u64> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.json()?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let read = slf.get_type().getattr("from_json")?;
        Ok((read, (slf.get().json()?,)))
    }
}

//! The traits that make releases and that can stop long work.

use dp_core::delta::default_delta;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NameCounts, NoisyVector, Releaser, SensitiveVector};
use dp_core::plan::TrainingPlan;
use dp_core::sampling::Sampler;
use private_queries::Query;

use crate::SynthError;

/// A kind of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A model is being fitted.
    Fitting {
        /// The number of steps so far.
        done: usize,
        /// The number of all steps.
        of: usize,
    },
    /// Private images are being encoded.
    Encoding,
    /// Records are being sampled.
    Sampling,
}

/// Watches long work and can stop it.
pub trait Watch {
    /// The error that stops the work.
    type Error;

    /// Returns an error to stop the work; called between steps and between parts of the records.
    ///
    /// # Errors
    /// Returns an error if somebody asked to stop.
    fn go_on(&mut self, work: Work) -> Result<(), Self::Error>;

    /// Converts an error of this crate into one of the caller.
    fn failed(error: SynthError) -> Self::Error;
}

/// Makes each release of a copy once, and writes its line to the ledger before the noise.
pub trait Releasing: Watch {
    /// Releases the result of `measure` as the plan's release `name`, or reads it again if it was stored.
    ///
    /// # Errors
    /// Returns the error of `measure`, and an error if the plan has no such release or the ledger cannot be written.
    fn release<Q: Query>(
        &mut self,
        name: &str,
        query: &Q,
        measure: impl FnOnce() -> Result<SensitiveVector, SynthError>,
    ) -> Result<Q::Answer, Self::Error>;

    /// Releases the names of `count` whose noisy counts are above the plan's threshold.
    ///
    /// # Errors
    /// Returns the errors of [`Releasing::release`].
    fn release_names(
        &mut self,
        name: &str,
        count: impl FnOnce() -> Result<NameCounts, SynthError>,
    ) -> Result<Vec<Vec<String>>, Self::Error>;
}

/// A watch that never stops the work.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    type Error = SynthError;

    fn go_on(&mut self, _: Work) -> Result<(), SynthError> {
        Ok(())
    }

    fn failed(error: SynthError) -> SynthError {
        error
    }
}

/// Plans releases of all neighbours within `epsilon`, so far without any; delta is `0.1 / n` if none is given.
///
/// # Errors
/// Returns [`SynthError::Privacy`] without neighbours.
pub fn plan_of_all(
    epsilon: f64,
    delta: Option<f64>,
    neighbours: usize,
) -> Result<TrainingPlan, SynthError> {
    let all = Sampler::fixed_size(neighbours, neighbours)?;
    let delta = delta.unwrap_or(default_delta(neighbours as f64));
    Ok(TrainingPlan::for_epsilon(epsilon, delta, 0, all))
}

/// Releases with a releaser into a ledger, and stores no release.
pub struct Direct<'a> {
    releaser: Releaser,
    ledger: &'a mut Ledger,
}

impl<'a> Direct<'a> {
    /// Creates the releasing of the releaser's plan into this ledger.
    pub fn new(releaser: Releaser, ledger: &'a mut Ledger) -> Self {
        Self { releaser, ledger }
    }
}

impl Watch for Direct<'_> {
    type Error = SynthError;

    fn go_on(&mut self, _: Work) -> Result<(), SynthError> {
        Ok(())
    }

    fn failed(error: SynthError) -> SynthError {
        error
    }
}

impl Releasing for Direct<'_> {
    fn release<Q: Query>(
        &mut self,
        name: &str,
        query: &Q,
        measure: impl FnOnce() -> Result<SensitiveVector, SynthError>,
    ) -> Result<Q::Answer, SynthError> {
        let noisy: NoisyVector = self
            .releaser
            .release_vector(name, &measure()?, self.ledger)?;
        Ok(query.read(&noisy)?)
    }

    fn release_names(
        &mut self,
        name: &str,
        count: impl FnOnce() -> Result<NameCounts, SynthError>,
    ) -> Result<Vec<Vec<String>>, SynthError> {
        Ok(self.releaser.release_names(name, &count()?, self.ledger)?)
    }
}

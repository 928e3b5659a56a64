//! Who makes the releases, and who may end long work.

use dp_core::delta::default_delta;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NameCounts, NoisyVector, Releaser, SensitiveVector};
use dp_core::plan::TrainingPlan;
use dp_core::sampling::Sampler;
use private_queries::Query;

use crate::SynthError;

/// What takes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A model is fitted: `done` of `of` steps were made.
    Fitting {
        /// Steps that were made.
        done: usize,
        /// All steps.
        of: usize,
    },
    /// Private images are encoded.
    Encoding,
    /// Records are sampled.
    Sampling,
}

/// Looks on while something takes long.
pub trait Watch {
    /// Why it ended.
    type Error;

    /// Whether to go on: called between steps and between parts of the records; an error ends the work.
    ///
    /// # Errors
    /// If somebody asked to stop.
    fn go_on(&mut self, work: Work) -> Result<(), Self::Error>;

    /// An error of this crate as one of the caller.
    fn failed(error: SynthError) -> Self::Error;
}

/// Makes the releases of a copy: each once, with its line in the ledger before the noise.
pub trait Releasing: Watch {
    /// Releases what `measure` gives as the plan's release `name`, or reads it again if it was kept.
    ///
    /// # Errors
    /// As `measure`; if the plan has no such release, or the ledger cannot be written.
    fn release<Q: Query>(
        &mut self,
        name: &str,
        query: &Q,
        measure: impl FnOnce() -> Result<SensitiveVector, SynthError>,
    ) -> Result<Q::Answer, Self::Error>;

    /// The same of names, of which those above the plan's threshold are released.
    ///
    /// # Errors
    /// As [`Releasing::release`].
    fn release_names(
        &mut self,
        name: &str,
        count: impl FnOnce() -> Result<NameCounts, SynthError>,
    ) -> Result<Vec<Vec<String>>, Self::Error>;
}

/// Goes on to the end.
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

/// A plan within `epsilon` of releases of all neighbours, of which it has none yet; with delta `0.1 / n` if none is given.
///
/// # Errors
/// [`SynthError::Privacy`] without neighbours.
pub fn plan_of_all(
    epsilon: f64,
    delta: Option<f64>,
    neighbours: usize,
) -> Result<TrainingPlan, SynthError> {
    let all = Sampler::fixed_size(neighbours, neighbours)?;
    let delta = delta.unwrap_or(default_delta(neighbours as f64));
    Ok(TrainingPlan::for_epsilon(epsilon, delta, 0, all))
}

/// Releases by a releaser into a ledger, and keeps nothing.
pub struct Direct<'a> {
    releaser: Releaser,
    ledger: &'a mut Ledger,
}

impl<'a> Direct<'a> {
    /// All releases of the releaser's plan go to this ledger.
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

//! What is released of the private records, and what a step sees of it.

use lab::diagnostic::Failure;
use lab::session::{Part, Session};
use swd::FlowTarget;

use super::train::Generate;

/// The settings of one kind of release, and what it does by them.
pub trait Release: Part {
    /// Its name on the command line.
    const NAME: &'static str;
    /// What it does, for `--help`.
    const ABOUT: &'static str;
    /// The values that no flag gives.
    const PRESET: &'static str;

    /// Private records in a batch, where each step makes a release of its own.
    fn batch(&self) -> Option<usize> {
        None
    }

    /// What the one-hot class behind an image is multiplied by, where rows have one.
    fn label_weight(&self) -> Option<f64> {
        None
    }

    /// Makes the release of a step, or the one before the first step: targets for equal parts of the generated rows.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the ledger cannot be written; nothing has left then.
    fn targets(
        run: &mut Generate<Self>,
        session: &mut Session,
    ) -> Result<Vec<Box<dyn FlowTarget>>, Failure>;
}

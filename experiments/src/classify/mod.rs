//! A private classifier of labelled images, or of rows such as embeddings: public features, and a linear head that learns by private
//! gradient descent. [`predict`](Predict) uses it, and reads no private record.

mod input;
mod model;
mod predict;
mod report;
mod run;
mod score;
mod settings;

pub use predict::Predict;
pub use settings::{Flags, Settings};

pub(crate) use predict::run as predict;
pub(crate) use run::Classify;

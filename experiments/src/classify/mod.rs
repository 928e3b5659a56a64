//! A private model of the labels of images, or of rows such as embeddings: public features, and a linear head that learns by private
//! gradient descent; or of a table, by counts that are released once. [`predict`](Predict) uses it, and reads no private record.

mod input;
mod model;
mod predict;
mod report;
mod run;
mod score;
mod settings;
mod table;
mod values;

pub use predict::Predict;
pub use settings::{Flags, Settings};

pub(crate) use predict::run as predict;
pub(crate) use run::Classify;
pub(crate) use table::ClassifyTable;

use report::publish;
use run::finished;

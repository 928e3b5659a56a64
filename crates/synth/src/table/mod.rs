//! A private copy of a table: counts of its columns, of pairs of columns and of pairs with the label are released once, a mixture
//! of products is fitted to all of them, and the copy is sampled from it.

mod bins;
mod bought;
mod classifier;
mod copy;
mod measured;
mod model;
mod records;
mod rules;
mod smooth;

pub use bins::{Bins, grouped};
pub use bought::RANGES;
pub use classifier::{CLASSES, Classifier, Influence, check_classes};
pub use copy::{COLUMNS, Fitted, PAIRS, Released, TableCopy, check_size};
pub use measured::{Aim, pair_noise};
pub use model::{Model, Signal, independent};
pub use records::{PerUnit, Reading, Records};

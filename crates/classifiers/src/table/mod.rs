//! Models of tables: what tells the label of a record from its other columns. They learn from any coded records, such as samples of
//! a private copy, and cost nothing beyond these.

mod features;
mod logistic;
mod model;
mod records;
mod tensors;
mod trees;

pub use model::{Learner, TableModel};
pub use records::CodedRecords;

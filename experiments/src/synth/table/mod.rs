//! A private copy of a table: counts of its columns, of pairs of them and of pairs with the label are released once, a
//! mixture of products is fitted to all of them, and its samples are the copy. Every record is private.

mod bins;
mod bought;
mod copy;
mod input;
mod marginals;
mod measured;
mod model;
mod pictures;
mod report;
mod rules;
mod run;
mod settings;
mod smooth;

pub(crate) use copy::export as export_table;
pub(crate) use input::names_table;
pub(crate) use run::TableCopy;

//! A private model of one column of a table: counts are released as for a copy, and a classifier learns from samples of what is fitted to
//! them.

mod report;
mod run;
mod settings;

pub(crate) use run::ClassifyTable;

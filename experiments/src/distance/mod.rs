//! The private sliced distance between two files, its error, and a two-sample test on it
//! ([`private_queries::distance`]).

pub(crate) mod figure;
pub(crate) mod power;
mod report;
mod run;
mod settings;

pub use run::Distance;

//! The private sliced distance between two files, its error, and a two-sample test on it
//! ([`private_queries::distance`]).

mod report;
mod run;
mod settings;

pub use run::Distance;

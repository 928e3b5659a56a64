//! A private copy of a table, or of labelled images: their moments are released once, class by class and then cell by cell, in a public
//! latent space; samples of the mixture are decoded. Or, as a baseline, a generator learns from what is released. Every record is
//! private.

mod generated;
mod input;
mod method;
mod private_score;
mod public;
mod report;
mod run;
mod same_input;
mod samples;
mod settings;
mod table;

pub use settings::{Flags, Settings};

pub(crate) use run::Synth;
pub(crate) use samples::sampler;
pub(crate) use table::{TableCopy, export_table, names_table};

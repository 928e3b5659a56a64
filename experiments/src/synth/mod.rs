//! A private copy of a table, or of labelled images. By default the moments of images are released once, class by class and then cell by
//! cell, in a public latent space, and samples of the mixture are decoded; other methods release other things. Every record is private,
//! unless `--public half` is said.

mod baseline;
mod generated;
mod input;
mod method;
mod plan;
mod private_score;
mod public;
mod report;
mod run;
mod samples;
mod settings;
mod space;
mod table;

pub use settings::{Flags, Settings};

pub(crate) use run::Synth;
pub(crate) use samples::sampler;
pub(crate) use table::{TableCopy, export_table};

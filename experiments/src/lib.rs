//! The experiments, each a subcommand of [`program`].

// It is not published: its names say what is plain.
#![allow(missing_docs)]

mod apart;
pub mod classify;
pub mod distance;
pub mod export;
pub mod fair;
mod generators;
mod images;
mod in_run;
pub mod ldp;
mod objective;
mod pictures;
pub mod privatise;
pub mod program;
mod random;
mod records;
pub mod schema;
mod scores;
pub mod swae;
pub mod synth;
mod tables;
mod variation;

//! The experiments, each a subcommand of [`program`].

pub mod adapt;
pub mod audit;
pub mod circle;
pub mod cost;
mod devices;
pub mod distance;
pub mod export;
pub mod fair;
pub mod flow;
pub mod generator;
mod generators;
mod latents;
pub mod ldp;
mod objective;
mod particles;
mod pictures;
pub mod privatise;
pub mod program;
mod random;
mod records;
mod scores;
mod settings;
pub mod swae;
mod trained;
mod variation;

//! The experiments, each a subcommand of [`program`].

pub mod adapt;
mod apart;
mod decoded;
pub mod distance;
pub mod export;
pub mod fair;
mod generators;
mod in_run;
mod judges;
mod latents;
pub mod ldp;
mod objective;
mod pictures;
pub mod privatise;
pub mod program;
mod random;
mod records;
pub mod schema;
mod scores;
mod space;
pub mod swae;
pub mod synth;
mod trained;
mod variation;

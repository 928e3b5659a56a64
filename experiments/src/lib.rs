//! The experiments; each binary is a thin main over one module here.

pub mod adapt;
pub mod audit;
pub mod circle;
pub mod cost;
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
mod records;
mod release;
mod scores;
pub mod swae;
mod trained;
mod variation;

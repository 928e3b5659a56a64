//! Experiments that reproduce the papers; each binary is a thin main over one module here.

pub mod cost;
pub mod fair;
pub mod flow;
mod not_private;
mod objective;
mod scores;
mod spent;
pub mod swae;
mod uses;
mod weights;

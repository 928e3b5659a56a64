//! Experiments that reproduce the papers; each binary is a thin main over one module here.

pub mod adapt;
pub mod cost;
pub mod fair;
pub mod flow;
mod objective;
mod scores;
pub mod swae;
mod trained;

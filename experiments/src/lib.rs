//! Experiments that reproduce the papers; each binary is a thin main over one module here.

pub mod account;
pub mod cost;
pub mod fair;
pub mod figures;
pub mod flow;
mod objective;
pub mod report;
mod scores;
pub mod swae;
pub mod sweep;

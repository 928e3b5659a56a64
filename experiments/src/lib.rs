//! Experiments that reproduce the papers; each binary is a thin main over one module here.

pub mod account;
pub mod report;
pub mod swae;

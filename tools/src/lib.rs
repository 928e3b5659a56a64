//! Binaries that read and plan, and need no tensors: `account`, `report`, `figures`, `sweep`.

#![forbid(unsafe_code)]

pub mod account;
pub mod figures;
pub mod report;
pub mod sweep;

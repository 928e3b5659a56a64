//! What reads and plans, and needs no tensors: the subcommands `account`, `report` and `sweep`. The first is a
//! program of its own too.

#![forbid(unsafe_code)]

pub mod account;
pub mod report;
pub mod sweep;

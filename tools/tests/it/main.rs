//! The tools as a person runs them, through their binaries.

mod account;
mod figures;
mod pipe;
mod report;
mod sweep;

//! The tools as a person runs them.

mod account;
mod figures;
#[cfg(unix)]
mod sweep;

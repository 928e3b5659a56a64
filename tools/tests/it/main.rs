//! The tools as a person runs them.

mod account;
#[cfg(unix)]
mod sweep;

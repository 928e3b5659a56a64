//! Private training: its promise, its engines and what it refuses.

mod common;
mod contract;
mod engines;
mod poisson_contract;
mod refusals;
mod resume;

//! Private training: its promise, its engines and what it refuses.

mod adaptive;
mod contract;
mod correlated;
mod engines;
mod extremes;
mod poisson_contract;
mod ranks;
mod refusals;
mod resume;
mod two_maps;

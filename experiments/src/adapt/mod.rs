//! Private domain adaptation (Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, algorithm 2 and section 6.2).
//!
//! Source records and their labels are public; target records are private and have no labels. What is read of them
//! is released with noise: once, histograms of their projected pixels (`warped`); or at each step, gradients of the sliced
//! distance (`matching`). A run has one plan and one ledger.

mod domains;
mod evaluate;
mod fit;
mod images;
mod matching;
mod network;
mod public;
mod report;
mod settings;
#[cfg(test)]
mod tests;
mod train;
mod warped;

pub(crate) use matching::Sliced;
pub(crate) use settings::Source;
pub(crate) use train::Adapt;
pub(crate) use warped::Warped;

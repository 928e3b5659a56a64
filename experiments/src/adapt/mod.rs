//! Private domain adaptation (Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, algorithm 2 and section 6.2).
//!
//! Source records and their labels are public; target records are private and have no labels. What is read of them
//! leaves as releases alone: noisy projections of their features (`matching`), or clipped and noisy gradients of a
//! discriminator (`adversary`). All of a run's releases are steps of one plan, on batches of one sampler, with one ledger.

mod adversary;
mod domains;
mod evaluate;
mod images;
mod matching;
mod network;
mod public;
mod report;
mod settings;
#[cfg(test)]
mod tests;
mod train;

pub(crate) use adversary::Dann;
pub(crate) use matching::Sliced;
pub(crate) use settings::Source;
pub(crate) use train::Adapt;

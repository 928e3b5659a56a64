//! The private sliced distance between two files, its error, and a two-sample test on it (Rakotomamonjy and Ralaivola
//! 2021, arXiv 2107.01848).
//!
//! The protected rows leave once, as noisy projections ([`swd::smoothed`]); a public side gets the same noise.
//! Whatever follows is post-processing: the distance, corrected for its bias by independent halves of the rows; its
//! error over slices, rows and noise; and a permutation test, which is exact because released rows of both sides can be
//! exchanged where both have one distribution.

pub(crate) mod barycentre;
mod estimate;
pub(crate) mod figure;
mod permutation;
pub(crate) mod power;
mod released;
mod report;
mod run;
mod settings;

pub use run::Distance;

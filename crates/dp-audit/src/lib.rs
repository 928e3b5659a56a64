#![doc = include_str!("../README.md")]
//!
//! # Choice of an estimator
//!
//! An accountant bounds the leak of a mechanism from above. An audit attacks the mechanism, or a whole training, and bounds the
//! leak from below: a lower bound above the claim shows a bug of the mechanism, of its accounting or of the claim. The attack
//! comes here as *scores*: one number for each run, or for each canary, larger if the attack believes that the record took part.
//!
//! | scores of | estimator | assumptions |
//! |---|---|---|
//! | many runs, with and without one record | [`AttackCounts::lower_bound`] | none |
//! | the same | [`AttackCounts::gaussian_lower_bound`] | the trade-off curve is a Gaussian mechanism's |
//! | the same, or the canaries of one run | [`gaussian_law`] | the scores are normal with one variance |
//! | one run, many canaries | [`CanaryGuesses::lower_bound`] | none |
//! | the same | [`CanaryGuesses::gaussian_lower_bound`] | the trade-off curve is a Gaussian mechanism's |
//! | pairs of runs, one after the other | [`Sequential`] | none against a [`Claim`] |
//!
//! Each [`LowerBound`] names its assumption, and is printed rounded down. A [`Claim`] is the whole trade-off curve that an
//! accountant promises; the same scores test it without assuming a Gaussian curve.

#![forbid(unsafe_code)]

mod bound;
mod claim;
mod gaussian_law;
mod goodness;
mod many_runs;
mod noncentral_t;
mod one_run;
mod order;
mod search;
mod sequential;

pub use bound::{Assumption, LowerBound, Verdict};
pub use claim::Claim;
pub use gaussian_law::gaussian_law;
pub use goodness::{KolmogorovSmirnov, kolmogorov_smirnov};
pub use many_runs::{AttackCounts, Scores};
pub use one_run::{CanaryGuesses, best_guesses};
pub use sequential::Sequential;

#[cfg(test)]
mod tests;

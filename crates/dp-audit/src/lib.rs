#![doc = include_str!("../README.md")]
//!
//! # Which estimator
//!
//! An accountant says what a mechanism leaks at most. An audit attacks the mechanism, or a whole training, and
//! says what it leaks at least: a lower bound above the claim is a bug of the mechanism, of its accounting or of
//! the claim. Whatever is attacked, it comes here as *scores*: one number a run, or one a canary, larger where the
//! attack believes that the record took part.
//!
//! | scores of | estimator | assumes |
//! |---|---|---|
//! | many runs, with and without one record | [`Counts::lower_bound`] | nothing |
//! | the same | [`Counts::gaussian_lower_bound`] | that the trade-off curve is a Gaussian mechanism's |
//! | the same, or the canaries of one run | [`gaussian_law`] | that the scores are normal, with one variance |
//! | one run, many canaries | [`Guesses::lower_bound`] | nothing |
//! | the same | [`Guesses::gaussian_lower_bound`] | that the trade-off curve is a Gaussian mechanism's |
//! | pairs of runs, one after the other | [`Sequential`] | nothing against a [`Claim`] |
//!
//! Every [`LowerBound`] says what it assumes, and is printed rounded down. A [`Claim`] is what an accountant
//! promises, with its whole curve: it can be tested by the same scores without assuming a Gaussian one.

#![forbid(unsafe_code)]

mod bound;
mod claim;
mod gaussian_law;
mod goodness;
mod many_runs;
mod noncentral_t;
mod one_run;
mod search;
mod sequential;

pub use bound::{Assumption, LowerBound, Verdict};
pub use claim::Claim;
pub use gaussian_law::gaussian_law;
pub use goodness::{KolmogorovSmirnov, kolmogorov_smirnov};
pub use many_runs::{Counts, Scores};
pub use one_run::{Guesses, best_guesses};
pub use sequential::Sequential;

#[cfg(test)]
mod tests;

//! What an attack proves of a mechanism: lower bounds on epsilon, to hold against what is claimed of it.
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
//! No score is needed where a training can be run twice with the same randomness: a [`Recording`] of all that reached
//! a mechanism is held against that of a neighbour, and against what is declared of it.
//!
//! Every [`LowerBound`] says what it assumes, and is printed rounded down. A [`Claim`] is what an accountant
//! promises, with its whole curve: it can be tested by the same scores without assuming a Gaussian one.
//!
//! ```
//! use dp_accountant::audit::{Counts, Verdict};
//!
//! // Of 10000 runs with the record, the attack recognised 8400; of as many without, it raised 1600 alarms.
//! let counts = Counts::new((8_400, 10_000), (1_600, 10_000))?;
//! let bound = counts.gaussian_lower_bound(1e-5, 0.95)?;
//! assert!(bound.epsilon > 9.5);
//! assert_eq!(bound.against(4.0), Verdict::Violated);
//! # Ok::<(), dp_accountant::accounting::AccountingError>(())
//! ```

pub mod binomial;
mod bound;
mod claim;
mod gaussian_law;
mod goodness;
mod many_runs;
mod noncentral_t;
mod one_run;
mod replay;
mod sequential;

pub use bound::{Assumption, LowerBound, Verdict};
pub use claim::Claim;
pub use gaussian_law::gaussian_law;
pub use goodness::{KolmogorovSmirnov, kolmogorov_smirnov};
pub use many_runs::{Counts, Scores};
pub use one_run::{Guesses, best_guesses};
pub use replay::{Fault, Recorded, Recording};
pub use sequential::Sequential;

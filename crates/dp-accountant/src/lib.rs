#![doc = include_str!("../README.md")]
//!
//! # Where what is
//!
//! - [`accounting`]: from events, which say what is released, to epsilon and delta;
//! - [`sampling`]: how the records of a step are sampled, and the event that this makes of a release;
//! - [`plan`]: sampler, noise, steps and other releases as one value, checked once;
//! - [`ledger`]: the record of what was released, and what it cost;
//! - [`delta`] and [`decimal`]: what delta must stay below, and bounds that stay bounds when they are printed.
//!
//! # Mechanisms
//!
//! | [`accounting::Event`] | what it is | accountants that cover it |
//! |---|---|---|
//! | `Gaussian`, `Laplace` | noise in proportion to a sensitivity | `pld`, `rdp`; Gaussian noise on all records also `gaussian` |
//! | `CorrelatedGaussian` | all steps of a training on fixed batches, with noise that is correlated over steps | `gaussian`, `pld`, `rdp` |
//! | `DiscreteGaussian` | discrete Gaussian noise on whole numbers | `rdp` |
//! | `ExponentialMechanism`, `Pure`, `Zcdp` | anything of which that is known | `pld` and `rdp`, `rdp` alone for `Zcdp` |
//! | `Sampled`, `SelfComposed`, `Composed`, `Parallel`, `Group` | an event on a sample, many times, beside others, on public groups, for several records | those of its parts |
//! | `Selected` | the best of a random number of runs | `pld` |
//! | `Failure` | what fails with a probability of delta | those of the rest |
//!
//! # Samplers
//!
//! [`sampling`] has those that draw batches, with what each is to the accountants. [`accounting::BatchDistribution`] has others for
//! accounting alone: `PoissonTruncated`, `RandomAllocation`, `ShuffledUpper`.

#![forbid(unsafe_code)]

pub mod accounting;
pub mod decimal;
pub mod delta;
mod error;
pub mod ledger;
pub mod plan;
pub mod sampling;

pub use error::DpError;

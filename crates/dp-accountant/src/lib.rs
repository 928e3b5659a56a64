#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! - [`accounting`]: events, which describe releases, and accountants, which turn events into epsilon and delta;
//! - [`sampling`]: samplers of the records of a step, and the events of sampled releases;
//! - [`plan`]: sampler, noise, steps and other releases as one value that is checked once;
//! - [`ledger`]: the record of all releases, and its cost;
//! - [`delta`] and [`decimal`]: the largest sensible delta, and bounds that stay bounds when they are printed.
//!
//! # Mechanisms
//!
//! | [`accounting::Event`] | mechanism | accountants that cover it |
//! |---|---|---|
//! | `Gaussian`, `Laplace` | noise in proportion to a sensitivity | `pld`, `rdp`; Gaussian noise on all records also `gaussian` |
//! | `CorrelatedGaussian` | all steps of a training on fixed batches, with noise that is correlated over steps | `gaussian`, `pld`, `rdp` |
//! | `DiscreteGaussian` | discrete Gaussian noise on whole numbers | `rdp` |
//! | `ExponentialMechanism`, `Pure`, `Zcdp` | any mechanism with that guarantee | `pld` and `rdp`, `rdp` alone for `Zcdp` |
//! | `Sampled`, `SelfComposed`, `Composed`, `Parallel`, `Group` | an event on a sample, many times, beside others, on public parts, for several records | those of its parts |
//! | `Selected` | the best of a random number of runs | `pld` |
//! | `Failure` | a failure with a probability of delta | those of the other parts |
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
#[doc(hidden)]
pub mod numerics;
pub mod plan;
pub mod sampling;

pub use error::DpError;

#![doc = include_str!("../README.md")]
//!
//! # Where what is
//!
//! - [`accounting`]: from events, which say what is released, to epsilon and delta;
//! - [`sampling`]: how the records of a step are sampled, and the event that this makes of a release;
//! - [`plan`]: sampler, noise, steps and other releases as one value, checked once;
//! - [`ledger`]: the record of what was released, and what it cost;
//! - [`audit`]: what an attack proves of a mechanism, to hold against what is claimed of it;
//! - [`delta`] and [`decimal`]: what delta must stay below, and bounds that stay bounds when they are printed.

#![forbid(unsafe_code)]

pub mod accounting;
pub mod audit;
pub mod decimal;
pub mod delta;
pub mod error;
pub mod ledger;
pub mod plan;
pub mod sampling;

pub use error::DpError;

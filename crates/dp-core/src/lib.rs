#![doc = include_str!("../README.md")]
//!
//! # Where what is
//!
//! - [`sampling`]: how the records of a step are sampled;
//! - [`per_sample`]: norms and Gram matrices of per-record gradients without ever forming them
//!   (book-keeping), and the clipping that they allow;
//! - [`mechanism`]: a gradient that knows its sensitivity, and the only way from there to an
//!   optimizer: a release that is written to the [`ledger`] before the noise leaves;
//! - [`local`]: records that are privatised by their owner, each by itself;
//! - [`accounting`]: from what the ledger holds to epsilon and delta.
//!
//! Accounting, audits, plans, ledger and samplers are those of [`dp_accountant`], which has no tensors.
//!
//! A [`plan`] couples sampler, neighbours, noise, steps, one-off releases and accountant, and is checked
//! once. Its [`mechanism::Releaser`] draws each step's records and releases what was sampled, nothing else.

#![deny(unsafe_code)]

pub mod local;
pub mod mechanism;
pub mod per_sample;
pub mod sampling;

pub use dp_accountant::{DpError, accounting, audit, decimal, delta, error, ledger, plan};

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
//! Accounting, plans, ledger and samplers are those of [`dp_accountant`], which has no tensors.
//!
//! # Layers
//!
//! What [`per_sample::nn::Chain`] takes; where every layer has a host kernel, eight records run
//! side by side on the CPU; else the whole network runs on tensors.
//!
//! | layers | kernels on the host |
//! |---|---|
//! | linear, of a record as one row of features | yes |
//! | convolutions in one and two dimensions, transposed ones in two | yes |
//! | pools, adaptive pools, nearest upsampling | yes |
//! | activations, affine maps | yes, most |
//! | linear at every place of a sequence, embedding, transpose, dropout | no |
//! | layer, RMS and group normalisation | no |
//! | residual and concatenated parts | no |
//! | any module, by autodiff of one record at a time (`by_record`) | no |
//!
//! # Samplers and mechanisms
//!
//! Those of [`dp_accountant`], whose opening page has the tables. Batch normalisation is refused: it mixes records.
//!
//! A [`plan`] couples sampler, neighbours, noise, steps, one-off releases and accountant, and is checked
//! once. Its [`mechanism::Releaser`] draws each step's records and releases what was sampled, nothing else.

#![deny(unsafe_code)]

pub mod local;
pub mod mechanism;
pub mod per_sample;
pub mod sampling;

pub use dp_accountant::{DpError, accounting, decimal, delta, ledger, plan};

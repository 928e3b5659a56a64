#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! - [`sampling`] samples the records of a step.
//! - [`per_sample`] computes norms and Gram matrices of per-record gradients without forming the gradients
//!   (book-keeping), and clips by these norms.
//! - [`mechanism`] couples a gradient with its sensitivity. An optimizer takes only a released gradient, and each
//!   release is written to the [`ledger`] before the noisy value leaves.
//! - [`local`] lets each owner privatise a record alone.
//! - [`accounting`] turns the events of the ledger into epsilon and delta.
//!
//! Accounting, plans, ledger and samplers come from [`dp_accountant`], which has no tensors.
//!
//! # Layers
//!
//! [`per_sample::nn::Chain`] takes these layers. If every layer has a host kernel, the CPU runs eight records side by
//! side; otherwise the whole network runs on tensors.
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
//! [`dp_accountant`] has the tables. Batch normalisation is refused, because it mixes records.
//!
//! A [`plan`] couples sampler, neighbours, noise, steps, one-off releases and accountant, and is checked once. Its
//! [`mechanism::Releaser`] draws each step's records, and a step releases values of these records only.

#![forbid(unsafe_code)]

pub mod local;
pub mod mechanism;
pub mod per_sample;
pub mod sampling;

pub use dp_accountant::{DpError, accounting, decimal, delta, ledger, plan};

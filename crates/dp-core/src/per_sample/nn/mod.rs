//! burn's layers with per-record gradients.
//!
//! A model keeps its `burn::nn` fields, its records and its `Config::init`. A [`Chain`] lists its layers in order,
//! and makes its private steps fast.

mod chain;
mod composite;
mod conv;
mod conv_transpose;
mod dropout;
mod embedding;
mod formed;
mod geometry;
mod linear;
mod norm;
mod patches;
mod pointwise;
mod pool;
mod pull;
mod rows;
mod transpose;
mod weight;

pub use chain::Chain;
pub use dropout::dropout_mask;
pub(crate) use rows::lost;
pub(crate) use weight::slot;

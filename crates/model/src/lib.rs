//! Layers that know their per-record gradients, and the architectures built from them.
//!
//! Everything here is a burn `Module`: burn's optimizers, autodiff and checkpoints work on it.
//! What is added is [`dp_core::per_sample::Layer`], so that the same weights can also be trained on
//! private records.

pub mod adam;
pub mod ema;
pub mod error;
pub mod fairness;
pub mod generator;
pub mod latent;
pub mod layers;
pub mod penalised;
pub mod swae;
pub mod weights;

pub use error::ModelError;

//! Layers that know their per-record gradients, the architectures built from them, and private steps.
//!
//! Layers and architectures are burn `Module`s: burn's optimizers, autodiff and checkpoints work on
//! them. What is added is [`dp_core::per_sample::Layer`], so that the same weights can also be trained on
//! private records: [`penalised`] takes such a step, for [`swae`] and for [`fairness`].

pub mod adam;
pub mod descent;
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

//! Architectures, and the layers that they are built from.
//!
//! Layers and architectures are burn `Module`s: burn's optimizers, autodiff and checkpoints work on
//! them. What is added is [`dp_core::per_sample::Layer`], with host kernels, so that the same weights can also be
//! trained on private records by [`private_training`].

pub mod adam;
pub mod descent;
pub mod ema;
pub mod error;
pub mod generator;
pub mod latent;
pub mod layers;
pub mod postprocess;
pub mod swae;
pub mod weights;

pub use error::ModelError;

//! Model architectures, built from the layers of `burn::nn`.
//!
//! They are burn `Module`s: burn's optimizers, autodiff and checkpoints work on them. Each describes its layers
//! ([`dp_core::per_sample::nn::Chain`]), so that [`private_training`] can train the same weights on private records.

pub mod generator;
pub mod latent;
pub mod layers;
pub mod swae;

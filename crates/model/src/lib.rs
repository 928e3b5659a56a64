//! Architectures, of the layers of `burn::nn`.
//!
//! They are burn `Module`s: burn's optimizers, autodiff and checkpoints work on them. Each says of which layers it
//! is made ([`dp_core::per_sample::nn::Chain`]), so that the same weights can also be trained on private records by
//! [`private_training`].

pub mod generator;
pub mod latent;
pub mod layers;
pub mod swae;

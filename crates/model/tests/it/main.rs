//! The architectures, and the private step of the autoencoder.

mod latent;
mod swae_gradient;

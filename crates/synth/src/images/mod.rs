//! A private copy of labelled images in a public latent space: the moments of each class are released, then those of the cells that
//! each class is cut into, and the samples of these Gaussians are decoded.

mod encoded;
mod mixture;
mod sizes;

pub use encoded::Encoded;
pub use mixture::{Mixed, Mixing, apportion, normalise};
pub use sizes::{Signal, public_images};

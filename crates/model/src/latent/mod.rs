//! Latent spaces for flows: autoencoders that are trained on public images alone.
//!
//! Nothing here is private or has to be: a [`LatentSpace`] is fixed before private records are seen,
//! so encoding them is a map of one record at a time, and decoding is post-processing. Autodiff
//! trains it, or on a CPU host kernels where it has them ([`HostSpace`]).

mod dcgan;
mod host;
mod small;
mod space;

pub use dcgan::DcganAutoencoder;
pub use host::HostSpace;
pub use small::SmallAutoencoder;
pub use space::{ImageShape, LatentSpace, padded, rebuild_images};

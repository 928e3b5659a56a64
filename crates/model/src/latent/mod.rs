//! Latent spaces for flows: autoencoders that are trained on public images only.
//!
//! Nothing here is private or needs to be. A [`LatentSpace`] is fixed before private records are seen, so encoding maps one
//! record at a time, and decoding is post-processing. Autodiff trains it; on a CPU, host kernels do if it has them
//! ([`HostSpace`]).

mod dcgan;
mod host;
mod small;
mod space;

pub use dcgan::DcganAutoencoder;
pub use host::HostSpace;
pub use small::SmallAutoencoder;
pub use space::{ImageShape, LatentSpace, padded, rebuild_images};

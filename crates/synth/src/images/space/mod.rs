//! Latent spaces of images that need no private record: cosines, and cosines that public images refine.

mod cosines;
mod refined;

pub use cosines::CosineSpace;
pub use refined::RefinedCosines;

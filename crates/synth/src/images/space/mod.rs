//! Latent spaces of images that need no private record: cosines, and spaces trained on public images.

mod cosines;
mod learned;
mod refined;

pub use cosines::CosineSpace;
pub use learned::{Space, SpaceForm, SpaceKind, SpaceTraining};
pub use refined::RefinedCosines;

//! Generating points on a circle (Rodriguez-Vitores, Lalanne and Loubes 2025, arXiv 2502.01701, appendix D.2).
//!
//! A network maps standard Gaussian points of the plane to the circle of radius 3/4, by private gradients of the
//! sliced distance: both the points that it is fed and those of the circle are private. Beside it stands the
//! smoothed distance (Rakotomamonjy and Ralaivola 2021) in the form of Greenewald et al. 2024: one sub-sample of the
//! circle leaves once as noisy projections, and the generated points get the same noise.

mod report;
mod settings;
mod smoothed;
mod train;

pub use settings::{Gradients, Smoothed};
pub(crate) use train::Circle;

/// The map of the paper, 2 -> 128 -> 64 -> 64 -> 2 with rectifiers.
pub(crate) type Map = model::layers::Mlp;

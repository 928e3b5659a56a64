#![doc = include_str!("../README.md")]
//!
//! # Distances
//!
//! | distance | function | bound on the sensitivity of its gradient |
//! |---|---|---|
//! | squared sliced Wasserstein | [`SlicedWasserstein`], [`transport::tensor::sliced_w2_squared`], [`transport::host::sliced_gradient_and_distance`] | [`sensitivity`] |
//! | sliced, with another cost (powers, Huber) | [`Cost`], [`transport::host::sliced_cotangents_and_cost`] | [`sensitivity::Norms::line_bound`], [`sensitivity::Norms::prior_bound`] |
//! | smoothed, to noisy projections | [`smoothed::smoothed_distance_and_gradient`] | not needed: the projections have the noise |
//! | on a line, any weights and powers | [`transport::line`], [`transport::tensor::w2_squared_1d`], [`transport::tensor::wp_power_1d`] | [`sensitivity::Norms::line_bound`]; none for `W_1` and for roots |
//! | entropic (Sinkhorn), and its divergence | [`sinkhorn::Sinkhorn`] | none |
//!
//! # Modules
//!
//! [`Slices`] are the directions to project on. [`TargetQuantiles`] holds the quantile cells of a target in each slice.
//! [`transport`] computes residuals, cotangents and squared distances. [`sensitivity`] bounds how far the gradient moves
//! when one record is replaced, for powers above 1 and the Huber cost.
//!
//! [`sinkhorn`] is entropic transport, whose minimiser is the distribution before a known noise.
//!
//! [`SlicedWasserstein`] is the distance as a loss of burn.
//!
//! [`smoothed`] computes the distance to noisy projections of private records. They are a [`FlowTarget`] for the particles of
//! [`flow`]. Nothing here is released: the crate `private-queries` measures private records.

#![forbid(unsafe_code)]

mod ball;
mod breakpoints;
pub mod cells;
mod check;
mod cost;
pub mod device;
mod error;
mod fields;
pub mod flow;
mod gaussian;
mod loss;
mod normal;
mod region;
pub mod sensitivity;
mod signs;
pub mod sinkhorn;
mod slices;
pub mod smoothed;
pub mod sort;
mod sphere;
pub mod transport;

pub use ball::UniformBall;
pub use cells::TargetQuantiles;
pub use cost::Cost;
pub use error::SwdError;
pub use flow::{FlowTarget, Particles};
pub use gaussian::StandardGaussian;
pub use loss::{SlicedWasserstein, SlicedWassersteinConfig};
pub use region::{NormBound, RADII};
pub use slices::Slices;
pub use sphere::UniformSphere;

//! Sliced Wasserstein distances for burn, with the sensitivity of their gradients.
//!
//! [`Slices`] are directions to project on; [`Cells`] the quantile cells of a target in each of
//! them; [`transport`] has the residuals, cotangents and squared distances, and [`sensitivity`]
//! says how far the gradient can move when one record is replaced. Only `p = 2` is offered: for
//! other orders the gradient has no such bound.

#![forbid(unsafe_code)]

mod ball;
mod breakpoints;
pub mod cells;
mod error;
pub mod sensitivity;
pub mod slices;
pub mod sort;
pub mod transport;

pub use ball::UniformBall;
pub use cells::Cells;
pub use error::SwdError;
pub use slices::Slices;

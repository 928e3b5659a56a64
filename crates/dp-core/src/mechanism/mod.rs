//! From a bounded gradient to a private one.
//!
//! [`BoundedGradient`] couples a gradient with its sensitivity and with the draw that it is of;
//! [`Releaser::release`] writes the event to the ledger, adds the noise, and gives a
//! [`ReleasedGradient`], the only form that an optimizer takes.

mod bounded;
pub(crate) mod discrete;
mod gaussian;
mod gradient;
pub(crate) mod laplace;
mod noise;
mod releaser;
mod sensitivity;

pub use bounded::{BoundedGradient, BoundedVector};
pub use discrete::DiscreteGaussian;
pub use gradient::{ParameterGradient, ReleasedGradient};
pub use noise::{NoiseSource, NoiseState};
pub use releaser::Releaser;
pub use sensitivity::{F32_SLACK, Sensitivity};

//! From a bounded gradient to a private one.
//!
//! [`BoundedGradient`] couples a gradient with its sensitivity; [`GaussianMechanism::release`]
//! writes the event to the ledger, adds the noise, and gives a [`ReleasedGradient`], the only form
//! that an optimizer takes.

mod gaussian;
mod gradient;
mod laplace;
mod noise;

pub use gaussian::GaussianMechanism;
pub use gradient::{BoundedGradient, F32_SLACK, ParameterGradient, ReleasedGradient, Sensitivity};
pub use laplace::LaplaceMechanism;
pub use noise::{NoiseSource, NoiseState};

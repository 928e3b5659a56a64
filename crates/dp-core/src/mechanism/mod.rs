//! From a bounded gradient to a private one.
//!
//! [`BoundedGradient`] couples a gradient with its sensitivity and with the draw that it is of;
//! [`Releaser::release`] writes the event to the ledger, adds the noise, and gives a
//! [`ReleasedGradient`], the only form that an optimizer takes. A [`SensitiveVector`] becomes [`Noisy`] in the same way:
//! once, under its name in the plan, or as a step.

mod bounded;
pub(crate) mod discrete;
mod gaussian;
mod gradient;
pub(crate) mod laplace;
mod names;
mod noise;
mod releaser;
mod sensitivity;
mod vector;

pub use bounded::BoundedGradient;
pub use discrete::DiscreteGaussian;
pub use gradient::{ParameterGradient, ReleasedGradient};
pub use names::NameCounts;
pub use noise::{NoiseSource, NoiseState};
pub use releaser::Releaser;
pub use sensitivity::{F32_SLACK, Sensitivity};
pub use vector::{Noisy, SensitiveVector};

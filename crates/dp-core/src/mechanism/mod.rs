//! From a bounded gradient to a private one.
//!
//! [`BoundedGradient`] couples a gradient with its sensitivity and its draw. [`Releaser::release`] adds the noise,
//! writes the event to the ledger, and returns a [`ReleasedGradient`], which an optimizer takes. A
//! [`SensitiveVector`] becomes a [`NoisyVector`] in the same way: once, under its name in the plan, or as a step.
//!
//! ```
//! use dp_core::ledger::Ledger;
//! use dp_core::mechanism::{NoiseSource, SensitiveVector};
//! use dp_core::plan::{ReleaseNoise, TrainingPlan};
//! use dp_core::sampling::Sampler;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("ledger.jsonl");
//! // Two counts of 1000 records, of which one record moves the first down and the second up by 1.
//! let counts = SensitiveVector::l2(vec![400.0, 600.0], 2.0_f64.sqrt());
//! let plan = TrainingPlan::for_epsilon(1.0, 1e-6, 0, Sampler::all(1000)?);
//! let plan = plan.with_release("counts", ReleaseNoise::Share(1.0)).check()?;
//! let mut releaser = plan.releaser(NoiseSource::secret()?);
//! let mut ledger = Ledger::create(&path)?;
//! let noisy = releaser.release_vector("counts", &counts, &mut ledger)?;
//! assert!(noisy.values.iter().all(|count| (count - 500.0).abs() < 250.0));
//! assert_eq!(ledger.releases(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub use sensitivity::Sensitivity;
pub use vector::{NoisyVector, SensitiveVector};

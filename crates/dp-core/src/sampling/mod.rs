//! Samplers for the records of a step, and the sampled records.
//!
//! [`dp_accountant::sampling`] defines the samplers and their laws; a [`Draw`] holds a step's records.
//!
//! ```
//! use dp_core::mechanism::NoiseSource;
//! use dp_core::plan::TrainingPlan;
//! use dp_core::sampling::Sampler;
//!
//! let plan = TrainingPlan::for_epsilon(1.0, 1e-6, 500, Sampler::fixed_size(60_000, 600)?).check()?;
//! let mut releaser = plan.releaser(NoiseSource::secret()?);
//! let draw = releaser.draw()?;
//! assert_eq!(draw.strata()[0].len(), 600);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod draw;

pub use draw::Draw;
pub(crate) use draw::Made;

pub use dp_accountant::sampling::{Sampler, split_batch};

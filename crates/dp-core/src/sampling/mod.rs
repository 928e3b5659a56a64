//! How the records of a step are sampled, and what is sampled.
//!
//! The samplers are [`dp_accountant::sampling`]'s, which says what each of them draws; a step's records are a
//! [`Draw`].
//!
//! ```
//! use dp_core::mechanism::NoiseSource;
//! use dp_core::plan::TrainingPlan;
//! use dp_core::sampling::Sampler;
//!
//! let plan = TrainingPlan::for_epsilon(1.0, 1e-6, 500, Sampler::fixed_size(60_000, 600)?).check()?;
//! let mut releaser = plan.releaser(NoiseSource::secret()?);
//! let draw = releaser.draw()?;
//! assert_eq!(draw.groups()[0].len(), 600);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod draw;

pub use draw::Draw;
pub(crate) use draw::Made;

pub use dp_accountant::sampling::{Sampler, split_batch};

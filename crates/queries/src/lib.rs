//! Queries that measure all private records once and release noisy values.
//!
//! A [`Query`] defines the values that it measures, their sensitivity to replacing one record, and how noisy values are read.
//! [`dp_core::mechanism::Releaser`] writes the event to the ledger and adds the noise.
//!
//! | query | sensitivity | answer |
//! |---|---|---|
//! | [`Moments`]: sums of `(u, u u^T)` of each group | `sqrt(2 M^2 + 2 M^4 + 1/2)` in a ball of radius `M` | Gaussians |
//! | [`Mixture`]: sums of `(u, u u^T)` of each component of a class | that of [`Moments`] at `M = 2` | Gaussians |
//! | [`GroupMarginals`], [`LabelledMarginals`]: histograms of every slice | `sqrt(k (2 log2 B + 2))` | marginals on the slices |
//! | [`Embeddings`]: sizes and random Fourier features of each group | 2 | mean embeddings |
//! | [`Projections`]: every row on every slice | `2 r sigma_max(Theta)` | noisy projections |
//! | [`distance::Sides`]: projections of one or two sides | `2 r sigma_max(Theta)` | a distance, with a two-sample test |
//! | [`Contingency`]: counts of tables with shares `s_t` | `sqrt(2 sum s_t)`; in `L1` `2 sum sqrt(s_t)` | noisy counts |
//!
//! Neighbours replace one record; the number of records is public.
//!
//! ```
//! use dp_core::ledger::Ledger;
//! use dp_core::mechanism::NoiseSource;
//! use dp_core::plan::{ReleaseNoise, TrainingPlan};
//! use dp_core::sampling::Sampler;
//! use private_queries::{Contingency, Query};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("ledger.jsonl");
//! // All of epsilon 1 is for one release of 1000 records.
//! let plan = TrainingPlan::for_epsilon(1.0, 1e-6, 0, Sampler::all(1000)?);
//! let plan = plan.with_release("ages", ReleaseNoise::Share(1.0)).check()?;
//! let mut releaser = plan.releaser(NoiseSource::secret()?);
//! let mut ledger = Ledger::create(&path)?;
//!
//! let query = Contingency::joint([2, 3])?;
//! let records: Vec<u16> = (0..1000).flat_map(|record| [record % 2, record % 3]).collect();
//! let noisy = releaser.release_vector("ages", &query.measure(&records)?, &mut ledger)?;
//! let counts = &query.read(&noisy)?[0].counts;
//! assert!(counts.iter().all(|count| (count - 166.5).abs() < 100.0));
//! // The event was written before the noise was added.
//! assert_eq!(ledger.releases(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod contingency;
pub mod distance;
mod embeddings;
pub mod marginals;
pub mod moments;
mod projections;
mod query;
#[cfg(test)]
mod tests;

pub use contingency::{Contingency, Counting, NoisyCounts};
pub use embeddings::{Embedded, Embeddings};
pub use marginals::{GroupMarginals, LabelledMarginals, MarginalQuery};
pub use moments::{Gaussians, Mixture, Moments};
pub use projections::{Projections, project};
pub use query::{Query, QueryError};

/// The relative amount that is added to the sensitivity of marginals and embeddings for rounding in `f64`. Projected rows
/// exceed the radius by at most 1e-15, so less is enough for `d` up to 10^5; features of embeddings are sines and cosines.
const ROUNDING: f64 = 1e-9;

//! The private sliced distance between two sets of rows, its error, and a two-sample test on it (Rakotomamonjy and
//! Ralaivola 2021, arXiv 2107.01848).
//!
//! The private rows are released once, as noisy projections ([`swd::smoothed`]); a public side gets the same noise. The rest
//! is post-processing: the distance, corrected for its bias by independent halves of the rows; its error over slices, rows
//! and noise; and a permutation test, which is exact because the released rows of both sides are exchangeable if both have
//! one distribution.
//!
//! ```
//! use dp_core::ledger::Ledger;
//! use dp_core::mechanism::NoiseSource;
//! use private_queries::Query;
//! use private_queries::distance::{Directions, RELEASE, Sides, estimate, permutation_test};
//! use rand::SeedableRng;
//! use swd::{NormBound, UniformBall};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("ledger.jsonl");
//! let mut public = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! let rows = [500, 400].map(|n| UniformBall::new(3).unwrap().sample(n, &mut public));
//! let directions = Directions::draw(3, 50, &mut public)?;
//! let query = Sides {
//!     slices: directions.released.clone(),
//!     region: NormBound::ball(1.0)?,
//!     rows: vec![500, 400],
//! };
//! let plan = Sides::plan(&query.rows, 1.0, 1e-5)?.check()?;
//! let mut releaser = plan.releaser(NoiseSource::secret()?);
//! let noisy = releaser.release_vector(RELEASE, &query.measure(&rows)?, &mut Ledger::create(&path)?)?;
//! // What follows is post-processing.
//! let (sides, _) = query.read(&noisy)?;
//! let found = estimate([&sides[0], &sides[1]], &directions, &mut public)?;
//! assert!(found.error() > 0.0);
//! let tested = permutation_test([&sides[0], &sides[1]], &directions, 99, &mut public)?;
//! assert!((0.01..=1.0).contains(&tested.p_value));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod estimate;
mod permutation;
mod released;

pub use estimate::{Estimate, LEAST_ROWS, estimate};
pub use permutation::{Tested, permutation_test};
pub use released::{Directions, RELEASE, Side, Sides};

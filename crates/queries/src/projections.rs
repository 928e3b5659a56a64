//! Noisy projections of every private row on every public slice.
//!
//! `X Theta + N(0, sigma^2)` for private rows `X` in a ball of radius `r` and public slices `Theta`.
//!
//! # Sensitivity
//! Replacing row `x` by `x'` moves the release by `|Theta^T (x - x')|`, at most `2 r sigma_max(Theta)`. The bound is attained by
//! `x = -x'` along the first singular vector, and is `2 r sqrt(k/d)` for a tight frame
//! ([`swd::smoothed::projection_sensitivity_upper`]).
//!
//! Source: Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, section 3; Sebag et al. 2023, arXiv 2312.08227, section 3.

use dp_core::mechanism::{NoisyVector, SensitiveVector};
use swd::smoothed::{NoisyProjections, projection_sensitivity_upper};
use swd::{NormBound, Slices};

use crate::Query;
use crate::query::{QueryError, check_noisy, length};

/// Computes the projections of private rows on public slices, before noise: `[k, n]`, one row per slice.
///
/// - `rows`: `[n, d]`, of any norm: each row is first put into `region`. A row that is not finite counts as the origin,
///   silently. The release has the rows in a secret order.
///
/// # Formal guarantee
/// For any two sets of `n` rows of any values that differ in one row, the results are at most
/// [`SensitiveVector::sensitivity_upper`] apart, which is [`projection_sensitivity_upper`].
///
/// # Errors
/// Returns an error for no rows, or for a length that is no multiple of `d`; both are public.
///
/// Source: Sebag et al. 2023, arXiv 2312.08227, equation 22.
pub fn project(
    rows: &[f32],
    slices: &Slices,
    region: NormBound,
) -> Result<SensitiveVector, QueryError> {
    let values = region.project(rows, slices)?;
    let bound = projection_sensitivity_upper(slices, region.radius())?;
    let records = rows.len() / slices.dim();
    Ok(SensitiveVector::l2(values, bound).by_record(records))
}

/// Projects groups of rows, of public sizes, on the same slices; a record lies in one group.
///
/// ```
/// use dp_core::mechanism::NoisyVector;
/// use private_queries::{Projections, Query};
/// use rand::SeedableRng;
/// use swd::smoothed::{smoothed_distance_and_gradient, smoothing_noise};
/// use swd::{NormBound, Slices, UniformBall};
///
/// let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// let rows = UniformBall::new(3)?.sample(500, &mut rng);
/// let slices = Slices::tight(3, 12, &mut rng)?;
/// let query = Projections::new(slices, NormBound::ball(1.0)?, vec![500]);
/// let projected = query.measure(&[rows])?;
/// // 2 r sqrt(k/d) for a tight frame.
/// assert!((projected.sensitivity_upper() - 4.0).abs() < 1e-5);
/// // A releaser adds the noise here; what follows is post-processing.
/// let target = query.read(&NoisyVector::without_privacy(projected))?.remove(0);
/// let particles = [0.0_f32; 3 * 40];
/// let smoothing = smoothing_noise(&target, 40, &mut rng);
/// let (distance, gradient) = smoothed_distance_and_gradient(&particles, &smoothing, &target)?;
/// assert!(distance > 0.0 && gradient.len() == 3 * 40);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Projections {
    slices: Slices,
    region: NormBound,
    sizes: Vec<usize>,
}

impl Projections {
    /// Creates the projections of groups of `sizes` rows in `region`.
    pub fn new(slices: Slices, region: NormBound, sizes: Vec<usize>) -> Self {
        Self {
            slices,
            region,
            sizes,
        }
    }
}

impl Query for Projections {
    /// The rows of each group, `[n, d]`.
    type Records = [Vec<f32>];
    /// The noisy projections of each group, without the order of its rows.
    type Answer = Vec<NoisyProjections>;

    fn len(&self) -> usize {
        self.slices.count() * self.sizes.iter().sum::<usize>()
    }

    fn measure(&self, groups: &[Vec<f32>]) -> Result<SensitiveVector, QueryError> {
        length("groups of rows", groups.len(), self.sizes.len())?;
        let mut measured = Vec::with_capacity(groups.len());
        for (rows, size) in groups.iter().zip(&self.sizes) {
            length("rows of a group", rows.len(), size * self.slices.dim())?;
            measured.push(project(rows, &self.slices, self.region)?);
        }
        Ok(SensitiveVector::of_groups(measured))
    }

    fn read(&self, noisy: &NoisyVector) -> Result<Vec<NoisyProjections>, QueryError> {
        let what = "released projections";
        check_noisy(what, &noisy.values, noisy.deviation, self.len())?;
        let mut rest = &noisy.values[..];
        let mut groups = Vec::with_capacity(self.sizes.len());
        for size in &self.sizes {
            let (here, after) = rest.split_at(size * self.slices.count());
            let slices = self.slices.clone();
            groups.push(NoisyProjections::from_released(
                here.to_vec(),
                slices,
                noisy.deviation,
            )?);
            rest = after;
        }
        Ok(groups)
    }
}

//! The smoothed sliced distance: private rows leave as noisy projections, particles meet them.
//!
//! `X Theta + N(0, sigma^2)` is released for private rows `X` in a ball of radius `r` and public
//! slices `Theta`; everything after that is post-processing. The particles get the same smoothing,
//! so that the distance compares like with like:
//!
//! `(1/k) sum_l W_2^2(X theta_l + xi, Y theta_l + zeta)`, `xi` and `zeta` from `N(0, sigma^2)`.
//!
//! # Sensitivity
//! Replacing row `x` by `x'` moves the release by `|Theta^T (x - x')|`, at most
//! `2 r sigma_max(Theta)`: attained by `x = -x'` along the first singular vector, and equal to
//! `2 r sqrt(k/d)` for a tight frame ([`projection_sensitivity_upper`]). The papers give a
//! high-probability bound for one fixed pair of rows instead ([`paper`]).
//!
//! Source: Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, section 3; Sebag et al. 2023, arXiv 2312.08227,
//! section 3.
//! # Example
//! ```
//! use rand::SeedableRng;
//! use rand_chacha::ChaCha20Rng;
//! use rand_distr::{Distribution, StandardNormal};
//! use swd::smoothed::{NoisyProjections, project, smoothed_distance_and_gradient, smoothing_noise};
//! use swd::{Region, Slices, UniformBall};
//!
//! let mut rng = ChaCha20Rng::seed_from_u64(1);
//! let rows = UniformBall::new(3)?.sample(500, &mut rng);
//! let slices = Slices::tight(3, 12, &mut rng)?;
//! let projected = project(&rows, &slices, Region::ball(1.0)?)?;
//! // 2 r sqrt(k/d) for a tight frame.
//! assert!((projected.l2_sensitivity_upper() - 4.0).abs() < 1e-5);
//! // A mechanism adds the noise (`dp-core` has one, with its ledger); this one, of a known seed, protects nobody.
//! let deviation = 0.1 * projected.l2_sensitivity_upper();
//! let noisy = |value: &f64| value + deviation * Distribution::<f64>::sample(&StandardNormal, &mut rng);
//! let released = projected.before_noise().iter().map(noisy).collect();
//!
//! // From here on everything is post-processing.
//! let target = NoisyProjections::from_released(released, slices, deviation)?;
//! let particles = [0.0_f32; 3 * 40];
//! let smoothing = smoothing_noise(&target, 40, &mut rng);
//! let (distance, gradient) = smoothed_distance_and_gradient(&particles, &smoothing, &target)?;
//! assert!(distance > 0.0 && gradient.len() == 3 * 40);
//! # Ok::<(), swd::SwdError>(())
//! ```

mod combine;
mod deconvolution;
mod distance;
mod noisy;
pub mod paper;

pub use combine::combine;
pub use deconvolution::deconvolved_distance_and_gradient;
pub use distance::{smoothed_distance_and_gradient, smoothing_noise};
pub use noisy::NoisyProjections;

use crate::{Region, SensitiveVector, Slices, SwdError};

/// The relative amount added to every sensitivity for rounding: projections are computed in `f64`
/// from rows that exceed the radius by at most 1e-15, so for `d` up to 10^5 less is enough.
pub(crate) const ROUNDING: f64 = 1e-9;

/// The projections of private rows on public slices, before noise: `[k, n]`, one row a slice.
///
/// - `rows`: `[n, d]`, put into `region` first, never assumed to be there; a row that is not finite
///   counts as the origin, without a word.
///
/// # Formal guarantee
/// For any two sets of `n` rows of any values that differ in one row, the results are at most
/// [`SensitiveVector::l2_sensitivity_upper`] apart, which is [`projection_sensitivity_upper`].
///
/// # Errors
/// No rows, or a length that is no multiple of `d`: both are public.
///
/// Source: Sebag et al. 2023, arXiv 2312.08227, equation 22.
pub fn project(rows: &[f32], slices: &Slices, region: Region) -> Result<SensitiveVector, SwdError> {
    let values = region.project(rows, slices)?;
    let sensitivity = projection_sensitivity_upper(slices, region.radius())?;
    Ok(SensitiveVector::new(values, sensitivity))
}

/// How far the projections of rows of norm at most `radius` move when one row is replaced:
/// `2 r sigma_max(Theta)`, rounded up.
///
/// At most a relative `2e-9` above the smallest valid bound for these slices. For a tight frame it
/// is `2 r sqrt(k/d)` up to the rounding of the directions (a relative 1e-6).
///
/// # Errors
/// A radius that is not positive and finite.
pub fn projection_sensitivity_upper(slices: &Slices, radius: f64) -> Result<f64, SwdError> {
    let radius = Region::ball(radius)?.radius();
    let largest = (slices.count() as f64 * slices.lambda_max_upper()).sqrt();
    Ok(2.0 * radius * largest * (1.0 + ROUNDING))
}

/// The sensitivity for an exact tight frame of `count` slices in `R^dim`: `2 r sqrt(k/d)`.
///
/// For planning, before any slices are sampled; a release uses [`projection_sensitivity_upper`], which
/// knows how the directions were rounded.
///
/// # Errors
/// A radius that is not positive and finite, or fewer slices than dimensions.
pub fn tight_frame_sensitivity(count: usize, dim: usize, radius: f64) -> Result<f64, SwdError> {
    if count < dim || dim == 0 {
        return Err(SwdError::TooFewSlices { count, dim });
    }
    Ok(2.0 * Region::ball(radius)?.radius() * (count as f64 / dim as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    fn apart(a: &[f64], b: &[f64]) -> f64 {
        let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
        squares.sum::<f64>().sqrt()
    }

    /// A row that is hard on the bound: along the slices, far outside the region, not finite.
    fn hard_row(slices: &Slices, rng: &mut ChaCha20Rng) -> Vec<f32> {
        let d = slices.dim();
        let length = [0.3, 1.0, 1e3, 1e30][rng.random_range(0..4)];
        let mut row: Vec<f32> = match rng.random_range(0..4) {
            0 => (0..d).map(|_| rng.random_range(-1.0..1.0)).collect(),
            1 => {
                let l = rng.random_range(0..slices.count());
                slices.direction(l).iter().map(|&x| x as f32).collect()
            }
            _ => {
                let mut row = vec![0.0; d];
                row[rng.random_range(0..d)] = 1.0;
                row
            }
        };
        let sign = if rng.random() { length } else { -length };
        row.iter_mut().for_each(|x| *x *= sign);
        if rng.random_range(0..8) == 0 {
            row[0] = f32::NAN;
        }
        row
    }

    proptest! {
        /// Brute force over neighbours: no pair is further apart than the sensitivity says.
        #[test]
        fn neighbours_are_no_further_apart_than_the_sensitivity(
            seed in any::<u64>(),
            d in 1_usize..6,
            extra in 0_usize..9,
            tight in any::<bool>(),
            surface in any::<bool>(),
        ) {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let slices = if tight {
                Slices::tight(d, d + extra, &mut rng).unwrap()
            } else {
                Slices::iid(d, 1 + extra, &mut rng).unwrap()
            };
            let radius = rng.random_range(0.1..3.0);
            let region = if surface { Region::sphere(radius) } else { Region::ball(radius) };
            let region = region.unwrap();
            let n = rng.random_range(1..5_usize);
            let rows: Vec<f32> = (0..n).flat_map(|_| hard_row(&slices, &mut rng)).collect();
            let first = project(&rows, &slices, region).unwrap();
            for _ in 0..20 {
                let mut other = rows.clone();
                let i = rng.random_range(0..n);
                other[i * d..(i + 1) * d].copy_from_slice(&hard_row(&slices, &mut rng));
                let second = project(&other, &slices, region).unwrap();
                let distance = apart(first.before_noise(), second.before_noise());
                prop_assert!(distance <= first.l2_sensitivity_upper());
            }
        }
    }

    #[test]
    fn the_sensitivity_is_attained_and_rests_on_the_region() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let slices = Slices::tight(8, 70, &mut rng).unwrap();
        let (row, opposite) = ([0.6; 8], [-0.6; 8]);
        let region = Region::ball(1.0).unwrap();
        let first = project(&row, &slices, region).unwrap();
        let second = project(&opposite, &slices, region).unwrap();
        let distance = apart(first.before_noise(), second.before_noise());
        let sensitivity = first.l2_sensitivity_upper();
        assert!(distance <= sensitivity && distance > sensitivity * (1.0 - 1e-6));
        let exact = tight_frame_sensitivity(70, 8, 1.0).unwrap();
        assert!((sensitivity / exact - 1.0).abs() < 1e-6);
        // The same rows in a region that does not hold them back break the bound: without the
        // projection onto the ball there is no sensitivity.
        let loose = Region::ball(10.0).unwrap();
        let first = project(&row, &slices, loose).unwrap();
        let second = project(&opposite, &slices, loose).unwrap();
        assert!(apart(first.before_noise(), second.before_noise()) > 1.5 * sensitivity);
    }

    #[test]
    fn impossible_requests_are_refused() {
        assert!(tight_frame_sensitivity(7, 8, 1.0).is_err());
        assert!(tight_frame_sensitivity(7, 0, 1.0).is_err());
        assert!(tight_frame_sensitivity(8, 8, f64::NAN).is_err());
        let slices = Slices::from_directions(1, &[1.0]).unwrap();
        assert!(projection_sensitivity_upper(&slices, 0.0).is_err());
        assert!(project(&[], &slices, Region::ball(1.0).unwrap()).is_err());
    }
}

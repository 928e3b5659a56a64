//! The smoothed sliced distance between particles and private rows that are released as noisy projections.
//!
//! `X Theta + N(0, sigma^2)` is released for private rows `X` in a ball of radius `r` and public
//! slices `Theta`; everything after that is post-processing. The particles get the same smoothing,
//! so that like is compared with like:
//!
//! `(1/k) sum_l W_2^2(X theta_l + xi, Y theta_l + zeta)`, `xi` and `zeta` from `N(0, sigma^2)`.
//!
//! # Sensitivity
//! Replacing row `x` by `x'` moves the release by `|Theta^T (x - x')|`, which is at most
//! `2 r sigma_max(Theta)`. This is attained by `x = -x'` along the first singular vector, and equals
//! `2 r sqrt(k/d)` for a tight frame ([`projection_sensitivity_upper`]). The papers instead have a value
//! that holds with high probability for one fixed pair of rows; it does not bound all pairs.
//!
//! ```
//! use rand::SeedableRng;
//! use swd::Slices;
//! use swd::smoothed::{projection_sensitivity_upper, tight_frame_sensitivity};
//!
//! let slices = Slices::tight(6, 24, &mut rand_chacha::ChaCha20Rng::seed_from_u64(1))?;
//! let sensitivity = projection_sensitivity_upper(&slices, 1.0)?;
//! // 2 r sqrt(k/d) = 4, and what rounding adds.
//! assert!((sensitivity - tight_frame_sensitivity(24, 6, 1.0)?).abs() < 1e-4);
//! # Ok::<(), swd::SwdError>(())
//! ```
//!
//! Source: Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, section 3; Sebag et al. 2023, arXiv 2312.08227,
//! section 3.

mod deconvolution;
mod distance;
mod noisy;

pub use deconvolution::deconvolved_distance_and_gradient;
pub use distance::{smoothed_distance_and_gradient, smoothing_noise};
pub use noisy::NoisyProjections;

use crate::{NormBound, Slices, SwdError};

/// The relative amount added to every sensitivity for rounding. Projections are computed in `f64`
/// from rows that exceed the radius by at most 1e-15, so less would do for `d` up to 10^5.
const ROUNDING: f64 = 1e-9;

/// Returns the sensitivity of the projections of rows of norm at most `radius`: `2 r sigma_max(Theta)`, rounded up.
///
/// It is at most a relative `2e-9` above the smallest valid bound for these slices. For a tight frame it
/// is `2 r sqrt(k/d)` up to the rounding of the directions (a relative 1e-6).
///
/// # Errors
/// A radius outside of [`RADII`](crate::RADII).
pub fn projection_sensitivity_upper(slices: &Slices, radius: f64) -> Result<f64, SwdError> {
    let radius = NormBound::ball(radius)?.radius();
    let largest = (slices.count() as f64 * slices.lambda_max_upper()).sqrt();
    Ok(2.0 * radius * largest * (1.0 + ROUNDING))
}

/// Returns the sensitivity for an exact tight frame of `count` slices in `R^dim`: `2 r sqrt(k/d)`.
///
/// Use it to plan, before any slices are sampled. A release uses [`projection_sensitivity_upper`], which
/// knows how the directions were rounded.
///
/// # Errors
/// A radius outside of [`RADII`](crate::RADII), or fewer slices than dimensions.
pub fn tight_frame_sensitivity(count: usize, dim: usize, radius: f64) -> Result<f64, SwdError> {
    if count < dim || dim == 0 {
        return Err(SwdError::TooFewSlices { count, dim });
    }
    Ok(2.0 * NormBound::ball(radius)?.radius() * (count as f64 / dim as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::upper_quantile;
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
            let region = if surface { NormBound::sphere(radius) } else { NormBound::ball(radius) };
            let region = region.unwrap();
            let n = rng.random_range(1..5_usize);
            let rows: Vec<f32> = (0..n).flat_map(|_| hard_row(&slices, &mut rng)).collect();
            let first = region.project(&rows, &slices).unwrap();
            let declared = projection_sensitivity_upper(&slices, radius).unwrap();
            for _ in 0..20 {
                let mut other = rows.clone();
                let i = rng.random_range(0..n);
                other[i * d..(i + 1) * d].copy_from_slice(&hard_row(&slices, &mut rng));
                let second = region.project(&other, &slices).unwrap();
                prop_assert!(apart(&first, &second) <= declared);
            }
        }
    }

    #[test]
    fn the_sensitivity_is_attained_and_rests_on_the_region() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let slices = Slices::tight(8, 70, &mut rng).unwrap();
        let (row, opposite) = ([0.6; 8], [-0.6; 8]);
        let region = NormBound::ball(1.0).unwrap();
        let moved = |region: NormBound| {
            let project = |row| region.project(row, &slices).unwrap();
            apart(&project(&row), &project(&opposite))
        };
        let distance = moved(region);
        let sensitivity = projection_sensitivity_upper(&slices, 1.0).unwrap();
        assert!(distance <= sensitivity && distance > sensitivity * (1.0 - 1e-6));
        let exact = tight_frame_sensitivity(70, 8, 1.0).unwrap();
        assert!((sensitivity / exact - 1.0).abs() < 1e-6);
        // The same rows in a region that does not hold them back break the bound: without the
        // projection onto the ball there is no sensitivity.
        let loose = NormBound::ball(10.0).unwrap();
        assert!(moved(loose) > 1.5 * sensitivity);
    }

    /// With independent slices the sensitivity for all pairs is larger than with a tight frame: what the published
    /// settings, multiples of `sqrt(w(k, delta))` (Sebag et al. 2023, equation 23), come to as a mean noise multiplier. Half a
    /// percent is five deviations of the mean of 1000 frames.
    #[test]
    fn independent_slices_are_more_sensitive_than_a_tight_frame() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for (d, k, delta, largest, multiples) in [
            (8, 70, 1e-5, 3.66, [(0.67, 0.6866), (0.8, 0.8202)]),
            (48, 300, 1e-6, 3.417, [(0.58, 0.4980), (0.72, 0.6182)]),
        ] {
            let norm = {
                let (k, d) = (k as f64, d as f64);
                let spread = (2.0 * k * (d - 1.0) / (d + 2.0)).sqrt();
                (k / d + upper_quantile(delta) / d * spread).sqrt()
            };
            let tight = tight_frame_sensitivity(k, d, 0.5).unwrap();
            let mut sensitivity = || {
                let slices = Slices::iid(d, k, &mut rng).unwrap();
                projection_sensitivity_upper(&slices, 0.5).unwrap()
            };
            let found: Vec<f64> = (0..1000).map(|_| sensitivity()).collect();
            assert!(found.iter().all(|found| *found > tight));
            let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 5e-3;
            let mean = |f: &dyn Fn(f64) -> f64| found.iter().map(|x| f(*x)).sum::<f64>() / 1000.0;
            assert!(close(mean(&|x| x), largest), "{}", mean(&|x| x));
            for (multiple, expected) in multiples {
                let multiplier = mean(&|x| multiple * norm / x);
                assert!(close(multiplier, expected), "{multiplier}");
            }
        }
    }

    #[test]
    fn impossible_requests_are_refused() {
        assert!(tight_frame_sensitivity(7, 8, 1.0).is_err());
        assert!(tight_frame_sensitivity(7, 0, 1.0).is_err());
        assert!(tight_frame_sensitivity(8, 8, f64::NAN).is_err());
        let slices = Slices::from_directions(1, &[1.0]).unwrap();
        assert!(projection_sensitivity_upper(&slices, 0.0).is_err());
        assert!(NormBound::ball(1.0).unwrap().project(&[], &slices).is_err());
    }
}

//! The papers' `w(k, delta)`, for comparison: **not bounds on the sensitivity**.
//!
//! Both are statements about `|Theta^T (x - x')|` for one pair of rows that is fixed before the
//! independent slices are sampled: each fails with a probability of its own, which is paid **at every
//! release with fresh slices**, on top of the delta of the noise. Over 2100 releases of Sebag et al. (2023,
//! arXiv 2312.08227) it is 0.02, against a delta of 1e-5. A bound for all pairs needs `sigma_max(Theta)`
//! ([`super::projection_sensitivity_upper`]), and with tight frames it is smaller than either of
//! these.
//!
//! The papers write `w` for the square; here every value is the norm itself.
//!
//! ```
//! use swd::smoothed::{paper::paper_bernstein, tight_frame_sensitivity};
//!
//! // 70 slices in R^8, rows of norm at most 1.
//! let probable = paper_bernstein(70, 8, 1e-5)?;
//! assert!(probable.for_radius(1.0)? > tight_frame_sensitivity(70, 8, 1.0)?);
//! // What 200 releases with fresh slices add to delta.
//! assert!((probable.failure_probability(200) - 0.002).abs() < 1e-12);
//! # Ok::<(), swd::SwdError>(())
//! ```

use crate::normal::upper_quantile;
use crate::{Region, SwdError};

/// A value that a sensitivity stays below with some probability, for one fixed pair of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbableNorm {
    norm: f64,
    failure_probability: f64,
}

impl ProbableNorm {
    /// `sqrt(w(k, delta))`: the value for `|x - x'| = 1`.
    pub fn norm(&self) -> f64 {
        self.norm
    }

    /// The value for rows of norm at most `radius`, so `|x - x'| <= 2 r`.
    ///
    /// # Errors
    /// A radius outside of [`RADII`](crate::RADII).
    pub fn for_radius(&self, radius: f64) -> Result<f64, SwdError> {
        Ok(2.0 * Region::ball(radius)?.radius() * self.norm)
    }

    /// What has to be added to the delta of an accountant that relies on this value in `releases`
    /// releases, each with fresh slices: the union bound `min(1, T delta)`. It is 1 for the CLT form,
    /// of which nothing is proved.
    pub fn failure_probability(&self, releases: u64) -> f64 {
        (self.failure_probability * releases as f64).min(1.0)
    }
}

/// The Bernstein form: `w = k/d + (2/3) ln(1/delta) + (2/d) sqrt(k (d-1)/(d+2) ln(1/delta))`.
///
/// Holds with probability `1 - delta` over `k` independent slices, for one pair of rows in `R^d`.
///
/// # Errors
/// `k` or `d` is zero, or `delta` is not strictly between 0 and 1.
///
/// Source: Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, lemma 2, equation 6.
pub fn paper_bernstein(k: usize, d: usize, delta: f64) -> Result<ProbableNorm, SwdError> {
    check(k, d, delta, 1.0)?;
    let (k, d, log) = (k as f64, d as f64, -delta.ln());
    let w = k / d + 2.0 / 3.0 * log + 2.0 / d * (k * (d - 1.0) / (d + 2.0) * log).sqrt();
    Ok(ProbableNorm {
        norm: w.sqrt(),
        failure_probability: delta,
    })
}

/// The CLT form: `w = k/d + (z/d) sqrt(2 k (d-1)/(d+2))`, `z` the `1 - delta` quantile of the normal
/// distribution. **No bound**: the sum of `k` beta variables has a heavier tail than its normal limit.
///
/// # Errors
/// `k` or `d` is zero, or `delta` is not strictly between 0 and 1/2.
///
/// Source: Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, section 3; Sebag et al. 2023, arXiv 2312.08227,
/// lemma 1, equation 23.
pub fn paper_clt(k: usize, d: usize, delta: f64) -> Result<ProbableNorm, SwdError> {
    check(k, d, delta, 0.5)?;
    let (k, d) = (k as f64, d as f64);
    let w = k / d + upper_quantile(delta) / d * (2.0 * k * (d - 1.0) / (d + 2.0)).sqrt();
    Ok(ProbableNorm {
        norm: w.sqrt(),
        failure_probability: 1.0,
    })
}

fn check(k: usize, d: usize, delta: f64, most: f64) -> Result<(), SwdError> {
    for (what, count) in [("number of slices", k), ("dimension", d)] {
        if count == 0 {
            return Err(SwdError::Empty { what });
        }
    }
    if delta > 0.0 && delta < most {
        return Ok(());
    }
    let (what, value) = ("failure probability", delta);
    Err(SwdError::NotAProbability { what, value, most })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::Slices;

    /// The values for `|x - x'| = 1` of the published settings.
    #[test]
    fn values_are_those_of_the_papers_settings() {
        for (d, k, delta, bernstein, clt, tight) in [
            (8, 70, 1e-5, 4.73, 3.75, 2.96),
            (48, 300, 1e-6, 4.25, 2.93, 2.50),
            (784, 1000, 1e-5, 3.04, 1.23, 1.13),
        ] {
            let close = |found: f64, expected: f64| (found - expected).abs() < 5e-3;
            let found = paper_bernstein(k, d, delta).unwrap();
            assert!(close(found.norm(), bernstein) && found.failure_probability(1) == delta);
            let found = paper_clt(k, d, delta).unwrap();
            assert!(close(found.norm(), clt) && found.failure_probability(1) == 1.0);
            assert_eq!(found.for_radius(0.5).unwrap(), found.norm());
            let found = super::super::tight_frame_sensitivity(k, d, 0.5).unwrap();
            assert!(close(found, tight));
        }
    }

    /// With independent slices the sensitivity for all pairs is larger than with a tight frame: what the published
    /// settings, a multiple of the norm, come to as a mean noise multiplier. Half a percent is
    /// five deviations of the mean of 1000 frames.
    #[test]
    fn independent_slices_are_more_sensitive_than_a_tight_frame() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for (d, k, delta, largest, multiples) in [
            (8, 70, 1e-5, 3.66, [(0.67, 0.6866), (0.8, 0.8202)]),
            (48, 300, 1e-6, 3.417, [(0.58, 0.4980), (0.72, 0.6182)]),
        ] {
            let norm = paper_clt(k, d, delta).unwrap().norm();
            let tight = super::super::tight_frame_sensitivity(k, d, 0.5).unwrap();
            let mut sensitivity = || {
                let slices = Slices::iid(d, k, &mut rng).unwrap();
                super::super::projection_sensitivity_upper(&slices, 0.5).unwrap()
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
    fn failures_add_up_over_releases() {
        let found = paper_bernstein(70, 8, 1e-5).unwrap();
        assert!((found.failure_probability(2100) - 0.021).abs() < 1e-12);
        assert_eq!(found.failure_probability(u64::MAX), 1.0);
    }

    #[test]
    fn impossible_requests_are_refused() {
        for delta in [0.0, 1.0, f64::NAN, -1.0] {
            assert!(paper_bernstein(3, 3, delta).is_err());
            assert!(paper_clt(3, 3, delta).is_err());
        }
        assert!(paper_clt(3, 3, 0.5).is_err());
        assert!(paper_clt(0, 3, 0.1).is_err());
        assert!(paper_bernstein(3, 0, 0.1).is_err());
    }
}

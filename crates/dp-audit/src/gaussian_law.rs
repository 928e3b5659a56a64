//! The shift of normal scores: the sharpest estimator, if its assumption holds.

use super::bound::{Assumption::NormalScores, LowerBound, alarm_rate};
use super::many_runs::Scores;
use super::noncentral_t::noncentrality_lower;
use dp_accountant::accounting::error::Result;

/// A lower bound on epsilon from the shift of normal scores.
///
/// *Assumption.* With the record the scores are `N(a + mu s, s^2)`, without it `N(a, s^2)`, all independent, with `a` and `s`
/// unknown. Then the shift in units of the pooled standard deviation, divided by `sqrt(1/n + 1/m)`, is noncentral `t` with
/// `n + m - 2` degrees of freedom. The bound is the largest `mu` that it refutes from below, with an exact confidence for any
/// number of scores, and the epsilon of a Gaussian mechanism with this `mu` (Balle and Wang 2018, arXiv 1805.06530, theorem 8).
///
/// The assumption holds if a mechanism adds Gaussian noise to a sum, and the attack projects the release on the direction of its
/// canary. Then the scores of many orthogonal canaries in one run serve as well as those of many runs (Agrawal, Wei, Singh,
/// Magdon-Ismail and Zikas 2026, arXiv 2606.12733, asymptotically; this bound is exact). It does *not* hold for sampled batches,
/// for losses, or for trained models, and there the bound has no meaning. [`super::kolmogorov_smirnov`] can refute the
/// assumption, but cannot prove it.
///
/// ```
/// use dp_audit::{Scores, gaussian_law};
///
/// let with: Vec<f64> = (0..4_000).map(|k| f64::from(k % 40) + 12.0).collect();
/// let without: Vec<f64> = (0..4_000).map(|k| f64::from(k % 40)).collect();
/// let bound = gaussian_law(&Scores::new(&with, &without)?, 1e-5, 0.95)?;
/// assert!(bound.mu > Some(1.0) && bound.epsilon > 4.3);
/// println!("{bound}");
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
///
/// # Errors
/// A delta outside of `[0, 1]`, a confidence outside of `(0, 1)`.
pub fn gaussian_law(scores: &Scores<'_>, delta: f64, confidence: f64) -> Result<LowerBound> {
    let alarm_rate = alarm_rate(delta, confidence)?;
    let (with, without) = scores.parts();
    let ((mean, squares), (other_mean, other_squares)) = (moments(with), moments(without));
    let (n, m) = (with.len() as f64, without.len() as f64);
    let freedom = n + m - 2.0;
    let deviation = ((squares + other_squares) / freedom).sqrt();
    let shift = mean - other_mean;
    let mu = if shift <= 0.0 {
        0.0
    } else if deviation == 0.0 {
        f64::INFINITY
    } else {
        let scale = (1.0 / n + 1.0 / m).sqrt();
        noncentrality_lower(shift / deviation / scale, freedom, alarm_rate) * scale
    };
    Ok(LowerBound::of_mu(mu, delta, confidence, NormalScores))
}

/// Mean, and sum of the squared distances from it (Welford 1962).
fn moments(scores: &[f64]) -> (f64, f64) {
    let (mut mean, mut squares) = (0.0, 0.0);
    for (before, score) in scores.iter().enumerate() {
        let apart = score - mean;
        mean += apart / (before as f64 + 1.0);
        squares += apart * (score - mean);
    }
    (mean, squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(with: &[f64], without: &[f64]) -> f64 {
        let scores = Scores::new(with, without).unwrap();
        gaussian_law(&scores, 1e-5, 0.95).unwrap().epsilon
    }

    #[test]
    fn scores_without_noise_hide_nothing_and_equal_scores_all() {
        assert_eq!(bound(&[1.0, 1.0], &[0.0, 0.0]), f64::INFINITY);
        assert_eq!(bound(&[0.0, 0.0], &[0.0, 0.0]), 0.0);
        assert_eq!(bound(&[0.0, 1.0], &[2.0, 3.0]), 0.0);
    }

    #[test]
    fn units_and_origin_do_not_matter() {
        let with: Vec<f64> = (0..50_u8).map(|k| f64::from(k % 7) + 3.0).collect();
        let without: Vec<f64> = (0..40_u8).map(|k| f64::from(k % 7)).collect();
        let moved = |scores: &[f64]| -> Vec<f64> { scores.iter().map(|s| 1e3 * s - 5e5).collect() };
        let first = bound(&with, &without);
        let off = first - bound(&moved(&with), &moved(&without));
        assert!(first > 1.0 && off.abs() < 1e-6, "{first} {off}");
    }
}

//! Trade-off functions from privacy profiles.

/// The number of intervals between points of the profile.
const LINES: u32 = 2048;

/// 2049 values of epsilon from 0 to `largest`, closer together near 0; all 0 if `largest` is infinite.
pub fn grid(largest: f64) -> Vec<f64> {
    let largest = if largest.is_finite() { largest } else { 0.0 };
    (0..=LINES)
        .map(|k| largest * (f64::from(k) / f64::from(LINES)).powi(2))
        .collect()
}

/// The trade-off function at each `alpha` (see [`super::Accountant::trade_off`]), for a profile that holds in both directions.
pub(crate) fn from_lines(epsilons: &[f64], deltas: &[f64], alphas: &[f64]) -> Vec<f64> {
    let at = |alpha: f64| {
        let mut best = 0.0_f64;
        for (epsilon, delta) in epsilons.iter().zip(deltas) {
            let steep = if alpha == 0.0 {
                1.0 - delta
            } else {
                1.0 - delta - epsilon.exp() * alpha
            };
            let flat = (-epsilon).exp() * (1.0 - delta - alpha);
            best = best.max(steep).max(flat);
        }
        best
    };
    alphas.iter().map(|alpha| at(*alpha)).collect()
}

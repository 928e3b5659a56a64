//! The standard normal distribution: its tail and quantile.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// Returns the `x` with `P(X > x) = p` under the standard normal distribution, for `1e-300 < p < 1`.
///
/// It takes Newton's steps from 0: the tail is convex there, so they never go too far.
pub(crate) fn upper_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -upper_quantile(1.0 - p);
    }
    let mut x = 0.0_f64;
    for _ in 0..2000 {
        let step = (upper_tail(x) - p) / density(x);
        x += step;
        if step <= 1e-15 * x {
            break;
        }
    }
    x
}

/// Returns `P(X > x)` under the standard normal distribution.
pub(crate) fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

pub(crate) fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (SQRT_2 * PI.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles from tables with 16 digits.
    #[test]
    fn normal_quantiles_are_exact() {
        for (p, x) in [
            (0.5, 0.0),
            (0.158_655_253_931_457_05, 1.0),
            (0.022_750_131_948_179_21, 2.0),
            (0.025, 1.959_963_984_540_054),
            (1e-5, 4.264_890_793_922_825),
            (1e-6, 4.753_424_308_822_899),
            (1e-12, 7.034_483_825_301_131),
        ] {
            assert!((upper_quantile(p) - x).abs() < 1e-9, "{p}");
            assert!((upper_tail(x) / p - 1.0).abs() < 1e-10, "{p}");
            assert!((upper_tail(-x) + p - 1.0).abs() < 1e-15, "{p}");
        }
        assert!((upper_quantile(0.975) + 1.959_963_984_540_054).abs() < 1e-9);
    }
}

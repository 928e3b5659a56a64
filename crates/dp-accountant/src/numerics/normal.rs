//! Normal tails that keep their relative accuracy at extreme arguments.
//!
//! [`upper_tail`] is `libm::erfc`, which underflows above `x = 38`. This module adds the logarithm of a tail beyond, for
//! releases with little noise, and the difference of two Mills ratios, whose tails cancel if there is much noise.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::gauss_legendre::FIVE;

/// Density of the standard normal distribution, `exp(-x^2 / 2) / sqrt(2 pi)`.
pub(crate) fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// Natural logarithm of [`density`].
pub(crate) fn ln_density(x: f64) -> f64 {
    -0.5 * (x * x + (2.0 * PI).ln())
}

/// `2 P(X <= x) - 1`, without cancellation near 0.
pub(crate) fn central(x: f64) -> f64 {
    libm::erf(x * FRAC_1_SQRT_2)
}

/// Upper tail `P(X > x)` of the standard normal distribution.
pub fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// Natural logarithm of [`upper_tail`], accurate where the tail itself underflows.
pub(crate) fn ln_upper_tail(x: f64) -> f64 {
    if x < -1.0 {
        (-upper_tail(-x)).ln_1p()
    } else if x < 6.0 {
        upper_tail(x).ln()
    } else {
        -0.5 * x * x - 0.5 * (2.0 * PI).ln() + mills_ratio(x).ln()
    }
}

/// The `x` with `P(X > x) = p`, for `p` in `[0, 1]`; infinite for `p` of 0 and 1.
///
/// Abramowitz and Stegun 1964, formula 26.2.23, then Newton steps on the logarithm of the tail.
pub fn upper_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -upper_quantile(1.0 - p);
    }
    if p <= 0.0 {
        return f64::INFINITY;
    }
    let t = (-2.0 * p.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut x = (t - above / below).max(0.0);
    for _ in 0..3 {
        x = (x + (ln_upper_tail(x) - p.ln()) * mills_ratio(x)).max(0.0);
    }
    x
}

/// Mills ratio `P(X > x) / density(x)` for `x >= 0`.
fn mills_ratio(x: f64) -> f64 {
    if x < 6.0 {
        upper_tail(x) / density(x)
    } else {
        // Laplace's continued fraction 1/(x + 1/(x + 2/(x + 3/(x + ...)))), from the back.
        let mut tail = x;
        for k in (1..=60).rev() {
            tail = x + f64::from(k) / tail;
        }
        1.0 / tail
    }
}

/// The privacy profile of `N(mu, 1)` against `N(0, 1)`,
/// `Phi(-epsilon/mu + mu/2) - exp(epsilon) Phi(-epsilon/mu - mu/2)` (Rodriguez-Vitores et al. 2025,
/// arXiv 2502.01701, lemma 2.3), for `mu > 0` and finite `epsilon >= 0`.
pub fn gaussian_delta(mu: f64, epsilon: f64) -> f64 {
    let a = epsilon / mu - 0.5 * mu;
    let b = epsilon / mu + 0.5 * mu;
    if a < 0.0 {
        // Here a < 0 < b, so that the difference of the two tails does not cancel.
        let apart = 0.5 * (central(b) - central(a));
        let rest = if epsilon < 1.0 {
            epsilon.exp_m1() * upper_tail(b)
        } else {
            (epsilon + ln_upper_tail(b)).exp() - upper_tail(b)
        };
        return (apart - rest).max(0.0);
    }
    // exp(epsilon) density(b) = density(a), so only Mills ratios are subtracted.
    density(a) * mills_drop(a, b)
}

/// `mills_ratio(a) - mills_ratio(b)` for `0 <= a <= b`.
fn mills_drop(a: f64, b: f64) -> f64 {
    if b - a > 0.1 {
        return mills_ratio(a) - mills_ratio(b);
    }
    // The difference would cancel: integrate the slope, -R' = 1 - x R, instead.
    let (centre, half) = (0.5 * (a + b), 0.5 * (b - a));
    let [_, _, middle, outer @ ..] = FIVE;
    let mut sum = middle.1 * mills_slope(centre);
    for (x, w) in outer {
        sum += w * (mills_slope(centre - half * x) + mills_slope(centre + half * x));
    }
    half * sum
}

/// `1 - x R(x)` without cancellation.
fn mills_slope(x: f64) -> f64 {
    if x < 6.0 {
        return 1.0 - x * mills_ratio(x);
    }
    // With R = 1/(x + c), 1 - x R = c/(x + c).
    let mut tail = x;
    for k in (2..=60).rev() {
        tail = x + f64::from(k) / tail;
    }
    let c = 1.0 / tail;
    c / (x + c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64, tolerance: f64) {
        assert!(
            (value / expected - 1.0).abs() < tolerance,
            "{value:e} is not {expected:e}"
        );
    }

    // Expected values computed with 50 digits.
    #[test]
    fn tails_at_extreme_arguments() {
        close(ln_upper_tail(0.0), -std::f64::consts::LN_2, 1e-15);
        close(ln_upper_tail(10.0), -53.231_285_150_512_47, 1e-14);
        close(ln_upper_tail(100.0), -5_005.524_208_694_205, 1e-14);
        close(upper_tail(5.0), 2.866_515_718_791_939e-7, 1e-14);
        assert!(ln_upper_tail(-40.0).abs() < 1e-300);
    }

    #[test]
    fn quantiles_at_extreme_arguments() {
        close(upper_quantile(0.025), 1.959_963_984_540_054, 1e-14);
        close(upper_quantile(0.95), -1.644_853_626_951_472_7, 1e-14);
        close(upper_quantile(1e-300), 37.047_096_299_361_2, 1e-13);
        assert_eq!(upper_quantile(0.5), 0.0);
        assert_eq!(upper_quantile(0.0), f64::INFINITY);
        assert_eq!(upper_quantile(1.0), f64::NEG_INFINITY);
        for x in [0.01, 0.3, 1.0, 4.0, 9.0, 30.0] {
            close(upper_quantile(upper_tail(x)), x, 1e-12);
        }
    }

    #[test]
    fn tail_logarithm_is_continuous_where_its_formula_changes() {
        for x in [-1.0, 6.0] {
            let below = ln_upper_tail(x - 1e-13);
            let above = ln_upper_tail(x + 1e-13);
            assert!((below - above).abs() < 1e-11, "{x}: {below} {above}");
        }
    }

    #[test]
    fn gaussian_profile_is_accurate_for_tiny_mu() {
        // At epsilon = 0 the profile is the total variation, 2 Phi(mu/2) - 1.
        for mu in [1e-9, 1e-4, 1e-2, 0.5, 3.0] {
            let expected = central(0.5 * mu);
            close(gaussian_delta(mu, 0.0), expected, 1e-12);
        }
    }
}

//! Binomial tails and the exact confidence bounds of Clopper and Pearson 1934.
//!
//! ```
//! use dp_accountant::accounting::binomial::{proportion_lower, proportion_upper};
//!
//! // Ten of a hundred: the exact interval of 95 %, 2.5 % on each side, is (0.0490, 0.1762).
//! assert!((proportion_lower(10, 100, 0.025) - 0.0490).abs() < 5e-5);
//! assert!((proportion_upper(10, 100, 0.025) - 0.1762).abs() < 5e-5);
//! ```

use std::f64::consts::PI;

use super::bisection::{Until, largest_that_holds, smallest_that_fails};

/// How narrow an interval around a proportion becomes.
const NARROW: Until = Until::Width(1e-12);

/// `P(X >= successes)` for `X ~ Binomial(trials, p)`.
pub fn upper_tail(successes: u64, trials: u64, p: f64) -> f64 {
    if successes == 0 || p >= 1.0 {
        return if successes <= trials { 1.0 } else { 0.0 };
    }
    if successes > trials || p <= 0.0 {
        return 0.0;
    }
    // Above the mean the fraction gives the tail itself, below it the other one: neither cancels.
    if successes as f64 > trials as f64 * p {
        far_tail(successes, trials, p, 1.0 - p)
    } else {
        1.0 - far_tail(trials - successes + 1, trials, 1.0 - p, p)
    }
}

/// `P(X <= successes)` for `X ~ Binomial(trials, p)`.
pub fn lower_tail(successes: u64, trials: u64, p: f64) -> f64 {
    if successes >= trials {
        return 1.0;
    }
    if successes as f64 + 1.0 > trials as f64 * p {
        1.0 - upper_tail(successes + 1, trials, p)
    } else {
        far_tail(trials - successes, trials, 1.0 - p, p)
    }
}

/// The lower confidence bound on a proportion: the largest `p` with `P(X >= successes) <= alarm_rate` for every smaller one.
///
/// It is at most the true proportion with a probability of at least `1 - alarm_rate` (Clopper and Pearson 1934).
pub fn proportion_lower(successes: u64, trials: u64, alarm_rate: f64) -> f64 {
    if successes == 0 {
        return 0.0;
    }
    let refuted = |p| upper_tail(successes, trials, p) <= alarm_rate;
    largest_that_holds((0.0, 1.0), NARROW, refuted)
}

/// The upper confidence bound on a proportion: the smallest `p` with `P(X <= successes) <= alarm_rate` for every larger one.
///
/// Confidence and source: as for [`proportion_lower`].
pub fn proportion_upper(successes: u64, trials: u64, alarm_rate: f64) -> f64 {
    if successes >= trials {
        return 1.0;
    }
    let possible = |p| lower_tail(successes, trials, p) > alarm_rate;
    smallest_that_fails((0.0, 1.0), NARROW, possible)
}

/// `P(X >= k)` for `k` above the mean and `p + q = 1`, of which the smaller is exact.
///
/// The density times the continued fraction of the incomplete beta function `I_p(k, n - k + 1)` (Abramowitz and
/// Stegun 1964, formula 26.5.8), by Lentz's method.
fn far_tail(k: u64, n: u64, p: f64, q: f64) -> f64 {
    let (a, b) = (k as f64, (n - k) as f64 + 1.0);
    let tiny = 1e-300;
    let guard = |x: f64| if x.abs() < tiny { tiny } else { x };
    let (mut c, mut d) = (1.0, 1.0 / guard(1.0 - (a + b) * p / (a + 1.0)));
    let mut fraction = d;
    // It takes about the square root of n turns.
    for turn in 1..10_000_000_u32 {
        let m = f64::from(turn);
        let even = m * (b - m) * p / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * p / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut last = 1.0;
        for term in [even, odd] {
            d = 1.0 / guard(1.0 + term * d);
            c = guard(1.0 + term / c);
            last = c * d;
            fraction *= last;
        }
        if (last - 1.0).abs() < 1e-16 {
            break;
        }
    }
    (ln_density(k, n, p, q).exp() * q * fraction).min(1.0)
}

/// Logarithm of `P(X = k)` by Loader's 2000 saddle-point expansion, which does not cancel for large `n`.
fn ln_density(k: u64, n: u64, p: f64, q: f64) -> f64 {
    let (x, n) = (k as f64, n as f64);
    if x == n {
        return n * if p > 0.5 { (-q).ln_1p() } else { p.ln() };
    }
    let errors = stirling_error(n) - stirling_error(x) - stirling_error(n - x);
    let deviances = deviance(x, n * p) + deviance(n - x, n * q);
    errors - deviances - 0.5 * (2.0 * PI * x * (1.0 - x / n)).ln()
}

/// `ln(n!) - ln(sqrt(2 pi n) (n/e)^n)`.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        return libm::lgamma(n + 1.0) - (n + 0.5) * n.ln() + n - 0.5 * (2.0 * PI).ln();
    }
    let square = n * n;
    (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square)
            / square)
        / n
}

/// `x ln(x / mean) + mean - x`, also where `x` is near the mean.
fn deviance(x: f64, mean: f64) -> f64 {
    let apart = x - mean;
    if apart.abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() - apart;
    }
    let v = apart / (x + mean);
    let (mut sum, mut term) = (apart * v, 2.0 * x * v);
    for j in 1..1000 {
        term *= v * v;
        let next = sum + term / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
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

    /// Each term by products.
    fn summed(k: u64, n: u64, p: f64) -> f64 {
        let density = |k: u64| {
            let ways: f64 = (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product();
            ways * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
        };
        (k..=n).map(density).sum()
    }

    #[test]
    fn tails_are_sums_of_densities() {
        for n in [1, 2, 7, 30, 60] {
            for k in 0..=n {
                for p in [1e-6, 0.01, 0.3, 0.5, 0.77, 0.999] {
                    let (value, expected) = (upper_tail(k, n, p), summed(k, n, p));
                    assert!((value - expected).abs() < 1e-13, "{k} {n} {p}: {value}");
                    if expected > 1e-280 && k as f64 > n as f64 * p {
                        close(value, expected, 1e-11);
                    }
                    let density = summed(k, n, p) - summed(k + 1, n, p);
                    let all = value + lower_tail(k, n, p) - density;
                    assert!((all - 1.0).abs() < 1e-12);
                }
            }
        }
    }

    // Where no tail has to be computed: (1 - p)^n and p^n.
    #[test]
    fn no_success_and_no_failure() {
        for n in [1, 10, 1_000, 100_000_000] {
            let exact = -f64::exp_m1(0.05_f64.ln() / n as f64);
            close(proportion_upper(0, n, 0.05), exact, 1e-10);
            close(proportion_lower(n, n, 0.05), 1.0 - exact, 1e-10);
        }
        assert_eq!(proportion_lower(0, 10, 0.05), 0.0);
        assert_eq!(proportion_upper(10, 10, 0.05), 1.0);
    }
}

//! A test whether samples have a stated distribution.

use super::order::sorted;

/// The result of [`kolmogorov_smirnov`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KolmogorovSmirnov {
    /// The largest distance between the distribution function of the samples and the stated one.
    pub distance: f64,
    /// An upper bound on the p-value of the distance, for independent samples: `2 exp(-2 n distance^2)` (Massart 1990).
    pub p_value_upper: f64,
}

/// The test of Kolmogorov and Smirnov whether `samples` have this distribution function.
///
/// ```
/// use dp_audit::kolmogorov_smirnov;
///
/// let samples: Vec<f64> = (0..1_000).map(|k| (f64::from(k) + 0.5) / 1_000.0).collect();
/// assert!(kolmogorov_smirnov(&samples, |x| x).p_value_upper > 0.99);
/// assert!(kolmogorov_smirnov(&samples, |x| x * x).p_value_upper < 1e-9);
/// ```
pub fn kolmogorov_smirnov(samples: &[f64], distribution: impl Fn(f64) -> f64) -> KolmogorovSmirnov {
    let sorted = sorted(samples);
    let n = sorted.len() as f64;
    let mut distance = 0.0_f64;
    for (below, sample) in sorted.iter().enumerate() {
        let stated = distribution(*sample);
        let (from, to) = (below as f64 / n, (below as f64 + 1.0) / n);
        distance = distance.max(to - stated).max(stated - from);
    }
    KolmogorovSmirnov {
        distance,
        p_value_upper: (2.0 * (-2.0 * n * distance * distance).exp()).min(1.0),
    }
}

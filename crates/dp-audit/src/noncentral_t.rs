//! Confidence bounds on the shift of two normal samples, in units of their common standard deviation.

use dp_accountant::accounting::normal::upper_tail;

use crate::search::largest_refuted;

/// Nodes of Simpson's rule over the deviation that was estimated.
const NODES: u32 = 2_000;

/// Standard deviations of the estimated deviation that are integrated over.
const REACH: f64 = 14.0;

/// `P(T >= t)` for a noncentral `T` with these degrees of freedom and this noncentrality:
/// the mean of `P(Z >= t s - noncentrality)` over `s = sqrt(chi^2 / freedom)`.
pub(super) fn upper_tail_of(t: f64, freedom: f64, noncentrality: f64) -> f64 {
    let mode = ((freedom - 1.0) / freedom).max(0.0).sqrt();
    let spread = REACH / (2.0 * freedom).sqrt();
    let (low, high) = ((mode - spread).max(0.0), mode + spread);
    let step = (high - low) / f64::from(NODES);
    // Relative to the density at the mode, which is what is far from 1 on either side.
    let log_density = |s: f64| {
        if freedom == 1.0 {
            return -0.5 * s * s;
        }
        (freedom - 1.0) * (s / mode).ln() - 0.5 * freedom * (s - mode) * (s + mode)
    };
    let (mut tail, mut mass) = (0.0, 0.0);
    for node in 0..=NODES {
        let weight = match node {
            0 | NODES => 1.0,
            odd if odd % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let s = low + step * f64::from(node);
        let density = weight * log_density(s).exp();
        tail += density * upper_tail(t * s - noncentrality);
        mass += density;
    }
    tail / mass
}

/// The largest noncentrality that `t` refutes from below: `P(T >= t) <= alarm_rate` for every smaller one.
pub(super) fn noncentrality_lower(t: f64, freedom: f64, alarm_rate: f64) -> f64 {
    let refuted = |noncentrality| upper_tail_of(t, freedom, noncentrality) <= alarm_rate;
    largest_refuted(t.max(1.0), 1e-10, refuted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64, tolerance: f64) {
        assert!(
            (value - expected).abs() < tolerance,
            "{value} is not {expected}"
        );
    }

    #[test]
    fn without_a_shift_it_is_student_s() {
        // 95 % points of Student's table.
        for (freedom, point) in [
            (1.0, 6.313_752),
            (2.0, 2.919_986),
            (10.0, 1.812_461),
            (100.0, 1.660_234),
        ] {
            close(upper_tail_of(point, freedom, 0.0), 0.05, 1e-6);
        }
        // And the normal one in the limit.
        close(upper_tail_of(1.644_853_6, 1e9, 0.0), 0.05, 1e-7);
    }

    #[test]
    fn one_degree_of_freedom_at_zero() {
        // P(T >= 0) = P(Z >= -noncentrality), whatever the deviation.
        for freedom in [1.0, 5.0, 1e6] {
            close(upper_tail_of(0.0, freedom, 1.3), upper_tail(-1.3), 1e-12);
        }
    }

    #[test]
    fn the_bound_is_where_the_tail_is_the_alarm_rate() {
        let bound = noncentrality_lower(7.0, 18.0, 0.05);
        close(upper_tail_of(7.0, 18.0, bound), 0.05, 1e-7);
        assert_eq!(noncentrality_lower(1.0, 18.0, 0.05), 0.0);
    }
}

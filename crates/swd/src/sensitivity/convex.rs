//! Bounds on a line for costs other than the square.
//!
//! Let `psi = h'`, and let `kappa` be the sum of the changes of a slice's coefficients when a record is replaced. `n Delta` is
//! at most the largest `kappa max(2 L1, L1 + L2)`. If `psi` is convex above 0, moving one record from one end to the other
//! attains it (theorem A). If `psi` is concave, `psi(a + b) <= psi(a) + psi(b)`, and the worst record jumps over as many others
//! as there are (theorem B). `docs/theory.md` of the repository has the proofs.

use super::{Norms, ROUNDING};
use crate::{Cost, SwdError};

/// The number of steps of the search for a multiplier, each of whose values gives a bound.
const STEPS: usize = 120;

impl Norms {
    /// Returns the sensitivity of the gradient of a cost on a line, for one private side of `n` records.
    ///
    /// The side is compared with `m` others, or with a distribution or weights (`None`).
    /// - `Square`, and powers of at least 2: `p (2M)^(p-1) max(2 L1, L1 + L2) / n`, attained for every `n` and `m`;
    /// - Huber, `L2 = 0`, `t <= M` and `N >= 1 + M/t`: `(2 + 2M/t) L1 / n`, attained;
    /// - all others: the largest sum of `E(l1) + E(l2) + (L1 + L2)(2N-4) psi(c / (2N-4))` with `l1 + l2 + c = 2M`,
    ///   `E(l) = max{2 L1 psi(l), 2 (L1 + L2) psi(l/2)}` and `N = min(n, m)`, attained if `n = m`, or one divides the other.
    ///
    /// A mean over slices has the same bound, because each slice has it.
    ///
    /// ```
    /// use swd::Cost;
    /// use swd::sensitivity::Norms;
    ///
    /// // Nearly W_1 of 600 activations of size 1.5 towards a public distribution: off by 0.15 at most.
    /// let huber = Norms::new(1.5, 1.0).line_bound(Cost::Huber(0.3), 600, None)?;
    /// assert!((600.0 * huber - 12.0).abs() < 1e-6);
    /// // W_1 itself would have 2 L1, however many records there are.
    /// # Ok::<(), swd::SwdError>(())
    /// ```
    ///
    /// # Errors
    /// `n` or `m` is zero, a norm is negative or not finite, or an error of [`Cost::check`].
    pub fn line_bound(&self, cost: Cost, n: usize, m: Option<usize>) -> Result<f64, SwdError> {
        if cost == Cost::Square {
            return self.theorem_bound(n);
        }
        cost.check()?;
        self.check(n)?;
        self.check(m.unwrap_or(n))?;
        let values = n.min(m.unwrap_or(n));
        Ok(n_delta(cost, self.m_bound, self.l1, self.l2, values) / n as f64 * (1.0 + ROUNDING))
    }
}

/// Returns `n Delta` on a line if the smaller side has `values` points, rounded up by at most 1e-9 if `psi` is concave.
pub(super) fn n_delta(cost: Cost, m_bound: f64, l1: f64, l2: f64, values: usize) -> f64 {
    if cost.rises() {
        return cost.slope(2.0 * m_bound) * (2.0 * l1).max(l1 + l2);
    }
    // The two forms of E(l): a psi(l / b).
    let forms = [(2.0 * l1, 1.0), (2.0 * (l1 + l2), 2.0)];
    if values == 1 {
        let one = forms.map(|(a, b)| a * cost.slope(2.0 * m_bound / b));
        return one[0].max(one[1]);
    }
    let jumps = 2.0 * values as f64 - 4.0;
    let between = (jumps > 0.0).then_some(((l1 + l2) * jumps, jumps));
    let pairs = [(0, 0), (0, 1), (1, 1)].map(|(i, j)| {
        let pieces: Vec<(f64, f64)> = [forms[i], forms[j]].into_iter().chain(between).collect();
        largest_sum(cost, &pieces, 2.0 * m_bound)
    });
    pairs.into_iter().fold(0.0, f64::max)
}

/// Returns at least the largest `sum_i a_i psi(x_i / b_i)` over `x_i >= 0` that sum to `total`, for a concave `psi`.
///
/// By duality, for every multiplier `mu >= 0` it is at most `mu total + sum_i max_x (a_i psi(x / b_i) - mu x)`, with equality at
/// the best one.
fn largest_sum(cost: Cost, pieces: &[(f64, f64)], total: f64) -> f64 {
    let dual = |mu: f64| {
        let each = pieces.iter().filter(|(a, _)| *a > 0.0);
        let each = each.map(|&(a, b)| a * cost.conjugate(mu * b / a, total / b));
        mu * total + each.sum::<f64>()
    };
    let steepest = pieces.iter().map(|&(a, b)| a / b).fold(0.0, f64::max);
    let curvature = match cost {
        // The slope at 0 has no bound, and this one exceeds any best multiplier.
        Cost::Power(p) => p * (p - 1.0) * (1e-12 * total).powf(p - 2.0),
        _ => cost.curvature_upper(total),
    };
    let high = (steepest * curvature).max(f64::MIN_POSITIVE).ln();
    // The dual is convex in mu, so it has one valley in its logarithm.
    let (mut low, mut high) = (high - 60.0, high);
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let at = |x: f64| dual(x.exp());
    let mut best = dual(0.0).min(at(high));
    for _ in 0..STEPS {
        let left = high - golden * (high - low);
        let right = low + golden * (high - low);
        let (of_left, of_right) = (at(left), at(right));
        best = best.min(of_left).min(of_right);
        match of_left <= of_right {
            true => high = right,
            false => low = left,
        }
    }
    best
}

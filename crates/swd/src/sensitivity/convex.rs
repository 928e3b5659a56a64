//! Bounds on a line for costs other than the square.
//!
//! With `psi = h'` and `kappa` the sum of what a replacement does to the coefficients of a slice, `n Delta` is at most the largest
//! `kappa max(2 L1, L1 + L2)`. Where `psi` is convex above 0 that is attained by moving one record from one end to the other
//! (theorem A). Where it is concave, `psi(a + b) <= psi(a) + psi(b)`, and the worst record jumps over as many others as there are
//! (theorem B). `docs/theory.md` of the repository has the proofs.

use std::f64::consts::FRAC_PI_2;

use super::{ROUNDING, check_all, theorem_bound};
use crate::check::check_bound;
use crate::{Cost, SwdError};

/// Angles of the search for the worst shares of two maps.
const ANGLES: usize = 256;

/// Steps of the search for a multiplier: each of its values gives a bound.
const STEPS: usize = 120;

/// The sensitivity of the gradient of a cost on a line, for one private side of `n` records that is compared with `m` others.
///
/// `m_bound`: both sides' points are at most `M` in size; `l1`, `l2`: Jacobian bounds of the private and the other side, 0 where
/// that is not trained; `m`: `None` for a distribution, or for weights.
///
/// - `Square`, and powers of at least 2: `p (2M)^(p-1) max(2 L1, L1 + L2) / n`, attained for every `n` and `m`;
/// - Huber, `L2 = 0`, `t <= M` and `N >= 1 + M/t`: `(2 + 2M/t) L1 / n`, attained;
/// - all others: the largest sum of `E(l1) + E(l2) + (L1 + L2)(2N-4) psi(c / (2N-4))` with `l1 + l2 + c = 2M`,
///   `E(l) = max{2 L1 psi(l), 2 (L1 + L2) psi(l/2)}` and `N = min(n, m)`, attained where `n = m`, or one divides the other.
///
/// A mean over slices has this bound too, since each slice has.
///
/// ```
/// use swd::Cost;
/// use swd::sensitivity::cost_bound;
///
/// // Nearly W_1 of 600 activations of size 1.5 towards a public distribution: off by 0.15 at most.
/// let huber = cost_bound(Cost::Huber(0.3), 1.5, 1.0, 0.0, 600, None)?;
/// assert!((600.0 * huber - 12.0).abs() < 1e-6);
/// // W_1 itself would have 2 L1, however many records there are.
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// `n` or `m` is zero, a bound is negative or not finite, or [`Cost::check`].
pub fn cost_bound(
    cost: Cost,
    m_bound: f64,
    l1: f64,
    l2: f64,
    n: usize,
    m: Option<usize>,
) -> Result<f64, SwdError> {
    if cost == Cost::Square {
        return theorem_bound(m_bound, l1, l2, n);
    }
    cost.check()?;
    check_all(m_bound, l1, l2, n)?;
    check_all(m_bound, l1, l2, m.unwrap_or(n))?;
    let values = n.min(m.unwrap_or(n));
    Ok(n_delta(cost, m_bound, l1, l2, values) / n as f64 * (1.0 + ROUNDING))
}

/// [`cost_bound`] for two maps that share no parameter, each with a block of the gradient of its own. It is for one private side:
/// where both are private take the larger of this and of the same with `l1`, `l2` and `n`, `m` exchanged.
///
/// With `F(L1, L2)` for `n Delta` of [`cost_bound`] it is the largest `F(L1 cos f, L2 sin f) / n` over angles `f`, attained
/// wherever that one is: for the square and powers `p` of at least 2 `p (2M)^(p-1) max(2 L1, sqrt(L1^2 + L2^2)) / n`.
///
/// *Proof.* `F(L1, L2)` is the largest `L1 a + L2 b` over what neighbours can do, `a` to the coefficients of one side, `b` of the
/// other. In blocks of their own the parts do not add up in one direction: the norm is `sqrt((L1 a)^2 + (L2 b)^2)`, the largest
/// `cos(f) L1 a + sin(f) L2 b`, and the two maxima may be taken in either order. The search takes equally spaced angles, one of
/// which is within half a spacing `s` of the best: what it finds is divided by `cos(s / 2)`, which adds 5e-6 of the whole.
///
/// ```
/// use swd::Cost;
/// use swd::sensitivity::{cost_bound, disjoint_bound};
///
/// // An encoder of 600 private records, and one of public records whose Jacobians may be twice as large.
/// let apart = disjoint_bound(Cost::Square, 1.5, 1.0, 2.0, 600, None)?;
/// assert!(apart < 0.75 * cost_bound(Cost::Square, 1.5, 1.0, 2.0, 600, None)?);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// As [`cost_bound`].
pub fn disjoint_bound(
    cost: Cost,
    m_bound: f64,
    l1: f64,
    l2: f64,
    n: usize,
    m: Option<usize>,
) -> Result<f64, SwdError> {
    check_all(m_bound, l1, l2, n)?;
    if cost.rises() {
        // Twice this is max(2 L1, sqrt(L1^2 + L2^2)).
        let l = l1.max(l1.hypot(l2) / 2.0);
        return Ok(cost_bound(cost, m_bound, l, 0.0, n, m)? * (1.0 + ROUNDING));
    }
    let spacing = FRAC_PI_2 / (ANGLES - 1) as f64;
    let mut largest = 0.0_f64;
    for step in 0..ANGLES {
        let (sin, cos) = (step as f64 * spacing).sin_cos();
        largest = largest.max(cost_bound(
            cost,
            m_bound,
            l1 * cos.max(0.0),
            l2 * sin,
            n,
            m,
        )?);
    }
    Ok(largest / (spacing / 2.0).cos() * (1.0 + ROUNDING))
}

/// [`cost_bound`] where records have weights that sum to at most 1, in every data set, in place of `1/n` each: `a F(L1, L2)` with `a` the largest
/// weight that a record can have, and `F` the limit of `n Delta` for many values on either side.
///
/// - Slots of public weights: a record takes the weight of its slot, and one record is replaced.
/// - Weights that belong to the records, in `[0, a]`: what is missing to 1 has to be given to a public point of `[-M, M]` without Jacobian, so
///   that the weights of all others stay as they are. A record of weight `a'` that is replaced by one of less is a record that
///   moves, and one that moves to the public point.
///
/// Powers below 2 have no such bound: theirs grows with the number of values.
///
/// ```
/// use swd::Cost;
/// use swd::sensitivity::{theorem_bound, weighted_bound};
///
/// // No record of more than a hundredth of the whole, as among 100 of equal weight.
/// let weighted = weighted_bound(Cost::Square, 1.0, 1.0, 0.0, 0.01)?;
/// assert!((weighted / theorem_bound(1.0, 1.0, 0.0, 100)? - 1.0).abs() < 1e-8);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// As [`cost_bound`]; a weight outside of `[0, 1]`; [`SwdError::Cost`] for a power below 2.
pub fn weighted_bound(
    cost: Cost,
    m_bound: f64,
    l1: f64,
    l2: f64,
    largest_weight: f64,
) -> Result<f64, SwdError> {
    cost.check()?;
    check_all(m_bound, l1, l2, 1)?;
    check_bound("largest weight", largest_weight)?;
    let refuse = |what, value, bound| Err(SwdError::Cost { what, value, bound });
    match cost {
        Cost::Power(p) if p < 2.0 => {
            return refuse("power", p, "at least 2 where records have weights");
        }
        _ if largest_weight > 1.0 => {
            return refuse("largest weight", largest_weight, "at most 1, the whole");
        }
        _ => {}
    }
    let many = match cost.rises() {
        true => n_delta(cost, m_bound, l1, l2, 1),
        // The largest 4 L1 psi(a) + 2 (L1 + L2) B (M - a) for a in [0, M]: of many jumps each is as good as straight.
        false => {
            let straight = 2.0 * (l1 + l2) * cost.curvature_upper(2.0 * m_bound);
            let ends = match l1 > 0.0 {
                true => 4.0 * l1 * cost.conjugate(straight / (4.0 * l1), m_bound),
                false => 0.0,
            };
            straight * m_bound + ends
        }
    };
    Ok(largest_weight * many * (1.0 + ROUNDING))
}

/// `n Delta` on a line for `values` points on the side of fewer, rounded up by at most 1e-9 where `psi` is concave.
pub(super) fn n_delta(cost: Cost, m_bound: f64, l1: f64, l2: f64, values: usize) -> f64 {
    if cost.rises() {
        return cost.slope(2.0 * m_bound) * (2.0 * l1).max(l1 + l2);
    }
    // E(l) in its two forms, a psi(l / b).
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

/// No less than the largest `sum_i a_i psi(x_i / b_i)` over `x_i >= 0` that sum to `total`, for a concave `psi`.
///
/// By duality: for every multiplier `mu >= 0` it is at most `mu total + sum_i max_x (a_i psi(x / b_i) - mu x)`, with equality at
/// the best one.
fn largest_sum(cost: Cost, pieces: &[(f64, f64)], total: f64) -> f64 {
    let dual = |mu: f64| {
        let each = pieces.iter().filter(|(a, _)| *a > 0.0);
        let each = each.map(|&(a, b)| a * cost.conjugate(mu * b / a, total / b));
        mu * total + each.sum::<f64>()
    };
    let steepest = pieces.iter().map(|&(a, b)| a / b).fold(0.0, f64::max);
    let curvature = match cost {
        // The slope at 0 has no bound, and this is beyond any multiplier that is best.
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

//! Bounds for costs other than the square.
//!
//! With `psi = h'` and `kappa` the sum of what a replacement does to the coefficients of a slice, `n Delta` is at most the largest
//! `kappa max(2 L1, L1 + L2)`. Where `psi` is convex above 0 that is attained by moving one record from one end to the other
//! (theorem A). Where it is concave, `psi(a + b) <= psi(a) + psi(b)`, and the worst record jumps over as many others as there are
//! (theorem B). `docs/theory.md` of the repository has the proofs.

use super::{
    CellSpread, PriorMatchingBound, ROUNDING, check_all, prior_matching_bound,
    private_sample_bounds, theorem_bound,
};
use crate::{Cells, Cost, Slices, SwdError};

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

/// The same where both sides are private and a record of either may be replaced: the larger of the two.
///
/// # Errors
/// As [`cost_bound`].
pub fn cost_bound_both_private(
    cost: Cost,
    m_bound: f64,
    l1: f64,
    l2: f64,
    n: usize,
    m: usize,
) -> Result<f64, SwdError> {
    let one = cost_bound(cost, m_bound, l1, l2, n, Some(m))?;
    Ok(one.max(cost_bound(cost, m_bound, l2, l1, m, Some(n))?))
}

/// [`prior_matching_bound`] for any cost: private records against public cells, whose residuals go through `h'`.
///
/// The gradient is that of the *quantised* cost `(1/n) sum_r h(u_(r) - q_r)`, which is at most `B/2` times the mean variance
/// within the cells below the cost itself, `B` the largest `h''`.
///
/// `m_bound` may be infinite for the Huber, log-cosh and pseudo-Huber costs with `L2 = 0`: `(2 sqrt(lambda) + S) L1 / n` holds for
/// any activations, `S` what the jumps of a record from cell to cell may add up to. Nothing needs to be projected onto a ball
/// then.
///
/// ```
/// use rand::SeedableRng;
/// use swd::sensitivity::prior_cost_bound;
/// use swd::{Cost, Slices, UniformBall};
///
/// let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// let slices = Slices::tight(6, 96, &mut rng)?;
/// let ball = UniformBall::new(6)?.cells(600)?;
/// let bound = |m_bound| prior_cost_bound(Cost::Huber(0.5), m_bound, 1.0, 0.0, &slices, &ball);
/// assert_eq!(bound(1.5)?.sensitivity(), bound(f64::INFINITY)?.sensitivity());
/// assert!(600.0 * bound(f64::INFINITY)?.sensitivity() < 4.0);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// As [`prior_matching_bound`] and [`Cost::check`].
pub fn prior_cost_bound(
    cost: Cost,
    m_bound: f64,
    l1: f64,
    l2: f64,
    slices: &Slices,
    cells: &Cells,
) -> Result<PriorMatchingBound, SwdError> {
    if cost == Cost::Square {
        return prior_matching_bound(m_bound, l1, l2, slices, cells);
    }
    cost.check()?;
    let n = cells.n();
    let free = m_bound == f64::INFINITY && cost.levels_off() && l2 == 0.0;
    check_all(if free { 0.0 } else { m_bound }, l1, l2, n)?;
    cells.check_slices(slices.count())?;
    let lambda = slices.lambda_max_upper();
    let root = lambda.sqrt();
    let rows = cells.rows();
    let mean = |of: &dyn Fn(&[f64]) -> f64| -> f64 {
        (0..rows).map(|l| of(cells.row(l))).sum::<f64>() / rows as f64
    };
    let half_range = |row: &[f64]| (row[n - 1] - row[0]) / 2.0;
    let size = |row: &[f64]| row[0].abs().max(row[n - 1].abs());
    let spread = CellSpread::new(cells, lambda)?;
    let largest = spread.q_max;
    let curvature = cost.curvature_upper(m_bound.max(largest) * 2.0);
    // What a jump from one cell to the next may do to a coefficient.
    let jump = |low: f64, high: f64| match cost.rises() {
        true => {
            let at = |x: f64| cost.slope(x - low) - cost.slope(x - high);
            at(m_bound).max(at(-m_bound))
        }
        false => 2.0 * cost.slope((high - low) / 2.0),
    };
    let jumps = |row: &[f64]| {
        row.windows(2)
            .map(|pair| jump(pair[0], pair[1]))
            .sum::<f64>()
    };
    let mut shift = mean(&jumps).min(super::spread::shift_spread(cells, lambda, &jump));
    let own = if cost.rises() {
        // A record that moves from the first cell to the last may do so at once.
        let ends = |row: &[f64]| {
            let at = |x: f64| cost.slope(x - row[0]) - cost.slope(x - row[n - 1]);
            at(m_bound).max(at(-m_bound))
        };
        shift = shift.min(mean(&ends));
        let steepest = cost.slope(m_bound + largest) / (m_bound + largest).max(f64::MIN_POSITIVE);
        2.0 * root * steepest * (root * m_bound + spread.q_rms)
    } else {
        let moved = 2.0 * root * m_bound * curvature;
        shift = shift.min(moved + 2.0 * cost.slope(mean(&half_range)));
        2.0 * root * cost.slope(root * m_bound + spread.q_rms)
    };
    let line = |row: &[f64]| match free {
        true => f64::INFINITY,
        false => n_delta(cost, m_bound.max(size(row)), l1, l2, n),
    };
    let mut per_slice = mean(&line);
    if !cost.rises() && l2 == 0.0 {
        let alone = |row: &[f64]| {
            let range = (2.0 * half_range(row) * curvature).min(jumps(row));
            l1 * (2.0 * cost.slope(m_bound + size(row)) + range)
        };
        per_slice = per_slice.min(mean(&|row| alone(row).min(line(row))));
    }
    let other = match l2 > 0.0 {
        true => {
            let across = |row: &[f64]| match cost.rises() {
                true => cost.slope(2.0 * m_bound.max(size(row))),
                false => 2.0 * m_bound.max(size(row)) * curvature,
            };
            l2 * (2.0 * root * m_bound * curvature).min(mean(&across))
        }
        false => 0.0,
    };
    let upper = |n_delta: f64| n_delta / n as f64 * (1.0 + ROUNDING);
    Ok(PriorMatchingBound {
        theorem: match free {
            true => f64::INFINITY,
            false => upper(n_delta(cost, m_bound.max(largest), l1, l2, n)),
        },
        joint: upper(l1 * (own + shift) + other),
        per_slice: upper(per_slice),
        // As for squares: each cotangent is at most sqrt(lambda) psi in norm.
        rounding: f64::powi(2.0, -23) * l1 * root * cost.slope(m_bound + largest),
    })
}

/// [`private_sample_bounds`] for any cost: for a record of the `n` that the map is fed, and for one of the `m` of the private
/// sample that it does not touch, which is compared by its `n` quantile cells.
///
/// The first is the smaller of [`cost_bound`] with `L2 = 0` and, where `psi = h'` is concave,
/// `(2 sqrt(lambda) psi((1 + sqrt lambda) M) + 2 psi(M) + 2 sqrt(lambda) M B) L / n`. The second is `2 sqrt(lambda) M B L / m`: a
/// record of the sample moves the cells of a slice by what sums to `n/m` times its own move, and each coefficient by `B` times
/// that.
///
/// # Errors
/// As [`cost_bound`]; [`SwdError::Cost`] for a power below 2, whose `B`, the largest `h''`, is infinite.
pub fn private_sample_cost_bounds(
    cost: Cost,
    m_bound: f64,
    l: f64,
    n: usize,
    m: usize,
    lambda_max: f64,
) -> Result<[f64; 2], SwdError> {
    if cost == Cost::Square {
        return private_sample_bounds(m_bound, l, n, m, lambda_max);
    }
    check_all(m_bound, l, lambda_max, m)?;
    let mut inputs = cost_bound(cost, m_bound, l, 0.0, n, None)?;
    let curvature = cost.curvature_upper(2.0 * m_bound);
    if !curvature.is_finite() {
        let Cost::Power(value) = cost else {
            return Ok([inputs, f64::INFINITY]);
        };
        return Err(SwdError::Cost {
            what: "power",
            value,
            bound: "at least 2 towards a private sample",
        });
    }
    let root = lambda_max.sqrt();
    let moved = 2.0 * root * m_bound * curvature;
    if !cost.rises() {
        let own = 2.0 * root * cost.slope((1.0 + root) * m_bound) + 2.0 * cost.slope(m_bound);
        inputs = inputs.min((own + moved) * l / n as f64 * (1.0 + ROUNDING));
    }
    Ok([inputs, moved * l / m as f64 * (1.0 + ROUNDING)])
}

/// `n Delta` on a line for `values` points on the side of fewer, rounded up by at most 1e-9 where `psi` is concave.
fn n_delta(cost: Cost, m_bound: f64, l1: f64, l2: f64, values: usize) -> f64 {
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

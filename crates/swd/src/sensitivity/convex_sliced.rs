//! Bounds along slices for costs other than the square; `docs/theory.md` of the repository has the proofs.

use super::convex::{cost_bound, n_delta};
use super::spread::shift_spread;
use super::{
    CellSpread, PriorMatchingBound, ROUNDING, both_private_bound, check_all, prior_matching_bound,
    private_sample_bounds,
};
use crate::{Cost, Slices, SwdError, TargetQuantiles};

/// [`prior_matching_bound`] for any cost: private records against public cells, whose residuals go through `h'`.
///
/// The gradient is that of the *quantised* cost `(1/n) sum_r h(u_(r) - q_r)`, which is at most `B/2` times the mean variance
/// within the cells below the cost itself, `B` the largest `h''`.
///
/// `m_bound` may be infinite for the Huber cost with `L2 = 0`: `(2 sqrt(lambda) + S) L1 / n` holds for
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
    cells: &TargetQuantiles,
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
    let mut shift = mean(&jumps).min(shift_spread(cells, lambda, &jump));
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
/// The first is that of [`both_private_cost_bound`] for `L1 = L` and `L2 = 0`. The second is `2 sqrt(lambda) M B L / m`: a
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
    let inputs = one_side(cost, m_bound, l, 0.0, n, None, lambda_max)?;
    if let Cost::Power(value) = cost
        && !cost.rises()
    {
        return Err(SwdError::Cost {
            what: "power",
            value,
            bound: "at least 2 towards a private sample",
        });
    }
    let curvature = cost.curvature_upper(2.0 * m_bound);
    let root = lambda_max.sqrt();
    let moved = 2.0 * root * m_bound * curvature;
    Ok([inputs, moved * l / m as f64 * (1.0 + ROUNDING)])
}

/// [`both_private_bound`](super::both_private_bound) for any cost: where both sides are private and trained, for a record of
/// either of them.
///
/// For a record of the first side, of `n`, it is the smaller of [`cost_bound`] and, where `psi = h'` is concave,
///
/// ```text
/// (L1 (2 sqrt(lambda) psi((1 + sqrt lambda) M) + 2 psi(M) + 2 sqrt(lambda) M B) + L2 2 sqrt(lambda) M B) / n
/// ```
///
/// with `B` the largest `h''`; for one of the second side `L1`, `L2` and `n`, `m` change places. It is for the gradient of the cost
/// itself, [`crate::transport::between::sliced_gradients_and_cost`].
///
/// ```
/// use swd::Cost;
/// use swd::sensitivity::{both_private_bound, both_private_cost_bound};
///
/// // Two groups of 300 records, nearly by W_1, along a tight frame in R^6.
/// let huber = both_private_cost_bound(Cost::Huber(1.0), 1.5, 1.0, 1.0, 300, 300, 1.0 / 6.0)?;
/// assert!(huber < both_private_bound(1.5, 1.0, 1.0, 300, 300, 1.0 / 6.0)?);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// As [`cost_bound`]; `lambda_max` is negative or not finite.
pub fn both_private_cost_bound(
    cost: Cost,
    m_bound: f64,
    l1: f64,
    l2: f64,
    n: usize,
    m: usize,
    lambda_max: f64,
) -> Result<f64, SwdError> {
    if cost == Cost::Square {
        return both_private_bound(m_bound, l1, l2, n, m, lambda_max);
    }
    let first = one_side(cost, m_bound, l1, l2, n, Some(m), lambda_max)?;
    Ok(first.max(one_side(cost, m_bound, l2, l1, m, Some(n), lambda_max)?))
}

/// For a record of one of two private sides, of `n` records; the other one has `m`, or is cells.
fn one_side(
    cost: Cost,
    m_bound: f64,
    own: f64,
    other: f64,
    n: usize,
    m: Option<usize>,
    lambda_max: f64,
) -> Result<f64, SwdError> {
    let line = cost_bound(cost, m_bound, own, other, n, m)?;
    check_all(m_bound, own, lambda_max, n)?;
    if cost.rises() {
        return Ok(line);
    }
    let root = lambda_max.sqrt();
    let moved = 2.0 * root * m_bound * cost.curvature_upper(2.0 * m_bound);
    let rest = 2.0 * root * cost.slope((1.0 + root) * m_bound) + 2.0 * cost.slope(m_bound);
    let joint = (own * (rest + moved) + other * moved) / n as f64 * (1.0 + ROUNDING);
    // A curvature without a bound has no joint one.
    Ok(if joint < line { joint } else { line })
}

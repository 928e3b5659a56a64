//! Bounds along slices for costs other than the square; `docs/theory.md` of the repository has the proofs.

use super::convex::n_delta;
use super::spread::shift_spread;
use super::{CellSpread, Norms, PriorMatchingBound, ROUNDING};
use crate::{Cost, Slices, SwdError, TargetQuantiles};

impl Norms {
    /// Does the work of [`Norms::prior_bound`] for costs other than the square.
    pub(super) fn prior_cost_bound(
        &self,
        cost: Cost,
        slices: &Slices,
        cells: &TargetQuantiles,
    ) -> Result<PriorMatchingBound, SwdError> {
        let Self { m_bound, l1, l2 } = *self;
        cost.check()?;
        let n = cells.n();
        let free = m_bound == f64::INFINITY && cost.levels_off() && l2 == 0.0;
        let finite = if free { 0.0 } else { m_bound };
        Self {
            m_bound: finite,
            ..*self
        }
        .check(n)?;
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
        // The most that a jump from one cell to the next changes a coefficient.
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
            // A record that moves from the first cell to the last may jump at once.
            let ends = |row: &[f64]| {
                let at = |x: f64| cost.slope(x - row[0]) - cost.slope(x - row[n - 1]);
                at(m_bound).max(at(-m_bound))
            };
            shift = shift.min(mean(&ends));
            let steepest =
                cost.slope(m_bound + largest) / (m_bound + largest).max(f64::MIN_POSITIVE);
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

    /// Returns the second of [`Norms::private_sample_bounds`], for one of the `m` records of the target.
    pub(super) fn sample_bound(
        &self,
        cost: Cost,
        m: usize,
        lambda_max: f64,
    ) -> Result<f64, SwdError> {
        self.check_with(lambda_max, m)?;
        if let Cost::Power(value) = cost
            && !cost.rises()
        {
            return Err(SwdError::Cost {
                what: "power",
                value,
                bound: "at least 2 towards a private sample",
            });
        }
        let curvature = cost.curvature_upper(2.0 * self.m_bound);
        let moved = 2.0 * lambda_max.sqrt() * self.m_bound * curvature;
        Ok(moved * self.l1 / m as f64 * (1.0 + ROUNDING))
    }

    /// Returns the sensitivity for a record of one of two private sides, of `n` records; the other has `m`, or is cells.
    pub(super) fn one_side(
        &self,
        cost: Cost,
        n: usize,
        m: Option<usize>,
        lambda_max: f64,
    ) -> Result<f64, SwdError> {
        let line = self.line_bound(cost, n, m)?;
        self.check_with(lambda_max, n)?;
        if cost.rises() {
            return Ok(line);
        }
        let m_bound = self.m_bound;
        let root = lambda_max.sqrt();
        let moved = 2.0 * root * m_bound * cost.curvature_upper(2.0 * m_bound);
        let rest = 2.0 * root * cost.slope((1.0 + root) * m_bound) + 2.0 * cost.slope(m_bound);
        let joint = (self.l1 * (rest + moved) + self.l2 * moved) / n as f64 * (1.0 + ROUNDING);
        // If the curvature has no bound, the joint bound is infinite or not a number.
        Ok(if joint < line { joint } else { line })
    }
}

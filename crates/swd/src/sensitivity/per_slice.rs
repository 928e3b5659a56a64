use super::{Norms, ROUNDING};
use crate::{SwdError, TargetQuantiles};

impl Norms {
    /// Returns the mean over the slices of the theorem's maximum with the cells of each slice.
    ///
    /// `(2/n) (1/k) sum_l max { L1 (|u - x| + |w - y| + x - y) + L2 (u - w) }` over the nine vertices
    /// `u >= w` in `{-M, M}` and `x >= y` in `{q_l1, q_ln}`. Cells may exceed `M`.
    ///
    /// # Errors
    /// A norm that is negative or not finite.
    pub(super) fn per_slice_bound(&self, cells: &TargetQuantiles) -> Result<f64, SwdError> {
        let n = cells.n();
        self.check(n)?;
        let rows = cells.rows();
        let sum: f64 = (0..rows)
            .map(|l| {
                let row = cells.row(l);
                slice_maximum(self.m_bound, self.l1, self.l2, row[0], row[n - 1])
            })
            .sum();
        Ok(2.0 / n as f64 * sum / rows as f64 * (1.0 + ROUNDING))
    }
}

/// Returns the maximum over `{u >= w} x {x >= y}` inside the ranges. The function is convex in `(u, w, x, y)`,
/// so the maximum is at a pair of corners of the two triangles.
fn slice_maximum(m_bound: f64, l1: f64, l2: f64, lowest: f64, highest: f64) -> f64 {
    let corners = |low: f64, high: f64| [(low, low), (high, low), (high, high)];
    let mut maximum = 0.0_f64;
    for (u, w) in corners(-m_bound, m_bound) {
        for (x, y) in corners(lowest, highest) {
            let own = (u - x).abs() + (w - y).abs() + x - y;
            maximum = maximum.max(l1 * own + l2 * (u - w));
        }
    }
    maximum
}

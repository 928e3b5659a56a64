use rayon::prelude::*;

use crate::check::check_bound;
use crate::{SwdError, TargetQuantiles};

/// The number of spacings summed together, in a fixed order: the bound is the same on any number of threads.
const BLOCK: usize = 8192;

/// The spread of public cells, as the joint bound needs it: how large they are, and how far apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellSpread {
    /// `Q`, the root mean square over the slices of `max_r |q_lr|`.
    pub q_rms: f64,
    /// The largest `|q_lr|`.
    pub q_max: f64,
    /// `S_trivial = (1/k) sum_l (q_ln - q_l1)`.
    pub shift_trivial: f64,
    /// `S_spread`, with spacings split at the best threshold found.
    pub shift_spread: f64,
}

impl CellSpread {
    /// Summarises cells for slices with `lambda_max(Theta Theta^T / k) <= lambda_max`.
    ///
    /// A replaced record moves others by one rank each, through distinct spacings of each slice.
    /// The sum of the norms of these moves is at most `S_trivial`. For every `tau >= 0` and the spacings
    /// `delta` of all slices it is also at most
    /// `(1/k) sum (delta - tau)_+ + sqrt(lambda/k) sqrt((n-1) sum min(delta, tau)^2)`. The part above `tau`
    /// follows from the triangle inequality, the part below from Cauchy-Schwarz over the records and
    /// `|Theta w / k| <= sqrt(lambda/k) |w|`. `S_spread` is the smallest value over the thresholds tried,
    /// each of which gives a valid bound.
    ///
    /// # Errors
    /// `lambda_max` is negative or not finite.
    pub fn new(cells: &TargetQuantiles, lambda_max: f64) -> Result<Self, SwdError> {
        check_bound("largest eigenvalue of the slices", lambda_max)?;
        let (n, rows) = (cells.n(), cells.rows());
        let (mut squares, mut q_max, mut ranges) = (0.0, 0.0_f64, 0.0);
        for l in 0..rows {
            let (lowest, highest) = (cells.row(l)[0], cells.row(l)[n - 1]);
            let largest = lowest.abs().max(highest.abs());
            squares += largest * largest;
            ranges += highest - lowest;
            q_max = q_max.max(largest);
        }
        Ok(Self {
            q_rms: (squares / rows as f64).sqrt(),
            q_max,
            shift_trivial: ranges / rows as f64,
            shift_spread: shift_spread(cells, lambda_max, &|low, high| high - low),
        })
    }

    /// Returns the smaller of the two bounds on the moves of the records that are not replaced.
    pub fn shift_upper(&self) -> f64 {
        self.shift_trivial.min(self.shift_spread)
    }
}

/// Returns `S_spread`, where `jump` gives how far a record moves between two neighbouring cells.
pub(super) fn shift_spread(
    cells: &TargetQuantiles,
    lambda_max: f64,
    jump: &impl Fn(f64, f64) -> f64,
) -> f64 {
    let (n, rows) = (cells.n(), cells.rows() as f64);
    let values = cells.values();
    let spacings: Vec<f64> = (0..cells.rows())
        .flat_map(|l| values[l * n..(l + 1) * n].windows(2))
        .map(|pair| jump(pair[0], pair[1]))
        .collect();
    // If all k slices share one row, k times its sums over k is the row itself: only the number
    // of rows remains in the formula.
    let mean_square_factor = lambda_max / rows * (n as f64 - 1.0);
    let bound = |(above, squares): (f64, f64)| above / rows + (mean_square_factor * squares).sqrt();

    // The derivative in tau has the sign of sqrt(lambda (n-1) rows) tau - sqrt(sum min(delta,
    // tau)^2), and sum min(delta/tau, 1)^2 falls in tau: one minimum, found by bisection. Close is
    // enough, because every tau is valid and the bound is flat at its minimum.
    let balance = lambda_max * (n as f64 - 1.0) * rows;
    let (mut low, mut high) = (0.0, spacings.iter().copied().fold(0.0, f64::max));
    let mut best = bound(split(&spacings, high));
    for _ in 0..24 {
        let tau = 0.5 * (low + high);
        let sums = split(&spacings, tau);
        best = best.min(bound(sums));
        if balance * tau * tau > sums.1 {
            high = tau;
        } else {
            low = tau;
        }
    }
    best
}

/// Returns `sum (delta - tau)_+` and `sum min(delta, tau)^2`.
fn split(spacings: &[f64], tau: f64) -> (f64, f64) {
    let blocks: Vec<(f64, f64)> = spacings
        .par_chunks(BLOCK)
        .map(|block| {
            // Independent partial sums, so that additions need not wait for each other.
            let (mut above, mut squares) = ([0.0; 8], [0.0; 8]);
            for lanes in block.chunks(8) {
                for (lane, &delta) in lanes.iter().enumerate() {
                    let below = if delta < tau { delta } else { tau };
                    above[lane] += delta - below;
                    squares[lane] += below * below;
                }
            }
            (above.iter().sum::<f64>(), squares.iter().sum::<f64>())
        })
        .collect();
    blocks
        .iter()
        .fold((0.0, 0.0), |sum, block| (sum.0 + block.0, sum.1 + block.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The bisection finds the minimum over a dense scan of thresholds, and never less.
        #[test]
        fn the_threshold_is_the_best(
            spacings in prop::collection::vec(prop_oneof![3 => 0.0..0.1, 1 => 0.0..2.0, 1 => Just(0.0)], 6),
            lambda_max in 0.01_f64..1.0,
        ) {
            let mut values = vec![-1.0; 8];
            for (place, spacing) in spacings.iter().enumerate() {
                let (row, r) = (place / 3, place % 3);
                values[row * 4 + r + 1] = values[row * 4 + r] + spacing;
            }
            let cells = TargetQuantiles::from_rows(4, values, vec![0.0; 2]).unwrap();
            let spread = CellSpread::new(&cells, lambda_max).unwrap();
            let mut least = f64::INFINITY;
            for step in 0..=4000 {
                let tau = 2.0 * f64::from(step) / 4000.0;
                let above: f64 = spacings.iter().map(|s: &f64| (s - tau).max(0.0)).sum();
                let squares: f64 = spacings.iter().map(|s: &f64| s.min(tau).powi(2)).sum();
                least = least.min(above / 2.0 + (lambda_max / 2.0 * 3.0 * squares).sqrt());
            }
            prop_assert!(spread.shift_spread <= least + 1e-6);
            prop_assert!(spread.shift_spread >= least - 2e-3);
        }
    }
}

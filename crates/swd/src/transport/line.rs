//! The optimal plan between two samples on a line, such as those of one slice.

use crate::SwdError;
use crate::breakpoints::{overlaps, weighted_overlaps};
use crate::check::{check_length, check_weights};
use crate::sort::check_rows;

/// A mass that moves from one value to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Move {
    /// The index in the first sample that it comes from.
    pub from: usize,
    /// The index in the second sample that it goes to.
    pub to: usize,
    /// Its share of the whole mass.
    pub mass: f64,
}

/// Finds the optimal plan between two samples on a line, for every convex cost of the distance moved.
///
/// Values are matched in their order, and ties keep the order of their index. There are at most `n + m - 1` moves, whose
/// masses sum to 1.
///
/// - `x`: `[n]`, `y`: `[m]`, in the same unit;
/// - `weights_x`, `weights_y`: one a value, divided by their sum; `None` for equal weights.
///
/// ```
/// use swd::transport::line::{Move, plan};
///
/// // Three values for two: the middle one goes half to each side.
/// let moves = plan(&[9.0, 0.0, 3.0], None, &[1.0, 7.0], None)?;
/// let masses: Vec<f64> = moves.iter().map(|found| 6.0 * found.mass).collect();
/// assert_eq!(masses, [2.0, 1.0, 1.0, 2.0]);
/// assert_eq!((moves[1].from, moves[1].to), (2, 0));
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// No values, a value that is not finite, a number of weights other than that of the values, a weight that is negative or
/// not finite, or weights whose sum is zero or not finite.
///
/// Source: Peyre and Cuturi, Computational Optimal Transport, 2019, section 2.6.
pub fn plan(
    x: &[f64],
    weights_x: Option<&[f64]>,
    y: &[f64],
    weights_y: Option<&[f64]>,
) -> Result<Vec<Move>, SwdError> {
    let (order_x, order_y) = (order("first sample", x)?, order("second sample", y)?);
    let of = |i: usize, j: usize, mass| Move {
        from: order_x[i],
        to: order_y[j],
        mass,
    };
    if weights_x.is_none() && weights_y.is_none() {
        // Exact, in units of 1/(nm).
        let all = x.len() as f64 * y.len() as f64;
        let moves = overlaps(x.len(), y.len());
        return Ok(moves.map(|o| of(o.i, o.j, o.weight as f64 / all)).collect());
    }
    let shares_x = shares("list of weights of the first sample", weights_x, &order_x)?;
    let shares_y = shares("list of weights of the second sample", weights_y, &order_y)?;
    let moves = weighted_overlaps(&shares_x, &shares_y);
    Ok(moves.map(|o| of(o.i, o.j, o.weight)).collect())
}

/// Returns `sum mass |x - y|^p` for a plan of [`plan`]: the `p`-th power of the `p`-Wasserstein distance, in the units of
/// the values to the power `p`.
///
/// ```
/// use swd::transport::line::{plan, wp_power};
///
/// let (x, y) = ([4.0, 0.0], [1.0, 2.0]);
/// let moves = plan(&x, None, &y, None)?;
/// assert_eq!(wp_power(&moves, &x, &y, 3.0)?, (1.0 + 8.0) / 2.0);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// A `p` that is below 1 or not finite, or a plan of other samples.
pub fn wp_power(moves: &[Move], x: &[f64], y: &[f64], p: f64) -> Result<f64, SwdError> {
    if !(p.is_finite() && p >= 1.0) {
        return Err(SwdError::NotAnOrder { value: p });
    }
    let at = |what, values: &[f64], index: usize| {
        let count = values.len();
        let missing = SwdError::NotThere { what, index, count };
        values.get(index).copied().ok_or(missing)
    };
    moves.iter().try_fold(0.0, |sum, found| {
        let from = at("value of the first sample", x, found.from)?;
        let apart = (from - at("value of the second sample", y, found.to)?).abs();
        Ok(sum + found.mass * apart.powf(p))
    })
}

fn order(what: &'static str, values: &[f64]) -> Result<Vec<usize>, SwdError> {
    if values.is_empty() {
        return Err(SwdError::Empty { what });
    }
    if let Some(row) = values.iter().position(|value| !value.is_finite()) {
        return Err(SwdError::NotFinite {
            what,
            row,
            index: 0,
            value: values[row],
        });
    }
    check_rows(values.len(), values.len())?;
    let mut order: Vec<usize> = (0..values.len()).collect();
    // -0 and 0 are one value, which an order by bits would separate.
    order.sort_by(|&i, &j| (values[i] + 0.0).total_cmp(&(values[j] + 0.0)));
    Ok(order)
}

/// Returns the weights in an order, divided by their sum.
fn shares(
    what: &'static str,
    weights: Option<&[f64]>,
    order: &[usize],
) -> Result<Vec<f64>, SwdError> {
    let Some(weights) = weights else {
        return Ok(vec![1.0 / order.len() as f64; order.len()]);
    };
    check_length(what, weights.len(), order.len())?;
    let sum = check_weights(weights)?;
    Ok(order.iter().map(|&i| weights[i] / sum).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Marginals are right, whole numbers as weights do what repeated values do, and no other matching of two
        /// moves costs less.
        #[test]
        fn a_plan_keeps_its_marginals_and_repeats_what_weighs_more(
            x in prop::collection::vec((-4_i8..5, 1_u8..4), 1..8),
            y in prop::collection::vec((-4_i8..5, 1_u8..4), 1..8),
        ) {
            let parts = |sample: &[(i8, u8)]| -> (Vec<f64>, Vec<f64>) {
                sample.iter().map(|&(value, weight)| (f64::from(value), f64::from(weight))).unzip()
            };
            let repeated = |sample: &[(i8, u8)]| -> Vec<f64> {
                let values = sample.iter().flat_map(|&(value, weight)| std::iter::repeat_n(value, weight.into()));
                values.map(f64::from).collect()
            };
            let ((u, a), (v, b)) = (parts(&x), parts(&y));
            let moves = plan(&u, Some(&a), &v, Some(&b)).unwrap();
            for (weights, side) in [(&a, 0), (&b, 1)] {
                let mut found = vec![0.0; weights.len()];
                moves.iter().for_each(|m| found[[m.from, m.to][side]] += m.mass);
                let sum: f64 = weights.iter().sum();
                for (found, weight) in found.iter().zip(weights) {
                    prop_assert!((found - weight / sum).abs() < 1e-12);
                }
            }
            for (first, second) in moves.iter().zip(&moves[1..]) {
                prop_assert!(u[first.from] <= u[second.from] && v[first.to] <= v[second.to]);
            }
            let (many_u, many_v) = (repeated(&x), repeated(&y));
            let many = plan(&many_u, None, &many_v, None).unwrap();
            for p in [1.0, 2.0, 3.5] {
                let one = wp_power(&moves, &u, &v, p).unwrap();
                let other = wp_power(&many, &many_u, &many_v, p).unwrap();
                prop_assert!((one - other).abs() <= 1e-12 * (1.0 + one), "{one} {other}");
            }
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let refused = |x: &[f64], w: Option<&[f64]>| plan(x, w, &[0.0], None).unwrap_err();
        assert!(matches!(refused(&[], None), SwdError::Empty { .. }));
        let nan = refused(&[0.0, f64::NAN], None);
        assert!(matches!(nan, SwdError::NotFinite { row: 1, .. }));
        let of = |weights: &[f64]| refused(&[0.0], Some(weights));
        assert!(matches!(of(&[1.0, 1.0]), SwdError::Length { found: 2, .. }));
        assert!(matches!(
            of(&[-1.0]),
            SwdError::NotABound { value: -1.0, .. }
        ));
        assert!(matches!(
            of(&[0.0]),
            SwdError::NotPositive { value: 0.0, .. }
        ));
        let moves = plan(&[0.0, 1.0], None, &[2.0], None).unwrap();
        let error = wp_power(&moves, &[0.0], &[2.0], 2.0).unwrap_err();
        assert!(matches!(error, SwdError::NotThere { index: 1, .. }));
        let error = wp_power(&moves, &[0.0, 1.0], &[2.0], 0.5).unwrap_err();
        assert!(matches!(error, SwdError::NotAnOrder { value: 0.5 }));
    }

    /// A tie between -0 and 0 goes by index.
    #[test]
    fn signs_of_zero_do_not_matter() {
        let moves = plan(&[0.0, -0.0], None, &[-1.0, 1.0], None).unwrap();
        assert_eq!(moves[0].from, 0);
    }
}

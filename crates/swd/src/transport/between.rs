//! The gradients of any cost between two samples that are both trained, on the host.

use rayon::prelude::*;

use super::host::average;
use super::line::plan;
use crate::check::check_points;
use crate::region::{columns, project_columns};
use crate::sort::check_rows;
use crate::{Cost, Slices, SwdError};

/// Computes the sliced cost between two samples, and its gradient in each of them.
///
/// ```text
/// C = (1/k) sum_l sum over moves (i, j) of the plan of slice l:  mass h(<theta_l, u_i - v_j>)
/// ```
///
/// - `u`: `[n, d]`, row by row, and so is the first gradient;
/// - `v`: `[m, d]`, row by row, and so is the second.
///
/// If `n` is not `m`, a record is moved to several of the other side, and its coefficient is the mean of `h'` over them. This is
/// the gradient of the cost itself, which [`crate::sensitivity::Norms::both_private_bound`] bounds, and not that of the quantised
/// cost of [`super::host::sliced_cotangents_and_cost`]. For the square the two are the same. Ties keep the order of their index.
///
/// ```
/// use swd::transport::between::sliced_gradients_and_cost;
/// use swd::{Cost, Slices};
///
/// // One record, half of which goes to either of two others: one within the width of the cost, one beyond.
/// let line = Slices::from_directions(1, &[1.0])?;
/// let ([first, second], cost) = sliced_gradients_and_cost(Cost::Huber(1.0), &[0.0], &[0.5, -2.0], &line)?;
/// assert_eq!(first, [0.25]);
/// assert_eq!(second, [0.25, -0.5]);
/// assert_eq!(cost, (0.125 + 1.5) / 2.0);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// No points, lengths that are no multiples of `d`, a coordinate that is not finite, or an error of [`Cost::check`].
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, remark 4.6.
pub fn sliced_gradients_and_cost(
    cost: Cost,
    u: &[f32],
    v: &[f32],
    slices: &Slices,
) -> Result<([Vec<f32>; 2], f64), SwdError> {
    cost.check()?;
    let d = slices.dim();
    check_points("first sample", u, d)?;
    check_points("second sample", v, d)?;
    let (n, m) = (u.len() / d, v.len() / d);
    check_rows(n, n)?;
    check_rows(m, m)?;
    let (of_u, of_v) = (columns(u, d), columns(v, d));
    // Half of the slope, since `average` expects the residuals of squares.
    let (mut first, mut second) = (vec![0.0; slices.count() * n], vec![0.0; slices.count() * m]);
    let rows = first.par_chunks_mut(n).zip(second.par_chunks_mut(m));
    let costs = rows.enumerate().map(|(l, (first, second))| {
        let direction = slices.direction(l);
        let (mut x, mut y) = (vec![0.0; n], vec![0.0; m]);
        project_columns(&of_u, direction, &mut x);
        project_columns(&of_v, direction, &mut y);
        let mut moved = 0.0;
        for found in plan(&x, None, &y, None)? {
            let apart = x[found.from] - y[found.to];
            let slope = found.mass * cost.slope(apart) / 2.0;
            first[found.from] += n as f64 * slope;
            second[found.to] -= m as f64 * slope;
            moved += found.mass * cost.value(apart);
        }
        Ok(moved)
    });
    let costs: Vec<f64> = costs.collect::<Result<_, SwdError>>()?;
    let gradients = [average(&first, slices, n), average(&second, slices, m)];
    Ok((gradients, costs.iter().sum::<f64>() / costs.len() as f64))
}

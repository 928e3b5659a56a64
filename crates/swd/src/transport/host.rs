//! Transport residuals and cotangents on the host, as a private step computes them.
//!
//! The cotangent of a record depends on its own coordinates and on its ranks alone, summed in a fixed
//! order on any number of threads. So two batches that differ in one record give bitwise the same
//! cotangent to every record whose ranks do not change.

use rayon::prelude::*;

use crate::cells::write_cells_in_slice;
use crate::check::{check_length, check_points};
use crate::region::{add_projection, columns, project_columns};
use crate::sort::{Sorter, check_rows};
use crate::{Cost, Slices, SwdError, TargetQuantiles};

/// The number of records whose sums over the slices are kept in the nearest cache together.
const BLOCK: usize = 256;
/// The least number of residuals in the slices that are computed at a time. Reused memory is faster than fresh memory, which the
/// system clears, and this much stays in the cache.
const RESIDUALS_AT_ONCE: usize = 1 << 16;
/// The least number of slices at a time: the sums of all records are read and written once for each group of slices.
const SLICES_AT_ONCE: usize = 8;

/// Computes the residuals `rho_{l,i} = u_{l,i} - q_{l, rank(i)}` of projected records.
///
/// `projected` holds one row of `n` values a slice, and so does the result, each row in the order of
/// the records. `cells` has `n` cells a row, in the units of the values. Ranks are those of
/// [`crate::sort`]: equal values keep the order of their index.
///
/// # Errors
/// Lengths that do not fit each other, or a value that is not finite.
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, proposition 3.2.
pub fn transport_residual(
    projected: &[f32],
    cells: &TargetQuantiles,
) -> Result<Vec<f32>, SwdError> {
    let n = cells.n();
    check_points("projected records", projected, n)?;
    cells.check_slices(projected.len() / n)?;
    check_rows(projected.len(), n)?;
    let mut residuals = vec![0.0; projected.len()];
    residuals
        .par_chunks_mut(n)
        .zip(projected.par_chunks(n))
        .enumerate()
        .for_each(|(l, (residuals, keys))| {
            Sorter::here(|sorter| {
                let cells = cells.row(l);
                let loaded = sorter.load(keys.iter().copied());
                loaded.place(|i, rank| residuals[i] = (f64::from(keys[i]) - cells[rank]) as f32);
            });
        });
    Ok(residuals)
}

/// Computes the gradient of the squared sliced distance in each record's activation.
///
/// `c_i = (2/(n k)) sum_l theta_l rho_{l,i}`, one row of `d` a record, for activations `u` given
/// row by row (`n x d`) and `n` cells a slice. Projections and sums are in `f64`; only the result
/// is rounded. By the chain rule `sum_i J_i^T c_i` is the gradient in the parameters.
///
/// # Errors
/// Lengths that do not fit each other, or an activation that is not finite.
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, proposition 3.2 and appendix A.
pub fn sliced_cotangents(
    u: &[f32],
    slices: &Slices,
    cells: &TargetQuantiles,
) -> Result<Vec<f32>, SwdError> {
    let (cotangents, _) = sliced_cotangents_and_distance(u, slices, cells)?;
    Ok(cotangents)
}

/// Computes the cotangents of [`sliced_cotangents`], and the squared distance that they are the gradient of.
///
/// The distance is `SW_2^2 = (1/k) sum_l [(1/n) sum_i rho_{l,i}^2 + within_l]`, from the activations to the
/// distribution that the cells describe, in squared units of the activations. It depends on the records
/// and is not private by itself.
///
/// ```
/// use swd::transport::host::sliced_cotangents_and_distance;
/// use swd::{TargetQuantiles, Slices};
///
/// // Two records on a line, to be moved to -1 and 1.
/// let line = Slices::from_directions(1, &[1.0])?;
/// let cells = TargetQuantiles::shared(vec![-1.0, 1.0], 0.0)?;
/// let (cotangents, distance) = sliced_cotangents_and_distance(&[0.5, 0.0], &line, &cells)?;
/// assert_eq!(cotangents, [-0.5, 1.0]);
/// assert_eq!(distance, 0.625);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// Fails as [`sliced_cotangents`] does.
pub fn sliced_cotangents_and_distance(
    u: &[f32],
    slices: &Slices,
    cells: &TargetQuantiles,
) -> Result<(Vec<f32>, f64), SwdError> {
    shifted_cotangents_and_distance(u, None, slices, cells)
}

/// Computes the gradient of a sliced cost in each record's activation, and the cost.
///
/// `c_i = (1/(n k)) sum_l theta_l h'(rho_{l,i})` and `(1/(n k)) sum_{l,i} h(rho_{l,i})`, for the activations and cells of
/// [`sliced_cotangents`]. For the square these are the values of [`sliced_cotangents_and_distance`], bit for bit. Any other cost
/// is quantised: the variance within the cells is left out. Its residuals are of projections rounded to `f32`, and ranked in
/// that order.
///
/// ```
/// use swd::transport::host::sliced_cotangents_and_cost;
/// use swd::{TargetQuantiles, Cost, Slices};
///
/// // Two records on a line, to be moved to -1 and 1, one of them far and one near.
/// let line = Slices::from_directions(1, &[1.0])?;
/// let cells = TargetQuantiles::shared(vec![-1.0, 1.0], 0.0)?;
/// let (cotangents, cost) = sliced_cotangents_and_cost(Cost::Huber(0.5), &[2.0, -0.75], &line, &cells)?;
/// assert_eq!(cotangents, [0.5, 0.25]);
/// assert_eq!(cost, (0.75 + 0.0625) / 2.0);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// Fails as [`sliced_cotangents`] and [`Cost::check`] do.
pub fn sliced_cotangents_and_cost(
    cost: Cost,
    u: &[f32],
    slices: &Slices,
    cells: &TargetQuantiles,
) -> Result<(Vec<f32>, f64), SwdError> {
    if cost.check()? == Cost::Square {
        return sliced_cotangents_and_distance(u, slices, cells);
    }
    check_sides(u, slices, cells)?;
    let n = cells.n();
    let targets = |l, q: &mut [f64]| q.copy_from_slice(cells.row(l));
    let (cotangents, cost, _) = transport(cost, u, n, None, slices, targets);
    Ok((cotangents, cost))
}

fn check_sides(u: &[f32], slices: &Slices, cells: &TargetQuantiles) -> Result<(), SwdError> {
    check_length("activations", u.len(), cells.n() * slices.dim())?;
    check_points("activations", u, slices.dim())?;
    cells.check_slices(slices.count())
}

/// Does the work of [`sliced_cotangents_and_distance`] for projections `<u_i, theta_l> + shifts[l n + i]`.
/// The shifts are constants: none, or one row of `n` a slice.
pub(crate) fn shifted_cotangents_and_distance(
    u: &[f32],
    shifts: Option<&[f32]>,
    slices: &Slices,
    cells: &TargetQuantiles,
) -> Result<(Vec<f32>, f64), SwdError> {
    let n = cells.n();
    check_sides(u, slices, cells)?;
    if let Some(shifts) = shifts {
        check_length("shifts of projections", shifts.len(), slices.count() * n)?;
        check_points("shifts of projections", shifts, n)?;
    }
    let targets = |l, q: &mut [f64]| q.copy_from_slice(cells.row(l));
    let (cotangents, squares, _) = transport(Cost::Square, u, n, shifts, slices, targets);
    Ok((cotangents, squares + cells.mean_within_cell_variance()))
}

/// Computes the squared sliced distance `SW_2^2` between two samples, and its gradient in the first.
///
/// - `u`: `[n, d]`, row by row, and so is the gradient;
/// - `v`: `[m, d]`.
///
/// The result equals that of [`sliced_cotangents_and_distance`] for [`TargetQuantiles::of_sample`], bit for bit. But each
/// slice's cells are used as soon as they are computed, which saves the memory and time for all of them.
///
/// ```
/// use swd::Slices;
/// use swd::transport::host::sliced_gradient_and_distance;
///
/// let line = Slices::from_directions(1, &[1.0])?;
/// let (gradient, distance) = sliced_gradient_and_distance(&[0.5, 0.0], &[1.0, -1.0], &line)?;
/// assert_eq!((gradient, distance), (vec![-0.5, 1.0], 0.625));
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// No points, lengths that are no multiples of `d`, or a coordinate that is not finite.
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, propositions 3.1 and 3.2.
pub fn sliced_gradient_and_distance(
    u: &[f32],
    v: &[f32],
    slices: &Slices,
) -> Result<(Vec<f32>, f64), SwdError> {
    let d = slices.dim();
    check_points("first sample", u, d)?;
    check_points("second sample", v, d)?;
    let (n, m) = (u.len() / d, v.len() / d);
    check_rows(n, n)?;
    check_rows(m, m)?;
    let columns = columns(v, d);
    let targets = |l, q: &mut [f64]| write_cells_in_slice(&columns, m, slices.direction(l), q);
    let (gradient, squares, within) = transport(Cost::Square, u, n, None, slices, targets);
    let within = within.iter().sum::<f64>() / within.len() as f64;
    Ok((gradient, squares + within))
}

/// Returns the gradient in each of `n` records, the mean cost of the residuals, and the result of `targets` for each
/// slice. `targets` is given the number of a slice and writes its cells.
fn transport<R: Send>(
    cost: Cost,
    u: &[f32],
    n: usize,
    shifts: Option<&[f32]>,
    slices: &Slices,
    targets: impl Fn(usize, &mut [f64]) -> R + Sync,
) -> (Vec<f32>, f64, Vec<R>) {
    let k = slices.count();
    let columns = columns(u, slices.dim());
    let at_once = (2 * rayon::current_num_threads())
        .max(SLICES_AT_ONCE)
        .max(RESIDUALS_AT_ONCE / n)
        .min(k);
    let mut residuals = vec![0.0; at_once * n];
    let mut cells = vec![0.0; at_once * n];
    let mut sums = vec![0.0; u.len()];
    let mut all = 0.0;
    let mut found = Vec::with_capacity(k);
    for first in (0..k).step_by(at_once) {
        let rows = &mut residuals[..at_once.min(k - first) * n];
        let lot = rows.par_chunks_mut(n).zip(cells.par_chunks_mut(n));
        let lot = lot.enumerate().map(|(row, (residuals, cells))| {
            let l = first + row;
            let found = targets(l, cells);
            let direction = slices.direction(l);
            if let Some(shifts) = shifts {
                let entries = residuals.iter_mut().zip(&shifts[l * n..]);
                entries.for_each(|(r, &shift)| *r = f64::from(shift));
                add_projection(&columns, direction, residuals);
            } else {
                project_columns(&columns, direction, residuals);
            }
            Sorter::here(|sorter| {
                // Rounding to the 32-bit key is monotone and depends on one record alone, so the ranks
                // still never put a larger projection below a smaller one's cell.
                let keys = sorter.load(residuals.iter().map(|&u| u as f32));
                match cost {
                    Cost::Square => keys.place(|index, rank| residuals[index] -= cells[rank]),
                    // The bounds are for values in their order, in which ties may be in any order.
                    _ => keys.place(|index, rank| {
                        residuals[index] = f64::from(residuals[index] as f32) - cells[rank];
                    }),
                }
            });
            found
        });
        found.par_extend(lot);
        // One sum in the order of the records, beside the sums that have a place for each record.
        if cost == Cost::Square {
            (all, ()) = rayon::join(
                || rows.iter().fold(all, |sum, rho| sum + rho * rho),
                || add_weighted(rows, first, slices, &mut sums),
            );
        } else {
            all = rows.iter().fold(all, |sum, &rho| sum + cost.value(rho));
            // The scaling below is for squares, whose slope is twice the residual.
            rows.par_iter_mut()
                .for_each(|rho| *rho = cost.slope(*rho) / 2.0);
            add_weighted(rows, first, slices, &mut sums);
        }
    }
    let cotangents = scaled(&sums, slices, n);
    (cotangents, all / (k * n) as f64, found)
}

/// Computes `(2/(n k)) Theta rho`, transposed to one row a record.
pub(crate) fn average(residuals: &[f64], slices: &Slices, n: usize) -> Vec<f32> {
    let mut sums = vec![0.0; n * slices.dim()];
    add_weighted(residuals, 0, slices, &mut sums);
    scaled(&sums, slices, n)
}

/// Adds `theta_l rho_l` for rows of residuals from slice `first` on, in their order, to blocks of up to [`BLOCK`]
/// records, `d` columns each.
fn add_weighted<'a>(residuals: &'a [f64], first: usize, slices: &Slices, sums: &mut [f64]) {
    let d = slices.dim();
    let n = sums.len() / d;
    let blocks = sums.par_chunks_mut(BLOCK * d).enumerate();
    blocks.for_each(|(block, sums)| {
        let len = sums.len() / d;
        let part = |row: &'a [f64]| &row[block * BLOCK..][..len];
        for (rows, l) in residuals.chunks(4 * n).zip((first..).step_by(4)) {
            for (a, sums) in sums.chunks_exact_mut(len).enumerate() {
                let t = |row: usize| slices.direction(l + row)[a];
                // Takes four slices at a time, in their order, so that a sum is read and written a quarter as often.
                if rows.len() == 4 * n {
                    let [t0, t1, t2, t3] = [t(0), t(1), t(2), t(3)];
                    let [r0, r1, r2, r3] = [0, 1, 2, 3].map(|row| part(&rows[row * n..]));
                    for i in 0..len {
                        sums[i] = sums[i] + t0 * r0[i] + t1 * r1[i] + t2 * r2[i] + t3 * r3[i];
                    }
                    continue;
                }
                for (row, t) in rows.chunks_exact(n).zip((0..).map(t)) {
                    let entries = sums.iter_mut().zip(part(row));
                    entries.for_each(|(s, rho)| *s += t * rho);
                }
            }
        }
    });
}

/// Returns the sums of [`add_weighted`] over all slices times `2/(n k)`, one row of `d` a record.
fn scaled(sums: &[f64], slices: &Slices, n: usize) -> Vec<f32> {
    let d = slices.dim();
    let scale = 2.0 / (n as f64 * slices.count() as f64);
    let mut cotangents = vec![0.0; sums.len()];
    let blocks = cotangents
        .par_chunks_mut(BLOCK * d)
        .zip(sums.par_chunks(BLOCK * d));
    blocks.for_each(|(cotangents, sums)| {
        let len = sums.len() / d;
        for (i, record) in cotangents.chunks_exact_mut(d).enumerate() {
            for (a, c) in record.iter_mut().enumerate() {
                *c = (scale * sums[a * len + i]) as f32;
            }
        }
    });
    cotangents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::{ranks, stable_orders};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    /// [`sliced_cotangents`] as the formula stands, one record and slice at a time.
    fn sliced_cotangents_reference(
        u: &[f32],
        slices: &Slices,
        cells: &TargetQuantiles,
    ) -> (Vec<f64>, f64) {
        let (d, k, n) = (slices.dim(), slices.count(), cells.n());
        let mut cotangents = vec![0.0; n * d];
        let mut distance = cells.mean_within_cell_variance();
        for l in 0..k {
            let projected: Vec<f64> = (0..n)
                .map(|i| (0..d).map(move |a| f64::from(u[i * d + a]) * slices.direction(l)[a]))
                .map(Iterator::sum)
                .collect();
            for i in 0..n {
                let rank = (0..n)
                    .filter(|&j| (projected[j] as f32, j) < (projected[i] as f32, i))
                    .count();
                let rho = projected[i] - cells.row(l)[rank];
                distance += rho * rho / (n * k) as f64;
                for a in 0..d {
                    cotangents[i * d + a] += 2.0 / (n * k) as f64 * slices.direction(l)[a] * rho;
                }
            }
        }
        (cotangents, distance)
    }

    fn on_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(run)
    }

    #[test]
    fn cotangents_match_the_formula() {
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        for [n, d, k, m] in [
            [1, 1, 1, 1],
            [7, 2, 5, 9],
            [600, 3, 4, 600],
            [1100, 6, 7, 33],
        ] {
            let slices = Slices::iid(d, k, &mut rng).unwrap();
            let points: Vec<f32> = (0..m * d).map(|_| rng.random_range(-1.0..1.0)).collect();
            // Coarse values: many ties.
            let mut coarse = || f32::from(rng.random_range(-4_i8..5)) * 0.3;
            let u: Vec<f32> = (0..n * d).map(|_| coarse()).collect();
            let per_slice = TargetQuantiles::of_sample(&points, &slices, n).unwrap();
            let both = sliced_gradient_and_distance(&u, &points, &slices).unwrap();
            let by_cells = sliced_cotangents_and_distance(&u, &slices, &per_slice).unwrap();
            assert_eq!(both, by_cells);
            let shared = TargetQuantiles::shared(per_slice.row(0).to_vec(), 0.25).unwrap();
            for cells in [per_slice, shared] {
                let found = sliced_cotangents_and_distance(&u, &slices, &cells);
                let (value, distance) = found.unwrap();
                let (expected, exact) = sliced_cotangents_reference(&u, &slices, &cells);
                for (a, b) in value.iter().zip(&expected) {
                    assert!((f64::from(*a) - b).abs() <= 1e-7 * b.abs() + 1e-15);
                }
                assert!((distance - exact).abs() < 1e-12);
                assert_eq!(value, sliced_cotangents(&u, &slices, &cells).unwrap());
            }
        }
    }

    /// Lots of slices, of which the last one is smaller, give what all slices at once give.
    #[test]
    fn lots_of_slices_add_up_in_their_order() {
        let mut rng = ChaCha20Rng::seed_from_u64(12);
        let (n, d, k) = (40_000, 2, 21);
        let slices = Slices::iid(d, k, &mut rng).unwrap();
        let mut sample =
            || -> Vec<f32> { (0..n * d).map(|_| rng.random_range(-1.0..1.0)).collect() };
        let (u, v) = (sample(), sample());
        let cells = TargetQuantiles::of_sample(&v, &slices, n).unwrap();
        let mut residuals = vec![0.0; n * k];
        for (l, row) in residuals.chunks_exact_mut(n).enumerate() {
            project_columns(&columns(&u, d), slices.direction(l), row);
            let keys: Vec<f32> = row.iter().map(|&x| x as f32).collect();
            let order = crate::sort::stable_order(&keys).unwrap();
            for (&i, q) in order.iter().zip(cells.row(l)) {
                row[i as usize] -= q;
            }
        }
        let distance = residuals.iter().map(|rho| rho * rho).sum::<f64>() / (n * k) as f64;
        let expected = (average(&residuals, &slices, n), distance);
        on_threads(2, || {
            let found = sliced_cotangents_and_distance(&u, &slices, &cells).unwrap();
            assert_eq!(found, expected);
            let found = sliced_gradient_and_distance(&u, &v, &slices).unwrap();
            assert_eq!(found, expected);
        });
    }

    #[test]
    fn residuals_are_value_minus_the_cell_of_the_rank() {
        let projected = [0.5, -1.0, 0.5, 2.0, 0.0, 0.0, -0.5, 0.0];
        let cells = TargetQuantiles::shared(vec![-1.0, -0.25, 0.25, 1.0], 0.0).unwrap();
        let residuals = transport_residual(&projected, &cells).unwrap();
        let ranks = ranks(&stable_orders(&projected, 4).unwrap(), 4).unwrap();
        for i in 0..8 {
            let q = cells.row(0)[ranks[i] as usize];
            assert_eq!(residuals[i], projected[i] - q as f32);
        }
        assert_eq!(residuals[0..3], [0.75, 0.0, 0.25]);
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let mut rng = ChaCha20Rng::seed_from_u64(10);
        let slices = Slices::tight(5, 23, &mut rng).unwrap();
        let u: Vec<f32> = (0..1300 * 5).map(|_| rng.random_range(-1.0..1.0)).collect();
        let cells = TargetQuantiles::of_sample(&u[..500], &slices, 1300).unwrap();
        let run = || sliced_cotangents(&u, &slices, &cells).unwrap();
        assert_eq!(on_threads(1, run), on_threads(7, run));
    }

    #[test]
    fn bad_input_is_refused() {
        let mut rng = ChaCha20Rng::seed_from_u64(11);
        let slices = Slices::iid(2, 3, &mut rng).unwrap();
        let cells = TargetQuantiles::shared(vec![0.0, 1.0], 0.0).unwrap();
        let two_rows = TargetQuantiles::from_rows(2, vec![0.0; 4], vec![0.0; 2]).unwrap();
        assert!(sliced_cotangents(&[0.0; 5], &slices, &cells).is_err());
        assert!(sliced_cotangents(&[0.0; 4], &slices, &two_rows).is_err());
        let nan = sliced_cotangents(&[0.0, 0.0, 0.0, f32::NAN], &slices, &cells);
        let nan = nan.unwrap_err();
        assert!(matches!(
            nan,
            SwdError::NotFinite {
                row: 1,
                index: 1,
                ..
            }
        ));
        assert!(sliced_gradient_and_distance(&[0.0; 4], &[0.0; 3], &slices).is_err());
        assert!(sliced_gradient_and_distance(&[], &[0.0; 4], &slices).is_err());
        assert!(sliced_gradient_and_distance(&[0.0; 4], &[0.0, f32::INFINITY], &slices).is_err());
        assert!(transport_residual(&[0.0; 3], &cells).is_err());
        assert!(transport_residual(&[], &cells).is_err());
        assert!(transport_residual(&[0.0, f32::NAN], &cells).is_err());
    }
}

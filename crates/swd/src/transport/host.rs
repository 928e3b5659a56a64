//! Transport residuals and cotangents on the host: the path of a private step.
//!
//! What a record contributes depends on its own coordinates and on the ranks alone, summed in a
//! fixed order whatever the number of threads: two batches that differ in one record give bitwise
//! the same cotangent to every record whose ranks do not change.

use rayon::prelude::*;

use crate::check::check_points;
use crate::region::{add_projection, columns};
use crate::sort::{Sorter, check_rows, index};
use crate::{Cells, Slices, SwdError};

/// Records whose sums over the slices are kept in the cache together.
const BLOCK: usize = 512;

/// The residuals `rho_{l,i} = u_{l,i} - q_{l, rank(i)}` of projected records.
///
/// `projected` holds one row of `n` values a slice; so does the result, each row in the order of
/// the records. `cells` has `n` cells a row, in the units of the values. Ranks are those of
/// [`crate::sort`]: equal values keep the order of their index.
///
/// # Errors
/// Lengths that do not fit each other, or a value that is not finite.
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, proposition 3.2.
pub fn transport_residual(projected: &[f32], cells: &Cells) -> Result<Vec<f32>, SwdError> {
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
                let sorted = sorter.sort(keys.iter().copied());
                for (entry, q) in sorted.iter().zip(cells.row(l)) {
                    let i = index(entry) as usize;
                    residuals[i] = (f64::from(keys[i]) - q) as f32;
                }
            });
        });
    Ok(residuals)
}

/// The gradient of the sliced distance with respect to each record's activation.
///
/// `c_i = (2/(n k)) sum_l theta_l rho_{l,i}`, one row of `d` a record, for activations `u` given
/// row by row (`n x d`) and `n` cells a slice. Projections and sums are in `f64`; only the result
/// is rounded. By the chain rule `sum_i J_i^T c_i` is the gradient in the parameters.
///
/// # Errors
/// Lengths that do not fit each other, or an activation that is not finite.
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, proposition 3.2 and appendix A.
pub fn sliced_cotangents(u: &[f32], slices: &Slices, cells: &Cells) -> Result<Vec<f32>, SwdError> {
    let residuals = sliced_residuals(u, None, slices, cells)?;
    Ok(average(&residuals, slices, cells.n()))
}

/// The cotangents of [`sliced_cotangents`], and the distance that they are the gradient of.
///
/// The second value is `SW_2^2 = (1/k) sum_l [(1/n) sum_i rho_{l,i}^2 + within_l]`, the squared
/// sliced distance between the activations and what the cells describe, in squared units of the
/// activations. It depends on the records and has no privacy of its own.
///
/// ```
/// use swd::transport::host::sliced_cotangents_and_distance;
/// use swd::{Cells, Slices};
///
/// // Two records on a line, to be moved to -1 and 1.
/// let line = Slices::from_directions(1, &[1.0])?;
/// let cells = Cells::shared(vec![-1.0, 1.0], 0.0)?;
/// let (cotangents, distance) = sliced_cotangents_and_distance(&[0.5, 0.0], &line, &cells)?;
/// assert_eq!(cotangents, [-0.5, 1.0]);
/// assert_eq!(distance, 0.625);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// As [`sliced_cotangents`].
pub fn sliced_cotangents_and_distance(
    u: &[f32],
    slices: &Slices,
    cells: &Cells,
) -> Result<(Vec<f32>, f64), SwdError> {
    shifted_cotangents_and_distance(u, None, slices, cells)
}

/// [`sliced_cotangents_and_distance`] for projections `<u_i, theta_l> + shifts[l n + i]`, the shifts
/// being constants: none, or one row of `n` a slice.
pub(crate) fn shifted_cotangents_and_distance(
    u: &[f32],
    shifts: Option<&[f32]>,
    slices: &Slices,
    cells: &Cells,
) -> Result<(Vec<f32>, f64), SwdError> {
    let residuals = sliced_residuals(u, shifts, slices, cells)?;
    let squares: f64 = residuals.iter().map(|rho| rho * rho).sum();
    let distance = squares / residuals.len() as f64 + cells.mean_within_cell_variance();
    Ok((average(&residuals, slices, cells.n()), distance))
}

/// The residuals of all slices, one row of `n` a slice.
fn sliced_residuals(
    u: &[f32],
    shifts: Option<&[f32]>,
    slices: &Slices,
    cells: &Cells,
) -> Result<Vec<f64>, SwdError> {
    let (d, n) = (slices.dim(), cells.n());
    if u.len() != n * d {
        return Err(SwdError::Length {
            what: "activations",
            found: u.len(),
            expected: n * d,
        });
    }
    check_points("activations", u, d)?;
    cells.check_slices(slices.count())?;
    let mut residuals = vec![0.0; slices.count() * n];
    if let Some(shifts) = shifts {
        if shifts.len() != residuals.len() {
            return Err(SwdError::Length {
                what: "shifts of projections",
                found: shifts.len(),
                expected: residuals.len(),
            });
        }
        check_points("shifts of projections", shifts, n)?;
        let entries = residuals.iter_mut().zip(shifts);
        entries.for_each(|(r, &shift)| *r = f64::from(shift));
    }
    let columns = columns(u, d);
    let rows = residuals.par_chunks_mut(n).enumerate();
    rows.for_each(|(l, residuals)| {
        if shifts.is_none() {
            // Written before it is read: memory that is fresh and read first is mapped twice.
            residuals.fill(0.0);
        }
        add_projection(&columns, slices.direction(l), residuals);
        Sorter::here(|sorter| {
            // Rounding to the 32-bit key is monotone and depends on one record alone, so the ranks
            // still never put a larger projection below a smaller one's cell.
            let sorted = sorter.sort(residuals.iter().map(|&u| u as f32));
            for (entry, q) in sorted.iter().zip(cells.row(l)) {
                residuals[index(entry) as usize] -= q;
            }
        });
    });
    Ok(residuals)
}

/// `(2/(n k)) Theta rho`, transposed to one row a record.
pub(crate) fn average(residuals: &[f64], slices: &Slices, n: usize) -> Vec<f32> {
    let (d, k) = (slices.dim(), slices.count());
    let scale = 2.0 / (n as f64 * k as f64);
    let mut cotangents = vec![0.0; n * d];
    cotangents
        .par_chunks_mut(BLOCK * d)
        .enumerate()
        .for_each_init(
            || vec![0.0; BLOCK * d],
            |sums, (block, cotangents)| {
                let len = cotangents.len() / d;
                let sums = &mut sums[..len * d];
                sums.fill(0.0);
                for (l, row) in residuals.chunks_exact(n).enumerate() {
                    let row = &row[block * BLOCK..][..len];
                    for (sums, &t) in sums.chunks_exact_mut(len).zip(slices.direction(l)) {
                        sums.iter_mut().zip(row).for_each(|(s, rho)| *s += t * rho);
                    }
                }
                for (i, record) in cotangents.chunks_exact_mut(d).enumerate() {
                    for (a, c) in record.iter_mut().enumerate() {
                        *c = (scale * sums[a * len + i]) as f32;
                    }
                }
            },
        );
    cotangents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::{ranks, stable_orders};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    /// [`sliced_cotangents`] as the formula stands, one record and slice at a time.
    fn sliced_cotangents_reference(u: &[f32], slices: &Slices, cells: &Cells) -> (Vec<f64>, f64) {
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

    #[test]
    fn cotangents_match_the_formula() {
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        for (n, d, k, m) in [
            (1, 1, 1, 1),
            (7, 2, 5, 9),
            (600, 3, 4, 600),
            (1100, 6, 7, 33),
        ] {
            let slices = Slices::iid(d, k, &mut rng).unwrap();
            let points: Vec<f32> = (0..m * d).map(|_| rng.random_range(-1.0..1.0)).collect();
            // Coarse values: many ties.
            let u: Vec<f32> = (0..n * d)
                .map(|_| f32::from(rng.random_range(-4_i8..5)) * 0.3)
                .collect();
            let per_slice = Cells::of_sample(&points, &slices, n).unwrap();
            let shared = Cells::shared(per_slice.row(0).to_vec(), 0.25).unwrap();
            for cells in [per_slice, shared] {
                let (value, distance) =
                    sliced_cotangents_and_distance(&u, &slices, &cells).unwrap();
                let (expected, distance_expected) =
                    sliced_cotangents_reference(&u, &slices, &cells);
                for (a, b) in value.iter().zip(&expected) {
                    assert!((f64::from(*a) - b).abs() <= 1e-7 * b.abs() + 1e-15);
                }
                assert!((distance - distance_expected).abs() < 1e-12);
                assert_eq!(value, sliced_cotangents(&u, &slices, &cells).unwrap());
            }
        }
    }

    #[test]
    fn residuals_are_value_minus_the_cell_of_the_rank() {
        let projected = [0.5, -1.0, 0.5, 2.0, 0.0, 0.0, -0.5, 0.0];
        let cells = Cells::shared(vec![-1.0, -0.25, 0.25, 1.0], 0.0).unwrap();
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
        let cells = Cells::of_sample(&u[..500], &slices, 1300).unwrap();
        let pool = |threads| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap()
        };
        let run = || sliced_cotangents(&u, &slices, &cells).unwrap();
        assert_eq!(pool(1).install(run), pool(7).install(run));
    }

    #[test]
    fn bad_input_is_refused() {
        let mut rng = ChaCha20Rng::seed_from_u64(11);
        let slices = Slices::iid(2, 3, &mut rng).unwrap();
        let cells = Cells::shared(vec![0.0, 1.0], 0.0).unwrap();
        let two_rows = Cells::from_rows(2, vec![0.0; 4], vec![0.0; 2]).unwrap();
        assert!(sliced_cotangents(&[0.0; 5], &slices, &cells).is_err());
        assert!(sliced_cotangents(&[0.0; 4], &slices, &two_rows).is_err());
        assert!(matches!(
            sliced_cotangents(&[0.0, 0.0, 0.0, f32::NAN], &slices, &cells),
            Err(SwdError::NotFinite {
                row: 1,
                index: 1,
                ..
            })
        ));
        assert!(transport_residual(&[0.0; 3], &cells).is_err());
        assert!(transport_residual(&[], &cells).is_err());
        assert!(transport_residual(&[0.0, f32::NAN], &cells).is_err());
    }
}

//! Less noise from the same release: what projections on a tight frame say of each other.

use rayon::prelude::*;

use crate::check::check_shape;
use crate::{Slices, SwdError};

/// The noisy projections of rows on a tight frame, each replaced by what all `k` of its row say of it.
///
/// `y -> (d/k) Theta^T Theta y` for the `k` values `y` of a row: the projection onto the values that any row has.
/// Projections without noise stay as they are, and noise of deviation `sigma` becomes noise of deviation
/// `sigma sqrt(d/k)` on each value, correlated between slices. That is what a release of `d` orthonormal slices has,
/// whose sensitivity is `2 r` instead of `2 r sqrt(k/d)`: more slices than dimensions bring no more noise. It is
/// post-processing, and has to come before the values are sorted.
///
/// - `released`: `[k, n]`, one row of `n` a slice; the answer likewise.
///
/// ```
/// use swd::Slices;
/// use swd::smoothed::combine;
///
/// // Three directions in the plane, 120 degrees apart, and a row at (1, 0).
/// let (half, root) = (0.5, 0.75_f64.sqrt());
/// let frame = Slices::from_directions(2, &[1.0, 0.0, -half, root, -half, -root])?;
/// let values = combine(&[1.3, -0.2, -0.2], &frame)?;
/// // What is common to all three is noise: no row projects so.
/// assert!((values[0] - 1.0).abs() < 1e-6 && (values[1] + 0.5).abs() < 1e-6);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// A length that is no multiple of `k`.
pub fn combine(released: &[f64], slices: &Slices) -> Result<Vec<f64>, SwdError> {
    let (d, k) = (slices.dim(), slices.count());
    check_shape("released projections", released.len(), k)?;
    let n = released.len() / k;
    let share = d as f64 / k as f64;
    let mut rows = vec![0.0; d * n];
    rows.par_chunks_mut(n).enumerate().for_each(|(a, row)| {
        for (l, values) in released.chunks_exact(n).enumerate() {
            let weight = share * slices.direction(l)[a];
            for (sum, value) in row.iter_mut().zip(values) {
                *sum += weight * value;
            }
        }
    });
    let mut combined = vec![0.0; k * n];
    combined
        .par_chunks_mut(n)
        .enumerate()
        .for_each(|(l, values)| {
            for (row, &weight) in rows.chunks_exact(n).zip(slices.direction(l)) {
                for (sum, x) in values.iter_mut().zip(row) {
                    *sum += weight * x;
                }
            }
        });
    Ok(combined)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::Region;

    #[test]
    fn what_has_no_noise_stays_and_noise_is_that_of_a_basis() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for (d, k) in [(2, 15), (3, 3), (8, 70)] {
            let slices = Slices::tight(d, k, &mut rng).unwrap();
            let n = 4000;
            let rows: Vec<f32> = (0..n * d)
                .map(|_| StandardNormal.sample(&mut rng))
                .collect();
            let region = Region::ball(1e6).unwrap();
            let exact = region.project(&rows, &slices).unwrap();
            let same = combine(&exact, &slices).unwrap();
            assert!(same.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-4));
            let noise: Vec<f64> = (0..k * n)
                .map(|_| StandardNormal.sample(&mut rng))
                .collect();
            let left = combine(&noise, &slices).unwrap();
            let expected = d as f64 / k as f64;
            for values in left.chunks_exact(n) {
                let variance = values.iter().map(|x| x * x).sum::<f64>() / n as f64;
                // 4000 squares: a relative 0.022 of standard error, so six of them.
                assert!(
                    (variance / expected - 1.0).abs() < 0.14,
                    "{variance} for {expected}"
                );
            }
        }
        let slices = Slices::from_directions(1, &[1.0, 1.0]).unwrap();
        assert!(combine(&[0.0; 3], &slices).is_err());
    }
}

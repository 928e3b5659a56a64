//! Tight frames of sign vectors: quickly sampled, and projected on without a product.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use rayon::prelude::*;

use crate::{NormBound, Slices, SwdError};

/// The number of rows that one thread transforms at a time.
const ROWS: usize = 8;

/// The places `p`, and the signs `s` times the size of a coordinate, of the directions
/// `theta_{l,a} = s_a H_{l, p(a)} / sqrt(d)`, `H` the Hadamard matrix of order `k` in Sylvester's order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Signs {
    places: Vec<usize>,
    coordinates: Vec<f64>,
}

impl Slices {
    /// Draws the tight frame of `count` sign vectors, `count` a power of two.
    ///
    /// `theta_{l,a} = s_a H_{l, p(a)} / sqrt(dim)`, with random signs `s` and `dim` random places `p` among the columns of
    /// the Hadamard matrix `H` of order `count`. `Theta Theta^T = (count/dim) I` to the last bit, so it has the sensitivity
    /// of any tight frame, without eigenvalues. Projections take `count log2(count)` additions a row, where other slices
    /// take `count dim` multiplications. One direction is uniform over the corners of a cube and not over the sphere, so the
    /// sliced distance is another average than with [`Slices::tight`], close to it in many dimensions.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use rand_chacha::ChaCha20Rng;
    ///
    /// let slices = swd::Slices::signs(6, 8, &mut ChaCha20Rng::seed_from_u64(1))?;
    /// assert!((slices.lambda_max_upper() - 1.0 / 6.0).abs() < 1e-6);
    /// # Ok::<(), swd::SwdError>(())
    /// ```
    ///
    /// # Errors
    /// `dim` is zero, `count < dim`, or `count` is no power of two.
    pub fn signs(dim: usize, count: usize, rng: &mut impl Rng) -> Result<Self, SwdError> {
        if count < dim {
            return Err(SwdError::TooFewSlices { count, dim });
        }
        if !count.is_power_of_two() {
            return Err(SwdError::Length {
                what: "number of sign vectors, a power of two",
                found: count,
                expected: count.next_power_of_two(),
            });
        }
        let mut places: Vec<usize> = (0..count).collect();
        places.shuffle(rng);
        places.truncate(dim);
        let signs: Vec<f64> = (0..dim)
            .map(|_| if rng.random() { 1.0 } else { -1.0 })
            .collect();
        // The first direction is the signs. All coordinates have the same size, after rounding too.
        let size = Self::from_directions(dim, &signs)?.direction(0)[0].abs();
        let coordinates: Vec<f64> = signs.iter().map(|sign| sign * size).collect();
        let mut directions = vec![0.0; dim * count];
        let rows = directions.par_chunks_exact_mut(dim).enumerate();
        rows.for_each(|(l, direction)| {
            let entries = direction.iter_mut().zip(&places).zip(&coordinates);
            for ((out, place), x) in entries {
                *out = if (l & place).count_ones() % 2 == 0 {
                    *x
                } else {
                    -x
                };
            }
        });
        let signs = Signs {
            places,
            coordinates,
        };
        Ok(Self::of_signs(dim, count, directions, signs))
    }
}

impl Signs {
    /// Returns `lambda_max(Theta Theta^T / k)`, the square of a coordinate.
    pub(crate) fn lambda_max(&self) -> f64 {
        self.coordinates[0] * self.coordinates[0]
    }

    /// Puts rows (`[n, d]`) into a region and projects them on `count` slices: `[k, n]`.
    pub(crate) fn project(&self, rows: &[f32], region: &NormBound, count: usize) -> Vec<f64> {
        let d = self.places.len();
        let n = rows.len() / d;
        let mut transformed = vec![0.0; n * count];
        transformed
            .par_chunks_mut(ROWS * count)
            .zip(rows.par_chunks(ROWS * d))
            .for_each(|(out, rows)| {
                for (out, row) in out.chunks_exact_mut(count).zip(rows.chunks_exact(d)) {
                    if let Some(scale) = region.scale(row) {
                        let entries = self.places.iter().zip(&self.coordinates);
                        for ((&place, sign), &x) in entries.zip(row) {
                            out[place] = sign * (scale * f64::from(x));
                        }
                        hadamard(out);
                    }
                }
            });
        let mut projected = vec![0.0; n * count];
        // Copies eight slices at a time: a line of the cache each way.
        projected
            .par_chunks_mut(8 * n)
            .enumerate()
            .for_each(|(block, projected)| {
                let slices = projected.len() / n;
                for i in 0..n {
                    let row = &transformed[i * count + 8 * block..][..slices];
                    for (l, &value) in row.iter().enumerate() {
                        projected[l * n + i] = value;
                    }
                }
            });
        projected
    }
}

/// Multiplies by the Hadamard matrix in Sylvester's order, in place; the number of values is a power of two.
fn hadamard(values: &mut [f64]) {
    let mut half = 1;
    while half < values.len() {
        for pair in values.chunks_exact_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    /// The fast way beside the product, and the sensitivity beside the eigenvalue.
    #[test]
    fn projections_are_those_on_the_directions() {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        for (d, k, n) in [(1, 1, 3), (6, 8, 19), (33, 64, 7), (64, 64, 1)] {
            let signs = Slices::signs(d, k, &mut rng).unwrap();
            let plain = Slices::from_directions(d, signs.directions()).unwrap();
            assert_eq!(signs.directions(), plain.directions());
            let (fast, slow) = (signs.lambda_max_upper(), plain.lambda_max_upper());
            assert!((fast / slow - 1.0).abs() < 1e-9 && fast > slow * (1.0 - 1e-9));
            let mut rows: Vec<f32> = (0..n * d).map(|_| rng.random_range(-2.0..2.0)).collect();
            rows[0] = f32::NAN;
            for region in [
                NormBound::ball(1.0).unwrap(),
                NormBound::sphere(3.0).unwrap(),
            ] {
                let fast = region.project(&rows, &signs).unwrap();
                let slow = region.project(&rows, &plain).unwrap();
                assert_eq!(fast.len(), slow.len());
                for (fast, slow) in fast.iter().zip(&slow) {
                    assert!((fast - slow).abs() < 1e-13, "{fast} {slow}");
                }
            }
        }
        assert!(Slices::signs(6, 12, &mut rng).is_err());
        assert!(Slices::signs(9, 8, &mut rng).is_err());
        assert!(Slices::signs(0, 1, &mut rng).is_err());
    }
}

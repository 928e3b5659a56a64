//! A public linear map of images: the cosine transform.

use crate::DataError;
use crate::error::unfit;

/// The orthonormal two-dimensional discrete cosine transform of each channel, cut to public coefficients.
///
/// Coefficient `(i, j)` of an image `X` of side `S` is
///
/// ```text
/// sum over y and x of c_i(y) c_j(x) X[y][x],   c_k(n) = sqrt((k = 0 ? 1 : 2) / S) cos(pi (2 n + 1) k / (2 S)).
/// ```
///
/// The maps `c` are orthonormal, so a record never gets a larger Euclidean norm, and keeps its norm if all coefficients are
/// kept. Its coordinates are those of one basis, so Gaussian noise on coefficients is Gaussian noise on pixels. The choice
/// of the coefficients is public and must not depend on private records. Those of the lowest frequencies hold most of the
/// content of pictures.
///
/// ```
/// use data::transform::Dct;
///
/// let dct = Dct::new(1, 4, 3)?;
/// assert_eq!((dct.width(), dct.kept()), (3, &[[0, 0], [0, 1], [1, 0]][..]));
/// // A constant image is its mean: the first coefficient, S times the value.
/// let coefficients = dct.forward(&[0.5; 16])?;
/// assert!((coefficients[0] - 2.0).abs() < 1e-6 && coefficients[1].abs() < 1e-6);
/// assert!((dct.inverse(&coefficients)?[7] - 0.5).abs() < 1e-6);
/// # Ok::<(), data::DataError>(())
/// ```
///
/// Source: Ahmed, Natarajan and Rao 1974, type II, with the scaling of its inverse; Reshetova, Chen and Ozgur 2023, arXiv
/// 2306.09547, section 5.5, use it before Laplace noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Dct {
    channels: usize,
    side: usize,
    kept: Vec<[usize; 2]>,
    /// `c_k(n)` at `k S + n`.
    cosines: Vec<f64>,
    /// The largest `i` that is kept, plus 1.
    rows: usize,
}

impl Dct {
    /// The most pixels along a side.
    pub const MAX_SIDE: usize = 512;

    /// Keeps the `keep` coefficients of the lowest frequencies in each channel, ordered by `i^2 + j^2`, then by `i`.
    ///
    /// # Errors
    /// [`DataError::Request`] for a side of 0 or over [`MAX_SIDE`](Self::MAX_SIDE), for no channel, and for a number of
    /// coefficients outside `1..=side^2`.
    pub fn new(channels: usize, side: usize, keep: usize) -> Result<Self, DataError> {
        check("side of an image", side, Self::MAX_SIDE)?;
        check("number of coefficients", keep, side * side)?;
        let grid = (0..side).flat_map(|i| (0..side).map(move |j| [i, j]));
        let mut kept: Vec<[usize; 2]> = grid.collect();
        kept.sort_by_key(|[i, j]| (i * i + j * j, *i));
        kept.truncate(keep);
        Self::keeping(channels, side, kept)
    }

    /// Keeps the coefficients `(i, j)` of the list `kept` in each channel, in that order.
    ///
    /// # Errors
    /// The errors of [`Dct::new`], and [`DataError::Request`] for a coefficient that does not exist or is repeated.
    pub fn keeping(channels: usize, side: usize, kept: Vec<[usize; 2]>) -> Result<Self, DataError> {
        check("side of an image", side, Self::MAX_SIDE)?;
        check("number of channels", channels, 1 << 16)?;
        check("number of coefficients", kept.len(), side * side)?;
        let mut seen = vec![false; side * side];
        for &[i, j] in &kept {
            let refuse = |expected: String, found| Err(unfit("coefficient", expected, found));
            if i >= side || j >= side {
                return refuse(format!("below {side} in each direction"), i.max(j));
            }
            if std::mem::replace(&mut seen[i * side + j], true) {
                return refuse(format!("({i}, {j}) once"), 2);
            }
        }
        let size = side as f64;
        let cosine = |place: usize| {
            let (k, n) = ((place / side) as f64, (place % side) as f64);
            let scale = if k == 0.0 { 1.0 } else { 2.0 } / size;
            scale.sqrt() * (std::f64::consts::PI * (2.0 * n + 1.0) * k / (2.0 * size)).cos()
        };
        Ok(Self {
            rows: kept.iter().map(|[i, _]| i + 1).max().unwrap_or(0),
            cosines: (0..side * side).map(cosine).collect(),
            channels,
            side,
            kept,
        })
    }

    /// The number of channels of an image.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// The number of pixels along a side, S.
    pub fn side(&self) -> usize {
        self.side
    }

    /// The coefficients `(i, j)` that are kept of each channel, `i` down and `j` across.
    pub fn kept(&self) -> &[[usize; 2]] {
        &self.kept
    }

    /// The number of values after the transform; those of the first channel come first.
    pub fn width(&self) -> usize {
        self.channels * self.kept.len()
    }

    /// The number of values before the transform, `channels S S`.
    pub fn pixels(&self) -> usize {
        self.channels * self.side * self.side
    }

    /// Returns the kept coefficients of an image `[channels, S, S]`, [`width`](Self::width) values. A pixel that is NaN or
    /// infinite makes all values of its channel NaN or infinite.
    ///
    /// # Errors
    /// [`DataError::Request`] for another number of pixels.
    pub fn forward(&self, image: &[f32]) -> Result<Vec<f32>, DataError> {
        exactly("number of pixels", image.len(), self.pixels())?;
        let side = self.side;
        let mut coefficients = Vec::with_capacity(self.width());
        for channel in image.chunks_exact(side * side) {
            let mut down = vec![0.0; self.rows * side];
            for (i, sums) in down.chunks_exact_mut(side).enumerate() {
                for (row, cosine) in channel.chunks_exact(side).zip(self.cosine(i)) {
                    let terms = sums.iter_mut().zip(row);
                    terms.for_each(|(sum, &x)| *sum += cosine * f64::from(x));
                }
            }
            let kept = self.kept.iter().map(|&[i, j]| {
                let row = &down[i * side..][..side];
                let sum: f64 = row.iter().zip(self.cosine(j)).map(|(a, b)| a * b).sum();
                sum as f32
            });
            coefficients.extend(kept);
        }
        Ok(coefficients)
    }

    /// Returns the image with these coefficients and 0 for all others. After [`forward`](Self::forward), of all such images it
    /// is the nearest to the original.
    ///
    /// # Errors
    /// [`DataError::Request`] for another number of coefficients.
    pub fn inverse(&self, coefficients: &[f32]) -> Result<Vec<f32>, DataError> {
        exactly("number of coefficients", coefficients.len(), self.width())?;
        let side = self.side;
        let mut image = Vec::with_capacity(self.pixels());
        for channel in coefficients.chunks_exact(self.kept.len()) {
            let mut across = vec![0.0; self.rows * side];
            for (&[i, j], &value) in self.kept.iter().zip(channel) {
                let sums = across[i * side..][..side].iter_mut();
                let terms = sums.zip(self.cosine(j));
                terms.for_each(|(sum, cosine)| *sum += f64::from(value) * cosine);
            }
            for y in 0..side {
                for x in 0..side {
                    let terms = (0..self.rows).map(|i| self.cosine(i)[y] * across[i * side + x]);
                    image.push(terms.sum::<f64>() as f32);
                }
            }
        }
        Ok(image)
    }

    /// Returns the transform of each channel as a matrix `[kept, S S]` in row-major order, with orthonormal rows.
    pub fn matrix(&self) -> Vec<f32> {
        let rows = self.kept.iter().flat_map(|&[i, j]| {
            let pairs = self.cosine(i).iter();
            pairs.flat_map(move |a| self.cosine(j).iter().map(move |b| (a * b) as f32))
        });
        rows.collect()
    }

    fn cosine(&self, k: usize) -> &[f64] {
        &self.cosines[k * self.side..][..self.side]
    }
}

fn check(what: &str, found: usize, max: usize) -> Result<(), DataError> {
    match (1..=max).contains(&found) {
        true => Ok(()),
        false => Err(unfit(what, format!("1 to {max}"), found)),
    }
}

fn exactly(what: &str, found: usize, bound: usize) -> Result<(), DataError> {
    match found == bound {
        true => Ok(()),
        false => Err(unfit(what, bound, found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn squared(values: &[f32]) -> f64 {
        values.iter().map(|&x| f64::from(x).powi(2)).sum()
    }

    #[test]
    fn rows_are_orthonormal() {
        for (side, keep) in [(1, 1), (2, 4), (5, 25), (8, 20), (28, 60)] {
            let dct = Dct::new(2, side, keep).unwrap();
            let matrix = dct.matrix();
            let rows: Vec<&[f32]> = matrix.chunks_exact(side * side).collect();
            assert_eq!(rows.len(), keep);
            for (i, row) in rows.iter().enumerate() {
                for (j, other) in rows.iter().enumerate() {
                    let product = row
                        .iter()
                        .zip(*other)
                        .map(|(&a, &b)| f64::from(a) * f64::from(b));
                    let expected = f64::from(u8::from(i == j));
                    assert!(
                        (product.sum::<f64>() - expected).abs() < 1e-5,
                        "{side} {i} {j}"
                    );
                }
            }
        }
    }

    proptest! {
        /// Parseval, and the projection: what is left out is what the norm lacks.
        #[test]
        fn norms_are_kept_and_the_inverse_is_the_projection(
            side in 1_usize..9, channels in 1_usize..4, share in 0.0_f64..1.0,
            noise in prop::collection::vec(-10.0_f32..10.0, 3 * 8 * 8),
        ) {
            let image = &noise[..channels * side * side];
            let whole = Dct::new(channels, side, side * side).unwrap();
            let coefficients = whole.forward(image).unwrap();
            prop_assert!((squared(&coefficients) / squared(image) - 1.0).abs() < 1e-5);
            for (back, pixel) in whole.inverse(&coefficients).unwrap().iter().zip(image) {
                prop_assert!((back - pixel).abs() < 1e-4);
            }
            let keep = 1 + (share * (side * side - 1) as f64) as usize;
            let dct = Dct::new(channels, side, keep).unwrap();
            let kept = dct.forward(image).unwrap();
            let near = dct.inverse(&kept).unwrap();
            for (again, first) in dct.forward(&near).unwrap().iter().zip(&kept) {
                prop_assert!((again - first).abs() < 1e-4);
            }
            let rest: Vec<f32> = image.iter().zip(&near).map(|(a, b)| a - b).collect();
            prop_assert!((squared(&rest) + squared(&near) - squared(image)).abs() < 1e-3 * squared(image));
        }

        #[test]
        fn the_matrix_is_the_transform(
            image in prop::collection::vec(-1.0_f32..1.0, 2 * 6 * 6), keep in 1_usize..37,
        ) {
            let dct = Dct::new(2, 6, keep).unwrap();
            let matrix = dct.matrix();
            let products = image.chunks_exact(36).flat_map(|channel| {
                matrix.chunks_exact(36).map(move |row| {
                    row.iter().zip(channel).map(|(a, b)| a * b).sum::<f32>()
                })
            });
            for (product, coefficient) in products.zip(dct.forward(&image).unwrap()) {
                prop_assert!((product - coefficient).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn low_frequencies_come_first_and_nonsense_is_refused() {
        let dct = Dct::new(1, 3, 6).unwrap();
        assert_eq!(dct.kept(), [[0, 0], [0, 1], [1, 0], [1, 1], [0, 2], [2, 0]]);
        assert_eq!((dct.width(), dct.pixels()), (6, 9));
        for (channels, side, keep) in [(0, 3, 1), (1, 0, 1), (1, 3, 0), (1, 3, 10), (1, 513, 1)] {
            assert!(Dct::new(channels, side, keep).is_err());
        }
        assert!(Dct::keeping(1, 3, vec![[0, 0], [0, 0]]).is_err());
        assert!(Dct::keeping(1, 3, vec![[0, 3]]).is_err());
        assert!(dct.forward(&[0.0; 8]).is_err() && dct.inverse(&[0.0; 5]).is_err());
        assert!(dct.forward(&[f32::NAN; 9]).unwrap()[0].is_nan());
    }
}

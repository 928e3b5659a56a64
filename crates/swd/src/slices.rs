//! Directions to project on: the columns of `Theta`, sampled independently or as a tight frame.
//!
//! A tight frame has `Theta Theta^T = (k/d) I`, so its slices cover all directions evenly. Its
//! `lambda_max(Theta Theta^T / k)`, which drives the sensitivity of the sliced gradient
//! ([`crate::sensitivity`]), is `1/d`, the smallest value that unit directions can have.

use std::sync::OnceLock;

use burn::tensor::{Device, Tensor, TensorData};
use nalgebra::DMatrix;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::SwdError;
use crate::signs::Signs;

/// The relative amount by which [`Slices::lambda_max_upper`] exceeds the computed eigenvalue: the
/// symmetric QR iteration errs by a few `d` units of 2^-53, which is less for every `d` up to 10^4.
const EIGENVALUE_SLACK: f64 = 1e-10;

/// Unit directions in `R^d`, one a slice.
///
/// Every coordinate is a value of `f32` held in `f64`, so host and device project on exactly the same
/// directions. The Euclidean norm of each direction is at most 1 (and at least `1 - 2^-21`): rounding
/// never lengthens a projection, so the sensitivity needs no term for it.
///
/// ```
/// use rand::SeedableRng;
/// use rand_chacha::ChaCha20Rng;
/// use swd::Slices;
///
/// let mut rng = ChaCha20Rng::seed_from_u64(1);
/// let tight = Slices::tight(6, 20, &mut rng)?;
/// let free = Slices::iid(6, 20, &mut rng)?;
/// assert_eq!((tight.dim(), tight.count()), (6, 20));
/// // A tight frame covers all directions evenly, which is what makes its sensitivity small.
/// assert!((tight.lambda_max_upper() - 1.0 / 6.0).abs() < 1e-6);
/// assert!(free.lambda_max_upper() > 1.0 / 6.0);
/// # Ok::<(), swd::SwdError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Slices {
    dim: usize,
    count: usize,
    directions: Vec<f64>,
    lambda_max_upper: Once,
    /// The structure of sign vectors, with which they are projected on without a product.
    pub(crate) signs: Option<Signs>,
}

/// A value computed from the directions when it is first asked for; equality ignores it.
#[derive(Debug, Clone, Default)]
struct Once(OnceLock<f64>);

impl PartialEq for Once {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Slices {
    /// Draws `count` directions in `R^dim` independently and uniformly on the sphere.
    ///
    /// # Errors
    /// `dim` or `count` is zero.
    pub fn iid(dim: usize, count: usize, rng: &mut impl Rng) -> Result<Self, SwdError> {
        let mut directions = Vec::with_capacity(dim * count);
        for _ in 0..count {
            directions.extend(random_direction(dim, rng));
        }
        Self::from_directions(dim, &directions)
    }

    /// Draws `count` directions that form a tight frame: `Theta Theta^T = (count/dim) I`.
    ///
    /// The directions are blocks of Haar-random orthonormal bases. If `count` is no multiple of `dim`, the last
    /// block has `dim + (count mod dim)` directions and is a randomly rotated harmonic frame. Every
    /// single direction is uniform on the sphere, so averages over slices stay unbiased.
    ///
    /// # Errors
    /// `dim` is zero, or `count < dim`.
    pub fn tight(dim: usize, count: usize, rng: &mut impl Rng) -> Result<Self, SwdError> {
        if dim == 0 {
            return Err(SwdError::Empty { what: "dimension" });
        }
        if count < dim {
            return Err(SwdError::TooFewSlices { count, dim });
        }
        let remainder = count % dim;
        let bases = count / dim - usize::from(remainder > 0);
        let mut directions = Vec::with_capacity(dim * count);
        for _ in 0..bases {
            directions.extend(random_basis(dim, rng));
        }
        if remainder > 0 {
            let rotation = random_basis(dim, rng);
            for column in harmonic_frame(dim, dim + remainder).chunks_exact(dim) {
                let mut rotated = vec![0.0; dim];
                for (axis, &weight) in rotation.chunks_exact(dim).zip(column) {
                    add_scaled(&mut rotated, weight, axis);
                }
                directions.extend(rotated);
            }
        }
        Self::from_directions(dim, &directions)
    }

    /// Draws `count` orthonormal directions, at most `dim` of them.
    ///
    /// `sigma_max(Theta) = 1`, the least that any set of unit directions has, up to the rounding of the directions.
    /// They are the first vectors of a Haar-random basis, so every single direction is uniform on the sphere.
    ///
    /// # Errors
    /// `dim` or `count` is zero, or `count > dim`.
    pub fn orthonormal(dim: usize, count: usize, rng: &mut impl Rng) -> Result<Self, SwdError> {
        if count > dim {
            return Err(SwdError::TooManySlices { count, dim });
        }
        Self::from_directions(dim, &random_frame(dim, count, rng))
    }

    /// Takes given directions, `dim` consecutive coordinates each, and scales them to unit norm.
    ///
    /// ```
    /// use swd::{Slices, SwdError};
    ///
    /// let slices = Slices::from_directions(2, &[3.0, 4.0, 0.0, -2.0])?;
    /// assert_eq!(slices.direction(1), [0.0, -1.0]);
    /// let zero = Slices::from_directions(2, &[3.0, 4.0, 0.0, 0.0]);
    /// assert!(matches!(zero, Err(SwdError::ZeroDirection { index: 1, .. })));
    /// # Ok::<(), SwdError>(())
    /// ```
    ///
    /// # Errors
    /// No directions, a length that is no multiple of `dim`, a coordinate or a norm that is not finite, or a
    /// direction of norm zero.
    pub fn from_directions(dim: usize, directions: &[f64]) -> Result<Self, SwdError> {
        if dim == 0 {
            return Err(SwdError::Empty { what: "dimension" });
        }
        let count = directions.len() / dim;
        if count == 0 {
            return Err(SwdError::Empty {
                what: "number of slices",
            });
        }
        if count * dim != directions.len() {
            return Err(SwdError::Length {
                what: "directions",
                found: directions.len(),
                expected: count * dim,
            });
        }
        let mut rounded = Vec::with_capacity(directions.len());
        for (row, direction) in directions.chunks_exact(dim).enumerate() {
            if let Some(index) = direction.iter().position(|x| !x.is_finite()) {
                return Err(SwdError::NotFinite {
                    what: "directions",
                    row,
                    index,
                    value: direction[index],
                });
            }
            let norm = norm(direction);
            if norm == 0.0 {
                return Err(SwdError::ZeroDirection {
                    what: "direction",
                    index: row,
                });
            }
            if norm.is_infinite() {
                return Err(SwdError::NotPositive {
                    what: "norm of a direction",
                    value: norm,
                });
            }
            rounded.extend(unit_in_f32(direction, norm));
        }
        Ok(Self {
            dim,
            count,
            directions: rounded,
            lambda_max_upper: Once::default(),
            signs: None,
        })
    }

    /// Takes sign vectors, of unit norm in `f32`, that can be projected on without a product.
    pub(crate) fn of_signs(dim: usize, count: usize, directions: Vec<f64>, signs: Signs) -> Self {
        Self {
            dim,
            count,
            directions,
            lambda_max_upper: Once::default(),
            signs: Some(signs),
        }
    }

    /// Takes the columns of a tensor `[d, k]` as directions and scales them to unit norm.
    ///
    /// It reads the tensor back from its device, once.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    ///
    /// let columns = Tensor::<2>::from_data([[3.0, 0.0], [4.0, -2.0]], &Device::flex());
    /// let slices = swd::Slices::from_tensor(columns)?;
    /// assert_eq!(slices.direction(1), [0.0, -1.0]);
    /// # Ok::<(), swd::SwdError>(())
    /// ```
    ///
    /// # Errors
    /// Fails as [`Slices::from_directions`] does.
    pub fn from_tensor(columns: Tensor<2>) -> Result<Self, SwdError> {
        let [dim, _] = columns.dims();
        let rows = columns.without_autodiff().transpose();
        let directions = rows.try_into_vec_as::<f64>();
        let directions = directions.map_err(|error| SwdError::Device(error.to_string()))?;
        Self::from_directions(dim, &directions)
    }

    /// The dimension `d` of the space.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of slices, `k`.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The `d` coordinates of slice `l`, for `l < k`.
    pub fn direction(&self, l: usize) -> &[f64] {
        &self.directions[l * self.dim..(l + 1) * self.dim]
    }

    /// All coordinates, slice after slice: `Theta` (`d x k`) in column-major order.
    pub fn directions(&self) -> &[f64] {
        &self.directions
    }

    /// Returns `Theta` as a constant tensor of shape `[d, k]`.
    pub fn tensor(&self, device: &Device) -> Tensor<2> {
        let columns = self.directions.iter().map(|&x| x as f32).collect();
        let data = TensorData::new::<f32, _>(columns, [self.count, self.dim]);
        Tensor::from_data(data, &device.clone().without_autodiff()).transpose()
    }

    /// Returns an upper bound on `lambda_max(Theta Theta^T / k)`, at most a relative `1e-10` too large.
    ///
    /// It lies between `1/d` (tight frames, up to the rounding of the directions) and 1. It is computed once, which
    /// takes seconds if `d` and `k` are near a thousand.
    pub fn lambda_max_upper(&self) -> f64 {
        let first = || self.computed_lambda_max_upper();
        *self.lambda_max_upper.0.get_or_init(first)
    }

    fn computed_lambda_max_upper(&self) -> f64 {
        if let Some(signs) = &self.signs {
            return signs.lambda_max() * (1.0 + EIGENVALUE_SLACK);
        }
        let theta = DMatrix::from_column_slice(self.dim, self.count, &self.directions);
        // Both products have the same largest eigenvalue: take the smaller matrix.
        let gram = if self.dim <= self.count {
            &theta * theta.transpose()
        } else {
            theta.tr_mul(&theta)
        };
        gram.symmetric_eigenvalues().max() / self.count as f64 * (1.0 + EIGENVALUE_SLACK)
    }
}

/// Scales a direction to unit norm and rounds it to `f32`, so that the norm of the result is at most 1.
fn unit_in_f32(direction: &[f64], norm: f64) -> Vec<f64> {
    let round = |scale: f64| -> Vec<f64> {
        let rounded = direction.iter().map(|x| f64::from((x * scale) as f32));
        rounded.collect()
    };
    let nearest = round(1.0 / norm);
    if self::norm(&nearest) <= 1.0 {
        return nearest;
    }
    // Rounding to nearest lengthens a vector by at most a factor 1 + 2^-24.
    round((1.0 - f64::from(f32::EPSILON)) / norm)
}

fn random_direction(dim: usize, rng: &mut impl Rng) -> Vec<f64> {
    loop {
        let mut direction: Vec<f64> = (0..dim).map(|_| StandardNormal.sample(rng)).collect();
        let norm = norm(&direction);
        if norm > 0.0 || dim == 0 {
            direction.iter_mut().for_each(|x| *x /= norm);
            return direction;
        }
    }
}

/// Draws an orthonormal basis from the Haar measure, one vector after the other: Gram-Schmidt of Gaussian
/// vectors, which is the QR factor whose `R` has a positive diagonal.
fn random_basis(dim: usize, rng: &mut impl Rng) -> Vec<f64> {
    random_frame(dim, dim, rng)
}

/// Draws the first `count <= dim` vectors of such a basis.
fn random_frame(dim: usize, count: usize, rng: &mut impl Rng) -> Vec<f64> {
    let mut basis: Vec<f64> = Vec::with_capacity(dim * count);
    while basis.len() < dim * count {
        let mut vector = random_direction(dim, rng);
        // Twice is enough for orthogonality to working precision; a vector that nearly vanishes
        // the first time lies in the span of the others and is sampled again.
        orthogonalise(&mut vector, &basis);
        if norm(&vector) < 1e-8 {
            continue;
        }
        orthogonalise(&mut vector, &basis);
        let norm = norm(&vector);
        basis.extend(vector.iter().map(|x| x / norm));
    }
    basis
}

fn orthogonalise(vector: &mut [f64], basis: &[f64]) {
    for other in basis.chunks_exact(vector.len()) {
        let product: f64 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
        add_scaled(vector, -product, other);
    }
}

/// Returns the harmonic unit-norm tight frame of `count` vectors in `R^dim`, `dim < count < 2 dim`: the rows
/// of frequencies `1, 2, ...` of the real discrete Fourier transform, with the constant row if `dim` is odd.
/// All frequencies are below `count / 2`, so the rows are orthogonal and equally long.
fn harmonic_frame(dim: usize, count: usize) -> Vec<f64> {
    let mut frame = Vec::with_capacity(dim * count);
    let scale = (2.0 / dim as f64).sqrt();
    for j in 0..count {
        if dim % 2 == 1 {
            frame.push(1.0 / (dim as f64).sqrt());
        }
        for frequency in 1..=dim / 2 {
            // The product is reduced as an integer, so that large ones lose no precision.
            let turn = ((j * frequency) % count) as f64 / count as f64;
            let (sin, cos) = (std::f64::consts::TAU * turn).sin_cos();
            frame.extend([scale * cos, scale * sin]);
        }
    }
    frame
}

pub(crate) fn add_scaled(to: &mut [f64], weight: f64, what: &[f64]) {
    to.iter_mut().zip(what).for_each(|(a, b)| *a += weight * b);
}

pub(crate) fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    /// The largest deviation of `Theta Theta^T / k` from `I / d`.
    fn frame_error(slices: &Slices) -> f64 {
        let (d, k) = (slices.dim(), slices.count());
        let theta = DMatrix::from_column_slice(d, k, slices.directions());
        let error = &theta * theta.transpose() / k as f64 - DMatrix::identity(d, d) / d as f64;
        error.amax()
    }

    #[test]
    fn orthonormal_directions_project_no_vector_to_more_than_itself() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        for (d, k) in [(1, 1), (5, 3), (64, 20), (7, 7)] {
            let slices = Slices::orthonormal(d, k, &mut rng).unwrap();
            assert_eq!((slices.dim(), slices.count()), (d, k));
            let squared = slices.lambda_max_upper() * k as f64;
            assert!((squared - 1.0).abs() < 1e-6, "d = {d}, k = {k}: {squared}");
        }
        assert!(Slices::orthonormal(3, 4, &mut rng).is_err());
        assert!(Slices::orthonormal(3, 0, &mut rng).is_err());
    }

    #[test]
    fn tight_frames_are_tight_for_every_count() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for d in 1..=9 {
            for k in d..=4 * d + 1 {
                let slices = Slices::tight(d, k, &mut rng).unwrap();
                assert_eq!((slices.dim(), slices.count()), (d, k));
                assert!(frame_error(&slices) < 2e-7, "d = {d}, k = {k}");
                let lambda = slices.lambda_max_upper();
                assert!((lambda * d as f64 - 1.0).abs() < 1e-6, "d = {d}, k = {k}");
            }
        }
        for (d, k) in [(48, 100), (49, 131), (64, 64)] {
            let slices = Slices::tight(d, k, &mut rng).unwrap();
            assert!(frame_error(&slices) < 2e-7, "d = {d}, k = {k}");
        }
    }

    #[test]
    fn directions_are_f32_values_of_norm_at_most_one() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        for d in [1, 2, 3, 6, 17, 784] {
            for slices in [
                Slices::iid(d, 2 * d + 3, &mut rng).unwrap(),
                Slices::tight(d, 2 * d + 1, &mut rng).unwrap(),
            ] {
                for l in 0..slices.count() {
                    let direction = slices.direction(l);
                    let length = norm(direction);
                    assert!((1.0 - f64::powi(2.0, -21)..=1.0).contains(&length));
                    assert!(direction.iter().all(|&x| f64::from(x as f32) == x));
                }
            }
        }
    }

    /// Each direction is uniform: the first moment is 0, the second `I/d`, the fourth of a
    /// coordinate `3/(d(d+2))`. With 40 000 directions every average below is Gaussian; six
    /// standard deviations and at most 200 averages give a false alarm in 4e-7 of all seeds.
    #[test]
    fn single_directions_are_uniform_on_the_sphere() {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let samples = 40_000;
        for d in [2, 3, 5] {
            for tight in [false, true] {
                let mut sums = vec![(0.0, 0.0); d + d * d + d];
                for draw in 0..samples {
                    // k = d + 1 makes every direction a member of the rotated harmonic block.
                    let slices = match tight {
                        true => Slices::tight(d, d + 1, &mut rng).unwrap(),
                        false => Slices::iid(d, 1, &mut rng).unwrap(),
                    };
                    let x = slices.direction(draw % slices.count());
                    let products = (0..d * d).map(|ab| x[ab / d] * x[ab % d]);
                    let fourth = x.iter().map(|x| x.powi(4));
                    let all = x.iter().copied().chain(products).chain(fourth);
                    for (sum, value) in sums.iter_mut().zip(all) {
                        *sum = (sum.0 + value, sum.1 + value * value);
                    }
                }
                let n = f64::from(samples as u32);
                let d_f = d as f64;
                for (index, (sum, squares)) in sums.into_iter().enumerate() {
                    let ab = index.wrapping_sub(d);
                    let expected = match index {
                        _ if index < d => 0.0,
                        _ if ab < d * d => f64::from(u8::from(ab / d == ab % d)) / d_f,
                        _ => 3.0 / (d_f * (d_f + 2.0)),
                    };
                    let mean = sum / n;
                    let deviation = ((squares / n - mean * mean) / n).sqrt();
                    let off = (mean - expected).abs() / deviation;
                    assert!(off < 6.0, "d = {d}, tight = {tight}, average {index}");
                }
            }
        }
    }

    #[test]
    fn lambda_max_bounds_the_quadratic_form() {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        for (d, k) in [(6, 100), (6, 3), (1, 5), (12, 12)] {
            let slices = Slices::iid(d, k, &mut rng).unwrap();
            let lambda = slices.lambda_max_upper();
            assert!(lambda <= 1.0 + 1e-9 && lambda >= 1.0 / d.min(k) as f64 * (1.0 - 1e-6));
            let mut vector = random_direction(d, &mut rng);
            let mut largest = 0.0;
            for _ in 0..3000 {
                let mut image = vec![0.0; d];
                for l in 0..k {
                    let direction = slices.direction(l);
                    let product: f64 = vector.iter().zip(direction).map(|(a, b)| a * b).sum();
                    add_scaled(&mut image, product / k as f64, direction);
                }
                largest = norm(&image);
                vector = image.iter().map(|x| x / largest).collect();
            }
            assert!(largest <= lambda && largest > lambda * (1.0 - 1e-4));
        }
    }

    #[test]
    fn impossible_requests_are_refused() {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let few = SwdError::TooFewSlices { count: 5, dim: 6 };
        assert_eq!(Slices::tight(6, 5, &mut rng), Err(few));
        assert!(Slices::tight(0, 0, &mut rng).is_err());
        assert!(Slices::iid(0, 3, &mut rng).is_err());
        assert!(Slices::iid(3, 0, &mut rng).is_err());
        assert!(Slices::from_directions(2, &[1.0, 0.0, 1.0]).is_err());
        let none = Slices::from_directions(2, &[0.0, 1.0, 0.0, 0.0]).unwrap_err();
        assert!(matches!(none, SwdError::ZeroDirection { index: 1, .. }));
        assert!(Slices::from_directions(2, &[f64::MAX; 2]).is_err());
        assert!(Slices::from_directions(2, &[f64::NAN, 1.0]).is_err());
        assert!(Slices::from_directions(1, &[f64::INFINITY]).is_err());
    }
}

//! Great circles of a sphere, to project points of it on.

use burn::tensor::Tensor;
use rand::Rng;

use crate::slices::{add_scaled, norm};
use crate::{Slices, SwdError};

/// Below this sine of their angle two axes are taken for one: a draw is with probability below 1e-6.
const LEAST_SINE: f64 = 1e-6;

/// Great circles of the unit sphere of `R^d`, each by two orthonormal axes.
#[derive(Debug, Clone, PartialEq)]
pub struct GreatCircles {
    first: Slices,
    second: Slices,
}

impl GreatCircles {
    /// Draws `count` great circles in `R^dim` independently and uniformly.
    ///
    /// # Errors
    /// `dim` is below 2, or `count` is zero.
    pub fn iid(dim: usize, count: usize, rng: &mut impl Rng) -> Result<Self, SwdError> {
        if dim < 2 {
            return Err(SwdError::NoGreatCircle { dim });
        }
        let first = Slices::iid(dim, count, rng)?;
        let second = Slices::iid(dim, count, rng)?;
        Self::through(first, &second)
    }

    /// The great circles through given pairs of directions: circle `l` is in the plane of slice `l` of
    /// both and starts at that of `first`.
    ///
    /// # Errors
    /// Fewer than 2 dimensions, dimensions or numbers of slices that differ, or a pair on one line.
    pub fn through(first: Slices, second: &Slices) -> Result<Self, SwdError> {
        let dim = first.dim();
        if dim < 2 {
            return Err(SwdError::NoGreatCircle { dim });
        }
        for (what, found, expected) in [
            ("direction of a second axis", second.dim(), dim),
            ("list of second axes", second.count(), first.count()),
        ] {
            if found != expected {
                return Err(SwdError::Length {
                    what,
                    found,
                    expected,
                });
            }
        }
        let mut axes = Vec::with_capacity(second.directions().len());
        for index in 0..first.count() {
            let (along, mut axis) = (first.direction(index), second.direction(index).to_vec());
            let product: f64 = axis.iter().zip(along).map(|(a, b)| a * b).sum();
            // Directions are a little shorter than 1.
            add_scaled(&mut axis, -product / norm(along).powi(2), along);
            if norm(&axis) < LEAST_SINE {
                let what = "second axis, less its part along the first, of great circle";
                return Err(SwdError::ZeroDirection { what, index });
            }
            axes.extend(axis);
        }
        let second = Slices::from_directions(dim, &axes)?;
        Ok(Self { first, second })
    }

    /// The dimension `d` of the space.
    pub fn dim(&self) -> usize {
        self.first.dim()
    }

    /// The number of circles, `k`.
    pub fn count(&self) -> usize {
        self.first.count()
    }

    /// Where on each circle the projection of each point lies, in turns: `[k, n]` for `[n, d]`.
    ///
    /// `atan2(<x_i, b_l>, <x_i, a_l>) / 2 pi` for the axes `a_l` and `b_l`, between -1/2 and 1/2. Only the
    /// direction of a point counts. One that is orthogonal to a whole circle has no projection: it is put at
    /// 0, and its gradient is NaN.
    pub(crate) fn turns(&self, points: Tensor<2>) -> Tensor<2> {
        let (device, points) = (points.device(), points.transpose());
        let [along, across] = [&self.first, &self.second]
            .map(|axes| axes.tensor(&device).transpose().matmul(points.clone()));
        across.atan2(along) / std::f64::consts::TAU
    }
}

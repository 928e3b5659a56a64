//! The slice on which two samples are farthest apart.

use burn::tensor::Tensor;

use super::distance::{check_samples, sliced_w2_squared};
use super::two_samples::residuals_of_sides;
use crate::{Slices, SwdError};

/// The squared max-sliced 2-Wasserstein distance between two empirical measures, and its direction.
///
/// `max_theta W_2^2(x theta, y theta)`, searched by `steps` of projected gradient ascent on the sphere from
/// each of the directions `starts`: a lower bound of the maximum, the best value met on the way. For a fixed
/// coupling the distance is `theta^T A theta` with `A = sum_ij R_ij (x_i - y_j)(x_i - y_j)^T`, and a step
/// along its gradient `2 A theta` of length `1 / (2 theta^T A theta)`, back on the sphere, is
/// `A theta / |A theta|`: nothing is tuned. With no steps it is the largest of the starts, as in POT, whose
/// `max_sliced_wasserstein_distance` is the root.
///
/// `x`: `[n, d]`; `y`: `[m, d]`. The first answer has one element, in squared units of the points, and is
/// differentiable in `x` and `y` at the direction that was found, which is the second answer.
///
/// Not private: no sensitivity bound is proved.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use rand::SeedableRng;
/// use rand_chacha::ChaCha20Rng;
/// use swd::Slices;
/// use swd::transport::tensor::max_sliced_w2_squared;
///
/// let x = Tensor::<2>::from_data([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], &Device::flex());
/// let y = x.clone() + Tensor::<2>::from_data([[0.0, 3.0, 4.0]], &Device::flex());
/// let starts = Slices::iid(3, 5, &mut ChaCha20Rng::seed_from_u64(1))?;
/// let (distance, direction) = max_sliced_w2_squared(x, y, &starts, 30)?;
/// assert!((distance.into_scalar::<f32>() - 25.0).abs() < 1e-3);
/// assert!((direction.direction(0)[2].abs() - 0.8).abs() < 1e-2);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// As [`sliced_w2_squared`].
///
/// Source: Deshpande et al., Max-sliced Wasserstein distance and its use for GANs, CVPR 2019, section 3.
pub fn max_sliced_w2_squared(
    x: Tensor<2>,
    y: Tensor<2>,
    starts: &Slices,
    steps: usize,
) -> Result<(Tensor<1>, Slices), SwdError> {
    let (d, k) = (starts.dim(), starts.count());
    check_samples(&x, &y, [d, k])?;
    let [points, others] = [&x, &y].map(|side| side.clone().without_autodiff());
    let (n, m) = (x.dims()[0] as f64, y.dims()[0] as f64);
    let mut directions = starts.tensor(&x.device()).transpose();
    // No distance is below this one.
    let mut most = Tensor::<2>::full([k, 1], -1.0, &directions.device());
    let mut at = directions.clone();
    for step in 0..=steps {
        let [u, v] =
            [&points, &others].map(|side| directions.clone().matmul(side.clone().transpose()));
        let (to_v, to_u, distances) = residuals_of_sides(u, v)?;
        let distances = distances.reshape([k, 1]);
        let higher = distances.clone().greater(most.clone());
        at = at.mask_where(higher.clone().expand([k, d]), directions.clone());
        most = most.mask_where(higher, distances);
        if step < steps {
            let ascent = to_v.matmul(points.clone()) / n + to_u.matmul(others.clone()) / m;
            let length = ascent.clone().square().sum_dim(1).sqrt();
            // Where the samples have the same projections, there is nowhere to go.
            let stuck = length.clone().equal_elem(0.0).expand([k, d]);
            directions = (ascent / length).mask_where(stuck, directions);
        }
    }
    let read = |tensor: Tensor<2>| {
        let values = tensor.try_into_vec_as::<f64>();
        values.map_err(|error| SwdError::Device(error.to_string()))
    };
    let (most, at) = (read(most)?, read(at)?);
    let mut found = 0;
    for (start, value) in most.iter().enumerate() {
        if *value > most[found] {
            found = start;
        }
    }
    let direction = Slices::from_directions(d, &at[found * d..][..d])?;
    let distance = sliced_w2_squared(x.clone(), y, direction.tensor(&x.device()))?;
    Ok((distance, direction))
}

//! Distances between points of a sphere, along great circles.

use burn::tensor::{Int, Tensor, TensorData};

use super::distance::check_sizes;
use crate::check::check_length;
use crate::{GreatCircles, SwdError, device};

/// The squared spherical sliced 2-Wasserstein distance between points and the uniform distribution of the sphere.
///
/// The mean over `k` great circles of `W_2^2(t, U) = (1/n) sum_i (e_i - mean e)^2 + 1/(12 n^2)` with
/// `e_i = t_(i) - (i - 1/2)/n` for the projections `t` on the circle in turns, sorted from wherever it is
/// cut. `x`: `[n, d]`, of which only the directions count. The answer has one element, in squared turns
/// (POT's `sliced_wasserstein_sphere_unif` is its root), and is differentiable in `x`.
///
/// Not private: no sensitivity bound is proved.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use rand::SeedableRng;
/// use rand_chacha::ChaCha20Rng;
/// use swd::GreatCircles;
/// use swd::transport::tensor::sphere_sliced_w2_squared_to_uniform;
///
/// let circles = GreatCircles::iid(2, 3, &mut ChaCha20Rng::seed_from_u64(1))?;
/// let cross = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];
/// let cross = Tensor::<2>::from_data(cross, &Device::flex());
/// let distance = sphere_sliced_w2_squared_to_uniform(cross, &circles)?;
/// // Each quarter of the circle goes to its middle.
/// assert!((distance.into_scalar::<f32>() - 1.0 / (12.0 * 16.0)).abs() < 1e-7);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// No points, points of another dimension, or what [`device::stable_ranks`] refuses.
///
/// Source: Bonet et al., Spherical sliced-Wasserstein, ICLR 2023, proposition 1; the sum of squares above
/// is theirs, arranged so that nothing cancels.
pub fn sphere_sliced_w2_squared_to_uniform(
    x: Tensor<2>,
    circles: &GreatCircles,
) -> Result<Tensor<1>, SwdError> {
    let [n, d] = x.dims();
    check_sizes(circles.count(), n, n)?;
    check_length("points", d, circles.dim())?;
    let on = x.device().without_autodiff();
    let middles: Vec<f32> = (0..n)
        .map(|i| ((i as f64 + 0.5) / n as f64) as f32)
        .collect();
    let middles = Tensor::<2>::from_data(TensorData::new(middles, [1, n]), &on);
    let apart = device::stable_sort(circles.turns(x))? - middles;
    let turn = apart.clone().mean_dim(1);
    Ok((apart - turn).square().mean() + 1.0 / (12.0 * (n as f64).powi(2)))
}

/// The spherical sliced 1-Wasserstein distance between two samples on a sphere.
///
/// The mean over `k` great circles of `W_1(s, t) = int |F_s - F_t - level|` over one turn, with the
/// distribution functions `F` of the projections on the circle, in turns, and `level` the median of their
/// difference. `x`: `[n, d]`; `y`: `[m, d]`, of which only the directions count. The answer has one element,
/// in turns (POT's `sliced_wasserstein_sphere` with `p = 1`), and is differentiable in both.
///
/// Not private: no sensitivity bound is proved.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use rand::SeedableRng;
/// use rand_chacha::ChaCha20Rng;
/// use swd::GreatCircles;
/// use swd::transport::tensor::sphere_sliced_w1;
///
/// let circles = GreatCircles::iid(2, 3, &mut ChaCha20Rng::seed_from_u64(1))?;
/// let east = Tensor::<2>::from_data([[1.0, 0.0]], &Device::flex());
/// let north = Tensor::<2>::from_data([[0.0, 1.0]], &Device::flex());
/// let distance = sphere_sliced_w1(east, north, &circles)?;
/// assert!((distance.into_scalar::<f32>() - 0.25).abs() < 1e-6);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// No points, points of another dimension, or what [`device::stable_ranks`] refuses.
///
/// Source: Bonet et al., Spherical sliced-Wasserstein, ICLR 2023, section 3; Hundrieser et al., The
/// statistics of circular optimal transport, 2022.
pub fn sphere_sliced_w1(
    x: Tensor<2>,
    y: Tensor<2>,
    circles: &GreatCircles,
) -> Result<Tensor<1>, SwdError> {
    let ([n, d], [m, other], k) = (x.dims(), y.dims(), circles.count());
    check_sizes(k, n, m)?;
    check_length("points of the first sample", d, circles.dim())?;
    check_length("points of the second sample", other, circles.dim())?;
    let size = n + m;
    let turns = Tensor::cat(vec![circles.turns(x), circles.turns(y)], 1);
    let order = device::stable_order(turns.clone())?;
    let turns = turns.gather(1, order.clone());

    // From each point to the next, the last one around to the first.
    let first = turns.clone().slice([0..k, 0..1]) + 1.0;
    let next = Tensor::cat(vec![turns.clone().slice([0..k, 1..size]), first], 1);
    let lengths = next - turns;

    // F_s - F_t after each point. Counts are whole numbers, so that errors do not add up.
    let on = order.device();
    let of_x = order.lower_elem(n as i64).int().cumsum(1).float();
    let ranks = Tensor::<1, Int>::arange(1..size as i64 + 1, &on).float();
    let steps = of_x * (1.0 / n as f64 + 1.0 / m as f64) - ranks.reshape([1, size]) / m as f64;

    let rising = device::stable_order(steps.clone())?;
    let below = lengths.clone().without_autodiff();
    let below = below.gather(1, rising.clone()).cumsum(1).lower_elem(0.5);
    let median = below.int().sum_dim(1).clamp_max(size as i64 - 1);
    let level = steps.clone().gather(1, rising.gather(1, median));
    Ok(((steps - level).abs() * lengths).sum_dim(1).mean())
}

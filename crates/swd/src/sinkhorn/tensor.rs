//! Entropic transport between tensors, as a loss.

use burn::tensor::{Tensor, TensorData};

use super::{Cost, Sinkhorn};
use crate::{SwdError, device};

/// Numbers in one block of differences on a device.
const BLOCK: usize = 1 << 24;

/// Iterations on a device between two looks at the marginal error, each of which waits for the device.
const LOOK_EVERY: usize = 25;

/// What [`Sinkhorn::forward`] found.
#[derive(Clone)]
pub struct TensorTransport {
    /// `W_lambda`, one element, whose gradient in `x` is that of `<pi, C>` with the plan fixed.
    pub loss: Tensor<1>,
    /// `<pi, C>`.
    pub transport_cost: f64,
    /// Whether the rows of the plan are as right as was asked for.
    pub converged: bool,
    /// The iterations that were taken.
    pub iterations: usize,
    /// `sum_i |sum_j pi_ij - 1/n|`.
    pub marginal_error: f64,
}

impl std::fmt::Debug for TensorTransport {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("TensorTransport");
        shown.field("converged", &self.converged);
        shown.field("iterations", &self.iterations);
        shown.finish_non_exhaustive()
    }
}

/// A solution of either kind.
struct Found {
    gradient: Tensor<2>,
    value: f64,
    transport_cost: f64,
    converged: bool,
    iterations: usize,
    marginal_error: f64,
}

impl Sinkhorn {
    /// `W_lambda` between `x`, `[n, d]`, and `y`, `[m, d]`, differentiable in `x`, on any device; `y` is a constant.
    ///
    /// In host memory it is [`Sinkhorn::solve`], in `f64`. On a GPU iterations stay on the device, in `f32`: potentials are
    /// rounded by about `2^-22` of the largest cost, so a tolerance below 1e-5 is out of reach there, and costs are
    /// always kept.
    ///
    /// # Errors
    /// As [`Sinkhorn::solve`].
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use swd::sinkhorn::{Cost, Sinkhorn};
    ///
    /// let device = Device::flex().autodiff();
    /// let made = Tensor::<2>::from_data([[0.0], [1.0]], &device).require_grad();
    /// let noisy = Tensor::<2>::from_data([[0.5], [2.5]], &device);
    /// // For noise of standard deviation 0.5 in `noisy`.
    /// let found = Sinkhorn::denoising(Cost::SquaredEuclidean, 0.5)?.forward(made.clone(), noisy)?;
    /// assert!(found.converged);
    /// let gradients = found.loss.backward();
    /// assert_eq!(made.grad(&gradients).map(|gradient| gradient.dims()), Some([2, 1]));
    /// # Ok::<(), swd::SwdError>(())
    /// ```
    pub fn forward(&self, x: Tensor<2>, y: Tensor<2>) -> Result<TensorTransport, SwdError> {
        let ([_, d], [_, e]) = (x.dims(), y.dims());
        if d != e {
            return Err(SwdError::Length {
                what: "a point of y",
                found: e,
                expected: d,
            });
        }
        let (points, others) = (x.clone().without_autodiff(), y.without_autodiff());
        let found = if device::is_far(&points.device()) {
            self.on_device(points, &others)?
        } else {
            self.on_host(points, others)?
        };
        // Its value is the distance, its slope the gradient.
        let along = (x.clone() * Tensor::from_data(found.gradient.into_data(), &x.device())).sum();
        let loss = along.clone() - along.detach() + found.value;
        Ok(TensorTransport {
            loss,
            transport_cost: found.transport_cost,
            converged: found.converged,
            iterations: found.iterations,
            marginal_error: found.marginal_error,
        })
    }

    /// The Sinkhorn divergence of [`Sinkhorn::divergence`] up to `W_lambda(y, y) / 2`, which is a constant of `x`:
    /// `W_lambda(x, y) - W_lambda(x, x) / 2`, with its gradient in `x`.
    ///
    /// `converged` is of both transports; what else is answered is of the first.
    ///
    /// # Errors
    /// As [`Sinkhorn::forward`].
    pub fn forward_divergence(
        &self,
        x: Tensor<2>,
        y: Tensor<2>,
    ) -> Result<TensorTransport, SwdError> {
        let between = self.forward(x.clone(), y)?;
        let within = self.forward(x.clone(), x)?;
        // A point of x stands on both sides of its own transport, so half of its value has the whole slope of one side.
        let value = within.loss.clone().detach() / 2.0;
        let loss = between.loss - (within.loss.clone() - within.loss.detach() + value);
        Ok(TensorTransport {
            loss,
            converged: between.converged && within.converged,
            ..between
        })
    }

    fn on_host(&self, x: Tensor<2>, y: Tensor<2>) -> Result<Found, SwdError> {
        let ([n, d], place) = (x.dims(), x.device());
        let read = |points: Tensor<2>| {
            let points = points.try_into_vec_as::<f32>();
            points.map_err(|error| SwdError::Device(error.to_string()))
        };
        let (x, y) = (read(x)?, read(y)?);
        let found = self.solve(&x, &y, d)?;
        Ok(Found {
            gradient: Tensor::from_data(TensorData::new(found.gradient(), [n, d]), &place),
            value: found.value(),
            transport_cost: found.transport_cost(),
            converged: found.converged(),
            iterations: found.iterations(),
            marginal_error: found.marginal_error(),
        })
    }

    /// The same in tensors, for a device that is far.
    fn on_device(&self, x: Tensor<2>, y: &Tensor<2>) -> Result<Found, SwdError> {
        self.check()?;
        let ([n, _], [m, _]) = (x.dims(), y.dims());
        if n == 0 || m == 0 {
            return Err(SwdError::Empty { what: "points" });
        }
        let costs = costs(self.cost, &x, y) / self.regularisation;
        let rows = |g: &Tensor<2>| minus_log_mean_exp(g.clone() - costs.clone(), 1);
        let columns = |f: &Tensor<2>| minus_log_mean_exp(f.clone() - costs.clone(), 0);
        let mut f = rows(&Tensor::zeros([1, m], &x.device()));
        let mut g = columns(&f);
        let (mut iterations, mut marginal_error, mut converged) = (0, f64::NAN, false);
        while iterations < self.iterations && !converged {
            let next = rows(&g);
            iterations += 1;
            let last = iterations == self.iterations;
            if last || iterations % LOOK_EVERY == 0 {
                let off = ((f.clone() - next.clone()).exp() - 1.0).abs().mean();
                marginal_error = number(off)?;
                converged = marginal_error.is_finite() && marginal_error <= self.tolerance;
            }
            if !(last || converged) {
                f = next;
                g = columns(&f);
            }
        }
        let all = (n as f64 * m as f64).ln();
        let plan = (f.clone() + g.clone() - costs.clone() - all).exp();
        let transport_cost = number((plan.clone() * costs).sum())? * self.regularisation;
        let value = number(f.mean() + g.mean())? * self.regularisation;
        if !(value.is_finite() && transport_cost.is_finite()) {
            return Err(SwdError::NotFinite {
                what: "costs over the regularisation",
                row: 0,
                index: 0,
                value,
            });
        }
        Ok(Found {
            gradient: gradient(self.cost, x, y, plan),
            value,
            transport_cost,
            converged,
            iterations,
            marginal_error,
        })
    }
}

/// `|x_i - y_j|_p^p`, `[n, m]`, by differences, a block of rows at a time.
fn costs(cost: Cost, x: &Tensor<2>, y: &Tensor<2>) -> Tensor<2> {
    let blocks = differences(x, y, |difference, [rows, m]| {
        let each = match cost {
            Cost::Manhattan => difference.abs(),
            Cost::SquaredEuclidean => difference.square(),
        };
        each.sum_dim(2).reshape([rows, m])
    });
    Tensor::cat(blocks, 0)
}

/// Something of `x_i - y_j`, `[rows, m, d]`, for each block of rows of `x`.
fn differences(
    x: &Tensor<2>,
    y: &Tensor<2>,
    mut of: impl FnMut(Tensor<3>, [usize; 2]) -> Tensor<2>,
) -> Vec<Tensor<2>> {
    let ([n, d], [m, _]) = (x.dims(), y.dims());
    let block = (BLOCK / (m * d).max(1)).clamp(1, n);
    let mut blocks = Vec::new();
    for start in (0..n).step_by(block) {
        let rows = block.min(n - start);
        let from = x
            .clone()
            .slice([start..start + rows, 0..d])
            .reshape([rows, 1, d]);
        blocks.push(of(from - y.clone().reshape([1, m, d]), [rows, m]));
    }
    blocks
}

/// `-log mean exp` along a dimension, which stays with length 1.
fn minus_log_mean_exp(values: Tensor<2>, dim: usize) -> Tensor<2> {
    let count = values.dims()[dim] as f64;
    let largest = values.clone().max_dim(dim);
    let sum = (values - largest.clone()).exp().sum_dim(dim);
    -(largest + sum.log() - count.ln())
}

/// `sum_j pi_ij d/dx |x - y_j|_p^p`, `[n, d]`.
fn gradient(cost: Cost, x: Tensor<2>, y: &Tensor<2>, plan: Tensor<2>) -> Tensor<2> {
    match cost {
        Cost::SquaredEuclidean => (x * plan.clone().sum_dim(1) - plan.matmul(y.clone())) * 2.0,
        Cost::Manhattan => {
            let ([_, d], mut done) = (x.dims(), 0);
            let blocks = differences(&x, y, |difference, [rows, m]| {
                let weights = plan.clone().slice([done..done + rows, 0..m]);
                done += rows;
                let each = difference.sign() * weights.reshape([rows, m, 1]);
                each.sum_dim(1).reshape([rows, d])
            });
            Tensor::cat(blocks, 0)
        }
    }
}

fn number(value: Tensor<1>) -> Result<f64, SwdError> {
    let value = value.try_into_scalar::<f32>();
    let value = value.map_err(|error| SwdError::Device(error.to_string()))?;
    Ok(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{Device, TensorData};
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;
    use rand_distr::{Distribution, StandardNormal};

    fn draw(n: usize, rng: &mut ChaCha20Rng, device: &Device) -> Tensor<2> {
        let values = StandardNormal.sample_iter(rng).take(3 * n);
        Tensor::from_data(
            TensorData::new(values.collect::<Vec<f32>>(), [n, 3]),
            device,
        )
    }

    /// The divergence as a loss has the gradient of the divergence.
    #[test]
    fn the_loss_of_the_divergence_has_its_gradient() {
        let device = Device::flex().autodiff();
        let rng = &mut ChaCha20Rng::seed_from_u64(6);
        let (x, y) = (draw(7, rng, &device).require_grad(), draw(5, rng, &device));
        let values = |t: &Tensor<2>| {
            t.clone()
                .inner()
                .into_data()
                .iter::<f32>()
                .collect::<Vec<_>>()
        };
        let sinkhorn = Sinkhorn::new(Cost::SquaredEuclidean, 0.5).unwrap();
        let wanted = sinkhorn.divergence(&values(&x), &values(&y), 3).unwrap();
        let loss = sinkhorn.forward_divergence(x.clone(), y.clone()).unwrap();
        let within_y = sinkhorn.solve(&values(&y), &values(&y), 3).unwrap().value();
        let value = f64::from(loss.loss.clone().into_scalar::<f32>()) - within_y / 2.0;
        assert!((value - wanted.value).abs() < 1e-5);
        let gradient = x.grad(&loss.loss.backward()).unwrap().into_data();
        for (found, wanted) in gradient.iter::<f32>().zip(wanted.gradient) {
            assert!((found - wanted).abs() < 1e-5);
        }
    }

    /// The formulas that run on a GPU, on the host's tensors, beside those of the host.
    #[test]
    fn tensors_and_host_agree() {
        let device = Device::flex();
        let rng = &mut ChaCha20Rng::seed_from_u64(7);
        for (cost, regularisation) in [
            (Cost::Manhattan, 0.3),
            (Cost::SquaredEuclidean, 0.3),
            (Cost::SquaredEuclidean, 1e3),
        ] {
            let (x, y) = (draw(13, rng, &device), draw(9, rng, &device));
            let sinkhorn = Sinkhorn::new(cost, regularisation).unwrap();
            let sinkhorn = sinkhorn.iterations(2000).tolerance(1e-5);
            let device = sinkhorn.on_device(x.clone(), &y).unwrap();
            let host = sinkhorn.tolerance(1e-9).on_host(x, y).unwrap();
            assert!(device.converged && host.converged);
            assert!((device.value / host.value - 1.0).abs() < 1e-4);
            assert!((device.transport_cost / host.transport_cost - 1.0).abs() < 1e-4);
            let apart: f32 = (device.gradient - host.gradient).abs().max().into_scalar();
            assert!(apart < 1e-4, "{cost:?}: {apart}");
        }
    }
}

//! The squared sliced distance as a loss module of burn.

use burn::config::Config;
use burn::module::Module;
use burn::tensor::Tensor;
use rand::Rng;

use crate::transport::tensor::sliced_w2_squared;
use crate::{Slices, SwdError};

/// The settings of [`SlicedWasserstein`]: how it draws its slices.
#[derive(Config, Debug)]
pub struct SlicedWassersteinConfig {
    /// The number of slices, `k`.
    #[config(default = 50)]
    pub slices: usize,
    /// Whether the slices form a tight frame ([`Slices::tight`], at least as many slices as dimensions), whose
    /// estimate varies less, or are independent ([`Slices::iid`]).
    #[config(default = false)]
    pub tight_frame: bool,
}

impl SlicedWassersteinConfig {
    /// Builds the loss. [`SlicedWasserstein::forward`], which knows the dimension, refuses a number of slices that
    /// cannot be sampled.
    pub fn init(&self) -> SlicedWasserstein {
        SlicedWasserstein {
            slices: self.slices,
            tight_frame: self.tight_frame,
        }
    }
}

/// The squared sliced 2-Wasserstein distance `SW_2^2` between two batches of points, as a loss.
///
/// It is differentiable in both arguments, on any device, for batches of any two sizes. It is the square of what
/// POT's `sliced_wasserstein_distance` returns, in squared units of the points: the square has an unbiased
/// estimate, and a gradient even if the batches are equal. [`sliced_w2_squared`] has the formula.
///
/// The loss alone is not private: a private step clips and adds noise as [`crate::sensitivity`] says.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use rand::SeedableRng;
/// use rand_chacha::ChaCha20Rng;
/// use swd::{Slices, SlicedWassersteinConfig};
///
/// let device = Device::flex().autodiff();
/// let made = Tensor::<2>::random([32, 3], Distribution::Default, &device).require_grad();
/// let real = Tensor::<2>::random([20, 3], Distribution::Default, &device);
///
/// let loss = SlicedWassersteinConfig::new().with_slices(64).with_tight_frame(true).init();
/// let mut rng = ChaCha20Rng::seed_from_u64(1);
/// let value = loss.forward(made.clone(), real.clone(), &mut rng)?;
/// let gradients = value.backward();
/// assert_eq!(made.grad(&gradients).map(|gradient| gradient.dims()), Some([32, 3]));
///
/// // The same directions again, or those of one's own.
/// let slices = Slices::from_directions(3, &[1.0, 0.0, 0.0, 0.0, 2.0, 0.0])?;
/// let value = loss.forward_with(made.clone(), real, &slices)?;
/// assert!(value.into_scalar::<f32>() > 0.0);
/// assert_eq!(loss.forward_with(made.clone(), made, &slices)?.into_scalar::<f32>(), 0.0);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, propositions 3.1 and 3.2.
#[derive(Module, Debug)]
pub struct SlicedWasserstein {
    /// The number of slices of each call.
    pub slices: usize,
    /// Whether the slices form a tight frame.
    pub tight_frame: bool,
}

impl SlicedWasserstein {
    /// Computes `SW_2^2` along slices that each call samples anew from `rng`.
    ///
    /// # Shapes
    /// - `x`: `[n, d]`
    /// - `y`: `[m, d]`
    /// - result: `[1]`
    ///
    /// # Errors
    /// Fails as [`Slices::iid`] or [`Slices::tight`], and [`sliced_w2_squared`], do.
    pub fn forward(
        &self,
        x: Tensor<2>,
        y: Tensor<2>,
        rng: &mut impl Rng,
    ) -> Result<Tensor<1>, SwdError> {
        let [_, d] = x.dims();
        let slices = if self.tight_frame {
            Slices::tight(d, self.slices, rng)?
        } else {
            Slices::iid(d, self.slices, rng)?
        };
        self.forward_with(x, y, &slices)
    }

    /// Computes `SW_2^2` along given slices, of any number. The shapes are those of [`SlicedWasserstein::forward`].
    ///
    /// # Errors
    /// Fails as [`sliced_w2_squared`] does.
    pub fn forward_with(
        &self,
        x: Tensor<2>,
        y: Tensor<2>,
        slices: &Slices,
    ) -> Result<Tensor<1>, SwdError> {
        let slices = slices.tensor(&x.device());
        sliced_w2_squared(x, y, slices)
    }
}

//! The spectral clip of many records at once, on the device that their Gram matrices live on.

#[cfg(feature = "cubecl")]
mod cube;
mod extension;

use burn::backend::{Dispatch, DispatchDevice};
use burn::tensor::{Tensor, TensorData};
use extension::SpectralClip;

use super::{JacobianClip, Rounding};

/// The largest `d` whose eigenproblem one unit of a GPU keeps to itself; beyond it the host solves them.
const MOST_COLUMNS: usize = 32;

impl JacobianClip {
    /// [`JacobianClip::apply`] for many records, where they are: cotangents `c'` with
    /// `||J^T c'||_2 <= L ||c||_2`.
    ///
    /// - `gram`: `[n, d, d]`; `cotangents`: `[n, d]`; `bound`: `L > 0`, tightened by `rounding`.
    ///
    /// A record whose Gram matrix or cotangent is not finite gets the zero vector.
    pub fn apply_all(
        self,
        gram: Tensor<3>,
        cotangents: Tensor<2>,
        bound: f64,
        rounding: Rounding,
    ) -> Tensor<2> {
        let [n, d] = cotangents.dims();
        match self {
            Self::Rows => rows(gram, cotangents, rounding.tighten(bound), rounding),
            Self::Spectral => {
                let device = cotangents.device().without_autodiff();
                let gram = gram.without_autodiff().reshape([n, d * d]);
                let cotangents = cotangents.without_autodiff();
                let bound = rounding.tighten(bound);
                let extended = match device.as_dispatch() {
                    #[cfg(feature = "cubecl")]
                    DispatchDevice::Cube(_) => d <= MOST_COLUMNS,
                    DispatchDevice::Flex(_) => true,
                    #[cfg(feature = "ndarray")]
                    DispatchDevice::NdArray(_) => true,
                    #[allow(unreachable_patterns)] // With every backend of this build named above.
                    _ => false,
                };
                if extended {
                    return Tensor::from_dispatch(Dispatch::spectral_clip(
                        gram.into_dispatch(),
                        cotangents.into_dispatch(),
                        bound as f32,
                        rounding.gram as f32,
                    ));
                }
                let host = |tensor: Tensor<2>| -> Vec<f32> { tensor.into_data().iter().collect() };
                let clipped = clip_rows(&host(gram), &host(cotangents), d, bound, rounding.gram);
                Tensor::from_data(TensorData::new(clipped, [n, d]), &device)
            }
        }
    }
}

/// Each row of `J` to `L / sqrt(d)`.
fn rows(gram: Tensor<3>, cotangents: Tensor<2>, bound: f64, rounding: Rounding) -> Tensor<2> {
    let [n, d] = cotangents.dims();
    let limit = bound / (d as f64).sqrt();
    let diagonal = gram
        .clone()
        .mul(Tensor::<2>::eye(d, &gram.device()).unsqueeze())
        .sum_dim(2)
        .reshape([n, d]);
    // A sum of squares is off by a part of itself.
    let norms = diagonal.clone().mul_scalar(1.0 + rounding.gram).sqrt();
    let scale = (norms + f32::MIN_POSITIVE).recip().mul_scalar(limit);
    let clipped = cotangents * scale.clamp_max(1.0);
    let finite = clipped
        .clone()
        .abs()
        .sum_dim(1)
        .is_finite()
        .bool_and(gram.abs().sum_dim(2).sum_dim(1).reshape([n, 1]).is_finite());
    clipped.mask_fill(finite.bool_not().expand([n, d]), 0.0)
}

/// The spectral clip record by record, on the host.
fn clip_rows(gram: &[f32], cotangents: &[f32], d: usize, bound: f64, rounding: f64) -> Vec<f32> {
    gram.chunks_exact(d * d)
        .zip(cotangents.chunks_exact(d))
        .flat_map(|(gram, c)| super::clip::spectral(gram, c, bound, rounding))
        .collect()
}

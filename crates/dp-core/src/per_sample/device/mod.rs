//! Operations of clipping on a device, for many records at once: spectral clips, and tests for finite records.

#[cfg(feature = "cubecl")]
mod cube;
mod extension;

use burn::backend::{Dispatch, DispatchDevice};
use burn::tensor::{Bool, Device, Tensor, TensorData};
use extension::PerRecord;

use super::{JacobianClip, NORMS, Rounding};

/// The largest `d` whose eigenproblem one unit of a GPU solves; the host solves larger ones.
const MOST_COLUMNS: usize = 32;

impl JacobianClip {
    /// Applies [`JacobianClip::apply`] to many records on their device: cotangents `c'` with `||J^T c'||_2 <= L ||c||_2`.
    ///
    /// - `gram`: `[n, d, d]`; `cotangents`: `[n, d]`; `bound`: `L`, one of [`NORMS`](super::NORMS), tightened by
    ///   `rounding`, which is [`Rounding::of_device`] of the device for private steps.
    ///
    /// A record whose Gram matrix or cotangent is not finite gets the zero vector, and so does every record for another
    /// bound.
    pub fn apply_all(
        self,
        gram: Tensor<3>,
        cotangents: Tensor<2>,
        bound: f64,
        rounding: Rounding,
    ) -> Tensor<2> {
        let [n, d] = cotangents.dims();
        if !NORMS.contains(&bound) {
            return cotangents.zeros_like();
        }
        match self {
            Self::Rows => rows(gram, cotangents, rounding.tighten(bound), rounding),
            Self::Spectral => {
                let device = cotangents.device().without_autodiff();
                let gram = gram.without_autodiff().reshape([n, d * d]);
                let cotangents = cotangents.without_autodiff();
                let bound = rounding.tighten(bound);
                if extended(&device) && (d <= MOST_COLUMNS || device == Device::flex()) {
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

/// Tells which rows of `values`, `[n, w]`, hold neither a NaN nor an infinity: `[n, 1]`.
///
/// It looks at their bits, on every backend: a compiler for a GPU may assume that floats are finite, and fold
/// comparisons and tests away.
pub fn finite_rows(values: Tensor<2>) -> Tensor<2, Bool> {
    let values = values.without_autodiff();
    let ([n, width], device) = (values.dims(), values.device());
    let ones = if extended(&device) {
        Tensor::<2>::from_dispatch(Dispatch::finite_rows(values.into_dispatch()))
    } else {
        let values: Vec<f32> = values.into_data().iter().collect();
        let ones = finite_ones(&values, width);
        Tensor::from_data(TensorData::new(ones, [n, 1]), &device)
    };
    ones.greater_elem(0.5)
}

/// Returns 1 for each finite row and 0 for the others.
fn finite_ones(values: &[f32], width: usize) -> Vec<f32> {
    let rows = values.chunks_exact(width.max(1));
    rows.map(|row| f32::from(u8::from(row.iter().all(|x| x.is_finite()))))
        .collect()
}

/// Whether the backend of this device has the extension.
fn extended(device: &Device) -> bool {
    match device.as_dispatch() {
        #[cfg(feature = "cubecl")]
        DispatchDevice::Cube(_) => true,
        DispatchDevice::Flex(_) => true,
        #[cfg(feature = "ndarray")]
        DispatchDevice::NdArray(_) => true,
        #[allow(unreachable_patterns)] // With every backend of this build named above.
        _ => false,
    }
}

/// Clips each row of `J` to `L / sqrt(d)`.
fn rows(gram: Tensor<3>, cotangents: Tensor<2>, bound: f64, rounding: Rounding) -> Tensor<2> {
    let [n, d] = cotangents.dims();
    let limit = bound / (d as f64).sqrt();
    let diagonal = gram
        .clone()
        .mul(Tensor::<2>::eye(d, &gram.device()).unsqueeze())
        .sum_dim(2)
        .reshape([n, d]);
    // The error of a sum of squares is relative to the sum itself.
    let norms = diagonal.clone().mul_scalar(1.0 + rounding.gram).sqrt();
    let scale = (norms + f32::MIN_POSITIVE).recip().mul_scalar(limit);
    let clipped = cotangents * scale.clamp_max(1.0);
    let finite = finite_rows(Tensor::cat(
        vec![clipped.clone(), gram.reshape([n, d * d])],
        1,
    ));
    clipped.mask_fill(finite.bool_not().expand([n, d]), 0.0)
}

/// Applies the spectral clip record by record on the host.
fn clip_rows(gram: &[f32], cotangents: &[f32], d: usize, bound: f64, rounding: f64) -> Vec<f32> {
    gram.chunks_exact(d * d)
        .zip(cotangents.chunks_exact(d))
        .flat_map(|(gram, c)| super::clip::spectral(gram, c, bound, rounding))
        .map(|x| x as f32)
        .collect()
}

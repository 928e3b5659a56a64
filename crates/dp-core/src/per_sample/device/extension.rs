//! Operations on records as an extension of burn's backends.

// ndarray is deprecated upstream in favour of flex; it is kept to check portability.
#![allow(deprecated)]

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
#[cfg(feature = "cubecl")]
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::FloatTensor;
use burn::backend::{
    Autodiff, AutodiffBackend, Backend, Flex, TensorData, TensorMetadata, backend_extension,
    read_sync,
};

use super::{clip_rows, finite_ones};

/// The shape of one number for each row.
#[cfg(feature = "cubecl")]
fn column(values: &TensorSpec) -> TensorSpec {
    TensorSpec::new([values.shape[0], 1].into(), values.dtype)
}

/// The operations of clipping on a device.
#[backend_extension(
    Cube: cfg(feature = "cubecl"),
    Flex,
    NdArray: cfg(feature = "ndarray"),
    Fusion: cfg(feature = "cubecl"),
    Autodiff
)]
pub(super) trait PerRecord: Backend {
    /// Computes `f(G) c` for each record, with `f(e) = min(1, L / sqrt(e + rounding trace(G)))`.
    ///
    /// `gram`: `[n, d * d]`; `cotangents`: `[n, d]`; `bound`: `L`.
    #[fusion(dtype = cotangents, shape = cotangents)]
    fn spectral_clip(
        gram: FloatTensor<Self>,
        cotangents: FloatTensor<Self>,
        bound: f32,
        rounding: f32,
    ) -> FloatTensor<Self>;

    /// Maps `[n, w]` to `[n, 1]`: 1 if a row is finite, by its bits, else 0.
    #[fusion(meta = column)]
    fn finite_rows(values: FloatTensor<Self>) -> FloatTensor<Self>;
}

impl<B: PerRecord, C: CheckpointStrategy> PerRecord for Autodiff<B, C> {
    /// The result is a constant for autodiff: a clip is applied to gradients, and has none of its own.
    fn spectral_clip(
        gram: FloatTensor<Self>,
        cotangents: FloatTensor<Self>,
        bound: f32,
        rounding: f32,
    ) -> FloatTensor<Self> {
        let (gram, cotangents) = (
            <Self as AutodiffBackend>::inner(gram),
            <Self as AutodiffBackend>::inner(cotangents),
        );
        <Self as AutodiffBackend>::from_inner(B::spectral_clip(gram, cotangents, bound, rounding))
    }

    /// The result is a constant for autodiff: it is 0 or 1.
    fn finite_rows(values: FloatTensor<Self>) -> FloatTensor<Self> {
        let values = <Self as AutodiffBackend>::inner(values);
        <Self as AutodiffBackend>::from_inner(B::finite_rows(values))
    }
}

impl PerRecord for Flex {
    fn spectral_clip(
        gram: FloatTensor<Self>,
        cotangents: FloatTensor<Self>,
        bound: f32,
        rounding: f32,
    ) -> FloatTensor<Self> {
        on_host::<Self>(gram, cotangents, bound, rounding)
    }

    fn finite_rows(values: FloatTensor<Self>) -> FloatTensor<Self> {
        finite_on_host::<Self>(values)
    }
}

#[cfg(feature = "ndarray")]
impl PerRecord for burn::backend::NdArray {
    fn spectral_clip(
        gram: FloatTensor<Self>,
        cotangents: FloatTensor<Self>,
        bound: f32,
        rounding: f32,
    ) -> FloatTensor<Self> {
        on_host::<Self>(gram, cotangents, bound, rounding)
    }

    fn finite_rows(values: FloatTensor<Self>) -> FloatTensor<Self> {
        finite_on_host::<Self>(values)
    }
}

/// Clips tensors in host memory.
fn on_host<B: Backend>(
    gram: FloatTensor<B>,
    cotangents: FloatTensor<B>,
    bound: f32,
    rounding: f32,
) -> FloatTensor<B> {
    let (shape, device) = (cotangents.shape(), cotangents.device());
    let (bound, rounding) = (f64::from(bound), f64::from(rounding));
    let clipped = clip_rows(
        &read::<B>(gram),
        &read::<B>(cotangents),
        shape[1],
        bound,
        rounding,
    );
    B::float_from_data(TensorData::new(clipped, shape), &device)
}

fn finite_on_host<B: Backend>(values: FloatTensor<B>) -> FloatTensor<B> {
    let (shape, device) = (values.shape(), values.device());
    let ones = finite_ones(&read::<B>(values), shape[1]);
    B::float_from_data(TensorData::new(ones, [shape[0], 1]), &device)
}

fn read<B: Backend>(tensor: FloatTensor<B>) -> Vec<f32> {
    read_sync(B::float_into_data(tensor))
        .map(|data| data.iter::<f32>().collect())
        .unwrap_or_default()
}

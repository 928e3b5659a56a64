//! Per-record gradients by book-keeping: norms and Gram matrices without the gradients.
//!
//! Let `J_i` be the `g x r` matrix whose rows are the gradients of `g` outputs of record `i` with respect to the `r`
//! parameters. Clipping needs only `G_i = J_i J_i^T`. Every layer adds its own part of `G_i` from its input and the
//! cotangents at its output, which an ordinary forward and backward pass already hold. The weighted sum
//! `sum_i J_i^T w_i` then costs one more weight-gradient pass, so the per-record gradients of a batch never exist
//! together.
//!
//! [`Stack`] runs layers on tensors of every backend. [`HostStack`] computes the same on the CPU, for eight records
//! at a time. [`nn::Chain`] makes a stack of the layers of `burn::nn`. [`Reference`] forms the gradients of any
//! module by autodiff, one record at a time: it is slow, and every layer is tested against it.
//!
//! ```
//! use burn::nn::LinearConfig;
//! use burn::tensor::{Device, Tensor};
//! use dp_core::per_sample::{Needs, Rounding, nn::Chain, norm_clip_weights};
//!
//! let device = Device::flex();
//! let layer = LinearConfig::new(2, 1).with_bias(false).init(&device);
//! let stack = Chain::features(2).linear(&layer).build()?;
//! // The gradients of one output are the records themselves: their squared norms are 25 and 0.25.
//! let rows = Tensor::<2>::from_data([[3.0, 4.0], [0.0, 0.5]], &device);
//! let seen = stack.forward(rows);
//! let needs = Needs { gram: true, input: false };
//! let pulled = stack.pull_back(&seen, Tensor::ones([2, 1, 1], &device), needs);
//! let weights = norm_clip_weights(pulled.gram.clone().flatten(0, 2), 1.0, Rounding::SINGLE);
//! // Clipped to norm 1 and added up, without having been formed.
//! let sum = stack.gradient(&seen, &pulled, weights.reshape([2, 1]));
//! assert_eq!(sum.len(), 1);
//! # Ok::<(), dp_core::per_sample::LayerError>(())
//! ```

mod clip;
mod device;
mod error;
mod host;
mod layer;
pub mod nn;
mod reference;
mod rounding;
mod stack;

pub use clip::{
    GRAM_ROUNDING, JacobianClip, NORMS, check_norm, norm_clip_weight, norm_clip_weights,
};
pub use device::finite_rows;
pub use error::LayerError;
pub(crate) use host::{Buffer, HostLayer, Lanes8, SavedActivations, Wide8};
pub use host::{HostActivations, HostPullBack, HostStack, LANES};
pub(crate) use layer::{FusionHint, Gram, Layer};
pub use layer::{Needs, ParameterSlot};
pub use reference::{Reference, Rows, parameters_of, refuse_mixing};
pub use rounding::Rounding;
pub(crate) use stack::Kept;
pub use stack::{Activations, PullBack, Stack};

//! The interface of a layer on the host.

use super::kernels::Combine;
use super::{Lanes8, Wide8};

/// The saved activations of one layer.
#[derive(Clone, Copy)]
pub(crate) struct SavedActivations<'a> {
    /// The layer's input, `[blocks, d_in]`.
    pub input: &'a [Lanes8],
    /// The signs that the layer keeps, `[blocks, signs]`, with a bit for each lane.
    pub signs: &'a [u8],
    /// The layer's output, `[blocks, d_out]`.
    pub output: &'a [Lanes8],
}

/// The host kernels of a layer over a snapshot of its weights.
///
/// They compute the same as [`Layer`](crate::per_sample::Layer). A buffer holds one [`Lanes8`] for each feature of
/// the eight records of a block, block after block.
pub(crate) trait HostLayer: Send + Sync {
    /// The number of features of one record at the input.
    fn inputs(&self) -> usize;

    /// The number of features of one record at the output.
    fn outputs(&self) -> usize;

    /// The number of scalars in all parameters, in the order of [`Layer::parameters`](crate::per_sample::Layer::parameters).
    fn parameters(&self) -> usize;

    /// The number of signs of one record that the forward pass keeps for the backward pass, besides input and output.
    fn signs(&self) -> usize {
        0
    }

    /// Computes `output [blocks, d_out]` for `input [blocks, d_in]`, and fills `signs [blocks, signs]`, one byte for
    /// the eight records of a block.
    fn forward(&self, input: &[Lanes8], signs: &mut [u8], output: &mut [Lanes8]);

    /// Computes `below [blocks, g, d_in]` for `delta [blocks, g, d_out]`. Overwrites `below`.
    fn backward(&self, g: usize, saved: &SavedActivations, delta: &[Lanes8], below: &mut [Lanes8]);

    /// The length of the rows of `J_i` that [`HostLayer::gram`] forms: all the layer's parameters, or 0 if the Gram
    /// matrix needs no rows.
    fn row_length(&self) -> usize {
        0
    }

    /// Adds this layer's part of `G_i = J_i J_i^T` to `gram [blocks, g, g]`, and fills
    /// `rows [blocks, g, row_length]` with the layer's part of `J_i`.
    fn gram(
        &self,
        g: usize,
        saved: &SavedActivations,
        delta: &[Lanes8],
        rows: &mut [Lanes8],
        gram: &mut [Lanes8],
    );

    /// Adds `sum_i J_i^T w_i` for `weights [blocks, g]` and the `rows` that [`HostLayer::gram`] filled. A weight of
    /// zero contributes exact zeros, whatever its row holds.
    ///
    /// It is called only if [`HostLayer::row_length`] is not 0.
    fn combine(&self, g: usize, weights: &[Wide8], rows: &[Lanes8], gradient: &mut [f32]) {
        Combine {
            g,
            weights,
            rows,
            gradient,
        }
        .apply();
    }

    /// Adds the gradient summed over records for one cotangent of each record, `delta [blocks, d_out]`.
    ///
    /// A lane is zero in `saved.input` and in `delta` if it has no record or its record must not count.
    fn gradient(&self, saved: &SavedActivations, delta: &[Lanes8], gradient: &mut [f32]);
}

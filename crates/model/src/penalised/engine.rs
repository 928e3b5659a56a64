//! Which kernels carry a step.

use std::ops::Range;

use burn::tensor::Device;

/// Which kernels carry a step, and how many records go through them at once.
///
/// The chunk bounds memory: no more than `chunk * latent` sets of activations are alive in a Gram
/// pass, whatever the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// burn tensors, on whatever device the model lives.
    Tensor {
        /// Records at once.
        chunk: usize,
    },
    /// Host kernels, one chunk a core.
    Host {
        /// Records at once on each core, best a multiple of 8: see [`dp_core::per_sample::LANES`].
        chunk: usize,
    },
}

impl Engine {
    /// The engine that suits a device: host kernels where the tensors of `flex` live in host
    /// memory anyway, tensors elsewhere.
    pub fn for_device(device: &Device) -> Self {
        if *device == Device::flex() {
            Self::Host { chunk: 16 }
        } else {
            Self::Tensor { chunk: 100 }
        }
    }

    pub(super) fn chunks(self, records: usize) -> Vec<Range<usize>> {
        let (Self::Tensor { chunk } | Self::Host { chunk }) = self;
        let chunk = chunk.max(1);
        (0..records)
            .step_by(chunk)
            .map(|start| start..(start + chunk).min(records))
            .collect()
    }
}

//! Layers and devices that are refused.

/// A network, or a device, that has no per-record gradients. Nothing in it comes from a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// A layer of a chain that does not fit.
    #[error("layer {number} of the chain, {layer}: {reason}")]
    Misfit {
        /// Which one, from 1.
        number: usize,
        /// The layer's name.
        layer: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A module that mixes the records of a batch.
    #[error(
        "{path} is {module}, which mixes the records of a batch and keeps what it has seen of them: a record \
         has no gradient of its own there; take GroupNorm or LayerNorm instead"
    )]
    MixesRecords {
        /// Where in the model it is.
        path: String,
        /// What it is.
        module: &'static str,
    },
    /// A layer that offers no host kernels was asked for them.
    #[error("layer {layer} has no host kernels: use the tensor engine for this model")]
    NoHostKernels {
        /// The layer's name.
        layer: String,
    },
    /// A device whose products are too coarse for the sensitivity of a private step.
    #[error(
        "{device} may round the factors of its products to 11 bits, and a private step needs the 24 of \
         f32: take another backend for the same card, such as vulkan or wgpu"
    )]
    CoarseProducts {
        /// The device.
        device: String,
    },
}

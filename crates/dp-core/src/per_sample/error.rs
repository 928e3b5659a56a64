//! Errors for layers and devices that are refused.

/// The error of a network or a device without bounded per-record gradients. It depends on no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// A layer of a chain does not fit.
    #[error("layer {number} of the chain, {layer}: {reason}")]
    Misfit {
        /// The number of the layer, from 1.
        number: usize,
        /// The layer's name.
        layer: &'static str,
        /// The reason why it does not fit.
        reason: String,
    },
    /// A module mixes the records of a batch.
    #[error(
        "{path} is {module}, which mixes the records of a batch and keeps what it has seen of them: a record \
         has no gradient of its own there; take GroupNorm or LayerNorm instead"
    )]
    MixesRecords {
        /// The path of the module in the model.
        path: String,
        /// The kind of module.
        module: &'static str,
    },
    /// Host kernels were asked of a layer that has none.
    #[error("layer {layer} has no host kernels: use the tensor engine for this model")]
    NoHostKernels {
        /// The layer's name.
        layer: String,
    },
    /// The products of a device are too coarse for the sensitivity of a private step.
    #[error(
        "{device} may round the factors of its products to 11 bits, and a private step needs the 24 of \
         f32: take another backend for the same card, such as vulkan or wgpu"
    )]
    CoarseProducts {
        /// The device.
        device: String,
    },
}

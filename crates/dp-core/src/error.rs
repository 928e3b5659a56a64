//! What can go wrong between a private record and a released gradient.

use crate::accounting::AccountingError;

/// Errors of this crate. Each names the value and the bound that it broke.
#[derive(Debug, thiserror::Error)]
pub enum DpError {
    /// A parameter of a plan or a mechanism lies outside its range.
    #[error("{name} = {value} is refused: it must be {bound}")]
    OutOfRange {
        /// What the value is.
        name: &'static str,
        /// The value found.
        value: f64,
        /// The bound it must respect, in words.
        bound: String,
    },
    /// A batch that the data cannot fill.
    #[error(
        "batch = {batch} is refused: it must be between 1 and the number of records, {records}"
    )]
    Batch {
        /// The batch size asked for.
        batch: u64,
        /// The number of records at hand.
        records: u64,
    },
    /// The gradient that reached the mechanism holds a NaN or an infinity.
    // How many are not is a function of private records.
    #[error("the clipped gradient is not finite in some of {total} entries: nothing was released")]
    NotFinite {
        /// How many entries are not finite.
        count: usize,
        /// How many entries there are.
        total: usize,
    },
    /// Shapes that do not fit each other.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// Where.
        what: &'static str,
        /// The size expected.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// A layer of a chain that does not fit.
    #[error("layer {number} of the chain, {layer}: {reason}")]
    Layer {
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
    /// A device that gave no answer; nothing was released.
    #[error("the device gave no answer, and nothing was released: {message}")]
    Device {
        /// What it said.
        message: String,
    },
    /// The ledger could not be written, so nothing was released.
    #[error("the ledger {path} could not be written, and nothing was released: {source}")]
    Ledger {
        /// The ledger's file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A ledger that cannot be read back.
    #[error("the ledger {path}, line {line}: {reason}")]
    LedgerFormat {
        /// The ledger's file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The accountant refused.
    #[error(transparent)]
    Accounting(#[from] AccountingError),
}

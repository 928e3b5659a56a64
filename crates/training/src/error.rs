//! What can go wrong in private training.

/// Errors of this crate. Each names the value and the bound that it broke, unless it is private: `main` prints an error that
/// it returns by `Debug`, which hides nothing. Nothing was released then.
#[derive(Debug, thiserror::Error)]
pub enum TrainingError {
    /// A constant lies outside its range.
    #[error("{name} = {value} is refused: it must be {bound}")]
    OutOfRange {
        /// The constant.
        name: &'static str,
        /// The value found.
        value: f64,
        /// The bound, in words.
        bound: String,
    },
    /// Sizes that do not fit each other.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// Where.
        what: &'static str,
        /// The size expected.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// Data of another number of records than the sampler's, or a batch of another than was sampled: these may be private.
    #[error("{what}: not as many as the records of the sampler or of its draw")]
    OtherRecords {
        /// Where.
        what: &'static str,
    },
    /// A label that is none of the classes.
    // Which it is, and which record has it, is private; that the data are not what they should be is for their owner.
    #[error("a label is no class: with {classes} outputs it must be from 0 to {}", classes.saturating_sub(1))]
    Label {
        /// The number of classes.
        classes: usize,
    },
    /// Targets of another kind than a loss compares outputs with.
    #[error("the loss is {loss}: its targets must be {expected}")]
    Targets {
        /// The loss.
        loss: &'static str,
        /// What it takes.
        expected: &'static str,
    },
    /// Something that cannot be bounded together.
    #[error("{what}")]
    Unbounded {
        /// What, and what would do instead.
        what: String,
    },
    /// A release asked for in a training without privacy.
    #[error("this training has no plan: nothing of it is released")]
    WithoutPlan,
    /// A ledger that has lost releases since a checkpoint.
    #[error("the ledger {path} holds {found} releases, and the checkpoint knows of {expected}")]
    LostReleases {
        /// The ledger's file.
        path: String,
        /// Releases in it.
        found: u64,
        /// Releases at the checkpoint.
        expected: u64,
    },
    /// Two ledgers for one training: neither would hold all that was spent.
    #[error("the ledger {found} is refused: the releases of this training are in {expected}")]
    OtherLedger {
        /// The ledger's file.
        found: String,
        /// The file of the one before.
        expected: String,
    },
    /// A checkpoint that cannot be read.
    #[error("the checkpoint is damaged: {reason}")]
    Checkpoint {
        /// What is wrong with it.
        reason: String,
    },
    /// The operating system has no randomness to give.
    #[error("{0}")]
    Randomness(String),
    /// A device that gave no answer, which is most often a lack of memory.
    #[error("the device gave no answer with {chunk} records at once: {message}")]
    Device {
        /// Records that went through the network at once.
        chunk: usize,
        /// The message of the device.
        message: String,
    },
    /// The plan or the mechanism refused.
    #[error(transparent)]
    Privacy(#[from] dp_core::DpError),
    /// The network, or the device, has no per-record gradients.
    #[error(transparent)]
    Layers(#[from] dp_core::per_sample::LayerError),
    /// Another process of the training failed, or is silent.
    #[error(transparent)]
    Ranks(#[from] crate::RankError),
    /// The transport refused.
    #[error(transparent)]
    Transport(#[from] swd::SwdError),
}

impl TrainingError {
    pub(crate) fn checkpoint(reason: impl ToString) -> Self {
        Self::Checkpoint {
            reason: reason.to_string(),
        }
    }
}

/// Refuses a size that is not what it should be.
pub(crate) fn same(what: &'static str, expected: usize, found: usize) -> Result<(), TrainingError> {
    if expected == found {
        return Ok(());
    }
    Err(TrainingError::Shape {
        what,
        expected,
        found,
    })
}

/// Refuses what is not positive and finite.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<(), TrainingError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(TrainingError::OutOfRange {
        name,
        value,
        bound: "positive and finite".into(),
    })
}

/// Refuses a weight that is negative or not finite.
pub(crate) fn weight(name: &'static str, value: f64) -> Result<(), TrainingError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(TrainingError::OutOfRange {
        name,
        value,
        bound: "finite and at least 0".into(),
    })
}

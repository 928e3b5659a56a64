//! The errors of private training.

/// An error of this crate, after which nothing was released. Each names the value and the bound that it broke, unless the value
/// is private: `main` prints a returned error by `Debug`, which hides nothing.
#[derive(Debug, thiserror::Error)]
pub enum TrainingError {
    /// A constant lies outside its range.
    #[error("{name} = {value} is refused: it must be {bound}")]
    OutOfRange {
        /// The name of the constant.
        name: &'static str,
        /// The value found.
        value: f64,
        /// The allowed range, in words.
        bound: String,
    },
    /// Two sizes do not fit each other.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// The thing that has this size.
        what: &'static str,
        /// The size expected.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// The data have another number of records than the sampler, or the batch than the draw. These numbers may be private.
    #[error("{what}: not as many as the records of the sampler or of its draw")]
    OtherRecords {
        /// The thing that has another number of records.
        what: &'static str,
    },
    /// A label is not one of the classes.
    // The label and its record are private; that the data are wrong concerns their owner.
    #[error("a label is no class: with {classes} outputs it must be from 0 to {}", classes.saturating_sub(1))]
    Label {
        /// The number of classes.
        classes: usize,
    },
    /// The targets are of another kind than the loss takes.
    #[error("the loss is {loss}: its targets must be {expected}")]
    Targets {
        /// The loss.
        loss: &'static str,
        /// The targets that it takes.
        expected: &'static str,
    },
    /// The sensitivity of this combination has no bound.
    #[error("{what}")]
    Unbounded {
        /// The combination, and an alternative.
        what: String,
    },
    /// A release was asked for in a training without privacy.
    #[error("this training has no plan: nothing of it is released")]
    WithoutPlan,
    /// The ledger has lost releases since the checkpoint or the last step.
    #[error("the ledger {path} holds {found} releases, and the checkpoint knows of {expected}")]
    LostReleases {
        /// The ledger's file.
        path: String,
        /// The number of releases in it.
        found: u64,
        /// The number of releases expected.
        expected: u64,
    },
    /// A training got a second ledger: neither would hold all that was spent.
    #[error("the ledger {found} is refused: the releases of this training are in {expected}")]
    OtherLedger {
        /// The file of the refused ledger.
        found: String,
        /// The file of the ledger of the earlier releases.
        expected: String,
    },
    /// The checkpoint cannot be read or is of another training.
    #[error("the checkpoint is damaged: {reason}")]
    Checkpoint {
        /// The reason.
        reason: String,
    },
    /// The operating system gives no randomness.
    #[error("{0}")]
    Randomness(String),
    /// The device gave no answer, most often for lack of memory.
    #[error("the device gave no answer with {chunk} records at once: {message}")]
    Device {
        /// The number of records that went through the network at once.
        chunk: usize,
        /// The message of the device.
        message: String,
    },
    /// The plan or the mechanism refused a value.
    #[error(transparent)]
    Privacy(#[from] dp_core::DpError),
    /// The layers do not fit, or the network or the device has no per-record gradients.
    #[error(transparent)]
    Layers(#[from] dp_core::per_sample::LayerError),
    /// Another process of the training failed, or does not answer.
    #[error(transparent)]
    Ranks(#[from] crate::RankError),
    /// The optimal transport refused a value.
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

/// Refuses a value that is not positive and finite.
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

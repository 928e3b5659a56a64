//! Errors of evaluations.

use std::path::PathBuf;

use reporting::diagnostic::Failure;
use reporting::interrupt::Interrupt;

/// An error of an evaluation, which names the value and the bound that it broke.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// Buffers that do not fit each other.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// The buffer.
        what: &'static str,
        /// The size expected.
        expected: String,
        /// The size found.
        found: usize,
    },
    /// Too few records for the score.
    #[error("{what}: {found} is too few, at least {least} are needed")]
    TooFew {
        /// The records that are counted.
        what: &'static str,
        /// The smallest number that is enough.
        least: usize,
        /// The number found.
        found: usize,
    },
    /// An infinite or undefined value.
    // The message does not name the record, nor do those below: that would reveal something of a private record.
    #[error("{what}: a value is not finite, expected finite numbers")]
    NotFinite {
        /// The argument.
        what: &'static str,
    },
    /// A label that is no class.
    #[error("{what}: a label is no class, expected labels below {classes}")]
    Label {
        /// The argument.
        what: &'static str,
        /// The number of classes.
        classes: usize,
    },
    /// A setting outside its range.
    #[error("{name} = {value} is refused: it must be {bound}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// The value found.
        value: f64,
        /// The bound, in words.
        bound: &'static str,
    },
    /// Somebody asked the program to stop.
    #[error("stopped while samples were scored")]
    Interrupted,
    /// A file that could not be read or written.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason, in words.
        reason: String,
    },
    /// Features that could not be read back from a device.
    #[error("features could not be read from the device: {0}")]
    Device(String),
    /// Records that could not be read.
    #[error(transparent)]
    Data(#[from] data::DataError),
    /// An error of the layers.
    #[error(transparent)]
    Model(#[from] private_training::TrainingError),
    /// Tables that do not fit, or an error of a model of them.
    #[error(transparent)]
    Table(#[from] private_classifiers::ClassifierError),
    /// An error of the transport.
    #[error(transparent)]
    Transport(#[from] swd::SwdError),
}

impl EvaluateError {
    pub(crate) fn file(path: &std::path::Path, reason: impl std::fmt::Display) -> Self {
        Self::File {
            path: path.to_path_buf(),
            reason: reason.to_string(),
        }
    }
}

impl From<EvaluateError> for Failure {
    fn from(error: EvaluateError) -> Self {
        match &error {
            EvaluateError::Interrupted => Self::Interrupted {
                message: error.to_string(),
                help: None,
            },
            EvaluateError::File { .. } => Self::input(
                error.to_string(),
                "name another file, or leave this score out",
            ),
            EvaluateError::Setting { .. } => {
                Self::input(error.to_string(), "choose a value inside the bound")
            }
            _ => Self::failed(error),
        }
    }
}

/// Returns an error if somebody asked the program to stop.
pub(crate) fn check_asked(interrupt: &Interrupt) -> Result<(), EvaluateError> {
    if interrupt.asked() {
        return Err(EvaluateError::Interrupted);
    }
    Ok(())
}

/// Checks that `values` holds whole records of `features` finite values each, and returns their number.
pub(crate) fn check_records(
    what: &'static str,
    values: &[f32],
    features: usize,
) -> Result<usize, EvaluateError> {
    if features == 0 || !values.len().is_multiple_of(features) {
        return Err(EvaluateError::Shape {
            what,
            expected: format!("whole records of {features} values"),
            found: values.len(),
        });
    }
    if !values.iter().all(|x| x.is_finite()) {
        return Err(EvaluateError::NotFinite { what });
    }
    Ok(values.len() / features)
}

/// Checks that there are `records` labels, all below `classes`.
pub(crate) fn check_labels(
    what: &'static str,
    labels: &[u8],
    records: usize,
    classes: usize,
) -> Result<(), EvaluateError> {
    if labels.len() != records {
        return Err(EvaluateError::Shape {
            what,
            expected: format!("{records} labels"),
            found: labels.len(),
        });
    }
    if labels.iter().any(|&label| usize::from(label) >= classes) {
        return Err(EvaluateError::Label { what, classes });
    }
    Ok(())
}

/// Checks that `count` is at least `least`.
pub(crate) fn check_count(
    what: &'static str,
    found: usize,
    least: usize,
) -> Result<(), EvaluateError> {
    if found < least {
        return Err(EvaluateError::TooFew { what, least, found });
    }
    Ok(())
}

//! What can go wrong in a model.

/// Errors of this crate. Each names the value and the bound that it broke.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A hyperparameter lies outside its range.
    #[error("{name} = {value} is refused: it must be {bound}")]
    OutOfRange {
        /// The hyperparameter.
        name: &'static str,
        /// The value found.
        value: f64,
        /// The bound, in words.
        bound: String,
    },
    /// Buffers that do not fit each other.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// Where.
        what: &'static str,
        /// The size expected.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// The per-record engine or the mechanism refused.
    #[error(transparent)]
    Privacy(#[from] dp_core::DpError),
    /// The transport refused.
    #[error(transparent)]
    Transport(#[from] swd::SwdError),
}

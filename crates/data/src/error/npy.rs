/// What can be wrong with an NPY file.
///
/// No message says what a record holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NpyError {
    /// The bytes before the values are not those of an array that can be read.
    #[error("{file}, byte {byte}: expected {expected}, found {found}; {advice}")]
    Header {
        /// The file.
        file: String,
        /// Where, from 0.
        byte: usize,
        /// What could be there.
        expected: String,
        /// What is there.
        found: String,
        /// What to do.
        advice: &'static str,
    },

    /// The file does not end where its header says.
    #[error(
        "{file}: expected {expected} bytes, as its header promises, found {found}; replace the file"
    )]
    Size {
        /// The file.
        file: String,
        /// Bytes that the header promises, itself included.
        expected: u64,
        /// Bytes in the file, or the least number of them.
        found: String,
    },

    /// A value that no record may hold.
    #[error(
        "{file}, row {row}, column {column} (byte {byte}): expected {expected}; repair or remove the row"
    )]
    Value {
        /// The file.
        file: String,
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// Where the value starts, from 0.
        byte: usize,
        /// What may be there.
        expected: &'static str,
    },
}

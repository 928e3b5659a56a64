/// What can be wrong with the lines of a text file of records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A line with too few or too many fields.
    #[error("{file}, line {line}: {found} fields, expected {expected}; repair or remove the line")]
    Fields {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// How many fields a line has.
        expected: usize,
        /// How many this one has.
        found: usize,
    },

    /// A field that does not hold what its column may hold.
    #[error("{file}, line {line}, column {column}: '{value}': expected {expected}; {advice}")]
    Field {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The column.
        column: String,
        /// What it holds.
        value: String,
        /// What it may hold.
        expected: String,
        /// What to do.
        advice: &'static str,
    },

    /// The parts of a table that do not fit together.
    #[error("table: {what}: expected {expected}, found {found}")]
    Shape {
        /// The part.
        what: &'static str,
        /// Its bound.
        expected: String,
        /// Its value.
        found: String,
    },

    /// A text that is none.
    #[error("{file}, line {line}: not text in UTF-8; convert the file")]
    Encoding {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
    },
}

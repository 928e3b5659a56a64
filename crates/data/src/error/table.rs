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

    /// A field that does not hold what its column may hold. What it holds is left out: a private
    /// record has no place in a message.
    #[error("{file}, line {line}, column {column}: expected {expected}; {advice}")]
    Field {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The column.
        column: String,
        /// What it may hold.
        expected: String,
        /// What to do.
        advice: &'static str,
    },

    /// A schema that does not say what it has to say.
    #[error("{schema}: {problem}")]
    Schema {
        /// The schema file.
        schema: String,
        /// What is wrong, and what to do.
        problem: String,
    },

    /// A header line that does not name the columns of the schema.
    #[error("{file}, line {line}: {problem}")]
    Header {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong, and what to do.
        problem: String,
    },

    /// A file without a record of one of the two groups.
    #[error(
        "{file}: no record has {levels} in column {column}: group {group} is empty, expected at least \
         1 record of each group; give a file that has both, or choose another sensitive column"
    )]
    EmptyGroup {
        /// The file.
        file: String,
        /// The sensitive column.
        column: String,
        /// The group, 0 or 1.
        group: u8,
        /// What the column would hold.
        levels: String,
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

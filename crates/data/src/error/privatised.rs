/// What can be wrong with a file of privatised records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrivatisedError {
    /// The file is of another kind.
    #[error("{file}: no privatised records: {problem}; give a file that `privatise` wrote")]
    Kind {
        /// The file.
        file: String,
        /// What shows it.
        problem: String,
    },

    /// The header holds what no header may hold.
    #[error("{file}, header, {key}: expected {expected}, found {found}; get the file again")]
    Header {
        /// The file.
        file: String,
        /// The entry.
        key: String,
        /// What may be there.
        expected: String,
        /// What is there.
        found: String,
    },

    /// The file does not end where its header says.
    #[error(
        "{file}: expected {expected} bytes, as its header promises, found {found}; it is cut off or \
         damaged: get it again"
    )]
    Size {
        /// The file.
        file: String,
        /// Bytes that the header promises, itself included.
        expected: u64,
        /// Bytes in the file.
        found: u64,
    },

    /// A value that no privatised record can have.
    #[error(
        "{file}, record {record}, value {column}: expected a finite number; get the file again"
    )]
    Value {
        /// The file.
        file: String,
        /// The record, from 0.
        record: usize,
        /// The value, from 0.
        column: usize,
    },

    /// The records were privatised otherwise than is asked for.
    #[error(
        "{file}: {key}: {found}, but {asked} is asked for; ask for what the file has, or privatise the \
         records anew, at the sum of both costs"
    )]
    Request {
        /// The file.
        file: String,
        /// The entry of the header.
        key: &'static str,
        /// Its value.
        found: String,
        /// What is asked for.
        asked: String,
    },

    /// A file that may not be replaced.
    #[error("{file}: exists already, and was not overwritten; name another file, or say --force")]
    Exists {
        /// The file.
        file: String,
    },

    /// A name by which a file would not be read again.
    #[error("{file}: expected a name that {expected}; name another file")]
    Name {
        /// The file.
        file: String,
        /// Its bound.
        expected: &'static str,
    },

    /// A record that does not fit into the file.
    #[error("{file}, record {record}: expected {expected} finite values, found {found}")]
    Record {
        /// The file.
        file: String,
        /// The record, from 0.
        record: u64,
        /// Its bound.
        expected: usize,
        /// What was given.
        found: String,
    },
}

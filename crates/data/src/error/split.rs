use std::path::{Path, PathBuf};

/// What the name of a note of a use ends in.
pub(crate) const NOTE: &str = ".use.json";

/// Why a data set's public half cannot be had.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SplitError {
    /// A name that does not serve as the name of a file.
    #[error(
        "data set name '{name}': expected 1 to 64 letters, digits, '-', '_' or '.', not starting \
         with '.'; its split file is named after it"
    )]
    Name {
        /// The name.
        name: String,
    },

    /// A fraction that leaves one half empty, or is none.
    #[error("public fraction {fraction}: expected more than 0 and less than 1; change it")]
    Fraction {
        /// The fraction.
        fraction: f64,
    },

    /// Too few records for two halves.
    #[error("{name}: {records} records, expected at least 2 to split; give it more")]
    TooFew {
        /// The data set.
        name: String,
        /// Its number of records.
        records: usize,
    },

    /// A stratified split of records without classes.
    #[error("{name}: its records have no classes to stratify by; split it without strata")]
    NoClasses {
        /// The data set.
        name: String,
    },

    /// Something else than a split file or a note of a use, or a part of one.
    #[error("{path}: not a whole file: {reason}; {}", remedy(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// A split file that is not as it was written.
    #[error(
        "{path}: changed since it was written: its checksum is not that of its content; {}",
        remedy(path)
    )]
    Edited {
        /// The file.
        path: PathBuf,
    },

    /// A split file of other data.
    #[error(
        "{path}: made for data whose {what} is {file}, this data's is {data}; each data set, whole, has \
         one name and one split: give the data and the name that belong together"
    )]
    OtherData {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// As the file has it.
        file: String,
        /// As the data has it.
        data: String,
    },

    /// A split file of other records. Their checksums are left out: they are as secret as the records.
    #[error(
        "{path}: made for records that hold something else; each data set, whole, has one name and one \
         split: give the data and the name that belong together"
    )]
    OtherRecords {
        /// The file.
        path: PathBuf,
    },

    /// A request that the split file was not made for.
    #[error(
        "{path}: made with {what} {file}, asked for {asked}; all runs on a data set share one public \
         half: ask for {what} {file}"
    )]
    OtherPlan {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// As the file has it.
        file: String,
        /// As it was asked for.
        asked: String,
    },
}

/// What to do about a file that is not as it was written. Without it nobody knows which records it was
/// of, so it stops the runs on every data set of its folder.
fn remedy(path: &Path) -> &'static str {
    if path.to_string_lossy().ends_with(NOTE) {
        "restore the file that was written there, or remove it if nothing was published of any run on \
         the data set that it is named after"
    } else {
        "restore the file that was written there; remove it only if no run on the data set that it is \
         named after is kept: the next one draws another public half"
    }
}

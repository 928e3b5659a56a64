use crate::DataError;

/// Records that can be split into a public and a private half.
pub trait Splittable {
    /// The number of records.
    fn count(&self) -> usize;

    /// The SHA-256 of the whole content of the records, as 64 lower-case hexadecimal digits.
    fn sha256(&self) -> Result<String, DataError>;

    /// The class of each record, shape `[count]`, for records that have public class sizes.
    fn strata(&self) -> Option<Vec<usize>>;
}

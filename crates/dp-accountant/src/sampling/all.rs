use crate::DpError;

/// All of the records `0..records` at each step: nothing is sampled, so nothing is amplified.
/// Neighbours replace one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllRecords {
    records: usize,
}

impl AllRecords {
    /// All of `records`.
    ///
    /// # Errors
    /// [`DpError::Empty`] without records.
    pub fn new(records: usize) -> Result<Self, DpError> {
        if records == 0 {
            return Err(DpError::Empty {
                what: "the data".into(),
                expected: "record",
            });
        }
        Ok(Self { records })
    }

    /// The number of records.
    pub fn records(&self) -> usize {
        self.records
    }
}

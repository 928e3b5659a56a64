//! Tables of codes that may be larger than memory.

use std::borrow::Cow;

use crate::DataError;
use crate::stored::Stored;

/// The number of codes that are read at once.
const BLOCK: usize = 1 << 22;

/// Records as codes, read from a file.
#[derive(Clone, PartialEq)]
pub struct CodedTable {
    /// The codes of the records, shape `[rows, columns]` in row-major order.
    pub codes: Vec<u16>,
    /// The number of codes of a record.
    pub columns: usize,
    /// The number of records.
    pub rows: usize,
    /// The count of numbers that lay outside their range and were clamped to its nearer end. It is as secret as the records.
    pub clamped: u64,
    /// The SHA-256 of the file, as 64 lower-case hexadecimal digits. It is as secret as the records.
    pub sha256: String,
}

debug_shows!(CodedTable { columns, rows });

/// Records as codes. If they take more than 128 MiB, a file holds them ([`Stored`]).
pub struct StoredTable {
    /// The number of codes of a record.
    pub columns: usize,
    /// The number of records of the file, in all parts together.
    pub rows: usize,
    /// The count of numbers that lay outside their range and were clamped to its nearer end. It is as secret as the records.
    pub clamped: u64,
    /// The SHA-256 of the file, or of the sums of several files. It is as secret as the records.
    pub sha256: String,
    pub(super) codes: Stored<u16>,
}

debug_shows!(StoredTable { columns, rows });

impl From<CodedTable> for StoredTable {
    fn from(table: CodedTable) -> Self {
        Self {
            columns: table.columns,
            rows: table.rows,
            clamped: table.clamped,
            sha256: table.sha256,
            codes: table.codes.into(),
        }
    }
}

impl StoredTable {
    /// The same table, with all codes in memory.
    pub(super) fn in_memory(self) -> CodedTable {
        CodedTable {
            codes: self.codes.into_memory(),
            columns: self.columns,
            rows: self.rows,
            clamped: self.clamped,
            sha256: self.sha256,
        }
    }

    /// Returns all codes in blocks of rows, each of shape `[some, columns]`.
    ///
    /// # Errors
    /// [`DataError::Io`] if a temporary file cannot be read.
    pub fn blocks(&self) -> impl Iterator<Item = Result<Cow<'_, [u16]>, DataError>> {
        let columns = self.columns.max(1);
        self.codes.blocks((BLOCK / columns).max(1) * columns)
    }

    /// Keeps only the records for whose places, from 0, `keep` returns true. It does not change `rows`.
    ///
    /// # Errors
    /// As [`StoredTable::blocks`]; [`DataError::Io`] if a temporary file cannot be written.
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) -> Result<(), DataError> {
        let mut kept = Stored::beyond(self.codes.most);
        let (columns, mut place) = (self.columns, 0);
        for block in self.blocks() {
            let block = block?;
            let records = block.chunks_exact(columns).filter(|_| {
                place += 1;
                keep(place - 1)
            });
            let codes: Vec<u16> = records.flatten().copied().collect();
            kept.add(&codes)?;
        }
        self.codes = kept;
        Ok(())
    }
}

//! Tables that may be more than memory holds.

use std::borrow::Cow;

use crate::DataError;
use crate::stored::Stored;

/// Codes that are read at once.
const BLOCK: usize = 1 << 22;

/// Records as codes, read from a file.
#[derive(Clone, PartialEq)]
pub struct CodedTable {
    /// The codes of the records, shape `[rows, columns]` in row-major order.
    pub codes: Vec<u16>,
    /// Codes of a record.
    pub columns: usize,
    /// The records.
    pub rows: usize,
    /// Numbers that lay outside their range and became its nearer end. As secret as the records.
    pub clamped: u64,
    /// The SHA-256 of the file, as 64 lower-case hexadecimal digits. As secret as its records.
    pub sha256: String,
}

debug_shows!(CodedTable { columns, rows });

/// Records as codes. More than 128 MiB of them lie in a file ([`Stored`]).
pub struct StoredTable {
    /// Codes of a record.
    pub columns: usize,
    /// The records of the file, those of all parts.
    pub rows: usize,
    /// Numbers that lay outside their range and became its nearer end. As secret as the records.
    pub clamped: u64,
    /// The SHA-256 of the file, or of the sums of several. As secret as its records.
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
    /// The same of which no code lies in a file.
    pub(super) fn in_memory(self) -> CodedTable {
        CodedTable {
            codes: self.codes.into_memory(),
            columns: self.columns,
            rows: self.rows,
            clamped: self.clamped,
            sha256: self.sha256,
        }
    }

    /// All codes, `[some, columns]` in rows.
    ///
    /// # Errors
    /// [`DataError::Io`] for a temporary file that cannot be read.
    pub fn blocks(&self) -> impl Iterator<Item = Result<Cow<'_, [u16]>, DataError>> {
        let columns = self.columns.max(1);
        self.codes.blocks((BLOCK / columns).max(1) * columns)
    }

    /// Leaves only the records that `keep` says of their places, from 0; `rows` is left as it was.
    ///
    /// # Errors
    /// As [`StoredTable::blocks`]; [`DataError::Io`] for a temporary file that cannot be written.
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

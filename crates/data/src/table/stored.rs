//! Tables that may be more than memory holds.

use std::borrow::Cow;
use std::path::Path;

use super::coded::Part;
use super::{CodedTable, Schema};
use crate::DataError;
use crate::stored::Stored;

/// Codes that are read at once.
const BLOCK: usize = 1 << 22;

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
    codes: Stored<u16>,
}

debug_shows!(StoredTable { columns, rows });

impl Schema {
    /// Reads a part of the first `most` records of a table, as [`Schema::coded`]; all of them are checked that are read.
    ///
    /// # Errors
    /// As [`Schema::coded`]; [`DataError::Io`] for a temporary file that cannot be written.
    pub fn stored(&self, path: &Path, part: Part, most: usize) -> Result<StoredTable, DataError> {
        self.stored_beyond(path, part, most, Stored::<u16>::IN_MEMORY)
    }

    /// As [`Schema::stored`], with at most so many codes in memory.
    #[doc(hidden)]
    pub fn stored_beyond(
        &self,
        path: &Path,
        part: Part,
        most: usize,
        in_memory: usize,
    ) -> Result<StoredTable, DataError> {
        let mut codes = Stored::beyond(in_memory);
        let read = self.each_block(path, part, most, |block| codes.add(block))?;
        Ok(StoredTable {
            columns: read.columns,
            rows: read.rows,
            clamped: read.clamped,
            sha256: read.sha256,
            codes,
        })
    }
}

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

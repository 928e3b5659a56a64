//! Tables that may be more than memory holds.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::slice::Chunks;

use super::coded::Part;
use super::{CodedTable, Schema};
use crate::DataError;
use crate::error::io;

/// Codes that are kept in memory: 128 MiB of them.
const IN_MEMORY: usize = 64 << 20;
/// Codes that are read at once.
const BLOCK: usize = 1 << 22;

/// Records as codes. Where they are many they lie in a file that has no name, in the folder for temporary files (`TMPDIR`):
/// it is gone when the table is.
#[derive(Debug)]
pub struct StoredTable {
    /// Codes of a record.
    pub columns: usize,
    /// The records of the file, those of all parts.
    pub rows: usize,
    /// Numbers that lay outside their range and became its nearer end. As secret as the records.
    pub clamped: u64,
    /// The SHA-256 of the file, or of the sums of several. As secret as its records.
    pub sha256: String,
    codes: Codes,
}

/// Where codes lie.
#[derive(Debug)]
struct Codes {
    most: usize,
    memory: Vec<u16>,
    /// Those before: none where all fit.
    file: Option<File>,
}

impl Codes {
    fn new(most: usize) -> Self {
        Self {
            most,
            memory: Vec::new(),
            file: None,
        }
    }

    fn add(&mut self, codes: &[u16]) -> Result<(), DataError> {
        if self.file.is_none() && self.memory.len() + codes.len() <= self.most {
            self.memory.extend_from_slice(codes);
            return Ok(());
        }
        let before = std::mem::take(&mut self.memory);
        self.written(&before)
            .and_then(|()| self.written(codes))
            .map_err(failed("write"))
    }

    fn written(&mut self, codes: &[u16]) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let bytes: Vec<u8> = codes.iter().flat_map(|code| code.to_le_bytes()).collect();
        file.write_all(&bytes)
    }

    /// All codes, whole records of so many columns at once.
    fn blocks(&self, columns: usize) -> Result<Blocks<'_>, DataError> {
        let length = (BLOCK / columns.max(1)).max(1) * columns.max(1);
        Ok(match &self.file {
            None => Blocks::Memory(self.memory.chunks(length)),
            Some(file) => {
                let mut from = file;
                from.seek(SeekFrom::Start(0)).map_err(failed("read"))?;
                Blocks::File(file, length)
            }
        })
    }
}

/// Reads codes block by block.
enum Blocks<'a> {
    Memory(Chunks<'a, u16>),
    File(&'a File, usize),
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Result<Cow<'a, [u16]>, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (file, length) = match self {
            Self::Memory(chunks) => return chunks.next().map(|block| Ok(Cow::Borrowed(block))),
            Self::File(file, length) => (file, *length as u64),
        };
        let mut bytes = Vec::new();
        match file.take(2 * length).read_to_end(&mut bytes) {
            Ok(0) => None,
            Ok(_) => {
                let pairs = bytes.as_chunks::<2>().0.iter();
                Some(Ok(pairs.map(|&pair| u16::from_le_bytes(pair)).collect()))
            }
            Err(error) => Some(Err(failed("read")(error))),
        }
    }
}

fn failed(action: &'static str) -> impl Fn(std::io::Error) -> DataError {
    let action = match action {
        "read" => "read the codes of records from a temporary file",
        _ => "write the codes of records to a temporary file; TMPDIR says in which folder",
    };
    io(&std::env::temp_dir(), action)
}

impl Schema {
    /// Reads a part of the first `most` records of a table, as [`Schema::coded`]; all of them are checked that are read.
    ///
    /// # Errors
    /// As [`Schema::coded`]; [`DataError::Io`] for a temporary file that cannot be written.
    pub fn stored(&self, path: &Path, part: Part, most: usize) -> Result<StoredTable, DataError> {
        self.stored_beyond(path, part, most, IN_MEMORY)
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
        let mut codes = Codes::new(in_memory);
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
            codes: Codes {
                memory: table.codes,
                ..Codes::new(IN_MEMORY)
            },
        }
    }
}

impl StoredTable {
    /// All codes, `[some, columns]` in rows.
    ///
    /// # Errors
    /// [`DataError::Io`] for a temporary file that cannot be read.
    pub fn blocks(
        &self,
    ) -> Result<impl Iterator<Item = Result<Cow<'_, [u16]>, DataError>>, DataError> {
        self.codes.blocks(self.columns)
    }

    /// Leaves only the records that `keep` says of their places, from 0; `rows` is left as it was.
    ///
    /// # Errors
    /// As [`StoredTable::blocks`]; [`DataError::Io`] for a temporary file that cannot be written.
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) -> Result<(), DataError> {
        let mut kept = Codes::new(self.codes.most);
        let (columns, mut place) = (self.columns, 0);
        for block in self.blocks()? {
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

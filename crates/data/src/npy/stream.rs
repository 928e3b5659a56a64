use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::{Header, Source};
use crate::DataError;
use crate::stream::{Chunk, Form, RecordStream};

/// The rows of a file, read when they are asked for. Values may be NaN or infinite.
pub struct NpyStream {
    source: Source<BufReader<File>>,
    header: Header,
    /// Bytes of the whole file, by its header.
    bytes: u64,
    read: usize,
}

impl NpyStream {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// Those of [`super::read`] that a header can have.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let file = File::open(path).map_err(|source| DataError::Io {
            path: path.into(),
            action: "open the file",
            source,
        })?;
        let mut source = Source {
            file: path.display().to_string(),
            reader: BufReader::new(file),
            at: 0,
        };
        let header = source.header()?;
        let values = header.rows as u64 * header.width.unwrap_or(1) as u64;
        let bytes = source.at as u64 + values * header.kind.bytes() as u64;
        Ok(Self {
            source,
            header,
            bytes,
            read: 0,
        })
    }
}

impl NpyStream {
    /// Bytes of the whole file, by its header.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn name(&self) -> &str {
        &self.source.file
    }
}

impl RecordStream for NpyStream {
    fn form(&self) -> Form {
        Form {
            width: self.header.width.unwrap_or(1),
            shape: None,
            classes: None,
            count: Some(self.header.rows as u64),
        }
    }

    fn next(&mut self, most: usize) -> Result<Chunk, DataError> {
        let rows = most.min(self.header.rows - self.read);
        let width = self.header.width.unwrap_or(1) * self.header.kind.bytes();
        let bytes = self.source.part((rows * width) as u64, self.bytes)?;
        self.read += rows;
        if self.read == self.header.rows {
            self.source.end()?;
        }
        Ok(Chunk {
            values: self.header.kind.floats(&bytes),
            labels: Vec::new(),
        })
    }
}

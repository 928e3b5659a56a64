use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};

/// A file from which several threads read. Copies of a [`File`], as its own reader makes them, would share one position.
#[derive(Clone)]
pub(super) struct Shared {
    file: Arc<Mutex<File>>,
    length: u64,
}

/// A reader of the file from a place on.
pub(super) struct From {
    shared: Shared,
    at: u64,
}

impl Shared {
    pub(super) fn of(file: File) -> io::Result<Self> {
        Ok(Self {
            length: file.metadata()?.len(),
            file: Arc::new(Mutex::new(file)),
        })
    }
}

impl Length for Shared {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Shared {
    type T = BufReader<From>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let shared = self.clone();
        Ok(BufReader::new(From { shared, at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes> {
        let mut bytes = Vec::new();
        let shared = self.clone();
        let from = From { shared, at: start };
        from.take(length as u64).read_to_end(&mut bytes)?;
        match bytes.len() == length {
            true => Ok(bytes.into()),
            false => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }
}

impl Read for From {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let file = self.shared.file.lock();
        // A thread that panicked can only have moved the file's position.
        let mut file = file.unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.at))?;
        let count = file.read(bytes)?;
        self.at += count as u64;
        Ok(count)
    }
}

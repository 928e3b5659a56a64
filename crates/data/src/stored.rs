//! Stores values that may not fit into memory.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Result as IoResult, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;

use crate::DataError;
use crate::error::{index, io};

/// The most bytes that are kept in memory: 128 MiB.
const IN_MEMORY: usize = 128 << 20;

/// The number of records that are copied at once.
const SELECTED: usize = 500;

/// Values in memory, or all of them in a file without a name in the folder for temporary files (`TMPDIR`). The file is
/// deleted when the values are dropped, and is as private as they are.
pub struct Stored<T> {
    /// The most values that are kept in memory.
    pub(crate) most: usize,
    length: usize,
    memory: Vec<T>,
    file: Option<Mutex<File>>,
}

impl<T> std::fmt::Debug for Stored<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Stored");
        shown.field("length", &self.length).finish_non_exhaustive()
    }
}

impl<T: Pod> Default for Stored<T> {
    fn default() -> Self {
        Self::beyond(Self::IN_MEMORY)
    }
}

impl<T: Pod> Stored<T> {
    /// The number of values in 128 MiB.
    pub const IN_MEMORY: usize = IN_MEMORY / size_of::<T>();

    /// Returns an empty store, which moves to a file when it holds more than `most` values.
    pub fn beyond(most: usize) -> Self {
        Self {
            most,
            length: 0,
            memory: Vec::new(),
            file: None,
        }
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Whether all values lie in memory.
    pub(crate) fn in_memory(&self) -> bool {
        self.file.is_none()
    }

    /// Returns the values in memory, which are all if none lies in a file.
    pub(crate) fn into_memory(self) -> Vec<T> {
        self.memory
    }

    /// Announces `length` values: if they are too many, they go to the file from the first.
    pub(crate) fn expect(&mut self, length: usize) {
        if length > self.most {
            self.most = 0;
        }
    }

    /// Appends values.
    ///
    /// # Errors
    /// [`DataError::Io`] for a temporary file that cannot be written.
    pub fn add(&mut self, values: &[T]) -> Result<(), DataError> {
        let length = self.length + values.len();
        if self.file.is_none() && length <= self.most {
            self.memory.extend_from_slice(values);
        } else {
            self.write(values).map_err(failed(
                "write records to a temporary file; TMPDIR says in which folder",
            ))?;
        }
        self.length = length;
        Ok(())
    }

    fn write(&mut self, values: &[T]) -> IoResult<()> {
        if self.file.is_none() {
            let mut file = tempfile::tempfile()?;
            file.write_all(bytemuck::cast_slice(&std::mem::take(&mut self.memory)))?;
            self.file = Some(Mutex::new(file));
        }
        match &self.file {
            Some(file) => at::<T>(file, self.length)?.write_all(bytemuck::cast_slice(values)),
            None => Ok(()),
        }
    }

    /// Returns the values in a range.
    ///
    /// # Errors
    /// [`DataError::Request`] for a range past the end; [`DataError::Io`] for a temporary file that cannot be read.
    pub fn read(&self, range: Range<usize>) -> Result<Cow<'_, [T]>, DataError> {
        if range.end > self.length || range.start > range.end {
            return Err(index("stored values", range.end, self.length));
        }
        let Some(file) = &self.file else {
            return Ok(Cow::Borrowed(&self.memory[range]));
        };
        let mut values = vec![T::zeroed(); range.len()];
        at::<T>(file, range.start)
            .and_then(|mut file| file.read_exact(bytemuck::cast_slice_mut(&mut values)))
            .map_err(failed("read records from a temporary file"))?;
        Ok(Cow::Owned(values))
    }

    /// Iterates over all values, in blocks.
    pub(crate) fn blocks(
        &self,
        length: usize,
    ) -> impl Iterator<Item = Result<Cow<'_, [T]>, DataError>> {
        let starts = (0..self.length).step_by(length.max(1));
        starts.map(move |start| self.read(start..self.length.min(start + length)))
    }

    /// Returns the values of the records at `places`, each of `size` values; all must exist.
    pub(crate) fn select(&self, places: &[usize], size: usize) -> Result<Self, DataError> {
        let mut selected = Self::beyond(self.most);
        for part in places.chunks(SELECTED) {
            let mut values = Vec::with_capacity(part.len() * size);
            for &place in part {
                values.extend_from_slice(&self.read(place * size..(place + 1) * size)?);
            }
            selected.add(&values)?;
        }
        Ok(selected)
    }

    /// Keeps the first `length` values.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
        self.memory.truncate(length);
    }
}

/// Compares the values; a store that cannot be read is equal to none.
impl<T: Pod + PartialEq> PartialEq for Stored<T> {
    fn eq(&self, other: &Self) -> bool {
        let all = [self, other].map(|stored| stored.read(0..stored.length));
        matches!(all, [Ok(a), Ok(b)] if a == b)
    }
}

impl<T> From<Vec<T>> for Stored<T> {
    /// Keeps any number of values in memory.
    fn from(memory: Vec<T>) -> Self {
        Self {
            most: usize::MAX,
            length: memory.len(),
            memory,
            file: None,
        }
    }
}

/// Locks the file and moves to a value in it.
fn at<T>(file: &Mutex<File>, place: usize) -> IoResult<MutexGuard<'_, File>> {
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start((place * size_of::<T>()) as u64))?;
    Ok(file)
}

fn failed(action: &'static str) -> impl Fn(std::io::Error) -> DataError {
    io(&std::env::temp_dir(), action)
}

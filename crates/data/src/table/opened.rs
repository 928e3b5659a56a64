//! A file of a table as it is read, whatever its form.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::Schema;
use super::encode::{Places, places};
use super::lines::{Line, Lines, Records};
use super::parquet::{ParquetRows, is_parquet};
use super::texts::Texts;
use crate::DataError;
use crate::error::{Position, fields, io as failed, open};

/// The records of a file by a schema, as texts.
pub(super) enum Opened<R> {
    Text(Lines<BufReader<Hashed<R>>>),
    Parquet(ParquetRows),
}

/// Some records by the columns that are read, and where each one stands.
#[derive(Default)]
pub(super) struct Block {
    pub columns: Vec<Texts>,
    pub places: Vec<Position>,
}

impl Opened<File> {
    /// A part of the table at `input`: a Parquet file where its name ends in `.parquet`, in which a null is `absent`, and a CSV
    /// file otherwise.
    pub(super) fn open(
        schema: &Schema,
        (input, part): (&Path, &Path),
        absent: &str,
    ) -> Result<(Self, Places), DataError> {
        let name = input.display().to_string();
        if !is_parquet(part) {
            return Opened::of_text(schema, &name, open(part)?);
        }
        let rows = ParquetRows::open(&name, part, absent)?;
        let places = rows.places(schema)?;
        Ok((Self::Parquet(rows), places))
    }

    /// The SHA-256 of the file, whose records have all been read.
    pub(super) fn sum(self, path: &Path) -> Result<[u8; 32], DataError> {
        if let Self::Text(lines) = self {
            return Ok(lines.into_text().into_inner().sum());
        }
        let mut bytes = Hashed::new(open(path)?);
        io::copy(&mut bytes, &mut io::sink()).map_err(failed(path, "read the file"))?;
        Ok(bytes.sum())
    }
}

impl<R: Read> Opened<R> {
    /// Of a CSV text; `file` is its name in errors.
    pub(super) fn of_text(
        schema: &Schema,
        file: &str,
        text: R,
    ) -> Result<(Self, Places), DataError> {
        let text = BufReader::new(Hashed::new(text));
        let mut lines = Lines::new(file, schema.delimiter, schema.comment, text);
        let places = places(schema, file, &mut lines)?;
        Ok((Self::Text(lines), places))
    }

    /// Leaves all columns but those at these places empty, where that saves time.
    ///
    /// # Errors
    /// [`DataError::File`] for one of a Parquet file that cannot be read.
    pub(super) fn read_only(
        &mut self,
        places: impl IntoIterator<Item = usize>,
    ) -> Result<(), DataError> {
        match self {
            Self::Text(_) => Ok(()),
            Self::Parquet(rows) => rows.read_only(places),
        }
    }

    /// The records of each group of a Parquet file; a text has no groups.
    pub(super) fn groups(&self) -> Vec<usize> {
        match self {
            Self::Text(_) => Vec::new(),
            Self::Parquet(rows) => rows.groups(),
        }
    }

    /// Passes over all groups of a Parquet file but these.
    pub(super) fn read_groups(&mut self, groups: Vec<usize>) {
        if let Self::Parquet(rows) = self {
            rows.read_groups(groups);
        }
    }

    /// Adds up to `most` records of the columns at places `at`, those that are read; none behind the last. What is wrong
    /// with a line is said when those before it have been added.
    pub(super) fn block(
        &mut self,
        file: &str,
        places: &Places,
        at: &[usize],
        most: usize,
        block: &mut Block,
    ) -> Result<(), DataError> {
        block.places.clear();
        block.columns.resize_with(at.len(), Texts::default);
        block.columns.iter_mut().for_each(Texts::clear);
        let lines = match self {
            Self::Parquet(rows) => return rows.block(most, block),
            Self::Text(lines) => lines,
        };
        while block.places.len() < most
            && let Some(line) = lines.next()?
        {
            let found = line.fields.len();
            if found != places.fields {
                return Err(fields(file, line.place, places.fields, found));
            }
            block.places.push(line.place);
            let texts = block.columns.iter_mut().zip(at);
            texts.for_each(|(texts, &place)| texts.push(line.fields[place]));
        }
        Ok(())
    }
}

impl<R: Read> Records for Opened<R> {
    fn next(&mut self) -> Result<Option<Line<'_>>, DataError> {
        match self {
            Self::Text(lines) => lines.next(),
            Self::Parquet(rows) => rows.next(),
        }
    }
}

/// A text whose sum is taken while it is read.
pub(super) struct Hashed<R> {
    text: R,
    sum: Sha256,
}

impl<R> Hashed<R> {
    fn new(text: R) -> Self {
        Self {
            text,
            sum: Sha256::new(),
        }
    }

    /// The SHA-256 of what was read.
    pub(super) fn sum(self) -> [u8; 32] {
        self.sum.finalize().into()
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read(bytes)?;
        self.sum.update(&bytes[..count]);
        Ok(count)
    }
}

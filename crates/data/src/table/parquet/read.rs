use std::collections::HashMap;
use std::path::Path;

use csv::StringRecord;
use files::foreign::quietly;
use parquet::basic::Compression;
use parquet::column::reader::ColumnReader;
use parquet::file::reader::{FileReader, SerializedFileReader};
use rayon::prelude::*;

use super::arrow::{self, Arrow, Storage};
use super::shared::Shared;
use super::texts;
use super::types::Type;
use crate::DataError;
use crate::error::{Position, io, open};

/// Reads the records of a Parquet file as texts. In memory are only a page of each column and a few records.
pub(in super::super) struct ParquetRows {
    file: String,
    reader: SerializedFileReader<Shared>,
    /// The text for a null.
    absent: String,
    names: Vec<String>,
    /// The place of each column among those that hold values, with its type; `None` for lists and other nested columns.
    kinds: Vec<Option<(usize, Type)>>,
    /// The places of the columns that are read.
    read: Vec<usize>,
    /// The columns of the group that is being read, and the number of records left in it.
    columns: Vec<ColumnReader>,
    left: usize,
    /// The groups that are read, and the index of the next one.
    groups: Vec<usize>,
    group: usize,
    record: u64,
}

impl ParquetRows {
    /// Opens a file and reads the names of its columns. It will read all readable columns. `file` is the name to use in errors.
    ///
    /// # Errors
    /// [`DataError::Io`]; [`DataError::File`] for a file that is not Parquet.
    pub(in super::super) fn open(file: &str, path: &Path, absent: &str) -> Result<Self, DataError> {
        let file = file.to_string();
        let shared = Shared::of(open(path)?).map_err(io(path, "read the file"))?;
        let (reader, names, kinds) = decoded(&file, || {
            let reader = SerializedFileReader::new(shared).ok()?;
            let schema = reader.metadata().file_metadata().schema_descr();
            let fields = schema.root_schema().get_fields();
            let names: Vec<String> = fields.iter().map(|field| field.name().into()).collect();
            let mut kinds = vec![None; names.len()];
            for leaf in 0..schema.num_columns() {
                let field = schema.get_column_root_idx(leaf);
                if fields[field].is_primitive() {
                    kinds[field] = Type::of(&schema.column(leaf)).map(|kind| (leaf, kind));
                }
            }
            Some((reader, names, kinds))
        })?;
        Ok(Self {
            read: Vec::new(),
            groups: (0..reader.metadata().num_row_groups()).collect(),
            file,
            reader,
            absent: absent.into(),
            names,
            kinds,
            columns: Vec::new(),
            left: 0,
            group: 0,
            record: 0,
        })
    }

    /// The number of records of each group.
    pub(in super::super) fn groups(&self) -> Vec<usize> {
        let groups = self.reader.metadata().row_groups().iter();
        groups
            .map(|group| group.num_rows().try_into().unwrap_or(0))
            .collect()
    }

    /// Skips all groups except these.
    pub(in super::super) fn read_groups(&mut self, groups: Vec<usize>) {
        self.groups = groups;
    }

    /// The names of the columns.
    pub(in super::super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The storage of each column, if it can be read.
    pub(in super::super) fn types(&self) -> Vec<Option<Storage>> {
        let metadata = self.reader.metadata().file_metadata();
        let mut said = metadata.key_value_metadata().into_iter().flatten();
        let said = said.find(|known| known.key == arrow::KEY);
        let said = said.and_then(|known| known.value.as_ref());
        let mut said: HashMap<String, Arrow> = said
            .map_or_else(Vec::new, |text| arrow::read(text))
            .into_iter()
            .collect();
        let columns = self.names.iter().zip(&self.kinds);
        columns
            .map(|(name, kind)| {
                let (_, kind) = (*kind)?;
                Some(Storage::of(kind, said.remove(name).unwrap_or(Arrow::Plain)))
            })
            .collect()
    }

    /// The places of the columns that can be read.
    pub(in super::super) fn readable(&self) -> Vec<usize> {
        let places = 0..self.kinds.len();
        places
            .filter(|&place| self.kinds[place].is_some())
            .collect()
    }

    /// Reads only these columns.
    ///
    /// # Errors
    /// [`DataError::File`] if a column cannot be read.
    pub(in super::super) fn read_only(&mut self, places: &[usize]) -> Result<(), DataError> {
        self.read = places.to_vec();
        match self.read.iter().find(|&&place| self.kinds[place].is_none()) {
            None => Ok(()),
            Some(&place) => Err(DataError::file(format!(
                "{}: column '{}' holds neither numbers, dates, texts nor truth values: convert it, or say kind = \"ignore\" \
                 in the schema",
                self.file, self.names[place]
            ))),
        }
    }

    /// For each column that is read, whether it holds anything but texts.
    pub(in super::super) fn typed(&self) -> Vec<bool> {
        let leaves = self.leaves().into_iter();
        leaves.map(|(_, kind)| kind != Type::Text).collect()
    }

    /// Adds up to `most` records of the columns that are read, with their positions; none at the end.
    pub(in super::super) fn block(
        &mut self,
        most: usize,
        columns: &mut [StringRecord],
        places: &mut Vec<Position>,
    ) -> Result<(), DataError> {
        if !self.open_group()? {
            return Ok(());
        }
        let length = self.left.min(most);
        let leaves = self.leaves();
        let (file, absent) = (&self.file, &self.absent);
        let columns = self.columns.par_iter_mut().zip(leaves).zip(columns);
        columns.try_for_each(|((column, (_, kind)), texts)| {
            decoded(file, || texts::read(texts, column, kind, length, absent))
        })?;
        self.left -= length;
        places.extend((self.record + 1..).take(length).map(Position::Record));
        self.record += length as u64;
        Ok(())
    }

    /// Opens the next group with records once the current one is read; `false` at the end.
    fn open_group(&mut self) -> Result<bool, DataError> {
        while self.left == 0 {
            let Some(&group) = self.groups.get(self.group) else {
                return Ok(false);
            };
            let metadata = self.reader.metadata();
            // A record's number is its number in the file, even if groups were skipped.
            self.record = self.groups()[..group].iter().map(|&rows| rows as u64).sum();
            let (rows, leaves) = (metadata.row_group(group).num_rows(), self.leaves());
            let opened = decoded(&self.file, || {
                let group = self.reader.get_row_group(group).ok()?;
                let codec = |&(leaf, _): &_| group.metadata().column(leaf).compression();
                let checked = leaves.iter().map(codec);
                let checked = checked.map(|codec| check_codec(&self.file, codec));
                if let Err(error) = checked.collect::<Result<(), _>>() {
                    return Some(Err(error));
                }
                let columns = leaves
                    .iter()
                    .map(|&(leaf, _)| group.get_column_reader(leaf));
                let columns: Vec<_> = columns.collect::<Result<_, _>>().ok()?;
                Some(Ok((usize::try_from(rows).ok()?, columns)))
            });
            (self.left, self.columns) = opened??;
            self.group += 1;
        }
        Ok(true)
    }

    /// The places and types of the columns that are read.
    fn leaves(&self) -> Vec<(usize, Type)> {
        let read = self.read.iter();
        read.filter_map(|&place| self.kinds[place]).collect()
    }
}

/// Runs the decoder on a file without its messages, which could quote a value of a damaged file.
fn decoded<T>(file: &str, decoder: impl FnOnce() -> Option<T>) -> Result<T, DataError> {
    quietly(decoder).flatten().ok_or_else(|| {
        DataError::file(format!(
            "{file}: expected a Parquet file, found another one, or one that is cut off or damaged: get it again"
        ))
    })
}

fn check_codec(file: &str, codec: Compression) -> Result<(), DataError> {
    match codec {
        Compression::UNCOMPRESSED
        | Compression::SNAPPY
        | Compression::GZIP(_)
        | Compression::ZSTD(_) => Ok(()),
        other => Err(DataError::file(format!(
            "{file}: compressed by {other}: expected snappy, gzip, zstd or nothing; write it anew"
        ))),
    }
}

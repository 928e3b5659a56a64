use std::path::Path;

use files::foreign::quietly;
use parquet::basic::Compression;
use parquet::column::reader::ColumnReader;
use parquet::file::reader::{FileReader, SerializedFileReader};
use rayon::prelude::*;

use super::super::encode::{Places, named};
use super::super::lines::{Line, Records};
use super::super::opened::Block;
use super::super::texts::Texts;
use super::shared::Shared;
use super::texts::{self, Kind};
use crate::DataError;
use crate::error::{Position, io, open};
use crate::table::Schema;

/// Records that are read at once.
const BLOCK: usize = 4096;

/// The records of a Parquet file as texts; no more of the file than a page of each column and a few records are kept.
pub(in super::super) struct ParquetRows {
    file: String,
    reader: SerializedFileReader<Shared>,
    /// What stands for a null.
    absent: String,
    names: Vec<String>,
    /// The place of each column among those that hold values, and what these are: none for lists and the like.
    kinds: Vec<Option<(usize, Kind)>>,
    /// Places of the columns that are read.
    read: Vec<usize>,
    /// Of the group of records that is being read: its columns, and how many records are left in it.
    columns: Vec<ColumnReader>,
    left: usize,
    /// The groups that are read, and the next of them.
    groups: Vec<usize>,
    group: usize,
    /// The records of a block by their columns, how many these are, and the next one.
    block: Vec<Texts>,
    length: usize,
    next: usize,
    record: u64,
}

impl ParquetRows {
    /// Opens a file, and reads the names of its columns; all that can be read will be. `file` is the name to use in errors.
    ///
    /// # Errors
    /// [`DataError::Io`]; [`DataError::File`] for what is no Parquet file.
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
                    kinds[field] = Kind::of(&schema.column(leaf)).map(|kind| (leaf, kind));
                }
            }
            Some((reader, names, kinds))
        })?;
        let readable = (0..names.len()).filter(|&place| kinds[place].is_some());
        Ok(Self {
            read: readable.collect(),
            groups: (0..reader.metadata().num_row_groups()).collect(),
            block: names.iter().map(|_| Texts::default()).collect(),
            file,
            reader,
            absent: absent.into(),
            names,
            kinds,
            columns: Vec::new(),
            left: 0,
            group: 0,
            length: 0,
            next: 0,
            record: 0,
        })
    }

    /// How many records each group has.
    pub(in super::super) fn groups(&self) -> Vec<usize> {
        let groups = self.reader.metadata().row_groups().iter();
        groups
            .map(|group| group.num_rows().try_into().unwrap_or(0))
            .collect()
    }

    /// Passes over all groups but these.
    pub(in super::super) fn read_groups(&mut self, groups: Vec<usize>) {
        self.groups = groups;
    }

    /// The names of the columns.
    pub(in super::super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether a column holds what can be read.
    pub(in super::super) fn is_read(&self, place: usize) -> bool {
        self.read.contains(&place)
    }

    /// Where the columns of a schema are.
    pub(in super::super) fn places(&self, schema: &Schema) -> Result<Places, DataError> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        named(schema, &self.file, &names, "")
    }

    /// Leaves all other columns empty.
    ///
    /// # Errors
    /// [`DataError::File`] for one that cannot be read.
    pub(in super::super) fn read_only(
        &mut self,
        places: impl IntoIterator<Item = usize>,
    ) -> Result<(), DataError> {
        self.read = places.into_iter().collect();
        match self.read.iter().find(|&&place| self.kinds[place].is_none()) {
            None => Ok(()),
            Some(&place) => Err(DataError::file(format!(
                "{}: column '{}' holds neither numbers, dates, texts nor truth values: convert it, or say kind = \"ignore\" \
                 in the schema",
                self.file, self.names[place]
            ))),
        }
    }

    /// Adds up to `most` records of the columns that are read; none at the end.
    pub(in super::super) fn block(
        &mut self,
        most: usize,
        block: &mut Block,
    ) -> Result<(), DataError> {
        if !self.open_group()? {
            return Ok(());
        }
        let length = self.left.min(most);
        let leaves = self.leaves();
        let (file, absent) = (&self.file, &self.absent);
        let columns = self
            .columns
            .par_iter_mut()
            .zip(leaves)
            .zip(&mut block.columns);
        columns.try_for_each(|((column, (_, kind)), texts)| {
            decoded(file, || texts::read(texts, column, kind, length, absent))
        })?;
        self.left -= length;
        let places = (self.record + 1..).take(length).map(Position::Record);
        block.places.extend(places);
        self.record += length as u64;
        Ok(())
    }

    /// Opens the next group with records where all of one have been read; `false` at the end.
    fn open_group(&mut self) -> Result<bool, DataError> {
        while self.left == 0 {
            let Some(&group) = self.groups.get(self.group) else {
                return Ok(false);
            };
            let metadata = self.reader.metadata();
            // The number of a record is that in the file, whatever was passed over.
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

    /// Reads the next records as they are asked for one by one; `false` at the end.
    fn fill(&mut self) -> Result<bool, DataError> {
        if !self.open_group()? {
            return Ok(false);
        }
        self.length = self.left.min(BLOCK);
        let leaves = self.leaves();
        let columns = self.columns.iter_mut().zip(&leaves).zip(&self.read);
        for ((column, &(_, kind)), &place) in columns {
            let texts = &mut self.block[place];
            texts.clear();
            let (length, absent) = (self.length, &self.absent);
            decoded(&self.file, || {
                texts::read(texts, column, kind, length, absent)
            })?;
        }
        (self.left, self.next) = (self.left - self.length, 0);
        Ok(true)
    }

    /// Of the columns that are read.
    fn leaves(&self) -> Vec<(usize, Kind)> {
        let read = self.read.iter();
        read.filter_map(|&place| self.kinds[place]).collect()
    }
}

impl Records for ParquetRows {
    fn next(&mut self) -> Result<Option<Line<'_>>, DataError> {
        if self.next == self.length && !self.fill()? {
            return Ok(None);
        }
        let at = self.next;
        self.next += 1;
        self.record += 1;
        Ok(Some(Line {
            place: Position::Record(self.record),
            broken_off: false,
            fields: self.block.iter().map(|texts| texts.get(at)).collect(),
        }))
    }
}

/// What the crate makes of a file. Its words about a damaged one may quote a value.
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

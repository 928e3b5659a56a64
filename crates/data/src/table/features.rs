//! The records of a table as features, labels and groups.

use std::io::Read;
use std::path::Path;

use super::blocks::{Block, Opened, Records as Source};
use super::column::{Column, Kind};
use super::raw::Missing;
use super::value::{Reader, Refusal, Value, one_of, outside};
use super::{GroupedTable, Labels, Schema};
use crate::error::{check_count, empty, open, read};
use crate::split::is_test_row;
use crate::sums::sha256;
use crate::{Arrays, DataError, Form, Found, Records, Skipped, Stored};

/// A table that was read from a file.
#[derive(Clone, PartialEq)]
pub struct CsvTable {
    /// The records, in the order of the lines.
    pub table: GroupedTable,
    /// The row of each record, ascending: its place among all records of the file, from 0, counting those that were dropped. It
    /// does not depend on the content of other rows.
    pub rows: Vec<usize>,
    /// The number of rows that were dropped for a missing value.
    pub dropped: usize,
    /// The SHA-256 of the file, as 64 lower-case hexadecimal digits. It is as secret as the records.
    pub sha256: String,
}

debug_shows!(CsvTable { table });

impl CsvTable {
    /// Splits the table into private and public records. About this `share` of the file's rows is public. Each row's number alone
    /// decides ([`is_test_row`]), so a row that is dropped or replaced moves no other row to the other side.
    ///
    /// # Errors
    ///
    /// [`DataError::Request`] if a side has too few records.
    pub fn split_by_row(&self, share: f64) -> Result<(GroupedTable, GroupedTable), DataError> {
        let (public, private): (Vec<usize>, Vec<usize>) =
            (0..self.table.len()).partition(|&record| is_test_row(self.rows[record], share));
        Ok((self.table.select(&private)?, self.table.select(&public)?))
    }
}

impl Schema {
    /// Reads a grouped table from a file.
    pub fn read_csv(&self, path: &Path) -> Result<CsvTable, DataError> {
        self.decode(&path.display().to_string(), &read(path)?)
    }

    /// Reads a grouped table from the bytes of a file; `file` is the name to use in errors.
    ///
    /// Errors name the line, its column and what was expected, but never the value.
    ///
    /// # Errors
    /// [`DataError::Record`] for a line with too few or too many fields, and for a value that is missing, not a number, out of
    /// range, of an unknown level or class, or in neither group; [`DataError::File`] for column names that do not fit the schema,
    /// and for a file that is not text; [`DataError::Request`] if a group has no record.
    pub fn decode(&self, file: &str, bytes: &[u8]) -> Result<CsvTable, DataError> {
        self.check_grouped()?;
        let mut opened = Opened::of_text(self, file, bytes)?;
        let (mut encoder, mut rows) = (Encoder::new(self, &mut opened)?, Rows::default());
        while encoder.read(usize::MAX, &mut rows)? {}
        if rows.kept.is_empty() {
            return Err(empty(file, "record"));
        }
        for (column, groups) in self.sensitive.iter().filter_map(|&place| {
            let column = &self.columns[place];
            Some((column, column.groups()?))
        }) {
            for (group, levels) in (0..).zip(groups) {
                if !rows.groups.contains(&group) {
                    return Err(DataError::request(format!(
                        "{file}: no record has {} in column {}: group {group} is empty, expected at least 1 record of each \
                         group; give a file that has both, or choose another sensitive column",
                        one_of(levels),
                        column.name
                    )));
                }
            }
        }
        let label = self.columns.iter().find(|column| column.is_label);
        let labels = match label.and_then(Column::levels) {
            Some(classes) => Labels::Classes {
                count: classes.spellings.len(),
                values: rows.classes,
            },
            None => Labels::Values {
                width: 1,
                values: rows.responses,
            },
        };
        let names = self.feature_names();
        Ok(CsvTable {
            table: GroupedTable::new(names, rows.features, labels, rows.groups)?,
            dropped: rows.read - rows.kept.len(),
            rows: rows.kept,
            sha256: sha256(bytes),
        })
    }
}

impl Schema {
    /// Reads the records of a CSV file in the order of its lines: features, and classes if the label has them.
    ///
    /// The sensitive column is not a feature, as in [`Schema::decode`]. The last line must end with a line break; otherwise a
    /// file that was cut off within a field would look whole.
    ///
    /// # Errors
    /// As [`Schema::decode`]; [`DataError::Request`] if there are fewer records than the `first` asked for, and for a label of
    /// more than 256 classes if labels are read.
    pub fn read_features(
        &self,
        path: &Path,
        labels: bool,
        first: Option<usize>,
    ) -> Result<Found, DataError> {
        self.check_features()?;
        let (file, mut count, most) = (&path.display().to_string(), 0, first.unwrap_or(usize::MAX));
        check_count(file, most, usize::MAX)?;
        let mut opened = Opened::of_text(self, file, open(path)?)?;
        if let Source::Text(lines) = &mut opened.records {
            lines.must_end = true;
        }
        let classes = self.columns.iter().find(|column| column.is_label);
        let classes = classes.filter(|_| labels).and_then(Column::levels);
        let (mut values, mut of, mut dropped) = (Stored::default(), Vec::new(), 0);
        let mut encoder = Encoder::new(self, &mut opened)?;
        while count < most {
            let mut rows = Rows::default();
            if !encoder.read(BLOCK.min(most - count), &mut rows)? {
                break;
            }
            values.add(&rows.features)?;
            if classes.is_some() {
                of.extend(rows.classes.iter().map(|&class| class as u8));
            }
            count += rows.kept.len();
            dropped += rows.read - rows.kept.len();
        }
        if count == 0 {
            return Err(empty(file, "record"));
        }
        if first.is_some_and(|first| first != count) {
            // The header does not say how many records there are, because some lines may hold none.
            let problem = format!("{file}: {most} records asked for, expected");
            return Err(DataError::request(format!(
                "{problem} no more than there are; change the number"
            ))
            .telling(format!("{problem} 1 to {count}; change the number")));
        }
        let mut records = Records::rows(file, self.feature_names().len(), values)?;
        let mut names = Vec::new();
        if let Some(classes) = classes {
            records = records.labelled(of, classes.spellings.len())?;
            names.extend(
                classes
                    .spellings
                    .iter()
                    .flat_map(|all| all.first())
                    .cloned(),
            );
        }
        let skipped = Skipped {
            reason: "it misses a value, and its column says missing = \"drop\"",
            name: file.clone(),
            count: dropped,
        };
        Ok(Found {
            records,
            classes: names,
            paths: Vec::new(),
            form: Form::Rows,
            arrays: Arrays::default(),
            skipped: Some(skipped).filter(|_| dropped > 0).into_iter().collect(),
        })
    }
}

/// The number of records that are read at once.
const BLOCK: usize = 1024;

/// The records read so far.
#[derive(Default)]
struct Rows {
    /// The number of records read, and the places of those that were not dropped.
    read: usize,
    kept: Vec<usize>,
    features: Vec<f32>,
    classes: Vec<usize>,
    responses: Vec<f32>,
    groups: Vec<u8>,
}

/// Reads the records of a file.
struct Encoder<'a, R> {
    schema: &'a Schema,
    opened: &'a mut Opened<R>,
    readers: Vec<Reader<'a>>,
    block: Block,
}

impl<'a, R: Read> Encoder<'a, R> {
    fn new(schema: &'a Schema, opened: &'a mut Opened<R>) -> Result<Self, DataError> {
        let (mut readers, mut at) = (Vec::new(), Vec::new());
        for (place, column) in schema.columns.iter().enumerate() {
            let groups = column.groups().filter(|_| schema.sensitive == Some(place));
            readers.push(match groups {
                Some(groups) => Reader::groups(column, groups),
                None if column.is_feature() || column.is_label => Reader::new(column),
                None => continue,
            });
            at.extend(opened.places.of_columns[place]);
        }
        opened.read_only(at)?;
        Ok(Self {
            schema,
            opened,
            readers,
            block: Block::default(),
        })
    }

    /// Adds up to `most` records; returns `false` after the last.
    fn read(&mut self, most: usize, rows: &mut Rows) -> Result<bool, DataError> {
        let filled = self.opened.block(most, &mut self.block);
        let columns = self.block.map(&self.opened.file, &self.readers, checked)?;
        filled?;
        let count = self.block.places.len();
        for record in 0..count {
            let values = || self.readers.iter().zip(columns.iter().map(|of| of[record]));
            let is_dropped = |(reader, value): (&Reader<'_>, Value)| {
                matches!(value, Value::Missing) && reader.column.missing == Missing::Drop
            };
            if !values().any(is_dropped) {
                rows.kept.push(rows.read + record);
                values().for_each(|(reader, value)| rows.push(self.schema, reader, value));
            }
        }
        rows.read += count;
        Ok(count > 0)
    }
}

/// A field's value, with a number scaled as a feature. A missing value drops its record, or is a level.
fn checked(reader: &Reader<'_>, value: Value) -> Result<Value, Refusal> {
    let column = reader.column;
    match (value, column.number()) {
        (Value::Number(value), Some(number)) => {
            let inside = number.inside(value).ok_or_else(|| outside(number))?;
            let scaled = (inside - number.min) / (number.max - number.min);
            Ok(Value::Number(scaled))
        }
        (Value::Missing, _) => match column.missing {
            Missing::Drop => Ok(value),
            Missing::Level if !reader.is_group && !column.is_label => Ok(value),
            Missing::Level | Missing::Refuse => Err((
                "a value".into(),
                "repair or remove it, or say missing = \"drop\" (or, for a feature, \"level\") in the schema",
            )),
        },
        _ => Ok(value),
    }
}

impl Rows {
    fn push(&mut self, schema: &Schema, reader: &Reader<'_>, value: Value) {
        let column = reader.column;
        match value {
            Value::Level(group) if reader.is_group => self.groups.push(group as u8),
            Value::Level(class) if column.is_label => self.classes.push(class),
            Value::Number(value) if column.is_label => self.responses.push(value as f32),
            _ => {
                let levels = column.levels().map(|levels| levels.kind);
                let one_hot = levels == Some(Kind::Categories);
                let start = self.features.len();
                let width = if one_hot { column.codes() } else { 1 };
                self.features.resize(start + width, 0.0);
                match value {
                    Value::Number(value) => self.features[start] = value as f32,
                    Value::Level(level) if one_hot => self.features[start + level] = 1.0,
                    Value::Level(truth) => self.features[start] = truth as f32,
                    Value::Missing => {}
                }
                if schema.has_missing_level(column) {
                    let is_missing = matches!(value, Value::Missing);
                    self.features.push(f32::from(u8::from(is_missing)));
                }
            }
        }
    }
}

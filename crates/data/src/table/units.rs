//! The privacy unit of each record, by a column of the table, and other columns that the schema ignores.

use std::path::Path;

use super::Schema;
use super::blocks::{Block, Opened};
use super::parts::parts;
use super::value::Refusal;
use crate::error::field;
use crate::{DataError, Units};

impl Schema {
    /// Returns the unit of each record of a file from a `column` that the schema ignores, so that no copy contains it.
    ///
    /// # Errors
    /// [`DataError::Request`] for a column that does not exist or is not ignored; [`DataError::Record`] for a line with
    /// another number of fields, or without a unit; as [`Schema::coded`].
    pub fn units(&self, path: &Path, column: &str) -> Result<Units, DataError> {
        let refuse = || {
            DataError::request(format!(
                "{}: unit '{column}': expected a column of kind ignore, which is in no copy; choose one, or let the schema \
                 ignore it",
                self.name
            ))
        };
        let mut columns = self.columns.iter();
        if !columns.any(|known| known.name == column && !known.is_kept()) {
            return Err(refuse());
        }
        let mut names: Vec<String> = Vec::new();
        let found = self.each_ignored(path, &[column.to_string()], "", |_, _, unit| {
            if unit.is_empty() {
                return Err(("a unit".into(), "give each record a unit"));
            }
            names.push(unit.into());
            Ok(())
        })?;
        match found {
            true => Ok(Units::of_texts(names.iter().map(String::as_str))),
            false => Err(refuse()),
        }
    }

    /// Gives the fields of these columns of each record to `each`: the record's number from 0, the column's place among these,
    /// and the text. Returns false if the file lacks one of the columns. A null is `absent`.
    pub(super) fn each_ignored(
        &self,
        path: &Path,
        names: &[String],
        absent: &str,
        mut each: impl FnMut(usize, usize, &str) -> Result<(), Refusal>,
    ) -> Result<bool, DataError> {
        let (mut before, mut block) = (0, Block::default());
        let mut read = |part: &Path| {
            let mut opened = Opened::open(self, (path, part), absent)?;
            let place = |name: &String| {
                let place = self.columns.iter().position(|known| known.name == *name)?;
                opened.places.of_columns[place]
            };
            let Some(at) = names.iter().map(place).collect() else {
                return Ok(false);
            };
            opened.read_only(at)?;
            loop {
                let filled = opened.block(usize::MAX, &mut block);
                for (record, &place) in block.places.iter().enumerate() {
                    for (column, (texts, name)) in block.columns.iter().zip(names).enumerate() {
                        let text = texts.get(record).unwrap_or_default();
                        each(before + record, column, text).map_err(|(expected, advice)| {
                            field(&opened.file, place, name, expected, text, advice)
                        })?;
                    }
                }
                filled?;
                if block.places.is_empty() {
                    return Ok(true);
                }
                before += block.places.len();
            }
        };
        for part in parts(path)? {
            if !read(&part).map_err(|e: DataError| e.of_part(path, &part))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

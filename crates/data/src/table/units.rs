//! Whose records are whose, by a column of the table; what else stands in columns that the schema ignores.

use std::io::BufReader;
use std::path::Path;

use super::Schema;
use super::column::{Column, Role};
use super::encode::{Places, places};
use super::field::Field;
use super::lines::{Lines, Records};
use super::parquet::{ParquetRows, is_parquet};
use crate::error::{field, fields, open};
use crate::{DataError, Units};

impl Schema {
    /// The unit of each record of a file, by a `column` that the schema ignores: it would be in a copy otherwise.
    ///
    /// # Errors
    /// [`DataError::Request`] for a column that is not there, or is not ignored; [`DataError::Record`] for a line of another
    /// number of fields, or without a unit; as [`Schema::coded`].
    pub fn units(&self, path: &Path, column: &str) -> Result<Units, DataError> {
        let refuse = || {
            DataError::Request(format!(
                "{}: unit '{column}': expected a column of kind ignore, which is in no copy; choose one, or let the schema \
                 ignore it",
                self.name
            ))
        };
        let ignored = |known: &Column| known.name == column && known.role == Role::Ignored;
        if !self.columns.iter().any(ignored) {
            return Err(refuse());
        }
        let mut names: Vec<String> = Vec::new();
        let found = self.each_ignored(path, &[column.to_string()], "", |_, fields| {
            let [unit] = fields else {
                return Ok(());
            };
            if unit.value.is_empty() {
                let advice = "give each record a unit";
                return Err(field(unit.file, unit.place, column, "a unit", advice));
            }
            names.push(unit.value.into());
            Ok(())
        })?;
        match found {
            true => Ok(Units::of_texts(names.iter().map(String::as_str))),
            false => Err(refuse()),
        }
    }

    /// Gives the fields of these columns of each record, with its number from 0, to `each`; false where the file has not all of
    /// them. A null is `absent`.
    pub(super) fn each_ignored(
        &self,
        path: &Path,
        names: &[String],
        absent: &str,
        each: impl FnMut(usize, &[Field<'_>]) -> Result<(), DataError>,
    ) -> Result<bool, DataError> {
        let file = path.display().to_string();
        let at = |places: &Places| -> Option<Vec<usize>> {
            let place = |name: &String| {
                let place = self.columns.iter().position(|known| known.name == *name)?;
                places.of_columns[place]
            };
            names.iter().map(place).collect()
        };
        if is_parquet(path) {
            let mut rows = ParquetRows::open(path, absent)?;
            let places = rows.places(self)?;
            let Some(at) = at(&places) else {
                return Ok(false);
            };
            rows.read_only(at.iter().copied())?;
            return fields_of(&file, &mut rows, &places, names, &at, each);
        }
        let text = BufReader::new(open(path)?);
        let mut lines = Lines::new(&file, self.delimiter, self.comment, text);
        let places = places(self, &file, &mut lines)?;
        match at(&places) {
            Some(at) => fields_of(&file, &mut lines, &places, names, &at, each),
            None => Ok(false),
        }
    }
}

/// Gives the fields at these places of each record to `each`.
fn fields_of(
    file: &str,
    records: &mut impl Records,
    places: &Places,
    names: &[String],
    at: &[usize],
    mut each: impl FnMut(usize, &[Field<'_>]) -> Result<(), DataError>,
) -> Result<bool, DataError> {
    let mut record = 0;
    while let Some(line) = records.next()? {
        let found = line.fields.len();
        if found != places.fields {
            return Err(fields(file, line.place, places.fields, found));
        }
        let of = |(&at, name)| Field {
            file,
            place: line.place,
            column: String::as_str(name),
            value: line.fields[at],
        };
        let fields: Vec<Field<'_>> = at.iter().zip(names).map(of).collect();
        each(record, &fields)?;
        record += 1;
    }
    Ok(true)
}

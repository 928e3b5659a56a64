//! Whose records are whose, by a column of the table.

use std::io::BufReader;
use std::path::Path;

use super::Schema;
use super::column::Role;
use super::encode::{Places, places};
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
        let place = self.columns.iter().position(|known| known.name == column);
        let place = place.filter(|&place| self.columns[place].role == Role::Ignored);
        let refuse = || {
            DataError::Request(format!(
                "{}: unit '{column}': expected a column of kind ignore, which is in no copy; choose one, or let the schema \
                 ignore it",
                self.name
            ))
        };
        let place = place.ok_or_else(refuse)?;
        let file = path.display().to_string();
        if is_parquet(path) {
            let mut rows = ParquetRows::open(path, "")?;
            let places = rows.places(self)?;
            let at = places.of_columns[place].ok_or_else(refuse)?;
            rows.read_only([at])?;
            return units(&file, &mut rows, &places, (column, at));
        }
        let text = BufReader::new(open(path)?);
        let mut lines = Lines::new(&file, self.delimiter, self.comment, text);
        let places = places(self, &file, &mut lines)?;
        let at = places.of_columns[place].ok_or_else(refuse)?;
        units(&file, &mut lines, &places, (column, at))
    }
}

/// The units of all records, by the name and the place of their column.
fn units(
    file: &str,
    records: &mut impl Records,
    places: &Places,
    (column, at): (&str, usize),
) -> Result<Units, DataError> {
    let mut names: Vec<String> = Vec::new();
    while let Some(line) = records.next()? {
        let found = line.fields.len();
        if found != places.fields {
            return Err(fields(file, line.place, places.fields, found));
        }
        let name = line.fields[at];
        if name.is_empty() {
            let advice = "give each record a unit";
            return Err(field(file, line.place, column, "a unit", advice));
        }
        names.push(name.into());
    }
    Ok(Units::of_texts(names.iter().map(String::as_str)))
}

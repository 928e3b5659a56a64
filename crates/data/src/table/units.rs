//! Whose records are whose, by a column of the table; what else stands in columns that the schema ignores.

use std::path::Path;

use super::Schema;
use super::column::{Column, Role};
use super::encode::Places;
use super::field::Field;
use super::lines::Records;
use super::opened::Opened;
use super::parts::parts;
use crate::error::{field, fields};
use crate::{DataError, Units};

impl Schema {
    /// The unit of each record of a file, by a `column` that the schema ignores: it would be in a copy otherwise.
    ///
    /// # Errors
    /// [`DataError::Request`] for a column that is not there, or is not ignored; [`DataError::Record`] for a line of another
    /// number of fields, or without a unit; as [`Schema::coded`].
    pub fn units(&self, path: &Path, column: &str) -> Result<Units, DataError> {
        let refuse = || {
            DataError::request(format!(
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
                let found = unit.value;
                return Err(field(
                    unit.file, unit.place, column, "a unit", found, advice,
                ));
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
        mut each: impl FnMut(usize, &[Field<'_>]) -> Result<(), DataError>,
    ) -> Result<bool, DataError> {
        let at = |places: &Places| -> Option<Vec<usize>> {
            let place = |name: &String| {
                let place = self.columns.iter().position(|known| known.name == *name)?;
                places.of_columns[place]
            };
            names.iter().map(place).collect()
        };
        let mut record = 0;
        let file = path.display().to_string();
        let mut read = |part: &Path| {
            let (mut opened, places) = Opened::open(self, (path, part), absent)?;
            let Some(at) = at(&places) else {
                return Ok(false);
            };
            opened.read_only(at.iter().copied())?;
            while let Some(line) = opened.next()? {
                let found = line.fields.len();
                if found != places.fields {
                    return Err(fields(&file, line.place, places.fields, found));
                }
                let of = |(&at, name)| Field {
                    file: &file,
                    place: line.place,
                    column: String::as_str(name),
                    value: line.fields[at],
                };
                let fields: Vec<Field<'_>> = at.iter().zip(names).map(of).collect();
                each(record, &fields)?;
                record += 1;
            }
            Ok(true)
        };
        for part in parts(path)? {
            if !read(&part).map_err(|e: DataError| e.of_part(path, &part))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

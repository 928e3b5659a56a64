//! Whose records are whose, by a column of the table; what else stands in columns that the schema ignores.

use std::io::BufReader;
use std::path::Path;

use super::Schema;
use super::column::Role;
use super::encode::places;
use super::field::Field;
use super::lines::Lines;
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
        if !self.ignores(column) {
            return Err(refuse());
        }
        let mut names: Vec<String> = Vec::new();
        let found = self.each_ignored(path, &[column.to_string()], |_, fields| {
            let [unit] = fields else {
                return Ok(());
            };
            if unit.value.is_empty() {
                let advice = "give each record a unit";
                return Err(field(unit.file, unit.line, column, "a unit", advice));
            }
            names.push(unit.value.into());
            Ok(())
        })?;
        match found {
            true => Ok(Units::of_texts(names.iter().map(String::as_str))),
            false => Err(refuse()),
        }
    }

    fn ignores(&self, column: &str) -> bool {
        let ignored =
            |known: &super::column::Column| known.name == column && known.role == Role::Ignored;
        self.columns.iter().any(ignored)
    }

    /// Gives the fields of these columns of each record, with its place, to `each`; false where the file has not all of them.
    pub(super) fn each_ignored<'names>(
        &self,
        path: &Path,
        names: &'names [String],
        mut each: impl FnMut(usize, &[Field<'_>]) -> Result<(), DataError>,
    ) -> Result<bool, DataError> {
        let file = path.display().to_string();
        let text = BufReader::new(open(path)?);
        let mut lines = Lines::new(&file, self.delimiter, self.comment, text);
        let places = places(self, &file, &mut lines)?;
        let place = |name: &String| {
            let place = self.columns.iter().position(|known| known.name == *name)?;
            places.of_columns[place]
        };
        let Some(at) = names.iter().map(place).collect::<Option<Vec<usize>>>() else {
            return Ok(false);
        };
        let mut record = 0;
        while let Some(line) = lines.next()? {
            let found = line.fields.len();
            if found != places.fields {
                return Err(fields(&file, line.number, places.fields, found));
            }
            let of = |(at, name): (&usize, &'names String)| Field {
                file: &file,
                line: line.number,
                column: name,
                value: line.fields[*at],
            };
            let fields: Vec<Field<'_>> = at.iter().zip(names).map(of).collect();
            each(record, &fields)?;
            record += 1;
        }
        Ok(true)
    }
}

//! Codes as a table again.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use rand::Rng;

use super::Schema;
use super::column::{Column, Role};
use crate::DataError;
use crate::atomic::{sync_folder, temporary};
use crate::error::{io as failed, unfit};

impl Schema {
    /// A value of a code of the column at `column` of [`Schema::code_columns`]: a category as it is spelled first, the first
    /// word for a missing value that is not empty, a special value, or a number of the bin, all of its values equally likely.
    /// Read again, it has the same code. It keeps no rules between columns. The empty text for a column or a code that is not there.
    pub fn value(&self, column: usize, code: u16, rng: &mut impl Rng) -> String {
        let column = self.coded_columns().nth(column);
        let text = column.and_then(|column| self.text(column, code.into(), rng));
        text.map(Cow::into_owned).unwrap_or_default()
    }

    /// Writes records of codes, shape `[n, D]` in row-major order, as a CSV file that appears whole or not at all, in the
    /// place of what has its name: the schema's delimiter, its names of columns where it has a header, the values of
    /// [`Schema::value`]. Where the schema has rules, values keep them too.
    ///
    /// # Errors
    /// [`DataError::Request`] without a record, for a number of codes that is no multiple of D, for a code that is not
    /// there, and for codes of which no values keep the rules; [`DataError::Io`].
    pub fn write_csv(
        &self,
        path: &Path,
        codes: &[u16],
        rng: &mut impl Rng,
    ) -> Result<(), DataError> {
        self.check_copy()?;
        self.check_codes(codes)?;
        let folder = match path.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            folder => folder.unwrap_or(path),
        };
        let part = temporary(folder, ".copy-").map_err(failed(folder, "write in the folder"))?;
        let mut text = BufWriter::new(part);
        let written = self.write_text(&mut text, codes, rng);
        let sealed = written.and_then(|()| {
            let part = text.into_inner().map_err(io::IntoInnerError::into_error)?;
            part.as_file().sync_all()?;
            part.persist(path)?;
            sync_folder(folder)
        });
        sealed.map_err(failed(path, "write the file"))
    }

    /// Refuses what are no codes of records.
    fn check_codes(&self, codes: &[u16]) -> Result<(), DataError> {
        let mosts: Vec<usize> = self
            .coded_columns()
            .map(|column| column.codes() + usize::from(self.has_missing_level(column)))
            .collect();
        if codes.is_empty() || !codes.len().is_multiple_of(mosts.len()) {
            let expected = format!("a multiple of {} columns, at least 1 record", mosts.len());
            return Err(unfit("number of codes", expected, codes.len()));
        }
        for (place, &code) in codes.iter().enumerate() {
            let column = place % mosts.len();
            if usize::from(code) >= mosts[column] {
                let what = format!("code of column {}", column + 1);
                return Err(unfit(&what, format!("below {}", mosts[column]), code));
            }
        }
        let mut records = codes.chunks_exact(mosts.len());
        if let Some(place) = records.position(|record| !self.rules.keep(record)) {
            let what = format!("record {}", place + 1);
            return Err(unfit(
                &what,
                "one that keeps the rules",
                "one that breaks them",
            ));
        }
        Ok(())
    }

    fn write_text(
        &self,
        text: &mut impl Write,
        codes: &[u16],
        rng: &mut impl Rng,
    ) -> io::Result<()> {
        let columns: Vec<&Column> = self.coded_columns().collect();
        let mut lines = csv::WriterBuilder::new()
            .delimiter(self.delimiter)
            .comment(self.comment)
            .from_writer(text);
        if self.header {
            lines.write_record(columns.iter().map(|column| &column.name))?;
        }
        for record in codes.chunks_exact(columns.len()) {
            // Numbers under a rule come together, and first.
            let ruled = self.rules.sample(record, rng);
            for (place, (column, &code)) in columns.iter().zip(record).enumerate() {
                let value = match ruled.iter().find(|(ruled, _)| *ruled == place) {
                    Some((_, text)) => Cow::Borrowed(&**text),
                    None => self.text(column, code.into(), rng).unwrap_or_default(),
                };
                lines.write_field(value.as_bytes())?;
            }
            lines.write_record(None::<&[u8]>)?;
        }
        lines.flush()
    }

    fn text<'a>(
        &'a self,
        column: &'a Column,
        code: usize,
        rng: &mut impl Rng,
    ) -> Option<Cow<'a, str>> {
        if let Role::Number(number) | Role::Response(number) = &column.role
            && let Some(bin) = number.bins.get(code)
        {
            let count = number.sample(bin.start, bin.end, rng);
            return Some(number.unit.text(count).into());
        }
        self.fixed(column, code).map(Cow::Borrowed)
    }
}

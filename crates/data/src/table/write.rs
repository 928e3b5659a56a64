//! Writes codes as a table of values.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use files::atomic::{NewFile, folder};
use rand::Rng;

use super::Schema;
use super::column::Column;
use super::parquet::{ParquetWriter, is_parquet};
use super::text::Quotes;
use crate::DataError;
use crate::error::{empty, io as failed, unfit};

/// Writes a table in blocks of records. The file appears only when it is finished, and then it is whole.
pub struct TableWriter<'a> {
    schema: &'a Schema,
    columns: Vec<&'a Column>,
    path: PathBuf,
    form: Form<'a>,
    records: usize,
}

enum Form<'a> {
    Text(Box<csv::Writer<BufWriter<NewFile>>>),
    Parquet(Box<ParquetWriter<'a, NewFile>>),
}

impl Schema {
    /// Returns a value of a code of the column at `column` of [`Schema::code_columns`]: the first spelling of a category, the
    /// first nonempty word for a missing value, a special value, or a number of the bin, uniformly. Read again, it has the same
    /// code. It ignores rules between columns. If the column or the code does not exist, the text is empty.
    pub fn value(&self, column: usize, code: u16, rng: &mut impl Rng) -> String {
        let column = self.coded_columns().nth(column);
        let text = column.and_then(|column| self.text(column, code.into(), rng));
        text.map(Cow::into_owned).unwrap_or_default()
    }

    /// Writes records of codes, shape `[n, D]` in row-major order, to a file, as [`Schema::writer`] does.
    ///
    /// # Errors
    /// As [`TableWriter`].
    pub fn write(&self, path: &Path, codes: &[u16], rng: &mut impl Rng) -> Result<(), DataError> {
        let mut table = self.writer(path)?;
        table.write(codes, rng)?;
        table.finish()
    }

    /// Begins a file that replaces any file with its name. If the name ends in `.parquet`, it is a Parquet file: integers, days,
    /// minutes and truth values keep their types, other numbers have 64 bits, categories that are all whole numbers are stored as
    /// these, missing values are nulls, and `stored` in the schema overrides the types. Otherwise it is a CSV file with the
    /// schema's delimiter, its column names if it has a header, and the values of [`Schema::value`]. Values also keep the
    /// schema's rules.
    ///
    /// # Errors
    /// [`DataError::Request`] for a schema that does not fit a copy; [`DataError::Io`].
    pub fn writer(&self, path: &Path) -> Result<TableWriter<'_>, DataError> {
        self.check_copy()?;
        let part = NewFile::of(path).map_err(failed(folder(path), "write in the folder"))?;
        let columns: Vec<&Column> = self.coded_columns().collect();
        let form = match is_parquet(path) {
            true => ParquetWriter::new(self, part).map(|form| Form::Parquet(Box::new(form))),
            false => self
                .lines(&columns, part)
                .map(|form| Form::Text(Box::new(form))),
        };
        Ok(TableWriter {
            schema: self,
            columns,
            path: path.into(),
            form: form.map_err(failed(path, "write the file"))?,
            records: 0,
        })
    }

    fn lines(
        &self,
        columns: &[&Column],
        mut part: NewFile,
    ) -> io::Result<csv::Writer<BufWriter<NewFile>>> {
        if self.look.mark {
            part.write_all(b"\xef\xbb\xbf")?;
        }
        let mut lines = csv::WriterBuilder::new()
            .delimiter(self.delimiter)
            .comment(self.comment)
            .terminator(match self.look.crlf {
                true => csv::Terminator::CRLF,
                false => csv::Terminator::Any(b'\n'),
            })
            .quote_style(match self.look.quotes {
                Quotes::Needed => csv::QuoteStyle::Necessary,
                Quotes::Texts => csv::QuoteStyle::NonNumeric,
                Quotes::All => csv::QuoteStyle::Always,
            })
            .from_writer(BufWriter::new(part));
        if self.header {
            lines.write_record(columns.iter().map(|column| &column.name))?;
        }
        Ok(lines)
    }

    fn text<'a>(
        &'a self,
        column: &'a Column,
        code: usize,
        rng: &mut impl Rng,
    ) -> Option<Cow<'a, str>> {
        if let Some(number) = column.number()
            && let Some(bin) = number.bins.get(code)
        {
            let count = number.sample(bin.start, bin.end, rng);
            return Some(number.text(count).into());
        }
        self.fixed(column, code).map(Cow::Borrowed)
    }

    /// Returns the texts that a file of these records of codes would have, in the same shape `[n, D]` in row-major order.
    ///
    /// # Errors
    /// As [`TableWriter::write`], except [`DataError::Io`].
    pub fn texts(&self, codes: &[u16], rng: &mut impl Rng) -> Result<Vec<String>, DataError> {
        let columns: Vec<&Column> = self.coded_columns().collect();
        self.check_codes(&columns, codes)?;
        let mut texts = Vec::with_capacity(codes.len());
        for record in codes.chunks_exact(columns.len()) {
            let values = self.record(&columns, record, rng).into_iter();
            texts.extend(values.map(Cow::into_owned));
        }
        Ok(texts)
    }

    /// The values of one record.
    fn record<'a>(
        &'a self,
        columns: &[&'a Column],
        record: &[u16],
        rng: &mut impl Rng,
    ) -> Vec<Cow<'a, str>> {
        // Numbers under a rule are sampled together, before all others.
        let ruled = self.rules.sample(record, rng);
        let values = columns.iter().zip(record).enumerate();
        let value = |(place, (column, &code)): (usize, (&&'a Column, &u16))| {
            let value = match ruled.iter().find(|(ruled, _)| *ruled == place) {
                Some((_, ruled)) => column
                    .number()
                    .map(|number| number.text(ruled.count).into()),
                None => self.text(column, code.into(), rng),
            };
            value.unwrap_or_default()
        };
        values.map(value).collect()
    }

    /// Refuses codes that cannot be those of records.
    fn check_codes(&self, columns: &[&Column], codes: &[u16]) -> Result<(), DataError> {
        let missing = |column: &Column| usize::from(self.has_missing_level(column));
        let most = |column: &&Column| column.codes() + missing(column);
        let mosts: Vec<usize> = columns.iter().map(most).collect();
        if !codes.len().is_multiple_of(mosts.len()) {
            let expected = format!("a multiple of {} columns", mosts.len());
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
            let (expected, found) = ("one that keeps the rules", "one that breaks them");
            return Err(unfit(&what, expected, found));
        }
        Ok(())
    }
}

impl TableWriter<'_> {
    /// Adds records of codes, shape `[n, D]` in row-major order; a Parquet file stores them together.
    ///
    /// # Errors
    /// [`DataError::Request`] if the number of codes is not a multiple of D, if a code does not exist, or if no values with
    /// these codes keep the rules; [`DataError::Io`].
    pub fn write(&mut self, codes: &[u16], rng: &mut impl Rng) -> Result<(), DataError> {
        self.schema.check_codes(&self.columns, codes)?;
        self.records += codes.len() / self.columns.len();
        let written = match &mut self.form {
            Form::Parquet(form) => form.write(codes, rng),
            Form::Text(lines) => codes
                .chunks_exact(self.columns.len())
                .try_for_each(|record| {
                    let values = self.schema.record(&self.columns, record, rng);
                    Ok(lines.write_record(values.iter().map(|value| value.as_bytes()))?)
                }),
        };
        written.map_err(failed(&self.path, "write the file"))
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// [`DataError::Request`] if there is no record; [`DataError::Io`].
    pub fn finish(self) -> Result<(), DataError> {
        let Self { path, form, .. } = self;
        if self.records == 0 {
            return Err(empty("the table to write", "record"));
        }
        let part = match form {
            Form::Parquet(form) => form.finish(),
            Form::Text(mut lines) => lines.flush().and_then(|()| {
                let text = (*lines).into_inner().map_err(|error| error.into_error())?;
                text.into_inner().map_err(io::IntoInnerError::into_error)
            }),
        };
        let sealed = part.and_then(|mut part| {
            part.flush()?;
            part.finish()
        });
        sealed.map_err(failed(&path, "write the file"))
    }
}

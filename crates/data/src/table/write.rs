//! Codes as a table again.

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

/// A table that is written some records at a time, and appears whole when it is finished or not at all.
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
    /// A value of a code of the column at `column` of [`Schema::code_columns`]: a category as it is spelled first, the first
    /// word for a missing value that is not empty, a special value, or a number of the bin, all of its values equally likely.
    /// Read again, it has the same code. It keeps no rules between columns. The empty text for a column or a code that is not there.
    pub fn value(&self, column: usize, code: u16, rng: &mut impl Rng) -> String {
        let column = self.coded_columns().nth(column);
        let text = column.and_then(|column| self.text(column, code.into(), rng));
        text.map(Cow::into_owned).unwrap_or_default()
    }

    /// Writes records of codes, shape `[n, D]` in row-major order, as a file: [`Schema::writer`].
    ///
    /// # Errors
    /// As [`TableWriter`].
    pub fn write(&self, path: &Path, codes: &[u16], rng: &mut impl Rng) -> Result<(), DataError> {
        let mut table = self.writer(path)?;
        table.write(codes, rng)?;
        table.finish()
    }

    /// Begins a file that takes the place of what has its name. Where that ends in `.parquet` it is a Parquet file: integers,
    /// days, minutes and truth values are stored as what they are, other numbers in 64 bits, categories that are all whole
    /// numbers as these, or all as the schema says by `stored`, and missing values as nulls. Else it is a CSV file: the schema's
    /// delimiter, its names of columns where it has a header, the values of [`Schema::value`]. Where the schema has rules,
    /// values keep them too.
    ///
    /// # Errors
    /// [`DataError::Request`] for a schema that is none of a copy; [`DataError::Io`].
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

    /// The values of records of codes, shape `[n, D]` in row-major order, as the texts that a file of them has, in the same shape.
    ///
    /// # Errors
    /// As [`TableWriter::write`], but for [`DataError::Io`].
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
        // Numbers under a rule come together, and first.
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

    /// Refuses what are no codes of records.
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
    /// Adds records of codes, shape `[n, D]` in row-major order; those of a Parquet file stand together.
    ///
    /// # Errors
    /// [`DataError::Request`] for a number of codes that is no multiple of D, for a code that is not there, and for codes of
    /// which no values keep the rules; [`DataError::Io`].
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

    /// Gives the file its name.
    ///
    /// # Errors
    /// [`DataError::Request`] without a record; [`DataError::Io`].
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

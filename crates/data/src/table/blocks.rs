//! Reads the files of a table, in any form, as blocks of records by columns.

use std::io::{BufReader, Read};
use std::path::Path;

use csv::StringRecord;
use rayon::prelude::*;

use super::Schema;
use super::column::Column;
use super::lines::{Line, Lines};
use super::parquet::{ParquetRows, is_parquet};
use super::text::Text;
use super::value::{Reader, Refusal, Value};
use crate::DataError;
use crate::error::{Position, empty, field, fields};
use crate::sums::file_sum;

/// The number of records that are read at once, and the largest number of their values.
const RECORDS: usize = 1 << 14;
const VALUES: usize = 1 << 21;

/// The text for a null of a Parquet file, which no field of a text can be.
pub(super) const NULL: &str = "\0null";

/// A block of records, by the columns that are read, with the position of each record.
#[derive(Default)]
pub(super) struct Block {
    pub columns: Vec<StringRecord>,
    pub places: Vec<Position>,
    /// Whether the file knows the type of each column, as Parquet does for numbers and dates.
    pub typed: Vec<bool>,
}

impl Block {
    /// Applies `of` to all values of the columns in parallel. An error names the first record at fault, and its first column.
    pub(super) fn map<T: Send>(
        &self,
        file: &str,
        readers: &[Reader<'_>],
        of: impl Fn(&Reader<'_>, Value) -> Result<T, Refusal> + Sync,
    ) -> Result<Vec<Vec<T>>, DataError> {
        let value = |reader: &Reader<'_>, text: &str, typed| {
            let absent = &reader.column.absent;
            let is_missing = absent.iter().any(|word| word == text) || text == NULL;
            let value = match is_missing {
                true => Value::Missing,
                false => reader.value(text, typed)?,
            };
            of(reader, value)
        };
        let columns = readers.par_iter().zip(&self.columns).zip(&self.typed);
        let columns = columns.map(|((reader, texts), &typed)| {
            let mut values = Vec::with_capacity(self.places.len());
            for (place, text) in texts.iter().enumerate() {
                let refused = |(expected, advice): Refusal| {
                    let (at, name) = (self.places[place], &reader.column.name);
                    let text = if text == NULL { "null" } else { text };
                    (place, field(file, at, name, expected, text, advice))
                };
                values.push(value(reader, text, typed).map_err(refused)?);
            }
            Ok(values)
        });
        let (mut all, mut fault) = (Vec::new(), None);
        for column in columns.collect::<Vec<Result<_, (usize, DataError)>>>() {
            match column {
                Ok(values) => all.push(values),
                Err(own) if fault.as_ref().is_none_or(|(first, _)| own.0 < *first) => {
                    fault = Some(own);
                }
                Err(_) => {}
            }
        }
        fault.map_or(Ok(all), |(_, error)| Err(error))
    }
}

/// An open file of a table.
pub(super) struct Opened<R> {
    pub file: String,
    pub records: Records<R>,
    pub places: Places,
    /// The fields that are read.
    at: Vec<usize>,
}

/// The places of a schema's columns in a record.
pub(super) struct Places {
    /// The place of each column; `None` for an ignored column that the file lacks.
    pub of_columns: Vec<Option<usize>>,
    /// The number of fields of a record.
    pub fields: usize,
    /// Whether the file names its columns.
    pub named: bool,
}

/// The source of the records.
pub(super) enum Records<R> {
    Text(Lines<BufReader<R>>),
    Parquet(ParquetRows),
}

impl Opened<Text> {
    /// Opens a part of the table at `input`: a Parquet file if its name ends in `.parquet`, in which a null is `null`, otherwise
    /// a CSV file.
    pub(super) fn open(
        schema: &Schema,
        (input, part): (&Path, &Path),
        null: &str,
    ) -> Result<Self, DataError> {
        let file = input.display().to_string();
        if !is_parquet(part) {
            return Self::of_text(schema, &file, Text::open(part)?);
        }
        let rows = ParquetRows::open(&file, part, null)?;
        let names: Vec<&str> = rows.names().iter().map(String::as_str).collect();
        let places = named(schema, &file, &names, "")?;
        Ok(Self::new(file, Records::Parquet(rows), places))
    }

    /// The SHA-256 of the file, whose records have all been read.
    pub(super) fn sum_of(self, part: &Path) -> Result<[u8; 32], DataError> {
        match self.records {
            Records::Text(lines) => lines.into_text().into_inner().sum_of(part),
            Records::Parquet(_) => file_sum(part),
        }
    }
}

impl<R: Read> Opened<R> {
    pub(super) fn new(file: String, records: Records<R>, places: Places) -> Self {
        Self {
            file,
            records,
            places,
            at: Vec::new(),
        }
    }

    /// Opens a CSV text; `file` is its name in errors.
    pub(super) fn of_text(schema: &Schema, file: &str, text: R) -> Result<Self, DataError> {
        let text = BufReader::new(text);
        let mut lines = Lines::new(file, schema.delimiter, schema.comment, text);
        let places = places(schema, file, &mut lines)?;
        Ok(Self::new(file.into(), Records::Text(lines), places))
    }

    /// Reads these fields only.
    ///
    /// # Errors
    /// [`DataError::File`] if a field of a Parquet file cannot be read.
    pub(super) fn read_only(&mut self, at: Vec<usize>) -> Result<(), DataError> {
        if let Records::Parquet(rows) = &mut self.records {
            rows.read_only(&at)?;
        }
        self.at = at;
        Ok(())
    }

    /// The number of records of each group of a Parquet file; a text has no groups.
    pub(super) fn groups(&self) -> Vec<usize> {
        match &self.records {
            Records::Text(_) => Vec::new(),
            Records::Parquet(rows) => rows.groups(),
        }
    }

    /// Reads up to `most` records; none after the last. An error in a line is returned after the records before it are
    /// added.
    pub(super) fn block(&mut self, most: usize, block: &mut Block) -> Result<(), DataError> {
        let most = most.min(RECORDS).min(VALUES / self.at.len().max(1)).max(1);
        block.places.clear();
        block.columns.resize_with(self.at.len(), StringRecord::new);
        block.columns.iter_mut().for_each(StringRecord::clear);
        let lines = match &mut self.records {
            Records::Parquet(rows) => {
                block.typed = rows.typed();
                return rows.block(most, &mut block.columns, &mut block.places);
            }
            Records::Text(lines) => lines,
        };
        block.typed = vec![false; self.at.len()];
        while block.places.len() < most
            && let Some(line) = lines.next()?
        {
            let (expected, found) = (self.places.fields, line.fields.len());
            if found != expected {
                return Err(fields(&self.file, line.place, expected, found));
            }
            block.places.push(line.place);
            let texts = block.columns.iter_mut().zip(&self.at);
            texts.for_each(|(texts, &place)| texts.push_field(line.fields[place]));
        }
        Ok(())
    }
}

/// The column names of a first line; empty ones get the names that pandas gives them. If the `next` line has one field more,
/// that field is the name of a row, or an empty field after the last column.
pub(super) fn named_fields(mut names: Vec<String>, next: Option<&Line<'_>>) -> Vec<String> {
    if let Some(next) = next
        && names.len() > 1
        && next.fields.len() == names.len() + 1
    {
        let place = match next.fields.last() {
            Some(&"") => names.len(),
            _ => 0,
        };
        names.insert(place, String::new());
    }
    let name = |(place, name): (usize, String)| match name.is_empty() {
        true => format!("Unnamed: {place}"),
        false => name,
    };
    names.into_iter().enumerate().map(name).collect()
}

/// The places of the schema's columns; reads the line of their names if there is one.
fn places<R: Read>(
    schema: &Schema,
    file: &str,
    lines: &mut Lines<BufReader<R>>,
) -> Result<Places, DataError> {
    if !schema.header {
        let fields = schema.columns.len();
        return Ok(Places {
            of_columns: (0..fields).map(Some).collect(),
            fields,
            named: false,
        });
    }
    match lines.next()? {
        Some(line) if line.fields.len() == 1 && schema.coded_columns().nth(1).is_some() => {
            Err(one_field(schema, file, &line))
        }
        Some(line) => {
            let at = format!("{file}, {}", line.place);
            let advice = ", or say header = false if this line is a record";
            let first: Vec<String> = line.fields.iter().map(|&name| name.into()).collect();
            let known = |name: &String| schema.columns.iter().any(|column| column.name == *name);
            let names = named_fields(first.clone(), lines.peek()?.as_ref());
            let names = match names.iter().all(known) {
                true => names,
                false => named_fields(first, None),
            };
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            named(schema, &at, &names, advice)
        }
        None => Err(empty(file, "record")),
    }
}

/// The place of each of the schema's columns among names found `at` a place; `or` is other advice about an unknown name.
fn named(schema: &Schema, at: &str, names: &[&str], or: &str) -> Result<Places, DataError> {
    let refuse = |problem: String| DataError::file(format!("{at}: {problem}"));
    // The name is left out: if the header is missing, it is a value of a record.
    let known = |name: &str| schema.columns.iter().any(|column| column.name == name);
    if let Some(place) = names.iter().position(|name| !known(name)) {
        return Err(refuse(format!(
            "field {} names no column of the schema: add it there, with kind = \"ignore\" if it is not \
             needed{or}",
            place + 1
        ))
        .telling(format!("{at}: field {} is '{}'", place + 1, names[place])));
    }
    let place = |column: &Column| {
        let mut places = (0..names.len()).filter(|&i| names[i] == column.name);
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(Some(place)),
            // A copy lacks this column.
            (None, _) if !column.is_kept() => Ok(None),
            (None, _) => Err(refuse(format!(
                "column '{}' of the schema is missing: add it, or remove it from the schema",
                column.name
            ))),
            (Some(_), Some(_)) => Err(refuse(format!(
                "column '{}' is there twice: rename or remove one",
                column.name
            ))),
        }
    };
    let of_columns: Result<_, _> = schema.columns.iter().map(place).collect();
    Ok(Places {
        of_columns: of_columns?,
        fields: names.len(),
        named: true,
    })
}

/// Refuses a line that its delimiter does not split.
pub(super) fn one_field(schema: &Schema, file: &str, line: &Line<'_>) -> DataError {
    let problem = format!(
        "1 field, expected {}: another delimiter than {:?} may part them; say which in the schema, as delimiter = \";\", or \
         repair the line",
        schema.columns.len(),
        char::from(schema.delimiter),
    );
    DataError::file(format!("{file}: a line has {problem}"))
        .telling(format!("{file}, {}: {problem}", line.place))
}

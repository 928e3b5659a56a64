use std::io::{self, BufRead};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::{Schema, TableError};
use crate::DataError;

/// The most bytes from the start of a record to that of the next: 64 MiB. A quote that is never closed ends here.
const MAX_RECORD: usize = 64 << 20;

/// The lines of a CSV text that hold something, as fields; no more of the text than one is kept.
pub(super) struct Lines<R> {
    file: String,
    text: R,
    comment: Option<u8>,
    reader: Reader,
    /// The line at which the next record starts, from 1, and what was read of it.
    line: u64,
    raw: Vec<u8>,
    record: Vec<u8>,
    ends: Vec<usize>,
}

/// The fields of a line, without the white space around them.
pub(super) struct Line<'a> {
    pub number: u64,
    /// Whether the text ends within it, or right behind it.
    pub broken_off: bool,
    pub fields: Vec<&'a str>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(schema: &Schema, file: &str, text: R) -> Self {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(schema.delimiter).comment(schema.comment);
        Self {
            file: file.into(),
            text,
            comment: schema.comment,
            reader: builder.build(),
            line: 1,
            raw: Vec::new(),
            record: vec![0; 1024],
            ends: vec![0; 64],
        }
    }

    /// The next line, `None` at the end. Blank lines and comments are passed over; a line may go on
    /// after a break inside quotes, its number is that of its start.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, DataError> {
        loop {
            let Some((written, fields)) = self.read()? else {
                return Ok(None);
            };
            let number = self.line + breaks(&self.raw[..self.content()]);
            self.line += breaks(&self.raw);
            let blank = fields == 1 && self.record[..written].trim_ascii().is_empty();
            if blank {
                continue;
            }
            let Ok(text) = str::from_utf8(&self.record[..written]) else {
                return Err(DataError::from(TableError::Encoding {
                    file: self.file.clone(),
                    line: number,
                }));
            };
            let mut from = 0;
            let mut split = Vec::with_capacity(fields);
            for &end in &self.ends[..fields] {
                split.push(text.get(from..end).unwrap_or_default().trim());
                from = end;
            }
            return Ok(Some(Line {
                number,
                broken_off: !matches!(self.raw.last(), Some(b'\n' | b'\r')),
                fields: split,
            }));
        }
    }

    /// Reads one record into `record` and `ends`, and says how much of them it takes.
    fn read(&mut self) -> Result<Option<(usize, usize)>, DataError> {
        let (mut written, mut fields) = (0, 0);
        self.raw.clear();
        loop {
            let input = match self.text.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                input => input.map_err(|source| DataError::Io {
                    path: self.file.clone().into(),
                    action: "read the file",
                    source,
                })?,
            };
            let (result, read, wrote, ended) = self.reader.read_record(
                input,
                &mut self.record[written..],
                &mut self.ends[fields..],
            );
            self.raw.extend_from_slice(&input[..read]);
            self.text.consume(read);
            written += wrote;
            fields += ended;
            if self.raw.len() > MAX_RECORD {
                return Err(DataError::from(TableError::Header {
                    file: self.file.clone(),
                    line: self.line,
                    problem: format!(
                        "no end of the record within {MAX_RECORD} bytes: close its quotes"
                    ),
                }));
            }
            match result {
                // Asked again with nothing left, the reader gives what it has.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.record.resize(2 * self.record.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record => return Ok(Some((written, fields))),
                ReadRecordResult::End => return Ok(None),
            }
        }
    }

    /// Where in what was read the record begins, behind blank lines and comments.
    fn content(&self) -> usize {
        let mut place = 0;
        loop {
            match self.raw.get(place) {
                Some(b'\n' | b'\r') => place += 1,
                Some(&byte) if Some(byte) == self.comment => {
                    let rest = &self.raw[place..];
                    match rest.iter().position(|&byte| byte == b'\n') {
                        Some(length) => place += length,
                        None => return self.raw.len(),
                    }
                }
                _ => return place.min(self.raw.len()),
            }
        }
    }
}

fn breaks(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

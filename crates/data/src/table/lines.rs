use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::{Schema, TableError};

/// The lines of a CSV file that hold something, as fields.
pub(super) struct Lines<'a> {
    file: &'a str,
    bytes: &'a [u8],
    comment: Option<u8>,
    reader: Reader,
    /// How far the reader is, and the line of that place, from 1.
    place: usize,
    line: u64,
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// The fields of a line, without the white space around them.
pub(super) struct Line<'a> {
    pub number: u64,
    pub fields: Vec<&'a str>,
}

impl<'a> Lines<'a> {
    pub fn new(schema: &Schema, file: &'a str, bytes: &'a [u8]) -> Self {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(schema.delimiter).comment(schema.comment);
        Self {
            file,
            bytes,
            comment: schema.comment,
            reader: builder.build(),
            place: 0,
            line: 1,
            text: vec![0; 1024],
            ends: vec![0; 64],
        }
    }

    /// The next line, `None` at the end. Blank lines and comments are passed over; a line may go on
    /// after a break inside quotes, its number is that of its start.
    pub fn next(&mut self) -> Result<Option<Line<'_>>, TableError> {
        loop {
            let start = self.place;
            let Some((written, fields)) = self.read() else {
                return Ok(None);
            };
            let number = self.line + breaks(&self.bytes[start..self.content(start)]);
            self.line += breaks(&self.bytes[start..self.place]);
            let blank = fields == 1 && self.text[..written].trim_ascii().is_empty();
            if blank {
                continue;
            }
            let Ok(text) = str::from_utf8(&self.text[..written]) else {
                return Err(TableError::Encoding {
                    file: self.file.into(),
                    line: number,
                });
            };
            let mut from = 0;
            let mut split = Vec::with_capacity(fields);
            for &end in &self.ends[..fields] {
                split.push(text.get(from..end).unwrap_or_default().trim());
                from = end;
            }
            return Ok(Some(Line {
                number,
                fields: split,
            }));
        }
    }

    /// Reads one record into `text` and `ends`, and says how much of them it takes.
    fn read(&mut self) -> Option<(usize, usize)> {
        let (mut written, mut fields) = (0, 0);
        loop {
            let (result, read, wrote, ended) = self.reader.read_record(
                &self.bytes[self.place..],
                &mut self.text[written..],
                &mut self.ends[fields..],
            );
            self.place += read;
            written += wrote;
            fields += ended;
            match result {
                // Asked again with nothing left, the reader gives what it has.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record => return Some((written, fields)),
                ReadRecordResult::End => return None,
            }
        }
    }

    /// Where a record that was read from `start` on begins, behind blank lines and comments.
    fn content(&self, start: usize) -> usize {
        let mut place = start;
        loop {
            match self.bytes.get(place) {
                Some(b'\n' | b'\r') => place += 1,
                Some(&byte) if Some(byte) == self.comment => {
                    let rest = &self.bytes[place..self.place];
                    match rest.iter().position(|&byte| byte == b'\n') {
                        Some(length) => place += length,
                        None => return self.place,
                    }
                }
                _ => return place.min(self.place),
            }
        }
    }
}

fn breaks(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

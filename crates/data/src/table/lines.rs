use std::io::{self, BufRead, Read};
use std::path::Path;

use csv::{ByteRecord, Reader, ReaderBuilder};

use crate::DataError;
use crate::error::{Position, decoded, io, not_text};

/// The most bytes from the start of a record to that of the next: 64 MiB. A quote that is never closed ends here.
const MAX_RECORD: usize = 64 << 20;

/// The lines of a CSV text that hold something, as fields; no more of the text than one is kept.
pub(crate) struct Lines<R> {
    file: String,
    reader: Reader<Numbered<R>>,
    record: ByteRecord,
    /// Its number.
    number: u64,
    /// Whether it was looked at, and is the next one.
    held: bool,
    /// Whether a last line without a line break is refused.
    pub must_end: bool,
}

/// The fields of a record, without the white space around them.
pub(crate) struct Line<'a> {
    pub place: Position,
    pub fields: Vec<&'a str>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(file: &str, delimiter: u8, comment: Option<u8>, text: R) -> Self {
        Self::of(
            file,
            ReaderBuilder::new().delimiter(delimiter),
            comment,
            text,
        )
    }

    /// Lines of one field each, in which quotes are characters like any other.
    pub(crate) fn unquoted(file: &str, text: R) -> Self {
        // A byte that no text holds.
        let mut builder = ReaderBuilder::new();
        Self::of(file, builder.delimiter(0x1f).quoting(false), None, text)
    }

    fn of(file: &str, builder: &mut ReaderBuilder, comment: Option<u8>, text: R) -> Self {
        builder.comment(comment);
        builder.flexible(true).has_headers(false);
        Self {
            file: file.into(),
            reader: builder.from_reader(Numbered {
                text,
                line: 0,
                last: b'\n',
                ended: false,
                record: 0,
            }),
            record: ByteRecord::new(),
            number: 0,
            held: false,
            must_end: false,
        }
    }

    /// What the lines are read from.
    pub(crate) fn into_text(self) -> R {
        self.reader.into_inner().text
    }

    /// The next line, `None` at the end. Blank lines and comments are passed over; a line may go on
    /// after a break inside quotes, its number is that of its start.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>, DataError> {
        let there = self.held || self.advance()?;
        self.held = false;
        there.then(|| self.line()).transpose()
    }

    /// The next line, which stays the next one.
    pub(crate) fn peek(&mut self) -> Result<Option<Line<'_>>, DataError> {
        self.held = self.held || self.advance()?;
        self.held.then(|| self.line()).transpose()
    }

    /// Reads the next record; `false` at the end.
    fn advance(&mut self) -> Result<bool, DataError> {
        loop {
            let first = self.reader.get_ref().line + 1;
            self.reader.get_mut().record = 0;
            let record = || Ok(self.reader.read_byte_record(&mut self.record));
            match decoded(&self.file, record)? {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(_) if self.reader.get_ref().record > MAX_RECORD => {
                    let file = &self.file;
                    let problem =
                        format!("no end of the record within {MAX_RECORD} bytes: close its quotes");
                    return Err(DataError::file(format!("{file}, a line: {problem}"))
                        .telling(format!("{file}, line {first}: {problem}")));
                }
                Err(error) => return Err(io(Path::new(&self.file), "read the file")(error.into())),
            }
            if self.record.len() > 1 || !self.record.as_slice().trim_ascii().is_empty() {
                break;
            }
        }
        let text = self.reader.get_ref();
        // Where quotes are never closed, the last break lies within them too.
        let end = text.line + u64::from(text.ended && text.last == b'\n');
        let breaks = self.record.as_slice().iter().filter(|&&b| b == b'\n');
        self.number = end - breaks.count() as u64;
        Ok(true)
    }

    fn line(&self) -> Result<Line<'_>, DataError> {
        let (file, number) = (&self.file, self.number);
        let fields: Result<Vec<&str>, _> = self.record.iter().map(str::from_utf8).collect();
        let fields = fields.map_err(|_| not_text(file, number))?;
        let place = Position::from(number);
        if self.must_end && !matches!(self.reader.get_ref().last, b'\n' | b'\r') {
            let problem = "has no line break behind it: the file may be cut off; get it again, or end its last line with one";
            return Err(
                DataError::record(format!("{file}: its last line {problem}"))
                    .telling(format!("{file}, {place}: it {problem}")),
            );
        }
        Ok(Line {
            place,
            fields: fields.into_iter().map(str::trim).collect(),
        })
    }
}

/// A text that is given line by line, so that the parser has seen no line behind the one that ends its record.
///
/// The parser's own numbers are those of what lies before a record, comments and blank lines too.
struct Numbered<R> {
    text: R,
    /// The line that was given last, from 1.
    line: u64,
    /// The byte that was given last.
    last: u8,
    /// Whether the end was.
    ended: bool,
    /// Bytes of this record, and of what lies before it.
    record: usize,
}

impl<R: BufRead> Read for Numbered<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.record > MAX_RECORD {
            return Err(io::Error::other("the record is too long"));
        }
        let text = self.text.fill_buf()?;
        let end = text.iter().position(|&byte| matches!(byte, b'\n' | b'\r'));
        let length = end.map_or(text.len(), |end| end + 1).min(bytes.len());
        bytes[..length].copy_from_slice(&text[..length]);
        self.text.consume(length);
        self.record += length;
        match bytes[..length].last() {
            None => self.ended = true,
            Some(&last) => {
                self.line += u64::from(self.last == b'\n');
                self.last = last;
            }
        }
        Ok(length)
    }
}

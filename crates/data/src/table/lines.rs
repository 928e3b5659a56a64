use std::io::{self, BufRead, Read};
use std::path::Path;

use csv::{ByteRecord, Reader, ReaderBuilder};

use crate::DataError;
use crate::error::{Position, decoded, io, not_text};

/// The largest distance in bytes from one record to the next: 64 MiB. An unclosed quote ends here.
const MAX_RECORD: usize = 64 << 20;

/// Reads the nonempty lines of a CSV text as fields; it keeps only one line in memory.
pub(crate) struct Lines<R> {
    file: String,
    reader: Reader<Numbered<R>>,
    record: ByteRecord,
    /// The number of the record's line.
    number: u64,
    /// Whether the record was peeked at, and is returned next.
    held: bool,
    /// Whether a last line without a line break is an error.
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

    /// Reads each line as one field, in which quotes are ordinary characters.
    pub(crate) fn unquoted(file: &str, text: R) -> Self {
        // No text holds this byte.
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

    /// The source of the lines.
    pub(crate) fn into_text(self) -> R {
        self.reader.into_inner().text
    }

    /// Reads the next line; `None` at the end. Blank lines and comments are skipped. A line may go on after a break inside
    /// quotes; its number is that of its start.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>, DataError> {
        let there = self.held || self.advance()?;
        self.held = false;
        there.then(|| self.line()).transpose()
    }

    /// Reads the next line, and leaves it to be read again.
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
        // If a quote is never closed, the last break lies inside it too.
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

/// Gives a text to the parser line by line, so that the parser sees no line after the one that ends its record.
///
/// The parser's own number of a record is the line where the comments and blank lines before it begin.
struct Numbered<R> {
    text: R,
    /// The number of the last line given, from 1.
    line: u64,
    /// The last byte given.
    last: u8,
    /// Whether the end was reached.
    ended: bool,
    /// The number of bytes of this record, and of the comments and blank lines before it.
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

//! The bytes of a text table as UTF-8, whatever their encoding.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use files::foreign::Decoder;
use flate2::read::MultiGzDecoder;

use crate::DataError;
use crate::error::{io as failed, open};
use crate::sums::{Hashed, file_sum};

/// The number of leading bytes that decide which kind of file it is.
const FIRST: usize = 1 << 16;

/// A text table that is read as UTF-8; UTF-16 with a mark, and gzip, are decoded.
pub(super) enum Text {
    Plain(Hashed<Started<File>>),
    Decoded(Box<dyn Read + Send>),
}

/// The start, which was read already, and the rest.
type Started<R> = io::Chain<Cursor<Vec<u8>>, R>;

impl Text {
    /// # Errors
    /// [`DataError::File`] for a workbook or JSON, with the command that makes a table of it; [`DataError::Io`].
    pub(super) fn open(path: &Path) -> Result<Self, DataError> {
        let (start, file) = started(path, open(path)?)?;
        Ok(match &start.get_ref()[..] {
            [0x1f, 0x8b, ..] => {
                let text = Decoder(MultiGzDecoder::new(start.chain(file)));
                let (start, text) = started(path, text)?;
                refuse(path, start.get_ref())?;
                Self::Decoded(Box::new(start.chain(text)))
            }
            [0xff, 0xfe, ..] => {
                Self::Decoded(Box::new(Utf16::new(start.chain(file), u16::from_le_bytes)))
            }
            [0xfe, 0xff, ..] => {
                Self::Decoded(Box::new(Utf16::new(start.chain(file), u16::from_be_bytes)))
            }
            bytes => {
                refuse(path, bytes)?;
                Self::Plain(Hashed::new(start.chain(file)))
            }
        })
    }

    /// The SHA-256 of the file, which has been read to its end.
    pub(super) fn sum_of(self, path: &Path) -> Result<[u8; 32], DataError> {
        match self {
            Self::Plain(text) => Ok(text.sum()),
            Self::Decoded(_) => file_sum(path),
        }
    }
}

impl Read for Text {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(text) => text.read(bytes),
            Self::Decoded(text) => text.read(bytes),
        }
    }
}

fn started<R: Read>(path: &Path, mut text: R) -> Result<(Cursor<Vec<u8>>, R), DataError> {
    let mut start = Vec::new();
    let read = text.by_ref().take(FIRST as u64).read_to_end(&mut start);
    read.map_err(failed(path, "read the file"))?;
    Ok((Cursor::new(start), text))
}

/// Refuses a file that is not a text with one record on each line.
fn refuse(path: &Path, start: &[u8]) -> Result<(), DataError> {
    let file = path.display();
    let (what, how) = match start {
        [b'P', b'K', 3, 4, ..] | [0xd0, 0xcf, 0x11, 0xe0, ..] => (
            "a workbook or an archive",
            "save its sheet as CSV in UTF-8, or: libreoffice --convert-to csv",
        ),
        [b'<', b'!', ..] | [b'<', b'?', b'x', ..] | [b'<', b'h' | b'H', b't' | b'T', ..] => (
            "HTML or XML",
            "python3 -c \"import pandas; pandas.read_html('IN')[0].to_csv('OUT', index=False)\"",
        ),
        // JSON may have white space anywhere, so it is skipped.
        _ => match start
            .iter()
            .filter(|b| !b.is_ascii_whitespace())
            .take(3)
            .collect::<Vec<_>>()[..]
        {
            [b'{', b'"', _] => (
                "JSON",
                "python3 -c \"import pandas; pandas.read_json('IN', lines=True).to_csv('OUT', index=False)\"",
            ),
            [b'[', b'{', b'"'] => (
                "JSON",
                "python3 -c \"import pandas; pandas.read_json('IN').to_csv('OUT', index=False)\"",
            ),
            _ => return Ok(()),
        },
    };
    Err(DataError::file(format!(
        "{file}: expected a table as text or Parquet, found {what}; convert it: {how}"
    )))
}

/// Decodes UTF-16 as UTF-8.
struct Utf16<R> {
    text: BufReader<R>,
    unit: fn([u8; 2]) -> u16,
    /// The first half of a character that takes two units.
    half: Option<u16>,
    ready: Cursor<Vec<u8>>,
}

impl<R: Read> Utf16<R> {
    fn new(text: R, unit: fn([u8; 2]) -> u16) -> Self {
        Self {
            text: BufReader::new(text),
            unit,
            half: None,
            ready: Cursor::default(),
        }
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.ready.fill_buf()?.is_empty() {
            let mut units = Vec::from_iter(self.half.take());
            let mut pairs = Vec::new();
            self.text
                .by_ref()
                .take(FIRST as u64)
                .read_to_end(&mut pairs)?;
            if pairs.is_empty() && units.is_empty() {
                return Ok(0);
            }
            let is_last = pairs.len() < FIRST;
            units.extend(
                pairs
                    .chunks_exact(2)
                    .map(|pair| (self.unit)([pair[0], pair[1]])),
            );
            if !is_last
                && units
                    .last()
                    .is_some_and(|unit| (0xd800..0xdc00).contains(unit))
            {
                self.half = units.pop();
            }
            let odd = (!pairs.len().is_multiple_of(2)).then_some(Ok(char::REPLACEMENT_CHARACTER));
            // An invalid character becomes an invalid byte, which the reader of lines reports.
            let mut text = Vec::new();
            for found in char::decode_utf16(units).chain(odd) {
                match found {
                    Ok(char::REPLACEMENT_CHARACTER) | Err(_) => text.push(0xff),
                    Ok(found) => text.extend(found.encode_utf8(&mut [0; 4]).bytes()),
                }
            }
            self.ready = Cursor::new(text);
        }
        self.ready.read(bytes)
    }
}

/// The look of a text besides its fields: its mark, line breaks and quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    pub mark: bool,
    pub crlf: bool,
    pub quotes: Quotes,
}

/// The fields of a text that have quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Quotes {
    /// Only fields that need quotes.
    #[default]
    Needed,
    /// All fields except numbers.
    Texts,
    All,
}

impl Look {
    /// The look of a text with this start and this `delimiter` between fields.
    pub(super) fn of(start: &[u8], delimiter: u8) -> Self {
        let mark = start.starts_with(b"\xef\xbb\xbf");
        let text = if mark { &start[3..] } else { start };
        let end = text
            .iter()
            .position(|&byte| byte == b'\n')
            .unwrap_or(text.len());
        let crlf = text[..end].ends_with(b"\r");
        let (mut plain, mut quoted, mut numbers) = (0, 0, 0);
        for line in text.split(|&byte| byte == b'\n').take(20) {
            for field in line.trim_ascii_end().split(|&byte| byte == delimiter) {
                match field {
                    [] => {}
                    [b'"', .., b'"'] => quoted += 1,
                    field
                        if field
                            .iter()
                            .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte)) =>
                    {
                        numbers += 1
                    }
                    _ => plain += 1,
                }
            }
        }
        let quotes = match (quoted, plain, numbers) {
            (1.., 0, 0) => Quotes::All,
            (1.., 0, 1..) => Quotes::Texts,
            _ => Quotes::Needed,
        };
        Self { mark, crlf, quotes }
    }
}

/// The first bytes of a file, decoded.
pub(super) fn start_of(text: impl Read) -> Vec<u8> {
    let mut start = Vec::new();
    // An error here is reported when the file is read.
    let _ = text.take(FIRST as u64).read_to_end(&mut start);
    start
}

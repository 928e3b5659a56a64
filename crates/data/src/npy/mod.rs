//! NPY files: arrays of numbers as NumPy's `save` writes them.
//!
//! A file is `\x93NUMPY`, two bytes of version (1.0, 2.0 or 3.0), the length of the header (two bytes in
//! version 1, four after it, the lowest first), the header (a Python dictionary with `descr`,
//! `fortran_order` and `shape`), and then the values. Read are arrays of one or two dimensions in C order of
//! `<f4`, `<f8` or `|u1`; everything else is refused, by name, with where it is and what was expected.
//!
//! Source: NumPy Enhancement Proposal 1, "A simple file format for NumPy arrays".

mod stream;

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

pub use stream::NpyStream;

use crate::{DataError, NpyError};

/// The most bytes that the values of a file may take: 16 GiB.
pub const MAX_BYTES: u64 = 16 << 30;
/// The most bytes of a header: 64 KiB.
pub const MAX_HEADER: u64 = 1 << 16;

const MAGIC: &[u8] = b"\x93NUMPY";

/// What `save` has to be given.
const ADVICE: &str = "save it again: numpy.save(FILE, numpy.ascontiguousarray(a, dtype='<f4'))";

/// The content of an NPY file of one or two dimensions.
///
/// ```
/// use data::npy::{self, NpyArray};
///
/// let array = NpyArray { rows: 2, width: Some(3), values: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0] };
/// let mut file = Vec::new();
/// npy::write(&mut file, &array)?;
/// assert_eq!(npy::decode("features.npy", file.as_slice())?, array);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NpyArray {
    /// The length of the first dimension.
    pub rows: usize,
    /// The length of the second dimension; `None` for an array of one.
    pub width: Option<usize>,
    /// `rows * width` values, row by row, all finite. `|u1` is exact, `<f8` rounded to the nearest.
    pub values: Vec<f32>,
}

/// Reads a file.
///
/// # Errors
/// As [`decode`], and [`DataError::Io`] when the file cannot be read.
pub fn read(path: &Path) -> Result<NpyArray, DataError> {
    let file = File::open(path).map_err(|source| DataError::Io {
        path: path.into(),
        action: "open the file",
        source,
    })?;
    decode(&path.display().to_string(), BufReader::new(file))
}

/// Decodes an array from a reader; `file` is the name to use in errors.
///
/// Memory grows with the bytes that are really there, never with what the header claims.
///
/// # Errors
/// [`NpyError::Header`] for another format, version, type, order or number of dimensions, for a dimension of 0,
/// and for more than [`MAX_BYTES`]; [`NpyError::Size`] for a file that ends too soon or goes on;
/// [`NpyError::Value`] for a number that is not finite or has no `f32`; [`DataError::Io`].
pub fn decode(file: &str, reader: impl Read) -> Result<NpyArray, DataError> {
    let mut source = Source {
        file: file.into(),
        reader,
        at: 0,
    };
    let header = source.header()?;
    let (rows, width) = (header.rows, header.width.unwrap_or(1));
    let bytes = source.body(rows as u64 * width as u64 * header.kind.bytes() as u64)?;
    let start = source.at - bytes.len();
    let values = header
        .kind
        .values(&bytes)
        .map_err(|place| NpyError::Value {
            file: file.into(),
            row: place / width,
            column: place % width,
            byte: start + place * header.kind.bytes(),
            expected: "a finite number within the range of 32 bits",
        })?;
    Ok(NpyArray {
        rows,
        width: header.width,
        values,
    })
}

/// Writes an array of `<f4`, in version 1.0.
///
/// # Errors
/// What the writer says, and `InvalidInput` where the values are not `rows * width`.
pub fn write(mut writer: impl Write, array: &NpyArray) -> io::Result<()> {
    let width = array.width.unwrap_or(1);
    if array.rows.checked_mul(width) != Some(array.values.len()) {
        let expected = format!("{} x {width} values", array.rows);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, expected));
    }
    writer.write_all(&header_of(array.rows as u64, array.width, 0)?)?;
    for value in &array.values {
        writer.write_all(&value.to_le_bytes())?;
    }
    writer.flush()
}

/// All that stands before the values of `<f4`, in version 1.0: at least `least` bytes, and a multiple of 64.
pub(crate) fn header_of(rows: u64, width: Option<usize>, least: usize) -> io::Result<Vec<u8>> {
    let shape = std::iter::once(rows).chain(width.map(|width| width as u64));
    header("<f4", &shape.collect::<Vec<_>>(), least)
}

/// As [`header_of`], before values of the type `descr` in C order.
pub(crate) fn header(descr: &str, shape: &[u64], least: usize) -> io::Result<Vec<u8>> {
    let lengths: Vec<String> = shape.iter().map(u64::to_string).collect();
    let lengths = match &lengths[..] {
        [one] => format!("{one},"),
        several => several.join(", "),
    };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({lengths}), }}");
    // Behind ten bytes, the header, and its line break.
    let fixed = MAGIC.len() + 4;
    let whole = (fixed + header.len() + 1).max(least).next_multiple_of(64);
    let padding = whole - fixed - header.len() - 1;
    header.push_str(&" ".repeat(padding));
    header.push('\n');
    let length = u16::try_from(header.len()).map_err(io::Error::other)?;
    Ok([MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes()].concat())
}

#[derive(Clone, Copy)]
enum Kind {
    Byte,
    Single,
    Double,
}

impl Kind {
    fn bytes(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Single => 4,
            Self::Double => 8,
        }
    }

    /// The values, or the place of the first one that is not finite.
    fn values(self, bytes: &[u8]) -> Result<Vec<f32>, usize> {
        let values = self.floats(bytes);
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values),
            Some(place) => Err(place),
        }
    }

    /// The values, finite or not.
    fn floats(self, bytes: &[u8]) -> Vec<f32> {
        match self {
            Self::Byte => bytes.iter().map(|&byte| f32::from(byte)).collect(),
            Self::Single => {
                let fours = bytes.as_chunks::<4>().0.iter();
                fours.map(|four| f32::from_le_bytes(*four)).collect()
            }
            Self::Double => {
                let eights = bytes.as_chunks::<8>().0.iter();
                eights
                    .map(|eight| f64::from_le_bytes(*eight) as f32)
                    .collect()
            }
        }
    }
}

struct Header {
    kind: Kind,
    rows: usize,
    width: Option<usize>,
}

struct Source<R: Read> {
    file: String,
    reader: R,
    at: usize,
}

impl<R: Read> Source<R> {
    fn header(&mut self) -> Result<Header, DataError> {
        let magic = self.exactly(MAGIC.len() as u64)?;
        if magic != MAGIC {
            let found = hexadecimal(&magic);
            return Err(self.refuse(0, "the bytes 93 4e 55 4d 50 59 of an NPY file", found));
        }
        let version = self.exactly(2)?;
        let length = match version[..] {
            [1, 0] => u64::from_le_bytes(extended(&self.exactly(2)?)),
            [2 | 3, 0] => u64::from_le_bytes(extended(&self.exactly(4)?)),
            _ => {
                let found = format!("version {}.{}", version[0], version[1]);
                return Err(self.refuse(MAGIC.len(), "version 1.0, 2.0 or 3.0", found));
            }
        };
        let start = self.at;
        if length > MAX_HEADER {
            let expected = format!("a header of at most {MAX_HEADER} bytes");
            return Err(self.refuse(start, expected, format!("{length} bytes")));
        }
        let bytes = self.exactly(length)?;
        let text = String::from_utf8_lossy(&bytes);
        self.dictionary(&text, start)
    }

    /// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, its keys in any order.
    fn dictionary(&self, text: &str, start: usize) -> Result<Header, DataError> {
        let entry = |key: &str| -> Result<(usize, &str), DataError> {
            let quoted = format!("'{key}':");
            let place = text.find(&quoted).ok_or_else(|| {
                let expected = format!("a header with the key '{key}'");
                self.refuse(start, expected, shown(text))
            })?;
            let value = &text[place + quoted.len()..];
            let blank = value.len() - value.trim_start().len();
            Ok((start + place + quoted.len() + blank, value.trim_start()))
        };

        let (byte, order) = entry("fortran_order")?;
        if !order.starts_with("False") {
            return Err(self.refuse(byte, "False, C order", shown(order)));
        }
        let (byte, descr) = entry("descr")?;
        let kinds = [
            ("'<f4'", Kind::Single),
            ("'<f8'", Kind::Double),
            ("'|u1'", Kind::Byte),
        ];
        let kind = kinds.iter().find(|(name, _)| descr.starts_with(name));
        let kind = kind
            .ok_or_else(|| self.refuse(byte, "'<f4', '<f8' or '|u1'", shown(descr)))?
            .1;

        let (byte, shape) = entry("shape")?;
        let lengths = tuple(shape);
        let (rows, width) = match lengths.as_deref() {
            Some(&[rows]) => (rows, None),
            Some(&[rows, width]) => (rows, Some(width)),
            _ => return Err(self.refuse(byte, "one or two dimensions", shown(shape))),
        };
        let total = u128::from(rows) * u128::from(width.unwrap_or(1)) * kind.bytes() as u128;
        if total == 0 || total > u128::from(MAX_BYTES) {
            let expected = format!("1 to {MAX_BYTES} bytes of values");
            return Err(self.refuse(byte, expected, shown(shape)));
        }
        Ok(Header {
            kind,
            rows: rows as usize,
            width: width.map(|width| width as usize),
        })
    }

    fn refuse(&self, byte: usize, expected: impl Into<String>, found: String) -> DataError {
        DataError::from(NpyError::Header {
            file: self.file.clone(),
            byte,
            expected: expected.into(),
            found,
            advice: ADVICE,
        })
    }

    /// The rest of the file, which has to be so long.
    fn body(&mut self, length: u64) -> Result<Vec<u8>, DataError> {
        let bytes = self.exactly(length)?;
        self.end()?;
        Ok(bytes)
    }

    /// Nothing follows.
    fn end(&mut self) -> Result<(), DataError> {
        let mut more = Vec::new();
        let rest = self.reader.by_ref().take(1).read_to_end(&mut more);
        match rest.map_err(|error| self.io(error))? {
            0 => Ok(()),
            _ => Err(self.size(self.at as u64, "more".into())),
        }
    }

    fn exactly(&mut self, length: u64) -> Result<Vec<u8>, DataError> {
        self.part(length, self.at as u64 + length)
    }

    /// A part of a file of so many bytes in all.
    fn part(&mut self, length: u64, whole: u64) -> Result<Vec<u8>, DataError> {
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(length).read_to_end(&mut bytes);
        read.map_err(|error| self.io(error))?;
        let found = self.at as u64 + bytes.len() as u64;
        if (bytes.len() as u64) < length {
            return Err(self.size(whole, found.to_string()));
        }
        self.at += bytes.len();
        Ok(bytes)
    }

    fn size(&self, expected: u64, found: String) -> DataError {
        DataError::from(NpyError::Size {
            file: self.file.clone(),
            expected,
            found,
        })
    }

    fn io(&self, source: io::Error) -> DataError {
        DataError::Io {
            path: self.file.clone().into(),
            action: "read the file",
            source,
        }
    }
}

/// The numbers of `(3, 4)` or `(3,)`.
fn tuple(text: &str) -> Option<Vec<u64>> {
    let inner = text.strip_prefix('(')?.split_once(')')?.0;
    let inner = inner.trim().strip_suffix(',').unwrap_or(inner);
    let numbers = inner.split(',').map(|number| number.trim().parse().ok());
    numbers.collect()
}

fn extended(bytes: &[u8]) -> [u8; 8] {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    word
}

fn hexadecimal(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

/// The start of a part of the header.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(24).collect();
    start.escape_default().to_string()
}

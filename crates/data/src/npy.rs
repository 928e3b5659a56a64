//! NPY files: arrays of numbers as NumPy's `save` writes them.
//!
//! A file is `\x93NUMPY`, two bytes of version (1.0, 2.0 or 3.0), the length of the header (two bytes in version 1, four
//! in later ones, the lowest first), the header (a Python dictionary with `descr`, `fortran_order` and `shape`), and then
//! the values. This module reads arrays of one or two dimensions in C order, of floating-point or whole numbers
//! ([`KINDS`]). For everything else the error names the file, the place and what was expected.
//!
//! Source: NumPy Enhancement Proposal 1, "A simple file format for NumPy arrays".

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use crate::DataError;
use crate::error::{io, open, unfit};

/// The most bytes that the values of a file may take: 16 GiB.
pub const MAX_BYTES: u64 = 16 << 30;
/// The most bytes of a header: 64 KiB.
pub const MAX_HEADER: u64 = 1 << 16;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The array of an NPY file of one or two dimensions.
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
#[derive(Clone, PartialEq)]
pub struct NpyArray {
    /// The length of the first dimension.
    pub rows: usize,
    /// The length of the second dimension; `None` for an array of one dimension.
    pub width: Option<usize>,
    /// `rows * width` values, row by row, all finite. `|u1` is exact, `<f8` rounded to the nearest.
    pub values: Vec<f32>,
}

debug_shows!(NpyArray { rows, width });

/// Reads the array of an NPY file.
pub fn read(path: &Path) -> Result<NpyArray, DataError> {
    decode(&path.display().to_string(), BufReader::new(open(path)?))
}

/// Decodes an array from a reader; errors name `file`.
///
/// Memory grows with the bytes that are read, not with the sizes in the header.
///
/// # Errors
/// [`DataError::File`] for another format, version, type, order or number of dimensions, for a dimension of 0,
/// for more than [`MAX_BYTES`], and for a file that ends too soon or goes on; [`DataError::Record`] for a number that
/// is not finite or is out of the range of `f32`; [`DataError::Io`].
pub fn decode(file: &str, reader: impl Read) -> Result<NpyArray, DataError> {
    let mut stream = NpyStream::of(file, reader, 2)?;
    let values = stream.next(stream.rows)?;
    stream.check_finite(&values)?;
    Ok(NpyArray {
        rows: stream.rows,
        width: stream.shape.get(1).copied(),
        values,
    })
}

/// Writes an array in version 1.0, with the type `<f4`.
pub fn write(mut writer: impl Write, array: &NpyArray) -> io::Result<()> {
    let width = array.width.unwrap_or(1);
    if array.rows.checked_mul(width) != Some(array.values.len()) {
        let expected = format!("{} x {width} values", array.rows);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, expected));
    }
    let shape: Vec<usize> = [array.rows].into_iter().chain(array.width).collect();
    writer.write_all(&header("<f4", &shape))?;
    for value in &array.values {
        writer.write_all(&value.to_le_bytes())?;
    }
    writer.flush()
}

/// Returns all bytes before values of the type `descr` in C order, in version 1.0: 128 bytes for up to two dimensions
/// of any length.
pub(crate) fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
    let lengths = match &lengths[..] {
        [one] => format!("{one},"),
        several => several.join(", "),
    };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({lengths}), }}");
    // Ten bytes, the header, and its line break.
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let text = format!("{text:<width$}\n", width = length - 1);
    let length = (length as u16).to_le_bytes();
    [MAGIC, &[1, 0], &length, text.as_bytes()].concat()
}

/// Converts the bytes of a value to `f32`.
type Read1 = fn(&[u8]) -> f32;
/// Converts a value to its bytes.
type Write1 = fn(f64) -> Vec<u8>;

/// The name of a type in a header, its number of bytes, and its conversions.
pub(crate) type Kind = (&'static str, usize, Read1, Write1);

macro_rules! kinds {
    ($($name:literal $type:ty),*) => {
        [$(($name, size_of::<$type>(), |bytes: &[u8]| {
            bytes.try_into().map_or(f32::NAN, |bytes| <$type>::from_le_bytes(bytes) as f32)
        }, |value: f64| (value as $type).to_le_bytes().to_vec())),*]
    };
}

/// The types of values that can be read.
pub const KINDS: [Kind; 10] = kinds!(
    "<f4" f32, "<f8" f64, "|u1" u8, "|i1" i8, "<u2" u16, "<i2" i16, "<u4" u32, "<i4" i32, "<u8" u64, "<i8" i64
);

/// Returns the type of this name.
pub(crate) fn kind(name: &str) -> Result<Kind, DataError> {
    let known = KINDS.into_iter().find(|(known, ..)| *known == name);
    known.ok_or_else(|| {
        unfit(
            "type of an array",
            KINDS.map(|(name, ..)| name).join(", "),
            name,
        )
    })
}

/// The rows of a file, read on demand. Values may be NaN or infinite.
pub(crate) struct NpyStream<R = BufReader<File>> {
    file: String,
    reader: R,
    /// The number of bytes that were read.
    at: u64,
    kind: Kind,
    rows: usize,
    shape: Vec<usize>,
    read: usize,
}

impl NpyStream {
    /// Reads the header of a file.
    pub(crate) fn open(path: &Path) -> Result<Self, DataError> {
        Self::of(&path.display().to_string(), BufReader::new(open(path)?), 2)
    }
}

impl<R: Read> NpyStream<R> {
    /// Reads the header of an array of at most `dimensions` dimensions.
    pub(crate) fn of(file: &str, reader: R, dimensions: usize) -> Result<Self, DataError> {
        let mut stream = Self {
            file: file.into(),
            reader,
            at: 0,
            kind: KINDS[0],
            rows: 0,
            shape: Vec::new(),
            read: 0,
        };
        let magic = stream.exactly(MAGIC.len() as u64)?;
        if magic != MAGIC {
            let expected = "the bytes 93 4e 55 4d 50 59 of an NPY file";
            let found: String = magic.iter().map(|byte| format!(" {byte:02x}")).collect();
            // The file may hold records without a header.
            let told = stream.refuse(0, expected, &found);
            return Err(stream.refuse(0, expected, "others").telling(told));
        }
        let version = stream.exactly(2)?;
        let mut length = [0; 8];
        match version[..] {
            [1, 0] => length[..2].copy_from_slice(&stream.exactly(2)?),
            [2 | 3, 0] => length[..4].copy_from_slice(&stream.exactly(4)?),
            _ => {
                let found = format!("version {}.{}", version[0], version[1]);
                return Err(stream.refuse(MAGIC.len(), "version 1.0, 2.0 or 3.0", &found));
            }
        }
        let (start, length) = (stream.at as usize, u64::from_le_bytes(length));
        if length > MAX_HEADER {
            let expected = format!("a header of at most {MAX_HEADER} bytes");
            return Err(stream.refuse(start, &expected, &format!("{length} bytes")));
        }
        let text = stream.exactly(length)?;
        stream.dictionary(&String::from_utf8_lossy(&text), start, dimensions)?;
        Ok(stream)
    }

    /// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, with its keys in any order.
    fn dictionary(&mut self, text: &str, start: usize, dimensions: usize) -> Result<(), DataError> {
        let entry = |key: &str| {
            let quoted = format!("'{key}':");
            let Some(place) = text.find(&quoted) else {
                return Err(self.refuse(start, &format!("a header with the key '{key}'"), text));
            };
            let value = text[place + quoted.len()..].trim_start();
            Ok((start + text.len() - value.len(), value))
        };
        let (byte, order) = entry("fortran_order")?;
        if !order.starts_with("False") {
            return Err(self.refuse(byte, "False, C order", order));
        }
        let (byte, descr) = entry("descr")?;
        let named = |(name, ..): &&Kind| descr.get(1..4) == Some(*name);
        let Some(&kind) = KINDS.iter().find(named) else {
            let names = KINDS.map(|(name, ..)| name).join(", ");
            if descr.get(2..3).is_some_and(|letter| "USO".contains(letter)) {
                let file = &self.file;
                return Err(DataError::file(format!(
                    "{file}: an array of text or of objects, expected numbers; save classes by numpy.unique(labels, \
                     return_inverse=True)[1]"
                )));
            }
            return Err(self.refuse(byte, &names, descr));
        };
        let (byte, shape) = entry("shape")?;
        let lengths = tuple(shape).filter(|lengths| (1..=dimensions).contains(&lengths.len()));
        let Some(lengths) = lengths else {
            let expected = match dimensions {
                2 => "one or two dimensions".to_string(),
                most => format!("at most {most} dimensions"),
            };
            return Err(self.refuse(byte, &expected, shape));
        };
        let total = lengths
            .iter()
            .try_fold(kind.1 as u64, |n, &l| n.checked_mul(l));
        if total.is_none_or(|total| total == 0 || total > MAX_BYTES) {
            let expected = format!("1 to {MAX_BYTES} bytes of values");
            return Err(self.refuse(byte, &expected, shape));
        }
        self.kind = kind;
        self.shape = lengths.into_iter().map(|length| length as usize).collect();
        self.rows = self.shape[0];
        Ok(())
    }

    /// The lengths of all dimensions.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The NumPy name of the type of the values.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind.0
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The number of values of a row.
    pub(crate) fn columns(&self) -> usize {
        self.shape[1..].iter().product()
    }

    /// The number of bytes of the whole file, by its header.
    pub(crate) fn bytes(&self) -> u64 {
        self.at + ((self.rows - self.read) * self.columns() * self.kind.1) as u64
    }

    pub(crate) fn name(&self) -> &str {
        &self.file
    }

    fn exactly(&mut self, length: u64) -> Result<Vec<u8>, DataError> {
        self.part(length, self.at + length)
    }

    /// Reads the next `length` bytes of a file of `whole` bytes.
    fn part(&mut self, length: u64, whole: u64) -> Result<Vec<u8>, DataError> {
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(length).read_to_end(&mut bytes);
        read.map_err(io(Path::new(&self.file), "read the file"))?;
        self.at += bytes.len() as u64;
        if (bytes.len() as u64) < length {
            return Err(self.wrong_size(whole, &self.at.to_string()));
        }
        Ok(bytes)
    }

    fn wrong_size(&self, whole: u64, found: &str) -> DataError {
        let file = &self.file;
        DataError::file(format!(
            "{file}: expected {whole} bytes, as its header promises, found {found}; replace the file"
        ))
    }

    fn refuse(&self, byte: usize, expected: &str, found: &str) -> DataError {
        let found: String = found.trim().chars().take(24).collect();
        DataError::file(format!(
            "{}, byte {byte}: expected {expected}, found {}; save it again: numpy.save(FILE, \
             numpy.ascontiguousarray(a, dtype='<f4'))",
            self.file,
            found.escape_default()
        ))
    }

    /// Reads the next `most` rows, or all that are left. With the last row it checks that the file is whole.
    pub(crate) fn next(&mut self, most: usize) -> Result<Vec<f32>, DataError> {
        let rows = most.min(self.rows - self.read);
        let length = rows * self.columns() * self.kind.1;
        let whole = self.bytes();
        let bytes = self.part(length as u64, whole)?;
        self.read += rows;
        if self.read == self.rows {
            let rest = self.reader.by_ref().take(1).read_to_end(&mut Vec::new());
            if rest.map_err(io(Path::new(&self.file), "read the file"))? > 0 {
                return Err(self.wrong_size(whole, "more"));
            }
        }
        Ok(bytes.chunks_exact(self.kind.1).map(self.kind.2).collect())
    }

    /// Refuses the values that were read last if one of them is not finite.
    pub(crate) fn check_finite(&self, values: &[f32]) -> Result<(), DataError> {
        let Some(place) = values.iter().position(|value| !value.is_finite()) else {
            return Ok(());
        };
        let byte = self.at as usize - (values.len() - place) * self.kind.1;
        let place = self.read * self.columns() - values.len() + place;
        let (row, column) = (place / self.columns(), place % self.columns());
        let expected =
            "expected finite numbers within the range of 32 bits; repair or remove the row";
        let file = &self.file;
        Err(
            DataError::record(format!("{file}: {expected}")).telling(format!(
                "{file}, row {row}, column {column} (byte {byte}): {expected}"
            )),
        )
    }
}

/// Parses the numbers of `(3, 4)` or `(3,)`.
fn tuple(text: &str) -> Option<Vec<u64>> {
    let inner = text.strip_prefix('(')?.split_once(')')?.0;
    let inner = inner.trim().strip_suffix(',').unwrap_or(inner);
    let numbers = inner.split(',').map(|number| number.trim().parse().ok());
    numbers.collect()
}

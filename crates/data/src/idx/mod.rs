//! Gzip idx files: one byte a label (idx1) or a pixel (idx3).
//!
//! An idx file is a big-endian header and then the bytes: magic number `0x00000801` and a count for
//! labels, `0x00000803`, count, height and width for images. A file is refused, by name, with what
//! was expected and what was found, unless it holds exactly what its header promises.
//!
//! Source: the format's description beside the MNIST database (LeCun, Cortes, Burges).

mod labelled;
mod stream;
mod write;

pub use stream::IdxStream;
pub(crate) use write::{images_header, labels_header};
pub use write::{write_images, write_labels};

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::DataError;

/// The most bytes a file may hold after decompression: 1 GiB.
pub const MAX_BYTES: u64 = 1 << 30;
/// The most pixels along one side of an image.
pub const MAX_SIDE: u32 = 4096;
/// The largest label: idx label files of ten classes.
pub const MAX_LABEL: u8 = 9;

/// The first bytes of a gzip stream.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const IMAGES: u32 = 0x0000_0803;
const LABELS: u32 = 0x0000_0801;

/// The content of an idx3 file of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdxImages {
    /// Number of images.
    pub count: usize,
    /// Rows of an image.
    pub height: usize,
    /// Columns of an image.
    pub width: usize,
    /// `count * height * width` bytes, image by image, row by row.
    pub pixels: Vec<u8>,
}

/// Reads a gzip idx3 file of images.
///
/// # Errors
/// As [`decode_images`], and [`DataError::Io`] when the file cannot be read.
pub fn read_images(path: &Path) -> Result<IdxImages, DataError> {
    decode_images(&path.display().to_string(), open(path)?)
}

/// Reads an idx3 file of images that need not be compressed.
///
/// # Errors
/// As [`read_images`], but for [`DataError::NotGzip`], which is [`DataError::Magic`] here.
pub fn read_images_plain_or_gzip(path: &Path) -> Result<IdxImages, DataError> {
    let file = path.display().to_string();
    images_of(Stream::plain_or_gzip(&file, open(path)?)?)
}

/// Reads a gzip idx1 file of labels 0 to 9.
///
/// # Errors
/// As [`decode_labels`], and [`DataError::Io`] when the file cannot be read.
pub fn read_labels(path: &Path) -> Result<Vec<u8>, DataError> {
    decode_labels(&path.display().to_string(), open(path)?)
}

/// Decodes gzip idx3 images from a reader; `file` is the name to use in errors.
///
/// Memory grows with the bytes that are really there, never with what the header claims.
///
/// # Errors
/// [`DataError::NotGzip`], [`Corrupt`](DataError::Corrupt), [`Magic`](DataError::Magic),
/// [`Header`](DataError::Header) (no image, a side of 0 or over [`MAX_SIDE`], over [`MAX_BYTES`] in
/// all), [`Truncated`](DataError::Truncated), [`Oversized`](DataError::Oversized).
pub fn decode_images(file: &str, reader: impl Read) -> Result<IdxImages, DataError> {
    images_of(Stream::open(file, reader)?)
}

fn images_of(mut stream: Stream<'_>) -> Result<IdxImages, DataError> {
    let [count, height, width] = image_header(&mut stream, MAX_BYTES)?;
    Ok(IdxImages {
        count: count as usize,
        height: height as usize,
        width: width as usize,
        pixels: stream.body(u64::from(count) * u64::from(height) * u64::from(width))?,
    })
}

/// Number, height and width of the images, which take at most so many bytes.
fn image_header(stream: &mut Stream<'_>, most: u64) -> Result<[u32; 3], DataError> {
    stream.magic(IMAGES, "images, three dimensions of bytes")?;
    let [count, height, width] = stream.header::<3>()?;
    let sides = 1..=MAX_SIDE;
    let total = u128::from(count) * u128::from(height) * u128::from(width);
    if count == 0 || !sides.contains(&height) || !sides.contains(&width) || total > u128::from(most)
    {
        return Err(DataError::Header {
            file: stream.file.clone(),
            expected: format!(
                "at least 1 image with sides of 1 to {MAX_SIDE} and at most {most} bytes in all"
            ),
            found: format!("{count} images of {height} x {width}, {total} bytes"),
        });
    }
    Ok([count, height, width])
}

/// Decodes gzip idx1 labels from a reader; `file` is the name to use in errors.
///
/// # Errors
/// As [`decode_images`], and [`DataError::Label`] for a label over [`MAX_LABEL`].
pub fn decode_labels(file: &str, reader: impl Read) -> Result<Vec<u8>, DataError> {
    let mut stream = Stream::open(file, reader)?;
    let count = label_header(&mut stream)?;
    let labels = stream.body(count)?;
    check_labels(file, 0, &labels)?;
    Ok(labels)
}

/// The number of labels.
fn label_header(stream: &mut Stream<'_>) -> Result<u64, DataError> {
    stream.magic(LABELS, "labels, one dimension of bytes")?;
    let [count] = stream.header::<1>()?;
    if count == 0 || u64::from(count) > MAX_BYTES {
        return Err(DataError::Header {
            file: stream.file.clone(),
            expected: format!("1 to {MAX_BYTES} labels"),
            found: format!("{count} labels"),
        });
    }
    Ok(count.into())
}

/// Whether labels, the first of which is at index `first`, are classes.
fn check_labels(file: &str, first: usize, labels: &[u8]) -> Result<(), DataError> {
    match labels.iter().position(|&label| label > MAX_LABEL) {
        None => Ok(()),
        Some(place) => Err(DataError::Label {
            file: file.into(),
            index: first + place,
            max: MAX_LABEL,
        }),
    }
}

fn open(path: &Path) -> Result<File, DataError> {
    File::open(path).map_err(|source| DataError::Io {
        path: path.into(),
        action: "open the file",
        source,
    })
}

/// A reader that gives again what was read of its start.
type Replayed<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

/// A decompressed stream that counts what it has given.
struct Stream<'a> {
    file: String,
    reader: Box<dyn Read + 'a>,
    given: u64,
}

impl<'a> Stream<'a> {
    /// A gzip stream.
    fn open(file: &str, reader: impl Read + 'a) -> Result<Self, DataError> {
        let (start, reader) = Self::start(file, reader)?;
        if start != GZIP {
            let found = match start.as_slice() {
                [] => "an empty file".to_string(),
                bytes => bytes.iter().map(|b| format!("{b:02x} ")).collect(),
            };
            return Err(DataError::NotGzip {
                file: file.into(),
                found: found.trim_end().into(),
            });
        }
        Ok(Self::gzip(file, reader))
    }

    /// A gzip stream, or what lies in the file as it is.
    fn plain_or_gzip(file: &str, reader: impl Read + 'a) -> Result<Self, DataError> {
        let (start, reader) = Self::start(file, reader)?;
        if start == GZIP {
            return Ok(Self::gzip(file, reader));
        }
        Ok(Self {
            file: file.into(),
            reader: Box::new(BufReader::new(reader)),
            given: 0,
        })
    }

    fn gzip(file: &str, reader: impl Read + 'a) -> Self {
        Self {
            file: file.into(),
            // Multi-member decoding, so that bytes after the first gzip member are seen and refused.
            reader: Box::new(MultiGzDecoder::new(BufReader::new(reader))),
            given: 0,
        }
    }

    /// The first two bytes, and all bytes.
    fn start<R: Read + 'a>(file: &str, mut reader: R) -> Result<(Vec<u8>, Replayed<R>), DataError> {
        let mut start = Vec::new();
        reader
            .by_ref()
            .take(2)
            .read_to_end(&mut start)
            .map_err(|source| DataError::Io {
                path: file.into(),
                action: "read the file",
                source,
            })?;
        Ok((start.clone(), io::Cursor::new(start).chain(reader)))
    }

    fn magic(&mut self, expected: u32, meaning: &'static str) -> Result<(), DataError> {
        let [found] = self.header::<1>()?;
        if found == expected {
            return Ok(());
        }
        Err(DataError::Magic {
            file: self.file.clone(),
            expected,
            meaning,
            found,
        })
    }

    fn header<const N: usize>(&mut self) -> Result<[u32; N], DataError> {
        let bytes = self.exactly(4 * N as u64)?;
        let mut words = [0; N];
        for (word, four) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*four);
        }
        Ok(words)
    }

    fn body(&mut self, length: u64) -> Result<Vec<u8>, DataError> {
        let body = self.exactly(length)?;
        self.end()?;
        Ok(body)
    }

    /// Nothing follows.
    fn end(&mut self) -> Result<(), DataError> {
        // One byte more than promised is enough to know; a bomb is not unpacked further. At the end
        // of the stream this read is also what makes the decompressor check its CRC.
        match self.reader.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(DataError::Oversized {
                file: self.file.clone(),
                expected: self.given,
            }),
            Err(error) => Err(self.broken(error, self.given, 0)),
        }
    }

    fn exactly(&mut self, length: u64) -> Result<Vec<u8>, DataError> {
        self.part(length, self.given + length)
    }

    /// A part of a stream of which so many bytes are expected in all.
    fn part(&mut self, length: u64, expected: u64) -> Result<Vec<u8>, DataError> {
        let mut bytes = Vec::new();
        let read = self
            .reader
            .by_ref()
            .take(length)
            .read_to_end(&mut bytes)
            .map(|_| ());
        match read {
            Err(error) => Err(self.broken(error, expected, bytes.len() as u64)),
            Ok(()) if (bytes.len() as u64) < length => Err(DataError::Truncated {
                file: self.file.clone(),
                expected,
                found: self.given + bytes.len() as u64,
            }),
            Ok(()) => {
                self.given += length;
                Ok(bytes)
            }
        }
    }

    fn broken(&self, error: io::Error, expected: u64, read: u64) -> DataError {
        let found = self.given + read;
        if error.kind() == io::ErrorKind::UnexpectedEof && found < expected {
            return DataError::Truncated {
                file: self.file.clone(),
                expected,
                found,
            };
        }
        DataError::Corrupt {
            file: self.file.clone(),
            source: error,
        }
    }
}

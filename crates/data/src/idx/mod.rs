//! Gzip idx files, with one byte for each label (idx1) or pixel (idx3).
//!
//! An idx file is a big-endian header, then the bytes. The header of labels is the magic number
//! `0x00000801` and a count; that of images is `0x00000803`, count, height and width. A file must hold
//! exactly what its header promises; if not, the error names it and says what was expected and found.
//!
//! Source: the description of the format by the authors of MNIST (LeCun, Cortes, Burges).

mod stream;
mod write;

pub(crate) use stream::IdxStream;
pub(crate) use write::header;
pub use write::{write_images, write_labels};

use std::io::{self, BufReader, Read};
use std::path::Path;

use files::foreign::Decoder;
use flate2::bufread::MultiGzDecoder;

use crate::error::{check_pair, corrupt, io, not_gzip, open, oversized};
use crate::{DataError, Records};

/// The most bytes a file may hold after decompression: 1 GiB.
pub const MAX_BYTES: u64 = 1 << 30;
/// The most pixels along one side of an image.
pub const MAX_SIDE: u32 = 4096;
/// The largest label, for ten classes.
pub const MAX_LABEL: u8 = 9;

/// The first bytes of a gzip stream.
const GZIP: [u8; 2] = [0x1f, 0x8b];
pub(crate) const IMAGES: u32 = 0x0000_0803;
pub(crate) const LABELS: u32 = 0x0000_0801;

/// The images of an idx3 file of bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct IdxImages {
    /// The number of images.
    pub count: usize,
    /// The number of rows of an image.
    pub height: usize,
    /// The number of columns of an image.
    pub width: usize,
    /// `count * height * width` bytes, image by image, row by row.
    pub pixels: Vec<u8>,
}

debug_shows!(IdxImages {
    count,
    height,
    width
});

impl Records {
    /// Reads a gzip idx3 file of images and the gzip idx1 file of their labels 0 to 9.
    pub fn read_idx(images: &Path, labels: &Path) -> Result<Self, DataError> {
        let [images_file, labels_file] = [images, labels].map(|path| path.display().to_string());
        let (images, labels) = (read_images(images)?, read_labels(labels)?);
        Self::from_idx(&images_file, images, &labels_file, labels)
    }

    pub(crate) fn from_idx(
        images_file: &str,
        images: IdxImages,
        labels_file: &str,
        labels: Vec<u8>,
    ) -> Result<Self, DataError> {
        let counts = [images.count, labels.len()].map(|count| count as u64);
        check_pair((images_file, counts[0]), (labels_file, counts[1]))?;
        let classes = usize::from(MAX_LABEL) + 1;
        Self::new(images.pixels, labels, images.height, images.width, classes)
    }
}

/// Reads a gzip idx3 file of images.
pub fn read_images(path: &Path) -> Result<IdxImages, DataError> {
    decode_images(&path.display().to_string(), open(path)?)
}

/// Reads a gzip idx1 file of labels 0 to 9.
pub fn read_labels(path: &Path) -> Result<Vec<u8>, DataError> {
    decode_labels(&path.display().to_string(), open(path)?)
}

/// Decodes gzip idx3 images from a reader; errors name `file`.
///
/// Memory grows with the bytes that are read, not with the sizes in the header.
///
/// # Errors
/// [`DataError::File`] if the file is not gzip or not images, holds no image, has a side of 0 or over [`MAX_SIDE`] or more
/// than [`MAX_BYTES`] in all, ends too soon or goes on.
pub fn decode_images(file: &str, reader: impl Read) -> Result<IdxImages, DataError> {
    let mut stream = Stream::open(file, reader, false)?;
    let [count, height, width] = image_header(&mut stream, MAX_BYTES)?;
    Ok(IdxImages {
        count: count as usize,
        height: height as usize,
        width: width as usize,
        pixels: stream.body(u64::from(count) * u64::from(height) * u64::from(width))?,
    })
}

/// Reads the number, height and width of images that take at most `most` bytes.
fn image_header(stream: &mut Stream<'_>, most: u64) -> Result<[u32; 3], DataError> {
    stream.magic(IMAGES, "images, three dimensions of bytes")?;
    let [count, height, width] = stream.header::<3>()?;
    let sides = 1..=MAX_SIDE;
    let total = u128::from(count) * u128::from(height) * u128::from(width);
    if count == 0 || !sides.contains(&height) || !sides.contains(&width) || total > u128::from(most)
    {
        return Err(DataError::file(format!(
            "{}: the header promises {count} images of {height} x {width}, {total} bytes, expected at least 1 image with \
             sides of 1 to {MAX_SIDE} and at most {most} bytes in all; replace the file",
            stream.file
        )));
    }
    Ok([count, height, width])
}

/// Decodes gzip idx1 labels from a reader; errors name `file`.
///
/// # Errors
/// The errors of [`decode_images`], and [`DataError::Record`] for a label over [`MAX_LABEL`].
pub fn decode_labels(file: &str, reader: impl Read) -> Result<Vec<u8>, DataError> {
    let mut stream = Stream::open(file, reader, false)?;
    let count = label_header(&mut stream)?;
    let labels = stream.body(count)?;
    check_labels(file, 0, &labels, MAX_LABEL)?;
    Ok(labels)
}

/// Reads the number of labels.
fn label_header(stream: &mut Stream<'_>) -> Result<u64, DataError> {
    stream.magic(LABELS, "labels, one dimension of bytes")?;
    let [count] = stream.header::<1>()?;
    if count == 0 || u64::from(count) > MAX_BYTES {
        return Err(DataError::file(format!(
            "{}: the header promises {count} labels, expected 1 to {MAX_BYTES} labels; replace the file",
            stream.file
        )));
    }
    Ok(count.into())
}

/// Checks that labels, the first of which has the index `first`, are classes.
pub(crate) fn check_labels(
    file: &str,
    first: usize,
    labels: &[u8],
    max: u8,
) -> Result<(), DataError> {
    match labels.iter().position(|&label| label > max) {
        None => Ok(()),
        Some(place) => {
            let expected = format!("expected 0 to {max}; replace the file");
            let place = first + place;
            Err(
                DataError::record(format!("{file}: a label is no class: {expected}"))
                    .telling(format!("{file}: the label at index {place}: {expected}")),
            )
        }
    }
}

/// A decompressed stream that counts the bytes that it gives.
struct Stream<'a> {
    file: String,
    reader: Box<dyn Read + 'a>,
    given: u64,
}

impl<'a> Stream<'a> {
    /// Opens a gzip stream, or the file as it is if `plain` allows this.
    fn open(file: &str, mut reader: impl Read + 'a, plain: bool) -> Result<Self, DataError> {
        let mut start = Vec::new();
        let read = reader.by_ref().take(2).read_to_end(&mut start);
        read.map_err(io(Path::new(file), "read the file"))?;
        let gzip = start == GZIP;
        if !gzip && !plain {
            return Err(not_gzip(file, &start));
        }
        let whole = BufReader::new(io::Cursor::new(start).chain(reader));
        Ok(Self {
            file: file.into(),
            reader: match gzip {
                // Multi-member decoding, so that bytes after the first gzip member are seen and refused.
                true => Box::new(Decoder(MultiGzDecoder::new(whole))),
                false => Box::new(whole),
            },
            given: 0,
        })
    }

    fn magic(&mut self, expected: u32, meaning: &str) -> Result<(), DataError> {
        let [found] = self.header::<1>()?;
        if found == expected {
            return Ok(());
        }
        let problem = format!(
            "{}: wrong idx magic number: expected {expected:#010x} ({meaning}), found",
            self.file
        );
        let advice = "check that images and labels are not exchanged";
        let all = format!("{problem} {found:#010x}; {advice}");
        // The first bytes of another file may be a record.
        Err(match found {
            IMAGES | LABELS => DataError::file(all),
            _ => DataError::file(format!("{problem} another; {advice}")).telling(all),
        })
    }

    fn header<const N: usize>(&mut self) -> Result<[u32; N], DataError> {
        let length = 4 * N as u64;
        let bytes = self.part(length, self.given + length)?;
        let mut words = [0; N];
        for (word, four) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*four);
        }
        Ok(words)
    }

    fn body(&mut self, length: u64) -> Result<Vec<u8>, DataError> {
        let body = self.part(length, self.given + length)?;
        self.end()?;
        Ok(body)
    }

    /// Checks that nothing follows.
    fn end(&mut self) -> Result<(), DataError> {
        // One byte more than promised is enough to know; a bomb is not unpacked further. At the end
        // of the stream this read also makes the decompressor check its CRC.
        match self.reader.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(oversized(&self.file, self.given)),
            Err(error) => Err(corrupt(&self.file, &error)),
        }
    }

    /// Reads the next `length` bytes of a stream that should hold `expected` bytes up to their end.
    fn part(&mut self, length: u64, expected: u64) -> Result<Vec<u8>, DataError> {
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(length).read_to_end(&mut bytes);
        let found = self.given + bytes.len() as u64;
        match read {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                Err(corrupt(&self.file, &error))
            }
            _ if (bytes.len() as u64) < length => Err(DataError::file(format!(
                "{}: truncated: expected {expected} bytes after decompression, found {found}; replace the file",
                self.file
            ))),
            Err(error) => Err(corrupt(&self.file, &error)),
            Ok(_) => {
                self.given += length;
                Ok(bytes)
            }
        }
    }
}

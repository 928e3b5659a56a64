use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{IMAGES, LABELS};
use crate::LabelledImages;

/// Writes the images as a gzip idx3 file of bytes.
///
/// # Errors
/// What the writer says, and `InvalidInput` when a dimension does not fit the format's 32 bits.
pub fn write_images(writer: impl Write, images: &LabelledImages) -> io::Result<()> {
    let sides = [images.len(), images.height(), images.width()];
    write(writer, images.pixels(), |gzip| images_header(gzip, sides))
}

/// Writes the labels as a gzip idx1 file of bytes.
///
/// # Errors
/// As [`write_images`].
pub fn write_labels(writer: impl Write, images: &LabelledImages) -> io::Result<()> {
    let count = images.len();
    write(writer, images.labels(), |gzip| labels_header(gzip, count))
}

/// The start of an idx3 file of `[images, height, width]` bytes, which follow.
pub(crate) fn images_header(writer: &mut impl Write, sides: [usize; 3]) -> io::Result<()> {
    header(writer, IMAGES, &sides)
}

/// The start of an idx1 file of as many bytes, which follow.
pub(crate) fn labels_header(writer: &mut impl Write, count: usize) -> io::Result<()> {
    header(writer, LABELS, &[count])
}

fn header(writer: &mut impl Write, magic: u32, sides: &[usize]) -> io::Result<()> {
    writer.write_all(&magic.to_be_bytes())?;
    for &side in sides {
        let side = u32::try_from(side)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        writer.write_all(&side.to_be_bytes())?;
    }
    Ok(())
}

fn write<W: Write>(
    writer: W,
    body: &[u8],
    header: impl FnOnce(&mut GzEncoder<W>) -> io::Result<()>,
) -> io::Result<()> {
    let mut gzip = GzEncoder::new(writer, Compression::default());
    header(&mut gzip)?;
    gzip.write_all(body)?;
    gzip.finish()?.flush()
}

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{IMAGES, LABELS};
use crate::Records;

/// Writes the images as a gzip idx3 file of bytes.
pub fn write_images(writer: impl Write, images: &Records) -> io::Result<()> {
    let sides = [images.len(), images.height(), images.width()];
    let pixels = images.pixels().map_err(io::Error::other)?;
    write(writer, &header(IMAGES, &sides)?, &pixels)
}

/// Writes the labels as a gzip idx1 file of bytes.
pub fn write_labels(writer: impl Write, images: &Records) -> io::Result<()> {
    write(writer, &header(LABELS, &[images.len()])?, images.labels())
}

/// Returns the header of an idx file.
pub(crate) fn header(magic: u32, sides: &[usize]) -> io::Result<Vec<u8>> {
    let mut header = magic.to_be_bytes().to_vec();
    for &side in sides {
        let side = u32::try_from(side)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        header.extend(side.to_be_bytes());
    }
    Ok(header)
}

fn write(writer: impl Write, header: &[u8], body: &[u8]) -> io::Result<()> {
    let mut gzip = GzEncoder::new(writer, Compression::default());
    gzip.write_all(header)?;
    gzip.write_all(body)?;
    gzip.finish()?.flush()
}

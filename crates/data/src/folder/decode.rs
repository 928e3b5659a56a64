use std::fs;
use std::io::Cursor;
use std::path::Path;

use image::imageops::{self, FilterType};
use image::{ImageError, ImageFormat, ImageReader, Limits, RgbImage};

use crate::DataError;

/// Decodes an image file: three channels of 8 bits.
pub(super) fn open(path: &Path) -> Result<RgbImage, DataError> {
    let unreadable = |reason: &str| {
        DataError::File(format!(
            "{}: cannot be read as an image: {reason}; replace or remove the file",
            path.display()
        ))
    };
    let bytes = fs::read(path).map_err(|error| unreadable(&error.to_string()))?;
    // By its first bytes, not by its name.
    let mut reader = ImageReader::new(Cursor::new(&bytes))
        .with_guessed_format()
        .map_err(|error| unreadable(&error.to_string()))?;
    // Memory for what the file can hold, never for what its header claims.
    let mut limits = Limits::default();
    limits.max_alloc = Some(most(bytes.len()));
    reader.limits(limits);
    if reader.format() == Some(ImageFormat::Jpeg) && !has_end(&bytes) {
        return Err(unreadable("the jpg file is cut off"));
    }
    match reader.decode() {
        Ok(image) => Ok(image.into_rgb8()),
        Err(error) => Err(unreadable(reason(&error))),
    }
}

/// The most memory that decoding a file of so many bytes may take: that of its pixels and as much again, and 512 MiB in
/// any case. A byte of deflate is at most 1032, with 8 pixels of 3 bytes in each; JPEG packs less tightly.
fn most(bytes: usize) -> u64 {
    (2 * 1032 * 8 * 3 * bytes as u64).clamp(1 << 20, 512 << 20)
}

/// What a decoder complains of, without its words: they may quote the file.
fn reason(error: &ImageError) -> &'static str {
    match error {
        ImageError::Unsupported(_) => "it is of no format that is known here",
        ImageError::Limits(_) => "it is larger than a decoder may make it",
        _ => "its content is damaged or cut off",
    }
}

/// Whether a JPEG's last scan is followed by the end-of-image marker.
///
/// The decoder fills what a cut file lacks with grey. Neither marker occurs inside a scan, and a
/// thumbnail's end lies before the start of the image's own scan.
fn has_end(bytes: &[u8]) -> bool {
    let last = |marker| bytes.windows(2).rposition(|pair| pair == [0xff, marker]);
    last(0xd9) > last(0xda)
}

/// The largest square in the middle, one pixel up or left where it cannot be in the middle, at
/// `side` x `side` pixels.
pub(super) fn square(image: &RgbImage, side: u32) -> RgbImage {
    let (width, height) = image.dimensions();
    let length = width.min(height);
    let (left, top) = ((width - length) / 2, (height - length) / 2);
    let square = imageops::crop_imm(image, left, top, length, length).to_image();
    if length == side {
        return square;
    }
    imageops::resize(&square, side, side, FilterType::Triangle)
}

/// Writes an image, channel by channel, to `3 * side * side` values.
pub(super) fn write(image: &RgbImage, values: &mut [f32]) {
    let plane = values.len() / 3;
    for (place, pixel) in image.pixels().enumerate() {
        for (channel, &byte) in pixel.0.iter().enumerate() {
            values[channel * plane + place] = f32::from(byte) / 255.0;
        }
    }
}

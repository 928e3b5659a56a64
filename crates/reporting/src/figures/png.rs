//! Pixels to PNG.

use image::{ExtendedColorType, ImageEncoder};

use crate::diagnostic::Failure;

/// `raw` pixels, row by row, as PNG bytes.
pub(super) fn encode(
    raw: &[u8],
    width: u32,
    height: u32,
    colour: ExtendedColorType,
) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    image::codecs::png::PngEncoder::new(&mut bytes)
        .write_image(raw, width, height, colour)
        .map_err(Failure::run)?;
    Ok(bytes)
}

//! Pixels to PNG.

pub(super) use ::png::ColorType;
use ::png::{BitDepth, Compression, Encoder, Filter};

use crate::diagnostic::Failure;

/// `raw` pixels of 8 bits a channel, row by row, as PNG bytes.
pub(super) fn encode(
    raw: &[u8],
    width: u32,
    height: u32,
    colour: ColorType,
) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, width, height);
    encoder.set_color(colour);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Fast);
    encoder.set_filter(Filter::Adaptive);
    let mut writer = encoder.write_header().map_err(Failure::failed)?;
    writer.write_image_data(raw).map_err(Failure::failed)?;
    writer.finish().map_err(Failure::failed)?;
    Ok(bytes)
}

//! Grids of images, such as samples and reconstructions, pixel by pixel.

use png::{BitDepth, ColorType, Compression, Encoder, Filter};

use crate::diagnostic::Failure;

/// Screen pixels between the images of a grid.
const GAP: usize = 2;
/// The colour between images.
const BETWEEN: u8 = 128;

/// Draws images in rows and columns as PNG bytes; a pixel that is not finite has the colour of the gaps.
///
/// - `images`: `[count, height, width, channels]`, values in `[0, 1]`; values outside are clamped;
/// - `channels`: 1 for grey, 3 for red, green and blue;
/// - `columns`: images in a row; `zoom`: screen pixels for one pixel.
///
/// # Errors
///
/// [`Failure::Failed`] without an image, if the values do not fill the last one, or if a size is zero.
pub fn grid(
    images: &[f32],
    [height, width, channels]: [usize; 3],
    columns: usize,
    zoom: usize,
) -> Result<Vec<u8>, Failure> {
    let size = width * height * channels;
    let refuse = |why: String| Err(Failure::failed(format!("a grid cannot be drawn: {why}")));
    if size == 0 || columns == 0 || zoom == 0 || ![1, 3].contains(&channels) {
        return refuse(format!(
            "images of {width} by {height} pixels with {channels} channels, {columns} in a row, zoom {zoom}"
        ));
    }
    if images.is_empty() || !images.len().is_multiple_of(size) {
        let count = images.len();
        return refuse(format!("{count} values do not make images of {size}"));
    }
    let rows = (images.len() / size).div_ceil(columns);
    let left = |column: usize| GAP + column * (width * zoom + GAP);
    let top = |row: usize| GAP + row * (height * zoom + GAP);
    let (across, down) = (left(columns), top(rows));
    let (Ok(wide), Ok(high)) = (u32::try_from(across), u32::try_from(down)) else {
        return refuse(format!("{across} by {down} pixels are too many"));
    };
    let mut pixels = vec![BETWEEN; across * down * channels];
    for (index, image) in images.chunks_exact(size).enumerate() {
        let (x0, y0) = (left(index % columns), top(index / columns));
        for (place, value) in image.iter().enumerate().filter(|(_, v)| v.is_finite()) {
            let (pixel, channel) = (place / channels, place % channels);
            let (x, y) = (x0 + pixel % width * zoom, y0 + pixel / width * zoom);
            let shade = (value.clamp(0.0, 1.0) * 255.0).round() as u8;
            for row in y..y + zoom {
                for column in x..x + zoom {
                    pixels[(row * across + column) * channels + channel] = shade;
                }
            }
        }
    }
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, wide, high);
    encoder.set_color(match channels {
        1 => ColorType::Grayscale,
        _ => ColorType::Rgb,
    });
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Fast);
    encoder.set_filter(Filter::Adaptive);
    let mut writer = encoder.write_header().map_err(Failure::failed)?;
    writer.write_image_data(&pixels).map_err(Failure::failed)?;
    writer.finish().map_err(Failure::failed)?;
    Ok(bytes)
}

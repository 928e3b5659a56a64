//! Converts values of pixels that are not bytes.

use image::{DynamicImage, ImageBuffer, Pixel};

/// A value that is not between black and white.
pub(super) struct Outside(pub f64);

/// Returns the byte of a value between black and white.
pub(super) fn byte(value: f32, levels: [i32; 2]) -> Result<u8, Outside> {
    match share(f64::from(value), levels) {
        Some(share) => Ok((share * 255.0).round() as u8),
        None => Err(Outside(value.into())),
    }
}

/// Returns the value of a byte, rounded to a whole number if `whole`.
pub(crate) fn value(byte: u8, [black, white]: [i32; 2], whole: bool) -> f64 {
    let share = f64::from(byte) / 255.0;
    let value = f64::from(black) + share * f64::from(white - black);
    if whole { value.round() } else { value }
}

/// Spreads the colours of an image of 16 bits from the range black to white to the whole range of 16 bits.
pub(super) fn spread(image: &mut DynamicImage, levels: [i32; 2]) -> Result<(), Outside> {
    match image {
        DynamicImage::ImageLuma16(pixels) => spread_pixels(pixels, levels),
        DynamicImage::ImageLumaA16(pixels) => spread_pixels(pixels, levels),
        DynamicImage::ImageRgb16(pixels) => spread_pixels(pixels, levels),
        DynamicImage::ImageRgba16(pixels) => spread_pixels(pixels, levels),
        _ => Ok(()),
    }
}

fn spread_pixels<P: Pixel<Subpixel = u16>>(
    pixels: &mut ImageBuffer<P, Vec<u16>>,
    levels: [i32; 2],
) -> Result<(), Outside> {
    let mut outside = None;
    for pixel in pixels.pixels_mut() {
        pixel.apply_without_alpha(|value| match share(value.into(), levels) {
            Some(share) => (share * 65535.0).round() as u16,
            None => {
                outside.get_or_insert(value);
                value
            }
        });
    }
    outside.map_or(Ok(()), |value| Err(Outside(value.into())))
}

/// Returns the position of a value from 0 at black to 1 at white; `None` beyond.
fn share(value: f64, [black, white]: [i32; 2]) -> Option<f64> {
    let [black, white] = [black, white].map(f64::from);
    let share = (value - black) / (white - black);
    (0.0..=1.0).contains(&share).then_some(share)
}

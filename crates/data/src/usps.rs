//! USPS, digits from American envelopes: gzip text with one image on each line.
//!
//! A line holds 257 numbers with spaces between them: the digit (`6` or `6.0000`), then 16 x 16 grey values
//! in [-1, 1], row by row; the background is -1. A value v becomes (v + 1) / 2 in [0, 1], rounded to the
//! nearest of 256 values, with an error of at most 1/510.
//!
//! Source: the "ZIP code" data of "The elements of statistical learning" (Hastie, Tibshirani,
//! Friedman), 7291 training and 2007 test images. "Differentially private sliced Wasserstein
//! distance" uses it with MNIST for domain adaptation (section 6.2).

use std::io::Read;

use files::foreign::Decoder;
use flate2::bufread::MultiGzDecoder;

use crate::error::{check_side, corrupt, empty, field, fields, not_gzip, not_text, oversized};
use crate::reshape::Bilinear;
use crate::{DataError, Records};

/// The number of pixels along a side of the published images.
pub const SIDE: usize = 16;
/// The number of classes, one for each digit.
pub const CLASSES: usize = 10;
/// The most bytes a file may hold after decompression: 256 MiB.
pub const MAX_BYTES: u64 = 256 << 20;

/// Decodes a gzip text of images and interpolates them to `side` x `side` pixels before rounding
/// (see [`Records::resize`]); errors name `file`.
///
/// # Errors
/// [`DataError::File`] if the file is not gzip, damaged or too large; [`DataError::Record`] for a line that is no image;
/// [`DataError::Request`] if there are no lines or the side is out of its bounds.
pub fn decode(file: &str, bytes: &[u8], side: usize) -> Result<Records, DataError> {
    check_side(side)?;
    let text = unpack(file, bytes)?;
    let size = Bilinear::new((SIDE, SIDE), (side, side));
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for (line, text) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        let text = str::from_utf8(text).map_err(|_| not_text(file, line))?;
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        if fields.is_empty() {
            continue;
        }
        let (label, greys) = image(file, line, &fields)?;
        labels.push(label);
        size.append(&greys, |value| (value + 1.0) / 2.0 * 255.0, &mut pixels);
    }
    if labels.is_empty() {
        return Err(empty(file, "image"));
    }
    Records::new(pixels, labels, side, side, CLASSES)
}

fn image(file: &str, line: u64, texts: &[&str]) -> Result<(u8, Vec<f64>), DataError> {
    let (Some((label, values)), 257) = (texts.split_first(), texts.len()) else {
        return Err(fields(file, line, 1 + SIDE * SIDE, texts.len()));
    };
    let advice = "replace the file with the published one";
    let bad = |column: &str, expected: &str, found: &str| {
        field(file, line, column, expected, found, advice)
    };
    let digit = label
        .parse()
        .ok()
        .and_then(|value: f64| (0..CLASSES as u8).find(|&digit| f64::from(digit) == value));
    let digit = digit.ok_or_else(|| bad("label", "a digit, 0 to 9", label))?;
    let mut greys = Vec::with_capacity(values.len());
    for (place, value) in values.iter().enumerate() {
        match value.parse() {
            Ok(grey) if (-1.0..=1.0).contains(&grey) => greys.push(grey),
            _ => {
                let column = format!("pixel {place}");
                return Err(bad(&column, "a number from -1 to 1", value));
            }
        }
    }
    Ok((digit, greys))
}

fn unpack(file: &str, bytes: &[u8]) -> Result<Vec<u8>, DataError> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(not_gzip(file, bytes));
    }
    let mut text = Vec::new();
    let mut unpacked = Decoder(MultiGzDecoder::new(bytes)).take(MAX_BYTES + 1);
    unpacked
        .read_to_end(&mut text)
        .map_err(|error| corrupt(file, &error))?;
    match text.len() as u64 > MAX_BYTES {
        true => Err(oversized(file, MAX_BYTES)),
        false => Ok(text),
    }
}

use std::fs;
use std::io::Cursor;
use std::path::Path;

use image::imageops::{self, FilterType};
use image::{
    DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits, Pixel, RgbImage,
};

use super::levels::{Outside, spread};
use crate::DataError;
use files::foreign::{DAMAGED, quietly};

/// Reads the bytes of a file in a folder of images.
pub(super) fn read(root: &Path, file: &Path) -> Result<Vec<u8>, DataError> {
    fs::read(root.join(file)).map_err(|error| unreadable(root, file, &error.to_string()))
}

/// Decodes an image of a file in a folder or an archive, and turns it by its EXIF data.
pub(super) fn image(
    root: &Path,
    file: &Path,
    bytes: &[u8],
    levels: Option<[i32; 2]>,
) -> Result<DynamicImage, DataError> {
    let mut image = decoded(root, file, bytes)?;
    let bits = image.color().bits_per_pixel() / u16::from(image.color().channel_count());
    let refuse = |problem: &str, told: &str| {
        DataError::file(format!("{}: an image in it {problem}", root.display()))
            .telling(format!("{}: it {problem}{told}", root.join(file).display()))
    };
    match (bits, levels) {
        (8, _) => {}
        (16, Some(levels)) => spread(&mut image, levels).map_err(|Outside(found)| {
            let [black, white] = levels;
            let problem = format!(
                "has a value outside of the levels that were said, {black} to {white}; say others"
            );
            refuse(&problem, &format!(": found {found}"))
        })?,
        (16, None) => {
            let problem = "has 16 bits, and how many of their levels are used is public; say it: 4096 for 12 bits, 65536 \
                           for all";
            return Err(refuse(problem, ""));
        }
        _ => {
            let problem = "has floating-point numbers, expected 8 or 16 bits; convert it";
            return Err(refuse(problem, ""));
        }
    }
    Ok(on_white(image))
}

fn decoded(root: &Path, file: &Path, bytes: &[u8]) -> Result<DynamicImage, DataError> {
    let unreadable = |reason: &str| unreadable(root, file, reason);
    if bytes.is_empty() {
        return Err(unreadable("it is empty"));
    }
    let image = quietly(|| {
        // The first bytes determine the format, not the name.
        let mut reader = ImageReader::new(Cursor::new(bytes))
            .with_guessed_format()
            .map_err(|error| unreadable(&error.to_string()))?;
        // The limit follows from the size of the file, not from its header.
        let mut limits = Limits::default();
        limits.max_alloc = Some(most(bytes.len()));
        reader.limits(limits);
        if reader.format() == Some(ImageFormat::Jpeg) && !has_end(bytes) {
            return Err(unreadable("the jpg file is cut off"));
        }
        let image = reader.into_decoder().and_then(|mut decoder| {
            let orientation = decoder.orientation()?;
            let mut image = DynamicImage::from_decoder(decoder)?;
            image.apply_orientation(orientation);
            Ok(image)
        });
        image.map_err(|error| unreadable(reason(&error)))
    });
    image.unwrap_or_else(|| Err(unreadable(DAMAGED)))
}

/// Makes transparent areas white, as on a page.
fn on_white(image: DynamicImage) -> DynamicImage {
    if !image.color().has_alpha() {
        return image;
    }
    let image = image.into_rgba8();
    let mut white = RgbImage::new(image.width(), image.height());
    for (to, pixel) in white.pixels_mut().zip(image.pixels()) {
        let [colour @ .., alpha] = pixel.0.map(u32::from);
        to.0 = colour.map(|value| ((value * alpha + 255 * (255 - alpha) + 127) / 255) as u8);
    }
    white.into()
}

fn unreadable(root: &Path, file: &Path, reason: &str) -> DataError {
    let problem = format!("cannot be read as an image: {reason}; replace or remove the file");
    DataError::file(format!("{}: a file in it {problem}", root.display()))
        .telling(format!("{}: {problem}", root.join(file).display()))
}

/// Returns the most memory that decoding a file of this size may take: twice that of its pixels, and at least 512 MiB.
/// A byte of deflate gives at most 1032 bytes, each with 8 pixels of 3 bytes; JPEG packs less tightly.
fn most(bytes: usize) -> u64 {
    (2 * 1032 * 8 * 3 * bytes as u64).clamp(1 << 20, 512 << 20)
}

/// Returns the reason of a decoder's error without its message, which may quote the file.
fn reason(error: &ImageError) -> &'static str {
    match error {
        ImageError::Unsupported(_) => {
            "its format, or the type of its pixels, is none that is known here"
        }
        ImageError::Limits(_) => "it is larger than a decoder may make it",
        _ => "its content is damaged or cut off",
    }
}

/// Whether a JPEG has the end-of-image marker after its scans. The decoder fills the missing part of a cut file with grey.
///
/// Segments are skipped by their lengths, so that the end of a thumbnail in one of them does not count. Anything may follow
/// the end, such as the video of a phone.
fn has_end(bytes: &[u8]) -> bool {
    // The start of the image, and within a scan an escaped byte, a fill byte or a restart, have no length.
    let alone = |byte| matches!(byte, 0x00 | 0x01 | 0xd0..=0xd8 | 0xff);
    let mut rest = bytes;
    while let Some(place) = rest
        .windows(2)
        .position(|pair| pair[0] == 0xff && !alone(pair[1]))
    {
        let (marker, segment) = (rest[place + 1], &rest[place + 2..]);
        if marker == 0xd9 {
            return true;
        }
        let Some(length) = segment.first_chunk() else {
            return false;
        };
        rest = segment
            .get(usize::from(u16::from_be_bytes(*length))..)
            .unwrap_or_default();
    }
    false
}

/// Crops an image to the largest square in the middle (a pixel up or left if it cannot be in the middle) and resizes it
/// to `side` x `side` pixels, `[channels, side, side]`.
pub(super) fn square(image: DynamicImage, side: usize, channels: usize) -> Vec<u8> {
    let (width, height) = (image.width(), image.height());
    let length = width.min(height);
    let (left, top) = ((width - length) / 2, (height - length) / 2);
    // It fits, as `side` is at most MAX_SIDE.
    let side = side as u32;
    fn planes<P: Pixel<Subpixel = u8> + 'static>(
        image: image::ImageBuffer<P, Vec<u8>>,
        [left, top, length, side]: [u32; 4],
    ) -> Vec<u8> {
        let mut square = imageops::crop_imm(&image, left, top, length, length).to_image();
        if length != side {
            square = imageops::resize(&square, side, side, FilterType::Triangle);
        }
        let channel = |c| square.pixels().map(move |pixel: &P| pixel.channels()[c]);
        (0..usize::from(P::CHANNEL_COUNT))
            .flat_map(channel)
            .collect()
    }
    let to = [left, top, length, side];
    match channels {
        1 => planes(image.into_luma8(), to),
        _ => planes::<image::Rgb<u8>>(RgbImage::from(image), to),
    }
}

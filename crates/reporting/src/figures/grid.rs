//! Grids of images, pixel by pixel: samples, reconstructions, interpolations.

use super::canvas::Drawn;
use super::png;
use crate::diagnostic::Failure;

/// Screen pixels between the images of a grid.
const GAP: usize = 2;
/// The colour between images.
const BETWEEN: u8 = 128;

/// Images in rows and columns. Pixels stay pixels, so a grid is always PNG.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid<'a> {
    /// `[count, height, width, channels]`, values in `[0, 1]`; what lies outside is cut.
    pub images: &'a [f32],
    /// Pixels of an image across.
    pub width: usize,
    /// Pixels of an image downwards.
    pub height: usize,
    /// 1 for grey, 3 for red, green and blue.
    pub channels: usize,
    /// Images in a row.
    pub columns: usize,
    /// A wider gap after each this many columns; 0 for none.
    pub group: usize,
    /// Screen pixels for one pixel.
    pub zoom: usize,
}

impl Grid<'_> {
    /// The grid as PNG. A pixel that is not finite has the colour of the gaps and is counted.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where there is no image, where the values do not fill the last one, and
    /// for a size of nothing.
    pub fn draw(&self) -> Result<Drawn, Failure> {
        let size = self.width * self.height * self.channels;
        let refuse = |why: String| Err(Failure::failed(format!("a grid cannot be drawn: {why}")));
        if size == 0 || self.columns == 0 || self.zoom == 0 || ![1, 3].contains(&self.channels) {
            return refuse(format!(
                "images of {} by {} pixels with {} channels, {} in a row, zoom {}",
                self.width, self.height, self.channels, self.columns, self.zoom
            ));
        }
        if self.images.is_empty() || !self.images.len().is_multiple_of(size) {
            return refuse(format!(
                "{} values do not make images of {size}",
                self.images.len()
            ));
        }
        let count = self.images.len() / size;
        let rows = count.div_ceil(self.columns);
        let left = |column: usize| {
            let wider = column.checked_div(self.group).unwrap_or(0);
            GAP + column * (self.width * self.zoom + GAP) + wider * 4 * GAP
        };
        let last = self.columns - 1;
        let width = left(last) + self.width * self.zoom + GAP;
        let height = GAP + rows * (self.height * self.zoom + GAP);
        let (Ok(wide), Ok(high)) = (u32::try_from(width), u32::try_from(height)) else {
            return refuse(format!("{width} by {height} pixels are too many"));
        };
        let mut pixels = vec![BETWEEN; width * height * self.channels];
        let mut skipped = 0;
        for (index, image) in self.images.chunks_exact(size).enumerate() {
            let x0 = left(index % self.columns);
            let y0 = GAP + (index / self.columns) * (self.height * self.zoom + GAP);
            for (place, &value) in image.iter().enumerate() {
                if !value.is_finite() {
                    skipped += 1;
                    continue;
                }
                let channel = place % self.channels;
                let (x, y) = (
                    (place / self.channels) % self.width,
                    place / self.channels / self.width,
                );
                let shade = (value.clamp(0.0, 1.0) * 255.0).round() as u8;
                for row in y0 + y * self.zoom..y0 + (y + 1) * self.zoom {
                    for column in x0 + x * self.zoom..x0 + (x + 1) * self.zoom {
                        pixels[(row * width + column) * self.channels + channel] = shade;
                    }
                }
            }
        }
        let kind = if self.channels == 1 {
            png::ColorType::Grayscale
        } else {
            png::ColorType::Rgb
        };
        Ok(Drawn {
            bytes: png::encode(&pixels, wide, high, kind)?,
            skipped,
        })
    }
}

/// A grid of square grey images as PNG bytes.
///
/// - `images`: `[count, side * side]`, values in `[0, 1]`, row by row;
/// - `columns`: images in a row; `zoom`: screen pixels for one pixel.
///
/// # Errors
///
/// As [`Grid::draw`].
pub fn grid(images: &[f32], side: usize, columns: usize, zoom: usize) -> Result<Vec<u8>, Failure> {
    let grid = Grid {
        images,
        width: side,
        height: side,
        channels: 1,
        columns,
        group: 0,
        zoom,
    };
    Ok(grid.draw()?.bytes)
}

/// Rows of interpolations between pairs of square grey images, as PNG bytes, with a wider gap
/// between pairs (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, figures 3 and 7).
///
/// - `images`: `[pairs, frames, side * side]`, values in `[0, 1]`;
/// - `frames`: images from one end to the other; `pairs_in_row`: pairs side by side.
///
/// # Errors
///
/// As [`Grid::draw`].
pub fn interpolations(
    images: &[f32],
    side: usize,
    frames: usize,
    pairs_in_row: usize,
    zoom: usize,
) -> Result<Vec<u8>, Failure> {
    let grid = Grid {
        images,
        width: side,
        height: side,
        channels: 1,
        columns: frames * pairs_in_row,
        group: frames,
        zoom,
    };
    Ok(grid.draw()?.bytes)
}

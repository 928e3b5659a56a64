//! Pictures as PNG: grids of grey images and scatter plots.

use image::{GrayImage, ImageEncoder, Luma, Rgb, RgbImage};

use crate::diagnostic::Failure;

/// Pixels between the images of a grid.
const GAP: usize = 2;
/// Side of one panel of a scatter plot, in pixels.
const PANEL: usize = 360;

/// Ten colours that can be told apart, one a class.
const PALETTE: [[u8; 3]; 10] = [
    [31, 119, 180],
    [255, 127, 14],
    [44, 160, 44],
    [214, 39, 40],
    [148, 103, 189],
    [140, 86, 75],
    [227, 119, 194],
    [110, 110, 110],
    [188, 189, 34],
    [23, 190, 207],
];

/// A grid of square grey images as PNG bytes.
///
/// - `images`: `[count, side * side]`, values in `[0, 1]`, row by row;
/// - `columns`: images in a row; `zoom`: screen pixels for one pixel.
///
/// # Errors
///
/// [`Failure::Failed`] where the PNG cannot be encoded.
pub fn grid(images: &[f32], side: usize, columns: usize, zoom: usize) -> Result<Vec<u8>, Failure> {
    let count = images.len() / (side * side);
    let rows = count.div_ceil(columns.max(1));
    let cell = side * zoom + GAP;
    let (width, height) = (columns * cell + GAP, rows * cell + GAP);
    let mut picture = GrayImage::from_pixel(width as u32, height as u32, Luma([128]));
    for (index, image) in images.chunks_exact(side * side).enumerate() {
        let (left, top) = (
            GAP + (index % columns) * cell,
            GAP + (index / columns) * cell,
        );
        for y in 0..side * zoom {
            for x in 0..side * zoom {
                let value = image[(y / zoom) * side + x / zoom].clamp(0.0, 1.0);
                let grey = Luma([(value * 255.0).round() as u8]);
                picture.put_pixel((left + x) as u32, (top + y) as u32, grey);
            }
        }
    }
    encode(
        picture.as_raw(),
        width,
        height,
        image::ExtendedColorType::L8,
    )
}

/// Panels of points in the plane, coloured by class, with the unit circle, as PNG bytes.
///
/// - `points`: `[count, dimension]`, row by row; a panel for each pair of coordinates
///   (0, 1), (2, 3), ...; - `classes`: one for each point;
/// - `radius`: half the side of a panel in units of the points.
///
/// # Errors
///
/// [`Failure::Failed`] where the PNG cannot be encoded.
pub fn scatter(
    points: &[f32],
    dimension: usize,
    classes: &[usize],
    radius: f32,
) -> Result<Vec<u8>, Failure> {
    let panels = (dimension / 2).max(1);
    let (width, height) = (panels * PANEL, PANEL);
    let mut picture = RgbImage::from_pixel(width as u32, height as u32, Rgb([255, 255, 255]));
    let place = |x: f32, y: f32| -> Option<(usize, usize)> {
        let scale = PANEL as f32 / (2.0 * radius);
        let column = (x + radius) * scale;
        let row = (radius - y) * scale;
        let inside = |v: f32| v >= 0.0 && v < PANEL as f32;
        (inside(column) && inside(row)).then_some((column as usize, row as usize))
    };
    for panel in 0..panels {
        for step in 0..4000 {
            let angle = step as f32 / 4000.0 * std::f32::consts::TAU;
            if let Some((x, y)) = place(angle.cos(), angle.sin()) {
                picture.put_pixel((panel * PANEL + x) as u32, y as u32, Rgb([200, 200, 200]));
            }
        }
        for (point, &class) in points.chunks_exact(dimension).zip(classes) {
            let x = point[2 * panel];
            let y = point.get(2 * panel + 1).copied().unwrap_or(0.0);
            let Some((column, row)) = place(x, y) else {
                continue;
            };
            for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let (column, row) = ((column + dx).min(PANEL - 1), (row + dy).min(PANEL - 1));
                picture.put_pixel(
                    (panel * PANEL + column) as u32,
                    row as u32,
                    Rgb(PALETTE[class % PALETTE.len()]),
                );
            }
        }
        if panel > 0 {
            for y in 0..PANEL {
                picture.put_pixel((panel * PANEL) as u32, y as u32, Rgb([120, 120, 120]));
            }
        }
    }
    encode(
        picture.as_raw(),
        width,
        height,
        image::ExtendedColorType::Rgb8,
    )
}

fn encode(
    raw: &[u8],
    width: usize,
    height: usize,
    colour: image::ExtendedColorType,
) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    image::codecs::png::PngEncoder::new(&mut bytes)
        .write_image(raw, width as u32, height as u32, colour)
        .map_err(Failure::run)?;
    Ok(bytes)
}

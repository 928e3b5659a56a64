//! Images `[n, channels, side, side]` as files and grids want them: the channels of a pixel side by side.

use lab::figures;
use lab::prelude::*;
use model::latent::ImageShape;

/// Samples in a row of their picture.
const COLUMNS: usize = 10;

/// Images `[n, channels, side, side]` as `[n, side, side, channels]`.
pub(crate) fn channels_last(images: &[f32], shape: ImageShape) -> Vec<f32> {
    let (channels, area) = (shape.channels, shape.side * shape.side);
    let mut last = Vec::with_capacity(images.len());
    for image in images.chunks_exact(shape.values()) {
        last.extend((0..area).flat_map(|p| (0..channels).map(move |c| image[c * area + p])));
    }
    last
}

/// A grid of images `[n, channels, side, side]` as PNG.
pub(crate) fn grid(images: &[f32], shape: ImageShape, columns: usize) -> Result<Vec<u8>, Failure> {
    let zoom = if shape.side > 32 { 1 } else { 2 };
    let size = [shape.side, shape.side, shape.channels];
    figures::grid(&channels_last(images, shape), size, columns.max(1), zoom)
}

/// The first of some samples as PNG: ten of each of some classes, a row a class, or a hundred of no class.
pub(crate) fn samples(
    images: &[f32],
    labels: Option<&[usize]>,
    classes: usize,
    shape: ImageShape,
) -> Result<Vec<u8>, Failure> {
    let (size, all) = (shape.values(), 0..images.len() / shape.values());
    let row = |class| {
        let of_class = |&i: &usize| labels.is_some_and(|labels| labels[i] == class);
        let mut row: Vec<Option<usize>> = all.clone().filter(of_class).map(Some).collect();
        // A class of fewer samples leaves places blank.
        row.resize(COLUMNS, None);
        row
    };
    let chosen: Vec<Option<usize>> = match labels {
        Some(_) => (0..classes).flat_map(row).collect(),
        None => all.clone().take(COLUMNS * COLUMNS).map(Some).collect(),
    };
    let image = |place: Option<usize>| match place {
        Some(i) => images[i * size..][..size].to_vec(),
        None => vec![0.0; size],
    };
    let chosen: Vec<f32> = chosen.into_iter().flat_map(image).collect();
    grid(&chosen, shape, COLUMNS)
}

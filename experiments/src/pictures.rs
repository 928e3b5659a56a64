//! Images `[n, channels, side, side]` as files and grids want them: the channels of a pixel side by side.

use lab::figures;
use lab::prelude::*;
use model::latent::ImageShape;

/// Images of each class in the picture of samples, and in a row of it without classes.
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

/// The first of some samples: a row a class, or a square of them without classes.
pub(crate) fn samples(
    images: &[f32],
    labels: Option<&[usize]>,
    shape: ImageShape,
) -> Result<Picture, Failure> {
    let (size, all) = (shape.values(), 0..images.len() / shape.values());
    let (chosen, caption): (Vec<usize>, _) = match labels {
        Some(labels) => {
            let classes = labels.iter().max().map_or(0, |&most| most + 1);
            let of = |class| {
                all.clone()
                    .filter(move |&i| labels[i] == class)
                    .take(COLUMNS)
            };
            (
                (0..classes).flat_map(of).collect(),
                "Samples, a row a class",
            )
        }
        None => (all.take(COLUMNS * COLUMNS).collect(), "100 samples"),
    };
    let first: Vec<f32> = chosen
        .iter()
        .flat_map(|i| &images[i * size..][..size])
        .copied()
        .collect();
    let picture = grid(&first, shape, COLUMNS)?;
    Ok(("samples.png", caption.into(), picture))
}

//! Images `[n, channels, side, side]` as files and grids want them: the channels of a pixel side by side.

use lab::diagnostic::Failure;
use lab::figures::Grid;
use lab::session::Picture;
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
    let grid = Grid {
        images: &channels_last(images, shape),
        width: shape.side,
        height: shape.side,
        channels: shape.channels,
        columns: columns.max(1),
        group: 0,
        zoom: if shape.side > 32 { 1 } else { 2 },
    };
    Ok(grid.draw()?.bytes)
}

/// The first of some samples, each of a group: a row a class, or a square of them without classes.
pub(crate) fn samples(
    images: &[f32],
    groups: &[usize],
    classes: usize,
    shape: ImageShape,
) -> Result<Picture, Failure> {
    let (each, caption) = match classes {
        0 => (COLUMNS * COLUMNS, "Samples"),
        _ => (COLUMNS, "Samples, a row a class"),
    };
    let (mut first, size) = (Vec::new(), shape.values());
    for group in 0..classes.max(1) {
        let of_group = (0..groups.len()).filter(|&i| groups[i] == group).take(each);
        first.extend(of_group.flat_map(|i| &images[i * size..][..size]));
    }
    let picture = grid(&first, shape, COLUMNS)?;
    Ok(("samples.png", caption.into(), picture))
}

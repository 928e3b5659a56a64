//! Images `[n, channels, side, side]` as files and grids want them: the channels of a pixel side by side.

use lab::diagnostic::Failure;
use lab::figures::Grid;
use model::latent::ImageShape;

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

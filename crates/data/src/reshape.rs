//! Changes the size of images.

use crate::error::check_side;
use crate::{DataError, Records};

impl Records {
    /// Returns the images with `border` pixels of background 0 added on each side; 2 turns 28 x 28 pixels
    /// into 32 x 32.
    ///
    /// Source: "Differentially private gradient flow based on the sliced Wasserstein distance",
    /// appendix C.1.
    ///
    /// # Errors
    /// [`DataError::Request`] if a side becomes longer than [`MAX_SIDE`](crate::idx::MAX_SIDE).
    pub fn pad(&self, border: usize) -> Result<Self, DataError> {
        let longer = |side: usize| side.saturating_add(border.saturating_mul(2));
        let (height, width) = (longer(self.height()), longer(self.width()));
        check_side(height)?;
        check_side(width)?;
        let mut pixels = vec![0; self.len() * self.channels() * height * width];
        let planes = pixels.chunks_mut(height * width);
        let sources = self.pixels()?;
        let sources = sources.chunks(self.height() * self.width());
        for (image, source) in planes.zip(sources) {
            let rows = image.chunks_mut(width).skip(border);
            for (row, source) in rows.zip(source.chunks(self.width())) {
                row[border..border + source.len()].copy_from_slice(source);
            }
        }
        self.with(pixels, height, width)
    }

    /// Returns the images at `height` x `width` pixels, interpolated bilinearly and rounded to the nearest of
    /// the 256 grey values.
    ///
    /// Pixels are squares. Along an axis that goes from n to m pixels, pixel j takes the value at
    /// (j + 1/2) n / m - 1/2. It lies between the two pixels beside that place, or is that of the outermost
    /// pixel if the place is beyond it. Nothing is averaged when images become smaller.
    ///
    /// # Errors
    /// [`DataError::Request`] unless the sides are in 1..=[`MAX_SIDE`](crate::idx::MAX_SIDE).
    pub fn resize(&self, height: usize, width: usize) -> Result<Self, DataError> {
        check_side(height)?;
        check_side(width)?;
        let map = Bilinear::new((self.height(), self.width()), (height, width));
        let mut pixels = Vec::with_capacity(self.len() * self.channels() * height * width);
        for image in self.pixels()?.chunks(self.height() * self.width()) {
            map.append(image, |&pixel| f64::from(pixel), &mut pixels);
        }
        self.with(pixels, height, width)
    }

    fn with(&self, pixels: Vec<u8>, height: usize, width: usize) -> Result<Self, DataError> {
        let (labels, shape) = (self.labels().to_vec(), [self.channels(), height, width]);
        Self::planes(pixels, labels, shape, self.classes())
    }
}

/// A bilinear interpolation between two sizes.
pub(crate) struct Bilinear {
    rows: Vec<Between>,
    columns: Vec<Between>,
    width: usize,
}

/// A place between two pixels: `(1 - weight) * low + weight * high`.
struct Between {
    low: usize,
    high: usize,
    weight: f64,
}

impl Bilinear {
    pub(crate) fn new(from: (usize, usize), to: (usize, usize)) -> Self {
        Self {
            rows: places(from.0, to.0),
            columns: places(from.1, to.1),
            width: from.1,
        }
    }

    /// Appends the grey values of an image at the new size; `grey` returns those at the old size, in
    /// [0, 255].
    pub(crate) fn append<T>(&self, image: &[T], grey: impl Fn(&T) -> f64, pixels: &mut Vec<u8>) {
        for row in &self.rows {
            for column in &self.columns {
                let along = |y: usize| {
                    let pixel = |x: usize| grey(&image[y * self.width + x]);
                    mix(pixel(column.low), pixel(column.high), column.weight)
                };
                let value = mix(along(row.low), along(row.high), row.weight);
                pixels.push(value.round() as u8);
            }
        }
    }
}

fn mix(low: f64, high: f64, weight: f64) -> f64 {
    (1.0 - weight) * low + weight * high
}

fn places(from: usize, to: usize) -> Vec<Between> {
    (0..to)
        .map(|place| {
            let centre = (place as f64 + 0.5) * from as f64 / to as f64 - 0.5;
            let centre = centre.clamp(0.0, (from - 1) as f64);
            let low = centre as usize;
            Between {
                low,
                high: (low + 1).min(from - 1),
                weight: centre - low as f64,
            }
        })
        .collect()
}

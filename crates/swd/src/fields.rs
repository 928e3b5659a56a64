//! Slices for images: smooth random fields, because random directions ignore which pixels are neighbours.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use crate::{Slices, SwdError};

/// The least and the largest blur of a field: the first in pixels, the other as the side of the image over this number.
const BLUR: [f64; 2] = [0.7, 7.0];
/// The least and the largest window of a local field, each as the side of the image over this number.
const WINDOW: [f64; 2] = [14.0, 4.7];

impl Slices {
    /// Draws `count` directions in the space of images `[channels, height, width]` that vary smoothly over the
    /// image, on scales from a pixel to a seventh of the side. Every other one is confined to a window.
    ///
    /// Images differ mostly in smooth directions and in parts, so a release along these slices says more
    /// about them than one along as many directions of [`Slices::iid`]. They are sampled without any record. A
    /// direction is white noise, blurred by a Gaussian whose width is log-uniform, times a Gaussian window at a random
    /// place for every other direction, times random weights of the channels. They are no tight frame.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use rand_chacha::ChaCha20Rng;
    ///
    /// let slices = swd::Slices::smooth([1, 28, 28], 20, &mut ChaCha20Rng::seed_from_u64(1))?;
    /// assert_eq!((slices.dim(), slices.count()), (784, 20));
    /// # Ok::<(), swd::SwdError>(())
    /// ```
    ///
    /// # Errors
    /// `count`, or a side of the image, is zero.
    pub fn smooth(shape: [usize; 3], count: usize, rng: &mut impl Rng) -> Result<Self, SwdError> {
        let [channels, height, width] = shape;
        let dim = channels * height * width;
        let fields: Vec<Field> = (0..count)
            .map(|place| Field::draw(shape, place % 2 == 1, rng))
            .collect();
        let mut directions = vec![0.0; dim * count];
        if dim > 0 {
            let rows = directions.par_chunks_mut(dim).zip(&fields);
            rows.for_each(|(direction, field)| field.write([height, width], direction));
        }
        Self::from_directions(dim, &directions)
    }
}

/// The random parts of one direction.
struct Field {
    noise: Vec<f64>,
    blur: f64,
    window: Option<[f64; 3]>,
    channels: Vec<f64>,
}

impl Field {
    fn draw([channels, height, width]: [usize; 3], local: bool, rng: &mut impl Rng) -> Self {
        let side = height.min(width) as f64;
        let normal = |count: usize, rng: &mut _| -> Vec<f64> {
            (0..count).map(|_| StandardNormal.sample(rng)).collect()
        };
        let noise = normal(height * width, rng);
        let channels = normal(channels, rng);
        let mut within = |low: f64, high: f64| low + (high - low).max(0.0) * rng.random::<f64>();
        let blur = within(BLUR[0].ln(), (side / BLUR[1]).max(BLUR[0]).ln()).exp();
        let window = local.then(|| {
            [
                within(0.15, 0.85) * height as f64,
                within(0.15, 0.85) * width as f64,
                within(side / WINDOW[0], side / WINDOW[1]),
            ]
        });
        Self {
            noise,
            blur,
            window,
            channels,
        }
    }

    fn write(&self, [height, width]: [usize; 2], direction: &mut [f64]) {
        let bell = |distance: f64, width: f64| (-0.5 * (distance / width).powi(2)).exp();
        // Blurs along rows, and then along columns.
        let blurred = |values: &[f64], length: usize, stride: usize| -> Vec<f64> {
            let weights: Vec<f64> = (0..length).map(|a| bell(a as f64, self.blur)).collect();
            (0..values.len())
                .map(|place| {
                    let at = place / stride % length;
                    let start = place - at * stride;
                    let near =
                        (0..length).map(|b| (weights[at.abs_diff(b)], values[start + b * stride]));
                    let (total, sum) = near.fold((0.0, 0.0), |(t, s), (weight, x)| {
                        (t + weight, s + weight * x)
                    });
                    sum / total
                })
                .collect()
        };
        let mut field = blurred(&blurred(&self.noise, width, 1), height, width);
        if let Some([row, column, size]) = self.window {
            for (place, x) in field.iter_mut().enumerate() {
                *x *= bell((place / width) as f64 - row, size);
                *x *= bell((place % width) as f64 - column, size);
            }
        }
        for (channel, weight) in direction.chunks_exact_mut(field.len()).zip(&self.channels) {
            let entries = channel.iter_mut().zip(&field);
            entries.for_each(|(out, x)| *out = weight * x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    /// Neighbouring pixels of a smooth direction are alike; those of an independent one are not.
    #[test]
    fn directions_are_smooth() {
        let alike = |slices: &Slices| {
            let directions = (0..slices.count()).map(|l| slices.direction(l));
            let products = directions.flat_map(|t| t.windows(2).map(|pair| pair[0] * pair[1]));
            products.sum::<f64>() / slices.count() as f64
        };
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let smooth = Slices::smooth([1, 28, 28], 200, &mut rng).unwrap();
        assert!(alike(&smooth) > 0.5);
        assert!(alike(&Slices::iid(784, 200, &mut rng).unwrap()).abs() < 0.05);
        let colour = Slices::smooth([3, 8, 8], 4, &mut rng).unwrap();
        assert_eq!((colour.dim(), colour.count()), (192, 4));
        assert!(Slices::smooth([1, 28, 28], 0, &mut rng).is_err());
        assert!(Slices::smooth([1, 0, 28], 3, &mut rng).is_err());
    }
}

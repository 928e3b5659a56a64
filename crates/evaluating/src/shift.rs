//! Random shifts of images by a few pixels, which should not change the class of a digit.

use rand::{Rng, RngExt};

/// Shifts a square image by whole pixels, uniform in `-pixels..=pixels` in both directions and equal in all channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shift {
    /// The side of the image.
    pub(crate) side: usize,
    /// The largest shift, less than the side.
    pub(crate) pixels: usize,
}

impl Shift {
    /// Appends `image`, `[channels, side, side]`, shifted; pixels that come in at the border are 0.
    pub(crate) fn append(self, image: &[f32], rng: &mut impl Rng, out: &mut Vec<f32>) {
        let down = rng.random_range(0..=2 * self.pixels);
        let right = rng.random_range(0..=2 * self.pixels);
        for plane in image.chunks_exact(self.side * self.side) {
            self.append_moved(plane, (down, right), out);
        }
    }

    /// Appends one channel, shifted by `(down - pixels, right - pixels)`.
    fn append_moved(self, image: &[f32], (down, right): (usize, usize), out: &mut Vec<f32>) {
        let start = out.len();
        out.resize(start + self.side * self.side, 0.0);
        let target = &mut out[start..];
        // Target row y shows source row y + pixels - down.
        let from = self.pixels.saturating_sub(right);
        let to = right.saturating_sub(self.pixels);
        let length = self.side - from.max(to);
        for y in 0..self.side {
            let Some(source) = (y + self.pixels).checked_sub(down) else {
                continue;
            };
            if source < self.side {
                target[y * self.side + to..][..length]
                    .copy_from_slice(&image[source * self.side + from..][..length]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_move_agrees_with_the_definition() {
        let shift = Shift { side: 4, pixels: 2 };
        let image: Vec<f32> = (1..=16).map(|x| x as f32).collect();
        for down in 0..5_i32 {
            for right in 0..5_i32 {
                let mut moved = Vec::new();
                shift.append_moved(&image, (down as usize, right as usize), &mut moved);
                for y in 0..4_i32 {
                    for x in 0..4_i32 {
                        let (sy, sx) = (y - (down - 2), x - (right - 2));
                        let inside = (0..4).contains(&sy) && (0..4).contains(&sx);
                        let from = inside.then(|| image[(sy * 4 + sx) as usize]);
                        assert_eq!(moved[(y * 4 + x) as usize], from.unwrap_or(0.0));
                    }
                }
            }
        }
    }
}

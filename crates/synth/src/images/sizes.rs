//! The sizes of a copy of images, all from public values.

use super::SpaceKind;

/// The number of public images of 28 pixels that teach a decoder of cosines the shape of edges.
const REFINING: usize = 40_000;
/// The number of public images of 28 pixels that an autoencoder sees: minutes on two cores.
const AUTOENCODING: usize = 240_000;
/// The maximum number of samples of all units together, unless there are more units.
const SAMPLES: usize = 100_000;

/// The number of private records as a share of 60 000, times epsilon; the sizes of a release depend on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signal(f64);

impl Signal {
    /// Computes the signal of `records` private records; no budget counts as epsilon 10.
    pub fn new(records: usize, epsilon: Option<f64>) -> Self {
        Self(records as f64 / 60_000.0 * epsilon.unwrap_or(10.0))
    }

    /// Returns the dimension of the latent space that the signal supports: proportional to its fourth root, and a multiple of 4.
    /// An autoencoder needs fewer dimensions.
    pub fn dimensions(self, kind: SpaceKind, channels: usize) -> usize {
        // The dimension at a signal of 1, and the maximum.
        let [usual, most] = match (kind, channels) {
            (SpaceKind::Small, _) => [24.0, 40.0],
            (_, 1) => [72.0, 120.0],
            _ => [100.0, 160.0],
        };
        (4.0 * (usual * self.0.powf(0.25) / 4.0).round()).clamp(8.0, most) as usize
    }

    /// Returns the number of cells of each class, from 1 to `most`: `4 signal^0.9`, so 4 at a signal of 1 and 32 at 10.
    pub fn cells(self, most: usize) -> usize {
        ((4.0 * self.0.powf(0.9)).round() as usize).clamp(1, most)
    }
}

/// Returns the number of images of a copy: `most` per unit, or fewer (at least one) if units together exceed 100 000.
pub fn samples(units: usize, most: usize) -> usize {
    units * most.min((SAMPLES / units.max(1)).max(1))
}

/// Returns the number of public images that train an autoencoder or a decoder of cosines; larger images need fewer.
pub fn public_images(autoencoder: bool, side: usize) -> usize {
    let of_28 = if autoencoder { AUTOENCODING } else { REFINING };
    of_28 * 28 * 28 / (side * side)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_grow_with_records_and_budget() {
        let usual = Signal::new(60_000, Some(1.0));
        assert_eq!(
            (usual.dimensions(SpaceKind::Cosines, 1), usual.cells(32)),
            (72, 4)
        );
        let without_privacy = Signal::new(60_000, None);
        assert_eq!(
            (
                without_privacy.dimensions(SpaceKind::Cosines, 1),
                without_privacy.cells(32)
            ),
            (120, 32)
        );
        let few = Signal::new(300, Some(1.0));
        assert_eq!(
            (few.dimensions(SpaceKind::Cosines, 1), few.cells(32)),
            (20, 1)
        );
        assert_eq!(public_images(false, 56), 10_000);
    }
}

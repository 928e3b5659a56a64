//! A release of noisy projections that activations of public records are pulled to.

use burn::tensor::{Tensor, TensorData};
use rand::Rng;
use swd::smoothed::{NoisyProjections, smoothed_distance_and_gradient, smoothing_noise};
use swd::{Region, Slices};

use crate::TrainingError;
use crate::error::same;

/// The smoothed sliced distance of a batch of **public** records to a release of private ones
/// ([`swd::smoothed`]): nothing private is in it but the release.
///
/// Activations are put into the region of the release before they are compared. A row that was longer keeps
/// the gradient of its place on the boundary.
///
/// ```
/// use private_training::penalty::Released;
/// use private_training::{Clipping, Penalty};
/// use rand::SeedableRng;
/// use swd::smoothed::NoisyProjections;
/// use swd::{Region, Slices};
///
/// let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// let slices = Slices::tight(2, 2, &mut rng)?;
/// let release = NoisyProjections::from_released(vec![0.1, -0.2, 0.4, 0.0], slices, 0.5)?;
/// let pull = Released::new(release, Region::ball(1.0)?, 8, &mut rng)?;
/// let penalty = Penalty::to_release().weight(0.1).with_target(pull);
/// assert_eq!(penalty.sizes(), [8]);
/// // It has no bound for private records.
/// assert!(penalty.sensitivity_upper().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, algorithm 2.
#[derive(Debug, Clone)]
pub struct Released {
    release: NoisyProjections,
    region: Region,
    /// `[k, copies * n]`, of the deviation of the release.
    smoothing: Vec<f32>,
    sizes: [usize; 1],
}

/// The most smoothings of a record.
const MOST_COPIES: usize = 64;

impl Released {
    /// The pull of `records` public records to a release, with fresh smoothing of their side.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OutOfRange`] without records.
    pub fn new(
        release: NoisyProjections,
        region: Region,
        records: usize,
        rng: &mut impl Rng,
    ) -> Result<Self, TrainingError> {
        if records == 0 {
            return Err(TrainingError::OutOfRange {
                name: "public records",
                value: 0.0,
                bound: "at least 1".into(),
            });
        }
        // Each record by several smoothings: their mean is what is meant, and one has noise of its own.
        let copies = (release.rows() / records).clamp(1, MOST_COPIES);
        let copies = if release.deviation() == 0.0 {
            1
        } else {
            copies
        };
        let smoothing = smoothing_noise(&release, copies * records, rng);
        Ok(Self {
            release,
            region,
            smoothing,
            sizes: [records],
        })
    }

    /// The directions of the release.
    pub fn slices(&self) -> &Slices {
        self.release.slices()
    }

    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    pub(super) fn unbounded() -> TrainingError {
        TrainingError::Unbounded {
            what: "the distance to a release is for public records: release projections of the private ones"
                .into(),
        }
    }

    pub(super) fn cotangents(&self, activations: &[f32]) -> Result<(Vec<f32>, f64), TrainingError> {
        let d = self.slices().dim();
        same("activations", self.sizes[0] * d, activations.len())?;
        let inside = activations.chunks_exact(d).flat_map(|row| {
            let scale = self.region.scale(row).unwrap_or(0.0);
            row.iter().map(move |&x| (f64::from(x) * scale) as f32)
        });
        let inside: Vec<f32> = inside.collect();
        let copies = self.smoothing.len() / (self.slices().count() * self.sizes[0]);
        let points = inside.repeat(copies);
        let (distance, of_copies) =
            smoothed_distance_and_gradient(&points, &self.smoothing, &self.release)?;
        let mut gradient = vec![0.0; inside.len()];
        for copy in of_copies.chunks_exact(inside.len()) {
            gradient.iter_mut().zip(copy).for_each(|(sum, c)| *sum += c);
        }
        Ok((gradient, distance))
    }

    /// The same through the host: activations are few numbers.
    pub(super) fn device_cotangents(
        &self,
        activations: Tensor<2>,
    ) -> Result<(Tensor<2>, Tensor<1>), TrainingError> {
        let (shape, device) = (activations.dims(), activations.device());
        let (gradient, distance) = self.cotangents(&crate::engine::read(activations)?)?;
        let gradient = Tensor::from_data(TensorData::new(gradient, shape), &device);
        Ok((gradient, Tensor::from_data([distance as f32], &device)))
    }
}

//! How a copy of images is made: the plan, the releases, and samples of what they say.

use burn::tensor::Device;
use data::StoredImages;
use dp_core::delta::default_delta;
use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::{Noise, ReleaseNoise, TrainingPlan};
use dp_core::sampling::FixedSizeSampler;
use model::latent::LatentSpace;
use rand::Rng;

use super::{Encoded, Mixed, Mixing, Signal};
use crate::{Direct, Releasing, SynthError};

/// Cells of a class of grey images, at most. Of colour images more than one gained nothing on CIFAR-10, at epsilon 1 and at 10.
const MOST_CELLS: usize = 32;

/// How a private copy of labelled images is made.
///
/// Neighbours replace one image and its label, or one unit with all of its images; all releases are of all images, and the
/// accountant is that of [`TrainingPlan`].
#[derive(Debug, Clone, Default)]
pub struct ImageCopy {
    epsilon: Option<f64>,
    delta: Option<f64>,
    cells: Option<usize>,
    units: Option<(usize, usize)>,
}

impl ImageCopy {
    /// Epsilon 1, delta `0.1 / n`, as many cells as images and budget bear.
    pub fn new() -> Self {
        Self::default()
    }

    /// The epsilon of all releases together.
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> Self {
        let epsilon = Some(epsilon);
        Self { epsilon, ..self }
    }

    /// The delta of all releases together; `0.1 / n` if it is not given.
    #[must_use]
    pub fn delta(self, delta: f64) -> Self {
        let delta = Some(delta);
        Self { delta, ..self }
    }

    /// Cells of each class, each with moments of its own.
    #[must_use]
    pub fn cells(self, cells: usize) -> Self {
        let cells = Some(cells);
        Self { cells, ..self }
    }

    /// The images are those of so many units, `most` of each at most ([`data::Units::bounded`]), and neighbours replace a unit.
    #[must_use]
    pub fn of_units(self, units: usize, most: usize) -> Self {
        let units = Some((units, most));
        Self { units, ..self }
    }

    /// How many cells of each class images of so many channels have, if `signal` decides: 1 for colour.
    pub fn default_cells(signal: Signal, channels: usize) -> usize {
        signal.cells(if channels == 1 { MOST_CELLS } else { 1 })
    }

    /// How much the records and the budget say.
    pub fn signal(&self, images: &StoredImages) -> Signal {
        Signal::of(self.units(images).0, Some(self.epsilon.unwrap_or(1.0)))
    }

    /// How many units there are, and how many images one has at most.
    fn units(&self, images: &StoredImages) -> (usize, usize) {
        self.units.unwrap_or((images.len(), 1))
    }

    /// What is released of these images in `dim` dimensions.
    fn mixing(&self, images: &StoredImages, dim: usize) -> Mixing {
        let [channels, ..] = images.shape();
        let by_default = Self::default_cells(self.signal(images), channels);
        Mixing::new(images.classes(), dim, self.cells.unwrap_or(by_default))
            .of_units(self.units(images).1)
            .pooled(channels > 1)
    }

    /// What is released of these images in `dim` dimensions, and with how much noise.
    ///
    /// # Errors
    /// [`SynthError::Privacy`] without units.
    pub fn plan(&self, images: &StoredImages, dim: usize) -> Result<TrainingPlan, SynthError> {
        let (units, _) = self.units(images);
        let all = FixedSizeSampler::new(units, units)?;
        let delta = self.delta.unwrap_or(default_delta(units as f64));
        let epsilon = Noise::TargetEpsilon(self.epsilon.unwrap_or(1.0));
        let plan = TrainingPlan::of(epsilon, delta, 0, all);
        let releases = self.mixing(images, dim).releases().into_iter();
        Ok(releases.fold(plan, |plan, (name, share)| {
            plan.and(name, ReleaseNoise::Share(share))
        }))
    }

    /// Releases what the copy is sampled from, into a ledger, with secret noise.
    ///
    /// # Errors
    /// [`SynthError::Privacy`] for a plan that cannot be had and a ledger that cannot be written; [`SynthError::Data`] for a
    /// temporary file that cannot be read or written.
    pub fn fit(
        &self,
        images: &StoredImages,
        space: &dyn LatentSpace,
        device: &Device,
        ledger: &mut Ledger,
        rng: &mut impl Rng,
    ) -> Result<FittedImages, SynthError> {
        let plan = self.plan(images, space.latent())?.check()?;
        let secret = NoiseSource::secret().map_err(SynthError::Randomness)?;
        let by = &mut Direct::new(plan.releaser(secret), ledger);
        self.released(images, space, device, rng, by)
    }

    /// The same by the releases of [`ImageCopy::plan`] that `by` makes.
    ///
    /// # Errors
    /// As [`Releasing::release`]; what `by` gives.
    pub fn released<R: Releasing>(
        &self,
        images: &StoredImages,
        space: &dyn LatentSpace,
        device: &Device,
        rng: &mut impl Rng,
        by: &mut R,
    ) -> Result<FittedImages, R::Error> {
        let latents = Encoded::of(images, space, device, by)?;
        let mixing = self.mixing(images, space.latent());
        let mixed = mixing.release(&latents, rng, by)?;
        Ok(FittedImages { mixed })
    }
}

/// A private copy of images: a function of what was released, of which any number of images may be sampled.
#[derive(Debug, Clone)]
pub struct FittedImages {
    mixed: Mixed,
}

impl FittedImages {
    /// `count` images with their classes, `[n, c s s]` in rows, values in `[0, 1]`; one for each cell if there are more cells.
    ///
    /// - `space`: that of the fit.
    pub fn sample(
        &self,
        count: usize,
        space: &dyn LatentSpace,
        device: &Device,
        rng: &mut impl Rng,
    ) -> (Vec<f32>, Vec<usize>) {
        let (rows, classes) = self.mixed.sample(count, rng);
        (space.decode_host(&rows, device), classes)
    }
}

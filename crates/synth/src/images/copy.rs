//! How a copy of images is made: the plan, the releases, and samples of what they say.

use burn::tensor::Device;
use data::Records;
use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::{ReleaseNoise, TrainingPlan};
use rand::Rng;

use super::{ImageMethod, PrivateImages, Signal};
use crate::{Direct, Releasing, SynthError, plan_of_all};

/// How a private copy of labelled images is made.
///
/// Neighbours replace one image and its label, or one unit with all of its images; all releases are of all images, and the
/// accountant is that of [`TrainingPlan`].
#[derive(Debug, Clone)]
pub struct ImageCopy<M> {
    method: M,
    epsilon: f64,
    delta: Option<f64>,
    units: Option<(usize, usize)>,
}

impl<M: ImageMethod> ImageCopy<M> {
    /// By this method, with epsilon 1 and delta `0.1 / n`.
    pub fn new(method: M) -> Self {
        Self {
            method,
            epsilon: 1.0,
            delta: None,
            units: None,
        }
    }

    /// The epsilon of all releases together.
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> Self {
        Self { epsilon, ..self }
    }

    /// The delta of all releases together, below `1 / n`.
    #[must_use]
    pub fn delta(self, delta: f64) -> Self {
        let delta = Some(delta);
        Self { delta, ..self }
    }

    /// The images belong to this number of units, with at most `most` images of each ([`data::Units::bounded`]): neighbours replace a unit.
    #[must_use]
    pub fn of_units(self, units: usize, most: usize) -> Self {
        let units = Some((units, most));
        Self { units, ..self }
    }

    fn private<'a>(&self, images: &'a Records) -> PrivateImages<'a> {
        let (units, most) = self.units.unwrap_or((images.len(), 1));
        PrivateImages {
            images,
            units,
            most,
            signal: Signal::new(units, Some(self.epsilon)),
        }
    }

    /// What is released of these images, and with how much noise.
    ///
    /// # Errors
    /// [`SynthError::Privacy`] without units; as [`ImageMethod::check`].
    pub fn plan(&self, images: &Records) -> Result<TrainingPlan, SynthError> {
        let private = self.private(images);
        self.method.check(&private)?;
        let plan = plan_of_all(self.epsilon, self.delta, private.units)?;
        let releases = self.method.releases(&private).into_iter();
        Ok(releases.fold(plan, |plan, (name, share)| {
            plan.with_release(name, ReleaseNoise::Share(share))
        }))
    }

    /// Releases what the copy is sampled from, into a ledger, with secret noise.
    ///
    /// # Errors
    /// A plan that cannot be had ([`SynthError::Privacy`]); images that cannot be read; a ledger that cannot be written, and then
    /// nothing left.
    pub fn fit(
        &self,
        images: &Records,
        device: &Device,
        ledger: &mut Ledger,
        rng: &mut impl Rng,
    ) -> Result<M::Fitted, SynthError> {
        let plan = self.plan(images)?.check()?;
        let secret = NoiseSource::secret().map_err(SynthError::Randomness)?;
        let by = &mut Direct::new(plan.releaser(secret), ledger);
        self.released(images, device, rng, by)
    }

    /// The same by the releases of [`ImageCopy::plan`] that `by` makes.
    ///
    /// # Errors
    /// As [`Releasing::release`]; what `by` gives.
    pub fn released<R: Releasing>(
        &self,
        images: &Records,
        device: &Device,
        rng: &mut impl Rng,
        by: &mut R,
    ) -> Result<M::Fitted, R::Error> {
        self.method.fit(&self.private(images), device, rng, by)
    }
}

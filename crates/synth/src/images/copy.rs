//! Copies images: makes the plan and the releases, and samples from them.

use burn::tensor::Device;
use data::Records;
use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::{ReleaseNoise, TrainingPlan};
use rand::Rng;

use super::{ImageMethod, PrivateImages, Signal};
use crate::{Direct, Releasing, SynthError, plan_of_all};

/// Settings of a private copy of labelled images.
///
/// Neighbours replace one image and its label, or one unit with all of its images. All releases are of all images, and the
/// accountant is that of [`TrainingPlan`].
#[derive(Debug, Clone)]
pub struct ImageCopy<M> {
    method: M,
    epsilon: f64,
    delta: Option<f64>,
    units: Option<(usize, usize)>,
}

impl<M: ImageMethod> ImageCopy<M> {
    /// Creates a copy by `method`, with epsilon 1 and delta `0.1 / n`.
    pub fn new(method: M) -> Self {
        Self {
            method,
            epsilon: 1.0,
            delta: None,
            units: None,
        }
    }

    /// Sets the epsilon of all releases together.
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> Self {
        Self { epsilon, ..self }
    }

    /// Sets the delta of all releases together, below `1 / n`.
    #[must_use]
    pub fn delta(self, delta: f64) -> Self {
        let delta = Some(delta);
        Self { delta, ..self }
    }

    /// Protects units: `units` of them own at most `most` images each ([`data::Units::bounded`]), and neighbours replace one.
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

    /// Plans the releases of these images and their noise.
    ///
    /// # Errors
    /// Returns [`SynthError::Privacy`] without units, and the errors of [`ImageMethod::check`].
    pub fn plan(&self, images: &Records) -> Result<TrainingPlan, SynthError> {
        let private = self.private(images);
        self.method.check(&private)?;
        let plan = plan_of_all(self.epsilon, self.delta, private.units)?;
        let releases = self.method.releases(&private).into_iter();
        Ok(releases.fold(plan, |plan, (name, share)| {
            plan.with_release(name, ReleaseNoise::Share(share))
        }))
    }

    /// Makes the releases from which the copy is sampled, into a ledger and with secret noise.
    ///
    /// # Errors
    /// Returns [`SynthError::Privacy`] if the plan is refused, or an error if images cannot be read. If the ledger cannot be
    /// written, nothing was released.
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

    /// Makes the releases of [`ImageCopy::plan`] with `by`.
    ///
    /// # Errors
    /// Returns the errors of [`Releasing::release`] and of `by`.
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

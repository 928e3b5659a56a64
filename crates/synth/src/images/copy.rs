//! How a copy of images is made: the plan, and the releases of a method.

use burn::tensor::Device;
use data::StoredImages;
use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::ReleaseNoise;
use rand::Rng;

use super::{ImageMethod, PrivateImages, Signal};
use crate::{Direct, SynthError, plan_of_all};

/// How a private copy of labelled images is made.
///
/// Neighbours replace one image and its label; all releases are of all images, and the accountant is that of
/// [`dp_core::plan::TrainingPlan`].
#[derive(Debug, Clone)]
pub struct ImageCopy<M> {
    method: M,
    epsilon: f64,
    delta: Option<f64>,
}

impl<M: ImageMethod> ImageCopy<M> {
    /// By this method, with epsilon 1 and delta `0.1 / n`.
    pub fn new(method: M) -> Self {
        Self {
            method,
            epsilon: 1.0,
            delta: None,
        }
    }

    /// The epsilon of all releases together.
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> Self {
        Self { epsilon, ..self }
    }

    /// The delta of all releases together; `0.1 / n` if it is not given.
    #[must_use]
    pub fn delta(self, delta: f64) -> Self {
        let delta = Some(delta);
        Self { delta, ..self }
    }

    /// Releases what the copy is sampled from, into a ledger, with secret noise.
    ///
    /// # Errors
    /// [`SynthError::Privacy`] for a plan that cannot be had and a ledger that cannot be written; [`SynthError::Data`] for a
    /// temporary file that cannot be read or written.
    pub fn fit(
        &self,
        images: &StoredImages,
        device: &Device,
        ledger: &mut Ledger,
        rng: &mut impl Rng,
    ) -> Result<M::Fitted, SynthError> {
        let private = PrivateImages {
            images,
            units: images.len(),
            most: 1,
            signal: Signal::of(images.len(), Some(self.epsilon)),
        };
        let plan = plan_of_all(self.epsilon, self.delta, images.len())?;
        let releases = self.method.releases(&private).into_iter();
        let plan = releases.fold(plan, |plan, (name, share)| {
            plan.and(name, ReleaseNoise::Share(share))
        });
        let secret = NoiseSource::secret().map_err(SynthError::Randomness)?;
        let by = &mut Direct::new(plan.check()?.releaser(secret), ledger);
        self.method.fit(&private, device, rng, by)
    }
}

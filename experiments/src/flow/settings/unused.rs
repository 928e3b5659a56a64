//! Flags that a mechanism has no use for: refused, for a value that is passed over deceives.

use lab::diagnostic::Failure;

use super::super::Arguments;
use super::super::toy;
use super::Mechanism::{self, Fixed, Gaussian, Generator, Marginals, Resampled};

/// Mechanisms that see private records.
const PRIVATE: &[Mechanism] = &[Marginals, Fixed, Resampled, Generator, Gaussian];
/// Mechanisms that take steps.
const STEPPING: &[Mechanism] = &[Marginals, Fixed, Resampled, Generator];
/// Those whose steps move particles.
const FLOWS: &[Mechanism] = &[Marginals, Fixed, Resampled];
/// Those that release at each step.
const EACH_STEP: &[Mechanism] = &[Resampled, Generator];
/// Those that release first and step afterwards.
const STORED: &[Mechanism] = &[Marginals, Fixed];
/// Those that release noisy projections.
const PROJECTIONS: &[Mechanism] = &[Fixed, Resampled, Generator];

impl Arguments {
    /// Refuses flags that `mechanism` does not use.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the flag, and the mechanisms that use it.
    pub(super) fn check_used_by(&self, mechanism: Mechanism) -> Result<(), Failure> {
        for (flag, given, users) in self.flags() {
            if given && !users.contains(&mechanism) {
                let names: Vec<&str> = users.iter().map(|user| user.name()).collect();
                return Err(Failure::input(
                    format!(
                        "--{flag}: --mechanism {} has no use for it",
                        mechanism.name()
                    ),
                    format!("leave it out; it is for {}", names.join(", ")),
                ));
            }
        }
        Ok(())
    }

    /// Refuses what the toy in the plane has no use for: its settings are those of the published figure.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the flag.
    pub fn check_used_by_toy(&self) -> Result<(), Failure> {
        let others = [
            ("mechanism", self.mechanism.is_some()),
            ("public", self.public.is_some()),
            ("records", self.records.is_some()),
            ("public-records", self.public_records.is_some()),
            ("paper-noise", self.paper_noise.is_some()),
            ("delta", self.delta.is_some()),
            ("moments-share", self.moments_share.is_some()),
            ("no-privacy", self.no_privacy),
            ("conditional", self.conditional),
            ("unconditional", self.unconditional),
            ("particles", self.particles.is_some()),
            ("latent", self.latent.is_some()),
            ("public-epochs", self.public_epochs.is_some()),
            ("insecure-noise-seed", self.insecure_noise_seed.is_some()),
        ];
        let flags = self.flags().map(|(flag, given, _)| (flag, given));
        match others.into_iter().chain(flags).find(|(_, given)| *given) {
            Some((flag, _)) => Err(Failure::input(
                format!("--{flag}: --dataset {} has no use for it", toy::NAME),
                "leave it out: the toy has the settings of the paper's figure, and nothing private",
            )),
            None => Ok(()),
        }
    }

    /// Flags that some mechanisms alone use, whether they are given, and those mechanisms.
    fn flags(&self) -> [(&'static str, bool, &'static [Mechanism]); 14] {
        [
            ("epsilon", self.epsilon.is_some(), PRIVATE),
            ("noise-multiplier", self.noise_multiplier.is_some(), PRIVATE),
            ("steps", self.steps.is_some(), STEPPING),
            ("epochs", self.epochs.is_some(), EACH_STEP),
            ("batch", self.batch.is_some(), EACH_STEP),
            ("slices", self.slices.is_some(), STEPPING),
            ("slices-per-step", self.slices_per_step.is_some(), STORED),
            ("bins", self.bins.is_some(), &[Marginals]),
            ("frame", self.frame.is_some(), STEPPING),
            ("sensitivity", self.sensitivity.is_some(), PROJECTIONS),
            ("step-size", self.step_size.is_some(), FLOWS),
            ("final-step", self.final_step.is_some(), STORED),
            ("diffusion", self.diffusion.is_some(), FLOWS),
            ("learning-rate", self.learning_rate.is_some(), &[Generator]),
        ]
    }
}

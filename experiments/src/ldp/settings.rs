//! A run's settings: the preset of what the records are, then flags, then checks.

use std::path::Path;

use data::privatised::{Calibration, Mechanism};
use lab::diagnostic::Failure;
use lab::session::{
    self, Arguments, Ends, Part, bounded, budget_name, by_name, name_of, positive, within,
};
use serde::{Deserialize, Serialize};

use super::images;
use super::sources::Clean;
use crate::scores::ScoreFlags;

/// What the generator is trained to be near to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// Entropic transport with the regularisation `p sigma^p`: its minimiser is the distribution before the noise.
    Entropic,
    /// Transport without regularisation: its minimiser is the distribution of the noisy records.
    W2,
    /// The Sinkhorn divergence with the regularisation of `entropic`: that of the noisy records too.
    Divergence,
    /// Sliced transport between the noisy records and generated ones with noise of the same distribution: a deconvolution in
    /// each slice, whose minimiser is the distribution before the noise.
    Sliced,
}

/// What the records are: the settings that they alone have, and where they come from.
pub trait Kind: Part {
    /// Their name on the command line.
    const NAME: &'static str;
    /// What a run does, for `--help`.
    const ABOUT: &'static str;

    /// The values that no flag gives.
    fn preset(flags: &Self::Flags) -> &'static str;

    /// Gives settings the values that something else than flags decides.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for flags that ask for other ones.
    fn fill(&mut self, _: &mut Shared, _: &Flags<Self>) -> Result<(), Failure> {
        Ok(())
    }

    /// Refuses what cannot be.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the flag, the value and the bound.
    fn check(&self, _: &Shared) -> Result<(), Failure> {
        Ok(())
    }

    /// The name of the data set.
    fn dataset(&self) -> String;

    /// The records.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] where they cannot be read.
    fn load(&self, settings: &Shared, data_dir: Option<&Path>) -> Result<Clean, Failure>;

    /// What images alone have.
    fn images(&self) -> Option<&images::Settings> {
        None
    }

    /// How images are scored.
    fn score(_: &Self::Flags) -> Option<&ScoreFlags> {
        None
    }
}

lab::settings! {
    /// What images and points have.
    struct Shared, SharedFlags;
    common {
        records: Option<usize>, epsilon: Option<f64>, delta: f64, steps: u64, learning_rate: f64, slices: usize,
        seed: u64, insecure_noise_seed: Option<u64>,
    }
    preset {
        /// What the records are, by its name.
        kind: String,
    }
    flags {
        /// What the generator is trained to be near to.
        #[flag(value_enum)]
        loss: Loss,
        /// The noise of a record.
        #[flag(value_name = "gaussian|laplace", value_parser = by_name::<Mechanism>)]
        mechanism: Mechanism,
        /// How Gaussian noise is calibrated: exactly, or as published.
        #[flag(value_name = "exact|paper", value_parser = by_name::<Calibration>)]
        calibration: Calibration,
        /// Radius of the ball that records are scaled into, with their classes: of the Euclidean norm for Gaussian
        /// noise, of the sum of absolute values for Laplace noise.
        radius: f64,
        /// Width of the generator's code, uniform on [0, 1].
        latent: usize,
        /// Privatised records, and generated ones, in a step.
        batch: usize,
        /// Iterations of a transport, at most.
        iterations: usize,
    }
    optional {
        /// Average the weights with this decay, and generate by the average.
        ema: f64,
    }
}

lab::settings! {
    parts <K: Kind> {
        /// What images and points have.
        shared: Shared,
        /// What one of them has.
        own: K,
    }
}

impl<K: Kind> session::Settings for Settings<K> {
    type Flags = Flags<K>;

    fn resolve(arguments: &Arguments<Flags<K>>) -> Result<Self, Failure> {
        let mut settings: Self = arguments.over(K::preset(&arguments.own.own))?;
        settings.own.fill(&mut settings.shared, &arguments.own)?;
        Ok(settings)
    }

    fn name(&self) -> String {
        let shared = &self.shared;
        let (loss, privacy) = (name_of(shared.loss), budget_name(shared.epsilon));
        let noise = match shared.mechanism {
            Mechanism::Gaussian => "gaussian",
            Mechanism::Laplace => "laplace",
        };
        format!("{}-{loss}-{noise}-{privacy}", self.own.dataset())
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.shared.insecure_noise_seed
    }

    fn check(&self) -> Result<(), Failure> {
        let shared = &self.shared;
        let kind = &shared.kind;
        bounded("kind", kind, kind == K::NAME, K::NAME)?;
        positive("epsilon", shared.epsilon.unwrap_or(1.0))?;
        within("delta", shared.delta, 0.0, 0.5, Ends::NEITHER)?;
        bounded("steps", shared.steps, shared.steps > 0, "at least 1")?;
        positive("learning-rate", shared.learning_rate)?;
        positive("radius", shared.radius)?;
        bounded("latent", shared.latent, shared.latent > 0, "at least 1")?;
        let bound = "at least 20: two of each of ten classes";
        bounded("batch", shared.batch, shared.batch >= 20, bound)?;
        let most = shared.iterations;
        bounded("iterations", most, most > 0, "at least 1")?;
        bounded("slices", shared.slices, shared.slices > 0, "at least 1")?;
        within("ema", shared.ema.unwrap_or(0.0), 0.0, 1.0, Ends::FIRST)?;
        let noisy = shared.epsilon.is_some() || shared.loss == Loss::W2;
        bounded("loss", name_of(shared.loss), noisy, "w2 without noise")?;
        self.own.check(shared)
    }
}

//! A flow's settings: the mechanism's preset, then flags, then checks.

mod check;
mod kinds;
mod unused;

use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use serde::{Deserialize, Serialize};

use super::Arguments;

pub use kinds::{Frame, Mechanism, Norm};

/// Everything that decides a run's result, as written to `config.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// How private data is used.
    pub mechanism: Mechanism,
    /// Private data set.
    pub dataset: String,
    /// `half`, or another data set.
    pub public: String,
    /// Private records, or all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<usize>,
    /// Public records, or all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_records: Option<usize>,
    /// Budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Noise multiplier instead of a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_multiplier: Option<f64>,
    /// Delta of the guarantee.
    pub delta: f64,
    /// One flow a class.
    pub conditional: bool,
    /// Particles, or as many as private records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub particles: Option<usize>,
    /// Flow steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Passes over the private records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epochs: Option<u64>,
    /// Private records in a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// Slices of a release.
    pub slices: usize,
    /// Slices of a class's release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_slices: Option<usize>,
    /// Slices of a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices_per_step: Option<usize>,
    /// Bins of a marginal.
    pub bins: usize,
    /// The share of the budget (of `1/z^2`) that goes to moments, around which marginals are counted.
    #[serde(default)]
    pub moments_share: f64,
    /// How slices are drawn.
    pub frame: Frame,
    /// The sensitivity.
    pub sensitivity: Norm,
    /// `h` of the first step.
    pub step_size: f64,
    /// The last step's `h` as a share of it.
    #[serde(default = "whole")]
    pub final_step: f64,
    /// `lambda`.
    pub diffusion: f64,
    /// The generator's learning rate.
    pub learning_rate: f64,
    /// Latent dimension.
    pub latent: usize,
    /// Channels of the narrowest layer of the autoencoder of photographs.
    #[serde(default = "paper_width")]
    pub width: usize,
    /// Passes of the autoencoder.
    pub public_epochs: usize,
    /// Public seed.
    #[serde(default)]
    pub seed: u64,
    /// Seed of batches and noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure_noise_seed: Option<u64>,
}

/// The name of a folder of photographs among the data sets.
pub const IMAGES: &str = data::ImageFolder::NAME;

fn whole() -> f64 {
    1.0
}

fn paper_width() -> usize {
    64
}

impl Settings {
    /// The preset with the flags over it.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the flag, the value and the bound.
    pub fn resolve(arguments: &Arguments) -> Result<Self, Failure> {
        let mechanism = arguments.mechanism.unwrap_or(Mechanism::Marginals);
        let mut settings: Self = toml::from_str(mechanism.preset()).map_err(Failure::run)?;
        macro_rules! take {
            ($($field:ident),*) => {
                $(if let Some(value) = &arguments.$field { settings.$field = value.clone(); })*
            };
        }
        macro_rules! take_optional {
            ($($field:ident),*) => {
                $(if arguments.$field.is_some() { settings.$field = arguments.$field; })*
            };
        }
        arguments.check_used_by(mechanism)?;
        if arguments
            .dataset
            .as_ref()
            .is_some_and(|d| *d != settings.dataset)
        {
            settings.records = None;
            settings.public_records = None;
        }
        take!(
            dataset,
            moments_share,
            public,
            delta,
            bins,
            frame,
            sensitivity,
            step_size,
            final_step,
            diffusion,
            learning_rate,
            latent,
            width,
            public_epochs
        );
        if settings.photographs() {
            settings.take_photographs(arguments);
        }
        take_optional!(records, public_records, particles, batch, slices_per_step);
        if let Some(slices) = arguments.slices {
            settings.slices = slices;
            settings.class_slices = None;
            // The preset's; a flag of one's own is checked below.
            if arguments.slices_per_step.is_none() {
                settings.slices_per_step = settings.slices_per_step.map(|some| some.min(slices));
            }
        }
        if arguments.steps.is_some() || arguments.epochs.is_some() {
            settings.steps = arguments.steps;
            settings.epochs = arguments.epochs;
        }
        if arguments.epsilon.is_some() || arguments.noise_multiplier.is_some() {
            settings.epsilon = arguments.epsilon;
            settings.noise_multiplier = arguments.noise_multiplier;
        }
        if let Some(share) = arguments.paper_noise {
            settings.epsilon = None;
            settings.noise_multiplier = Some(settings.published(share)?);
        }
        if arguments.conditional {
            settings.conditional = true;
        }
        if arguments.unconditional {
            settings.conditional = false;
        }
        if arguments.no_privacy || mechanism == Mechanism::Public {
            settings.epsilon = None;
            settings.noise_multiplier = None;
        }
        settings.seed = arguments.seed;
        settings.insecure_noise_seed = arguments.insecure_noise_seed;
        settings.check()?;
        Ok(settings)
    }

    /// The settings of a run that was started before.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the file and what is wrong in it.
    pub fn read(folder: &RunFolder) -> Result<Self, Failure> {
        let settings: Self = folder.read_toml("config.toml")?;
        settings.check()?;
        Ok(settings)
    }

    /// Photographs have no classes, and the settings for them are others (Sebag et al. 2023, arXiv 2312.08227,
    /// appendix C.5).
    fn take_photographs(&mut self, arguments: &Arguments) {
        self.conditional = false;
        self.class_slices = None;
        if arguments.latent.is_none() {
            self.latent = 48;
        }
        if arguments.step_size.is_none() && self.mechanism == Mechanism::Marginals {
            self.step_size = self.latent as f64;
        }
        if arguments.delta.is_none() {
            self.delta = 1e-6;
        }
        match self.mechanism {
            Mechanism::Resampled | Mechanism::Generator => {
                self.slices = 300;
                self.epochs = Some(30);
            }
            Mechanism::Fixed => {
                self.slices = 250;
                self.slices_per_step = Some(220);
                self.steps = Some(2000);
            }
            _ => {}
        }
    }

    /// Whether the private records are a folder of photographs.
    pub fn photographs(&self) -> bool {
        self.dataset == IMAGES
    }

    /// Whether noise is added.
    pub fn private(&self) -> bool {
        self.epsilon.is_some() || self.noise_multiplier.is_some()
    }

    /// Whether moments are released first, for marginals to be counted around.
    pub fn moments_first(&self) -> bool {
        self.mechanism == Mechanism::Marginals && self.moments_share > 0.0
    }

    /// Slices of a release of one flow.
    pub fn flow_slices(&self) -> usize {
        match self.class_slices {
            Some(slices) if self.conditional => slices,
            _ => self.slices,
        }
    }

    /// Private steps for `records` private records.
    pub fn step_count(&self, records: usize) -> u64 {
        match (self.steps, self.epochs, self.batch) {
            (Some(steps), _, _) => steps,
            (None, Some(epochs), Some(batch)) => epochs * records.div_ceil(batch.max(1)) as u64,
            _ => 0,
        }
    }
}

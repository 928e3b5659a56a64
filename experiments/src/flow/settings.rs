//! A flow's settings: the mechanism's preset, then flags, then checks.

use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use serde::{Deserialize, Serialize};

use super::Arguments;

/// How private data is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mechanism {
    /// Private sliced marginals: noisy histograms of every slice, released once.
    Marginals,
    /// DPSWflow-r: a fresh batch, fresh slices and a fresh release at each step.
    Resampled,
    /// DPSWflow: one release of all projections, stored.
    Fixed,
    /// DPSWgen: a generator trained on releases as in `resampled`.
    Generator,
    /// One private Gaussian, or one a class.
    Gaussian,
    /// The public records decoded: what no private record was needed for.
    Public,
}

impl Mechanism {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Marginals => "marginals",
            Self::Resampled => "resampled",
            Self::Fixed => "fixed",
            Self::Generator => "generator",
            Self::Gaussian => "gaussian",
            Self::Public => "public",
        }
    }

    fn preset(self) -> &'static str {
        match self {
            Self::Marginals => include_str!("../../../assets/flow/marginals.toml"),
            Self::Resampled => include_str!("../../../assets/flow/resampled.toml"),
            Self::Fixed => include_str!("../../../assets/flow/fixed.toml"),
            Self::Generator => include_str!("../../../assets/flow/generator.toml"),
            Self::Gaussian => include_str!("../../../assets/flow/gaussian.toml"),
            Self::Public => include_str!("../../../assets/flow/public.toml"),
        }
    }

    /// Whether each step makes a release of its own.
    pub fn releases_each_step(self) -> bool {
        matches!(self, Self::Resampled | Self::Generator)
    }
}

/// How slices are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Frame {
    /// Independent directions.
    Iid,
    /// A tight frame.
    Tight,
}

/// The sensitivity of noisy projections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// `2 r sigma_max(Theta)`, a bound for every pair of records.
    Proved,
    /// The papers' Bernstein form: fails with a probability that is paid at each release.
    PaperBernstein,
    /// The papers' CLT form: **no bound**.
    PaperClt,
}

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

    /// Photographs have no classes, and paper 000's settings for them are others (appendix C.5).
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
            }
            _ => {}
        }
    }

    /// The noise multiplier of a deviation of `share` times the paper's `w(k, delta)` (paper 000,
    /// equation 23, its quantile at `1 - delta`), over the proved sensitivity of a tight frame,
    /// `sqrt(k/d)` in the same units.
    fn published(&self, share: f64) -> Result<f64, Failure> {
        let refuse = |why: String| {
            Failure::input(
                format!("--paper-noise {share}: {why}"),
                "leave it out, and give --epsilon or --noise-multiplier",
            )
        };
        if !(share.is_finite() && share > 0.0) {
            return Err(refuse("it must be positive and finite".into()));
        }
        if !self.mechanism.releases_each_step() {
            let name = self.mechanism.name();
            return Err(refuse(format!(
                "published for resampled and generator, not for {name}"
            )));
        }
        if self.frame != Frame::Tight || self.sensitivity != Norm::Proved {
            return Err(refuse(
                "the frame must be tight and the sensitivity proved".into(),
            ));
        }
        let (k, d) = (self.flow_slices(), self.latent);
        let paper =
            swd::smoothed::paper::paper_clt(k, d, self.delta).map_err(|e| refuse(e.to_string()))?;
        let proved =
            swd::smoothed::tight_frame_sensitivity(k, d, 1.0).map_err(|e| refuse(e.to_string()))?;
        Ok(share * paper.for_radius(1.0).map_err(Failure::run)? / proved)
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

    fn check(&self) -> Result<(), Failure> {
        let refuse = |flag: &str, value: String, bound: &str| {
            Err(Failure::input(
                format!("--{flag} {value}: it must be {bound}"),
                format!("give --{flag} another value, or leave it to the preset"),
            ))
        };
        for (flag, value) in [
            ("epsilon", self.epsilon.unwrap_or(1.0)),
            ("noise-multiplier", self.noise_multiplier.unwrap_or(1.0)),
            ("step-size", self.step_size),
            ("learning-rate", self.learning_rate),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return refuse(flag, value.to_string(), "positive and finite");
            }
        }
        if !(self.diffusion.is_finite() && self.diffusion >= 0.0) {
            return refuse(
                "diffusion",
                self.diffusion.to_string(),
                "at least 0 and finite",
            );
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            let bound = "above 0 and below 1/n for n private records";
            return refuse("delta", self.delta.to_string(), bound);
        }
        if !(self.final_step > 0.0 && self.final_step <= 1.0) {
            let bound = "above 0 and at most 1";
            return refuse("final-step", self.final_step.to_string(), bound);
        }
        if self.width == 0 {
            return refuse("width", "0".into(), "at least 1");
        }
        if self.photographs() && self.conditional {
            return Err(Failure::input(
                "--conditional: photographs in a folder have no classes".to_string(),
                "leave it out",
            ));
        }
        if self.photographs() && self.public != "half" {
            return Err(Failure::input(
                format!(
                    "--public {}: photographs need public photographs",
                    self.public
                ),
                "say --public half",
            ));
        }
        if !(2..=128).contains(&self.latent) {
            return refuse("latent", self.latent.to_string(), "between 2 and 128");
        }
        if self.public_epochs == 0 {
            return refuse("public-epochs", "0".into(), "at least 1");
        }
        let slices = self.flow_slices();
        if slices == 0 || (self.frame == Frame::Tight && slices < self.latent) {
            let bound = format!(
                "at least the latent dimension, {}, for a tight frame",
                self.latent
            );
            return refuse("slices", slices.to_string(), &bound);
        }
        if let Some(some) = self.slices_per_step
            && !(1..=slices).contains(&some)
        {
            let bound = format!("between 1 and the slices of a release, {slices}");
            return refuse("slices-per-step", some.to_string(), &bound);
        }
        if !(0.0..1.0).contains(&self.moments_share) {
            let bound = "at least 0 and below 1";
            return refuse("moments-share", self.moments_share.to_string(), bound);
        }
        if self.moments_share > 0.0 && self.mechanism != Mechanism::Marginals {
            let bound = format!("0 for {}", self.mechanism.name());
            return refuse("moments-share", self.moments_share.to_string(), &bound);
        }
        if !self.bins.is_power_of_two() || self.bins < 2 {
            return refuse(
                "bins",
                self.bins.to_string(),
                "a power of two of at least 2",
            );
        }
        for (flag, value) in [("particles", self.particles), ("batch", self.batch)] {
            if value == Some(0) {
                return refuse(flag, "0".into(), "at least 1");
            }
        }
        if self.mechanism.releases_each_step() && self.batch.is_none() {
            return refuse("batch", "(none)".into(), "given for this mechanism");
        }
        if self.sensitivity != Norm::Proved && self.mechanism == Mechanism::Marginals {
            return refuse("sensitivity", "of the papers".into(), "proved for counts");
        }
        if self.sensitivity != Norm::Proved && self.frame == Frame::Tight {
            return refuse("frame", "tight".into(), "iid for the papers' sensitivities");
        }
        if !matches!(self.mechanism, Mechanism::Gaussian | Mechanism::Public)
            && self.step_count(1).max(self.epochs.unwrap_or(0)) == 0
        {
            return refuse("steps", "0".into(), "at least 1");
        }
        Ok(())
    }
}

//! A run's settings: preset, then flags, then checks.

use data::DatasetKind;
use dp_core::per_sample::JacobianClip;
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use private_training::{Clipping, Loss, Objective, Penalty};
use serde::{Deserialize, Serialize};

use super::Arguments;
use crate::objective::refused;

/// The presets in `assets/swae`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PresetName {
    /// A few minutes on two cores.
    Quick,
    /// The settings of Rodriguez-Vitores et al. 2025, arXiv 2502.01701, section 6.
    Paper,
}

impl PresetName {
    fn text(self) -> &'static str {
        match self {
            Self::Quick => include_str!("../../../assets/swae/quick.toml"),
            Self::Paper => include_str!("../../../assets/swae/paper.toml"),
        }
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

/// How the prior, uniform in the unit ball, enters a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prior {
    /// By the exact quantile function of its projections, the same in every slice.
    Exact,
    /// By a fresh sample of as many points as the group has records, as Rodriguez-Vitores et al. have it.
    Sample,
}

/// How the weights start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Initialisation {
    /// He's, zero biases, and pixels that start dark.
    #[default]
    He,
    /// Uniform as frameworks have it: latents collapse at the start.
    Framework,
}

/// Everything that decides a run's result, as written to `config.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// Data set, by name.
    #[serde(default = "glyphs")]
    pub dataset: String,
    /// Private records, or all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<usize>,
    /// Budget; absent in a run without privacy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Delta of the guarantee.
    pub delta: f64,
    /// Training steps.
    pub steps: u64,
    /// Records in a batch.
    pub batch: usize,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// Weight of the transport term.
    pub alpha: f64,
    /// Dimension of the latent space.
    pub latent: usize,
    /// Labels at the decoder.
    pub conditional: bool,
    /// Whether a conditional model samples from released class moments, or from the prior.
    #[serde(default = "yes")]
    pub class_moments: bool,
    /// How the weights start.
    #[serde(default)]
    pub initialisation: Initialisation,
    /// How Jacobians are clipped.
    pub clip: JacobianClip,
    /// `M`.
    pub clip_activation: f64,
    /// `L`.
    pub clip_jacobian: f64,
    /// `C`.
    pub clip_reconstruction: f64,
    /// Slices.
    pub slices: usize,
    /// How slices are drawn.
    pub frame: Frame,
    /// How the prior enters.
    pub prior: Prior,
    /// Decay of the average of the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ema: Option<f64>,
    /// Public seed.
    #[serde(default)]
    pub seed: u64,
    /// Seed of batches and noise, which makes the run insecure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure_noise_seed: Option<u64>,
}

fn yes() -> bool {
    true
}

fn glyphs() -> String {
    DatasetKind::Glyphs.name().to_string()
}

impl Settings {
    /// The preset with the flags over it, checked as far as that goes without the data.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the flag, the value and the bound.
    pub fn resolve(arguments: &Arguments) -> Result<Self, Failure> {
        let mut settings: Self = toml::from_str(arguments.preset.text()).map_err(Failure::run)?;
        if let Some(kind) = arguments.dataset {
            if kind.name() != settings.dataset {
                settings.records = None;
            }
            settings.dataset = kind.name().to_string();
        }
        settings.records = arguments.records.or(settings.records);
        settings.epsilon = arguments.epsilon.or(settings.epsilon);
        macro_rules! take {
            ($($field:ident),*) => {
                $(if let Some(value) = arguments.$field { settings.$field = value; })*
            };
        }
        take!(
            delta,
            steps,
            batch,
            learning_rate,
            alpha,
            latent,
            clip_activation,
            clip_jacobian,
            clip_reconstruction,
            slices,
            frame,
            initialisation
        );
        if let Some(prior) = arguments.prior() {
            settings.prior = prior;
        }
        match arguments.clip.as_deref() {
            Some("rows") => settings.clip = JacobianClip::Rows,
            Some(_) => settings.clip = JacobianClip::Spectral,
            None => {}
        }
        if arguments.conditional {
            settings.conditional = true;
        }
        if arguments.unconditional {
            settings.conditional = false;
        }
        if arguments.prior_samples {
            settings.class_moments = false;
        }
        settings.ema = arguments.ema.or(settings.ema);
        settings.seed = arguments.seed;
        settings.insecure_noise_seed = arguments.insecure_noise_seed;
        if arguments.no_privacy {
            settings.epsilon = None;
        }
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

    fn check(&self) -> Result<(), Failure> {
        let refuse = |flag: &str, value: String, bound: &str| {
            Err(Failure::input(
                format!("--{flag} {value}: it must be {bound}"),
                format!("give --{flag} another value, or leave it to the preset"),
            ))
        };
        if let Some(epsilon) = self.epsilon
            && !(epsilon.is_finite() && epsilon > 0.0)
        {
            return refuse("epsilon", epsilon.to_string(), "positive and finite");
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return refuse(
                "delta",
                self.delta.to_string(),
                "above 0 and below 1/n for n records",
            );
        }
        if self.steps == 0 {
            return refuse("steps", self.steps.to_string(), "at least 1");
        }
        if self.batch == 0 {
            return refuse("batch", self.batch.to_string(), "at least 1");
        }
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            return refuse(
                "learning-rate",
                self.learning_rate.to_string(),
                "positive and finite",
            );
        }
        if !(1..=128).contains(&self.latent) {
            return refuse("latent", self.latent.to_string(), "between 1 and 128");
        }
        if self.slices == 0 || (self.frame == Frame::Tight && self.slices < self.latent) {
            return refuse(
                "slices",
                self.slices.to_string(),
                &format!(
                    "at least the latent dimension, {}, for a tight frame",
                    self.latent
                ),
            );
        }
        if let Some(decay) = self.ema
            && !(0.0..1.0).contains(&decay)
        {
            return refuse("ema", decay.to_string(), "at least 0 and below 1");
        }
        self.objective()?;
        Ok(())
    }

    /// Whether the run promises something.
    pub fn promises(&self) -> bool {
        self.epsilon.is_some() && self.insecure_noise_seed.is_none()
    }

    /// The data set.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a name that is not known.
    pub fn kind(&self) -> Result<DatasetKind, Failure> {
        self.dataset
            .parse()
            .map_err(|e| Failure::input(format!("--dataset {}: {e}", self.dataset), "choose one"))
    }

    /// The objective with its clipping.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the constant that is refused.
    pub fn objective(&self) -> Result<Objective, Failure> {
        if !(0.0..=1.0).contains(&self.alpha) {
            return Err(Failure::input(
                format!("--alpha {}: it must be between 0 and 1", self.alpha),
                "give --alpha another value",
            ));
        }
        let loss = Loss::binary_cross_entropy_with_logits()
            .weight(1.0 - self.alpha)
            .clip(self.clip_reconstruction);
        let prior = match self.prior {
            Prior::Exact => private_training::Prior::UniformBall,
            Prior::Sample => private_training::Prior::UniformBallSample,
        };
        let penalty = Penalty::to(prior).weight(self.alpha).clip(Clipping {
            activation: self.clip_activation,
            jacobian: self.clip_jacobian,
            mode: self.clip,
        });
        let penalty = match self.frame {
            Frame::Tight => penalty.slices(self.slices),
            Frame::Iid => penalty.independent_slices(self.slices),
        };
        let objective = Objective::of([loss]).penalty(penalty);
        objective
            .check()
            .map_err(|e| refused(e, "clip-reconstruction"))?;
        Ok(objective)
    }
}

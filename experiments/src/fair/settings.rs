//! A run's settings: the task's preset, then flags, then checks.

use std::path::PathBuf;

use dp_core::per_sample::JacobianClip;
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use private_training::{Clipping, Loss, Objective, Penalty};
use serde::{Deserialize, Serialize};

use super::Arguments;
use crate::objective::refused;

/// Where values that no flag gives come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// `assets/fair`.
    Tuned,
    /// The constants of Rodriguez-Vitores et al. 2025, arXiv 2502.01701, appendix C, where the others differ:
    /// `assets/fair/paper`.
    Paper,
}

/// What is learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum Task {
    /// The label of the simulated bias, or of a table, by logistic regression.
    Classification,
    /// The response of the simulated bias in the plane.
    Regression2d,
    /// The sum of its coordinates.
    Regression1d,
    /// An autoencoder of its features.
    Representation,
    /// Income, from the Adult data.
    Adult,
}

impl Task {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Classification => "classification",
            Self::Regression2d => "regression2d",
            Self::Regression1d => "regression1d",
            Self::Representation => "representation",
            Self::Adult => "adult",
        }
    }

    fn preset(self, preset: Preset) -> &'static str {
        match (self, preset) {
            (Self::Regression1d, Preset::Paper) => {
                return include_str!("../../../assets/fair/paper/regression1d.toml");
            }
            (Self::Representation, Preset::Paper) => {
                return include_str!("../../../assets/fair/paper/representation.toml");
            }
            _ => {}
        }
        match self {
            Self::Classification => include_str!("../../../assets/fair/classification.toml"),
            Self::Regression2d => include_str!("../../../assets/fair/regression2d.toml"),
            Self::Regression1d => include_str!("../../../assets/fair/regression1d.toml"),
            Self::Representation => include_str!("../../../assets/fair/representation.toml"),
            Self::Adult => include_str!("../../../assets/fair/adult.toml"),
        }
    }

    /// Whether a probability is learned.
    pub fn classifies(self) -> bool {
        matches!(self, Self::Classification | Self::Adult)
    }

    /// The loss.
    pub fn loss(self) -> Loss {
        if self.classifies() {
            Loss::binary_cross_entropy()
        } else {
            Loss::squared_error()
        }
    }

    /// Dimension of what the penalty looks at.
    pub fn penalised(self) -> usize {
        match self {
            Self::Regression2d | Self::Representation => 2,
            _ => 1,
        }
    }
}

/// A notion of fairness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum Notion {
    /// Statistical parity: the same law in both groups.
    Sp,
    /// Equality of odds: the same law in both groups of each class.
    Eo,
}

/// How Jacobians are clipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum Clip {
    /// Each row to `L / sqrt d`.
    Rows,
    /// Each singular value to `L`.
    Spectral,
}

/// The rule of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum Optimizer {
    /// Adam with burn's defaults.
    Adam,
    /// Plain descent.
    Sgd,
}

/// Everything that decides a run's result, as written to `config.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// What is learned.
    pub task: Task,
    /// The notion of fairness.
    pub notion: Notion,
    /// Simulated private records, or of Adult; all of a table's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<usize>,
    /// A table of the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csv: Option<PathBuf>,
    /// Its test records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_csv: Option<PathBuf>,
    /// Its columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<PathBuf>,
    /// Sensitive attribute of Adult.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitive: Option<String>,
    /// Budget; absent in a run without privacy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Delta of the guarantee, where it is not `0.1/n`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// Weight of the penalty.
    pub alpha: f64,
    /// Training steps.
    pub steps: u64,
    /// The share of each group in a batch.
    pub batch_share: f64,
    /// Records of each group in a batch instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches: Option<Vec<usize>>,
    /// The rule of a step.
    pub optimizer: Optimizer,
    /// Learning rate of the first step.
    pub learning_rate: f64,
    /// The share of it that is left at the last step; in between it falls along a line.
    #[serde(default = "one")]
    pub final_rate: f64,
    /// Decay of the average of the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ema: Option<f64>,
    /// How Jacobians are clipped.
    pub clip: Clip,
    /// `C`.
    pub clip_loss: f64,
    /// `M`.
    pub clip_activation: f64,
    /// `L`.
    pub clip_jacobian: f64,
    /// Slices.
    pub slices: usize,
    /// Units of the hidden layer.
    pub hidden: usize,
    /// Whether the published sensitivity is declared.
    #[serde(default)]
    pub paper_sensitivity: bool,
    /// Radius of a post-processing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_process: Option<f64>,
    /// The share of epsilon for its histograms.
    #[serde(default = "half")]
    pub post_share: f64,
    /// Public seed.
    #[serde(default)]
    pub seed: u64,
    /// The variance of the weights of the last layer, times the units in front of it. Where targets are
    /// centred a network that starts near 0 has less to forget, and forgetting is what noise makes dear.
    #[serde(default = "one")]
    pub last_gain: f64,
    /// Seed of batches and noise, which makes the run insecure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure_noise_seed: Option<u64>,
}

fn one() -> f64 {
    1.0
}

fn half() -> f64 {
    0.5
}

impl Settings {
    /// The learning rate of step `step`, counted from 0.
    pub fn rate(&self, step: u64) -> f64 {
        let done = step as f64 / (self.steps - 1).max(1) as f64;
        self.learning_rate * (1.0 - (1.0 - self.final_rate) * done)
    }

    /// The preset with the flags over it.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the flag, the value and the bound.
    pub fn resolve(arguments: &Arguments) -> Result<Self, Failure> {
        let task = arguments.task.unwrap_or(Task::Classification);
        let mut settings: Self =
            toml::from_str(task.preset(arguments.preset)).map_err(Failure::run)?;
        macro_rules! take {
            ($($field:ident),*) => {
                $(if let Some(value) = &arguments.$field { settings.$field = value.clone(); })*
            };
        }
        macro_rules! take_optional {
            ($($field:ident),*) => {
                $(if arguments.$field.is_some() { settings.$field = arguments.$field.clone(); })*
            };
        }
        take!(
            notion,
            alpha,
            steps,
            batch_share,
            optimizer,
            learning_rate,
            final_rate,
            clip,
            clip_loss,
            clip_activation,
            clip_jacobian,
            slices,
            hidden,
            post_share
        );
        take_optional!(
            records,
            csv,
            test_csv,
            schema,
            sensitive,
            epsilon,
            delta,
            batches,
            ema,
            post_process
        );
        if settings.csv.is_some() {
            settings.records = None;
        }
        if arguments.no_privacy {
            settings.epsilon = None;
        }
        settings.paper_sensitivity = arguments.paper_sensitivity;
        if settings.post_process.is_some() && arguments.alpha.is_none() {
            settings.alpha = 0.0;
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

    /// Whether the run promises something.
    pub fn promises(&self) -> bool {
        self.epsilon.is_some() && self.insecure_noise_seed.is_none()
    }

    /// Delta for `records` private records: `0.1/n` where none is given.
    pub fn delta_for(&self, records: usize) -> f64 {
        self.delta.unwrap_or(0.1 / records.max(1) as f64)
    }

    /// The radius of the ball in which activations are penalised; none in a run without privacy.
    pub fn ball(&self) -> Option<f64> {
        self.epsilon.map(|_| self.clip_activation)
    }

    /// The epsilon of a post-processing's histograms, where there are any.
    pub fn histograms(&self) -> Option<f64> {
        self.post_process?;
        Some(self.epsilon? * self.post_share)
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
        let loss = self.task.loss().weight(1.0 - self.alpha);
        let parity = match self.notion {
            Notion::Sp => Penalty::between_groups(),
            Notion::Eo => Penalty::between_classes(),
        };
        let parity = parity
            .slices(self.slices)
            .weight(self.alpha)
            .clip(Clipping {
                activation: self.clip_activation,
                jacobian: self.clip_jacobian,
                mode: match self.clip {
                    Clip::Rows => JacobianClip::Rows,
                    Clip::Spectral => JacobianClip::Spectral,
                },
            });
        let parity = match self.paper_sensitivity {
            true => parity.with_published_sensitivity(),
            false => parity,
        };
        let objective = Objective::of([loss.clip(self.clip_loss)]).penalty(parity);
        objective.check().map_err(|e| refused(e, "clip-loss"))?;
        Ok(objective)
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
        if let Some(delta) = self.delta
            && !(delta > 0.0 && delta < 1.0)
        {
            let bound = "above 0 and below 1/n for n records";
            return refuse("delta", delta.to_string(), bound);
        }
        if self.steps == 0 {
            return refuse("steps", "0".into(), "at least 1");
        }
        if !(self.batch_share > 0.0 && self.batch_share <= 1.0) {
            let bound = "above 0 and at most 1";
            return refuse("batch-share", self.batch_share.to_string(), bound);
        }
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            let bound = "positive and finite";
            return refuse("learning-rate", self.learning_rate.to_string(), bound);
        }
        if !(0.0..=1.0).contains(&self.final_rate) {
            let bound = "between 0 and 1";
            return refuse("final-rate", self.final_rate.to_string(), bound);
        }
        if let Some(decay) = self.ema
            && !(0.0..1.0).contains(&decay)
        {
            return refuse("ema", decay.to_string(), "at least 0 and below 1");
        }
        if self.slices < self.task.penalised() {
            let bound = format!("at least {}, the dimension", self.task.penalised());
            return refuse("slices", self.slices.to_string(), &bound);
        }
        if self.hidden == 0 && !self.task.classifies() {
            return refuse("hidden", "0".into(), "at least 1 for this task");
        }
        if self.notion == Notion::Eo && !self.task.classifies() {
            return refuse("notion", "eo".into(), "sp where there are no classes");
        }
        if self.csv.is_some() && self.task != Task::Classification {
            return Err(Failure::input(
                format!(
                    "--csv with --task {}: a table is for classification",
                    self.task.name()
                ),
                "say --task classification",
            ));
        }
        if let Some(beta) = self.post_process {
            if self.task != Task::Regression1d {
                let bound = "left out but for regression1d";
                return refuse("post-process", beta.to_string(), bound);
            }
            if !(0.0..=1.0).contains(&beta) {
                return refuse("post-process", beta.to_string(), "between 0 and 1");
            }
        }
        if !(self.post_share > 0.0 && self.post_share < 1.0) {
            let bound = "above 0 and below 1";
            return refuse("post-share", self.post_share.to_string(), bound);
        }
        self.objective()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_falls_along_a_line() {
        let preset = Task::Regression1d.preset(Preset::Tuned);
        let mut settings: Settings = toml::from_str(preset).expect("a preset");
        settings.final_rate = 0.5;
        settings.steps = 3;
        let shares: Vec<f64> = (0..3)
            .map(|step| settings.rate(step) / settings.learning_rate)
            .collect();
        assert_eq!(shares, [1.0, 0.75, 0.5]);
        settings.steps = 1;
        assert_eq!(settings.rate(0), settings.learning_rate);
    }
}

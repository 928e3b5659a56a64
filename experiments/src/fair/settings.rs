//! A run's settings: the task's preset, then flags, then checks.

use std::path::{Path, PathBuf};

use dp_core::per_sample::JacobianClip;
use lab::prelude::*;
use private_training::{Clipping, Loss, Objective, Penalty};
use serde::{Deserialize, Serialize};

use super::table;
use crate::objective::{Preset, objective};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum Task {
    /// The label of the simulated bias, or of a table of one's own, by logistic regression.
    Classification,
    /// The response of the simulated bias in the plane.
    Regression2d,
    /// The sum of its coordinates, on the line.
    Regression1d,
    /// An autoencoder of its features.
    Representation,
    /// Who has a high income, of the Adult data.
    Adult,
}

impl Task {
    /// The values that no flag gives, if the task has such a preset.
    fn preset(self, preset: Preset) -> Option<&'static str> {
        macro_rules! asset {
            ($name:literal) => {
                include_str!(concat!("../../../assets/fair/", $name, ".toml"))
            };
        }
        Some(match (self, preset) {
            (Self::Classification, Preset::Tuned) => asset!("classification"),
            (Self::Regression2d, Preset::Tuned) => asset!("regression2d"),
            (Self::Regression1d, Preset::Tuned) => asset!("regression1d"),
            (Self::Regression1d, Preset::Paper) => asset!("paper/regression1d"),
            (Self::Representation, Preset::Tuned) => asset!("representation"),
            (Self::Representation, Preset::Paper) => asset!("paper/representation"),
            (Self::Adult, Preset::Tuned) => asset!("adult"),
            (_, Preset::Paper) => return None,
        })
    }

    /// Whether a probability is learned.
    pub(super) fn classifies(self) -> bool {
        matches!(self, Self::Classification | Self::Adult)
    }

    pub(super) fn loss(self) -> Loss {
        match self.classifies() {
            true => Loss::binary_cross_entropy(),
            false => Loss::squared_error(),
        }
    }

    /// Dimension of what the penalty looks at.
    pub(super) fn penalised(self) -> usize {
        match self {
            Self::Regression2d | Self::Representation => 2,
            _ => 1,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Notion {
    /// Statistical parity: the same distribution in both groups.
    Sp,
    /// Equality of odds: the same distribution in both groups of each class.
    Eo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Optimizer {
    /// Adam with burn's defaults.
    Adam,
    /// Plain descent.
    Sgd,
}

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        records: Option<usize>, epsilon: Option<f64>, delta: Option<f64>, steps: u64, learning_rate: f64,
        slices: usize, seed: u64, insecure_noise_seed: Option<u64>,
    }
    preset {
        /// The variance of the weights of the last layer, times the units in front of it. If targets are centred, a
        /// network that starts near 0 has less to forget, and noise makes forgetting dear.
        #[setting(default = "one")]
        last_gain: f64,
    }
    flags {
        /// What is learned (default: classification).
        #[flag(value_enum)]
        task: Task,
        /// Weight of the penalty, between 0 and 1.
        #[bound(between(0.0, 1.0))]
        alpha: f64,
        /// The share of each group that is in a batch.
        #[bound(within((Excluded(0.0), Included(1.0))))]
        rate: f64,
        /// The rule of a step.
        #[flag(value_enum)]
        optimizer: Optimizer,
        /// The share of the learning rate that is left at the last step; it falls along a line.
        #[setting(default = "one")]
        #[bound(within(0.0..=1.0))]
        final_rate: f64,
        /// How Jacobians are clipped: by `rows` as Rodriguez-Vitores et al. (2025) do, or `spectral`, by singular values.
        #[flag(value_parser = by_name::<JacobianClip>)]
        clip: JacobianClip,
        /// C: the bound on each record's gradient of the loss.
        max_grad_norm: f64,
        /// M: the bound on activations under the penalty.
        clip_activation: f64,
        /// L: the bound on Jacobians under the penalty.
        clip_jacobian: f64,
        /// Units of the hidden layer, 0 for none.
        hidden: usize,
    }
    optional {
        /// Score, and keep, an exponential moving average of the weights with this decay: free of budget.
        #[bound(within(0.0..1.0))]
        ema: f64,
        /// Statistical parity, or equality of odds: of `classification` and `adult`.
        #[flag(value_enum)]
        notion: Notion,
        /// A table of one's own for `classification`: a CSV file that --schema describes.
        #[flag(requires = "schema", conflicts_with = "records")]
        input: PathBuf,
        /// Public test records for --input: another file of the same form.
        #[flag(requires = "input", conflicts_with = "test_share")]
        test: PathBuf,
        /// Instead: the share of the rows of --input, chosen by their numbers, that become public test records.
        #[flag(value_name = "SHARE", requires = "input")]
        #[bound(within((Excluded(0.0), Excluded(1.0))))]
        test_share: f64,
        /// What the columns of --input are: a TOML file, see `docs/schemas.md`.
        #[flag(requires = "input")]
        schema: PathBuf,
        /// Post-process to this Kolmogorov-Smirnov distance (Xian et al. 2024), without penalty unless --alpha is given: of
        /// `regression1d`.
        #[flag(value_name = "BETA")]
        #[bound(within(0.0..=1.0))]
        post_process: f64,
        /// The share of epsilon that the histograms of the post-processing spend (default: 0.5).
        #[bound(within((Excluded(0.0), Excluded(1.0))))]
        post_share: f64,
        /// Sensitive attribute of `adult`: sex or race.
        sensitive: String,
        /// Move all records of `adult` to the barycentre of both groups first, by marginals that are released for this share of
        /// epsilon and delta.
        #[flag(value_name = "SHARE")]
        #[bound(within((Excluded(0.0), Excluded(1.0))))]
        repair: f64,
    }
    switches {
        /// Preset in `assets/fair`, or in `assets/fair/paper` (Rodriguez-Vitores, Lalanne and Loubes 2025, appendix C).
        #[arg(long, value_enum, default_value = "tuned")]
        preset: Preset,
    }
}

fn one() -> f64 {
    1.0
}

impl Settings {
    /// The records of the task.
    pub(super) fn tables(&self, data_dir: Option<&Path>) -> Result<Tables, Failure> {
        match (&self.sensitive, &self.input, &self.schema) {
            (Some(sensitive), ..) => table::adult(self, sensitive, data_dir),
            (None, Some(input), Some(schema)) => table::read(self, input, schema),
            _ => table::simulated(self),
        }
    }

    /// The notion of fairness.
    pub(super) fn notion(&self) -> Notion {
        self.notion.unwrap_or(Notion::Sp)
    }

    /// The radius of a post-processing, and the share of epsilon that its histograms spend.
    pub(super) fn post_process(&self) -> Option<(f64, f64)> {
        Some((self.post_process?, self.post_share.unwrap_or(0.5)))
    }

    /// Refuses a flag of other tasks.
    fn check_task(&self) -> Result<(), Failure> {
        use Task::{Adult, Classification, Regression1d};
        let of_tasks: [(&str, bool, &[Task]); 6] = [
            ("notion", self.notion.is_some(), &[Classification, Adult]),
            ("input", self.input.is_some(), &[Classification]),
            ("post-process", self.post_process.is_some(), &[Regression1d]),
            ("post-share", self.post_share.is_some(), &[Regression1d]),
            ("sensitive", self.sensitive.is_some(), &[Adult]),
            ("repair", self.repair.is_some(), &[Adult]),
        ];
        let mut given = of_tasks.into_iter().filter(|(_, given, _)| *given);
        let Some((flag, _, tasks)) = given.find(|(_, _, tasks)| !tasks.contains(&self.task)) else {
            return Ok(());
        };
        let (own, of) = (name_of(self.task), tasks.iter().map(|&task| name_of(task)));
        let of = of.collect::<Vec<_>>().join(" or ");
        Err(Failure::input(
            format!("--{flag}: the task {own} has none"),
            format!("leave it out, or name the task {of}"),
        ))
    }

    pub(super) fn objective(&self) -> Result<Objective, Failure> {
        let parity = match self.notion() {
            Notion::Sp => Penalty::between_strata(),
            Notion::Eo => Penalty::between_classes(),
        };
        let clipping = Clipping {
            activation: self.clip_activation,
            jacobian: self.clip_jacobian,
            mode: self.clip,
        };
        let loss = (self.task.loss(), self.max_grad_norm);
        objective(loss, self.alpha, (parity, self.slices), clipping)
    }
}

impl lab::session::Settings for Settings {
    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        let flags = &arguments.own;
        let task = flags.task.unwrap_or(Task::Classification);
        let preset = task.preset(flags.preset).ok_or_else(|| {
            Failure::input(
                format!("--preset paper: the task {} has none", name_of(task)),
                "leave it out: its preset has the constants of the paper",
            )
        })?;
        let mut settings: Self = arguments.over(preset)?;
        if settings.post_process.is_some() && flags.alpha.is_none() {
            settings.alpha = 0.0;
        }
        Ok(settings)
    }

    fn name(&self) -> String {
        let (task, alpha) = (name_of(self.task), self.alpha);
        format!("{task}-alpha{alpha}-{}", budget_name(self.epsilon))
    }

    fn check(&self) -> Result<(), Failure> {
        self.check_task()?;
        let (task, slices, dimension) = (self.task, self.slices, self.task.penalised());
        let bound = format!("at least {dimension}, the dimension");
        bounded("slices", slices, slices >= dimension, &bound)?;
        let holds = self.hidden > 0 || task.classifies();
        bounded("hidden", self.hidden, holds, "at least 1 for this task")?;
        self.objective().map(drop)
    }
}

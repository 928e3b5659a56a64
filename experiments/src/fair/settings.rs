//! A run's settings: the task's preset, then flags, then checks.

use std::path::PathBuf;

use dp_core::per_sample::JacobianClip;
use lab::diagnostic::Failure;
use lab::session::{self, Arguments, Ends, bounded, budget_name, by_name, name_of, within};
use private_training::{Clipping, Loss, Objective, Penalty};
use serde::{Deserialize, Serialize};

use crate::objective::{refused, weight};

/// Where values that no flag gives come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// `assets/fair`.
    #[default]
    Tuned,
    /// The constants of Rodriguez-Vitores, Lalanne and Loubes 2025 (arXiv 2502.01701), appendix C, where the
    /// others differ: `assets/fair/paper`.
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
    /// The values that no flag gives.
    pub fn preset(self, preset: Preset) -> &'static str {
        match (self, preset) {
            (Self::Regression1d, Preset::Paper) => {
                include_str!("../../../assets/fair/paper/regression1d.toml")
            }
            (Self::Representation, Preset::Paper) => {
                include_str!("../../../assets/fair/paper/representation.toml")
            }
            (Self::Classification, _) => include_str!("../../../assets/fair/classification.toml"),
            (Self::Regression2d, _) => include_str!("../../../assets/fair/regression2d.toml"),
            (Self::Regression1d, _) => include_str!("../../../assets/fair/regression1d.toml"),
            (Self::Representation, _) => include_str!("../../../assets/fair/representation.toml"),
            (Self::Adult, _) => include_str!("../../../assets/fair/adult.toml"),
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
pub enum Notion {
    /// Statistical parity: the same distribution in both groups.
    Sp,
    /// Equality of odds: the same distribution in both groups of each class.
    Eo,
}

/// The rule of a step.
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
        /// The variance of the weights of the last layer, times the units in front of it. Where targets are
        /// centred a network that starts near 0 has less to forget, and forgetting is what noise makes dear.
        #[setting(default = "one")]
        last_gain: f64,
    }
    flags {
        /// What is learned.
        #[flag(value_enum)]
        task: Task,
        /// Statistical parity, or equality of odds.
        #[flag(value_enum)]
        notion: Notion,
        /// Weight of the penalty, between 0 and 1.
        alpha: f64,
        /// The share of each group that is in a batch.
        #[flag(conflicts_with = "batches")]
        batch_share: f64,
        /// The rule of a step.
        #[flag(value_enum)]
        optimizer: Optimizer,
        /// The share of the learning rate that is left at the last step; it falls along a line.
        #[setting(default = "one")]
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
        /// The share of epsilon that the post-processing's histograms spend (default: 0.5).
        #[setting(default = "half")]
        post_share: f64,
    }
    optional {
        /// A table of one's own, for `classification`: a CSV file that --schema describes.
        #[flag(requires = "schema")]
        csv: PathBuf,
        /// Test records for --csv (default: about one in five of its rows, by their number alone, which count as
        /// public).
        #[flag(requires = "csv")]
        test_csv: PathBuf,
        /// What the columns of --csv are: a TOML file, see `docs/schemas.md`.
        #[flag(requires = "csv")]
        schema: PathBuf,
        /// Sensitive attribute of Adult: sex or race.
        sensitive: String,
        /// Records of each group in a batch instead: n'_0,n'_1 for statistical parity; for equality of odds class
        /// after class, n'_00,n'_10,n'_01,n'_11 with the group first.
        #[flag(value_delimiter = ',')]
        batches: Vec<usize>,
        /// Score, and keep, an exponential moving average of the weights with this decay: free of budget.
        ema: f64,
        /// Post-process to this Kolmogorov-Smirnov distance (Xian et al. 2024): `regression1d` alone, and instead
        /// of the penalty unless --alpha is given too.
        #[flag(value_name = "BETA")]
        post_process: f64,
    }
    switches {
        /// Where the values of `regression1d` and `representation` come from: their presets differ from the published values.
        #[arg(long, value_enum, default_value_t = Preset::Tuned)]
        preset: Preset,
    }
}

fn one() -> f64 {
    1.0
}

fn half() -> f64 {
    0.5
}

impl Settings {
    /// The epsilon of a post-processing's histograms, where there are any.
    pub fn histograms(&self) -> Option<f64> {
        self.post_process?;
        Some(self.epsilon? * self.post_share)
    }

    /// The objective with its clipping; a constant that is refused is named.
    pub fn objective(&self) -> Result<Objective, Failure> {
        let [loss_weight, penalty_weight] = weight(self.alpha)?;
        let parity = match self.notion {
            Notion::Sp => Penalty::between_groups(),
            Notion::Eo => Penalty::between_classes(),
        };
        let clipping = Clipping {
            activation: self.clip_activation,
            jacobian: self.clip_jacobian,
            mode: self.clip,
        };
        let parity = parity.slices(self.slices).weight(penalty_weight);
        let parity = parity.clipping(clipping);
        let loss = self
            .task
            .loss()
            .weight(loss_weight)
            .max_grad_norm(self.max_grad_norm);
        let objective = Objective::of([loss]).penalty(parity);
        objective.check().map_err(refused)?;
        Ok(objective)
    }
}

impl session::Settings for Settings {
    type Flags = Flags;

    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        let own = &arguments.own;
        let task = own.task.unwrap_or(Task::Classification);
        let mut settings: Self = arguments.over(task.preset(own.preset))?;
        settings.records = settings.records.filter(|_| settings.csv.is_none());
        if settings.post_process.is_some() && own.alpha.is_none() {
            settings.alpha = 0.0;
        }
        Ok(settings)
    }

    fn name(&self) -> String {
        let budget = budget_name(self.epsilon);
        format!("{}-alpha{}-{budget}", name_of(self.task), self.alpha)
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.insecure_noise_seed
    }

    fn check(&self) -> Result<(), Failure> {
        let dimension = self.task.penalised();
        let beta = self.post_process.unwrap_or(0.0);
        let classifies = self.task.classifies();
        let table = self.csv.is_none() || self.task == Task::Classification;
        let regression = self.post_process.is_none() || self.task == Task::Regression1d;
        lab::basics!(self).check()?;
        within("batch-share", self.batch_share, 0.0, 1.0, Ends::LAST)?;
        within("final-rate", self.final_rate, 0.0, 1.0, Ends::BOTH)?;
        within("post-process", beta, 0.0, 1.0, Ends::BOTH)?;
        within("post-share", self.post_share, 0.0, 1.0, Ends::NEITHER)?;
        let bound = format!("at least {dimension}, the dimension");
        bounded("slices", self.slices, self.slices >= dimension, &bound)?;
        let hidden = self.hidden > 0 || classifies;
        bounded("hidden", self.hidden, hidden, "at least 1 for this task")?;
        let (notion, task) = (name_of(self.notion), name_of(self.task));
        let parity = self.notion == Notion::Sp || classifies;
        bounded("notion", notion, parity, "sp where there are no classes")?;
        bounded("task", task, table, "classification with --csv")?;
        let bound = "left out but for regression1d";
        bounded("post-process", beta, regression, bound)?;
        self.objective().map(drop)
    }
}

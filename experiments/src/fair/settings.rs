//! A run's settings: the task's preset, then flags, then checks.

use dp_core::per_sample::JacobianClip;
use lab::diagnostic::Failure;
use lab::session::{self, Arguments, Ends, bounded, budget_name, by_name};
use private_training::{Clipping, Loss, Objective, Penalty};
use serde::{Deserialize, Serialize};

use super::tasks::{Adult, Own, Regression1d};
use crate::objective::{refused, weight};

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
    /// What every task has.
    struct Shared, SharedFlags;
    common {
        records: Option<usize>, epsilon: Option<f64>, delta: Option<f64>, steps: u64, learning_rate: f64,
        slices: usize, seed: u64, insecure_noise_seed: Option<u64>,
    }
    preset {
        /// What is learned.
        task: Task,
        /// The variance of the weights of the last layer, times the units in front of it. Where targets are
        /// centred a network that starts near 0 has less to forget, and forgetting is what noise makes dear.
        #[setting(default = "one")]
        last_gain: f64,
    }
    flags {
        /// Weight of the penalty, between 0 and 1.
        #[bound(between(0.0, 1.0))]
        alpha: f64,
        /// The share of each group that is in a batch.
        #[bound(within(0.0, 1.0, Ends::LAST))]
        rate: f64,
        /// The rule of a step.
        #[flag(value_enum)]
        optimizer: Optimizer,
        /// The share of the learning rate that is left at the last step; it falls along a line.
        #[setting(default = "one")]
        #[bound(within(0.0, 1.0, Ends::BOTH))]
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
        #[bound(within(0.0, 1.0, Ends::FIRST))]
        ema: f64,
    }
}

fn one() -> f64 {
    1.0
}

lab::settings! {
    parts <T: Own> {
        /// The task's own.
        own: T,
        /// What every task has.
        shared: Shared,
    }
}

impl<T: Own> Settings<T> {
    /// The radius of a post-processing, and the share of epsilon that its histograms spend.
    pub(super) fn post_process(&self) -> Option<(f64, f64)> {
        let own = self.own.get::<Regression1d>()?;
        Some((own.post_process?, own.post_share))
    }

    /// The share of epsilon and delta that a repair of the records spends.
    pub(super) fn repair(&self) -> Option<f64> {
        self.own.get::<Adult>()?.repair
    }

    /// The objective with its clipping; a constant that is refused is named.
    pub(super) fn objective(&self) -> Result<Objective, Failure> {
        let (shared, own) = (&self.shared, &self.own);
        let [loss_weight, penalty_weight] = weight(shared.alpha);
        let parity = match own.notion() {
            Notion::Sp => Penalty::between_groups(),
            Notion::Eo => Penalty::between_classes(),
        };
        let clipping = Clipping {
            activation: shared.clip_activation,
            jacobian: shared.clip_jacobian,
            mode: shared.clip,
        };
        let parity = parity.slices(shared.slices).weight(penalty_weight);
        let loss = shared.task.loss().weight(loss_weight);
        let objective = Objective::of([loss.max_grad_norm(shared.max_grad_norm)]);
        let objective = objective.penalty(parity.clipping(clipping));
        objective.check().map_err(refused)?;
        Ok(objective)
    }
}

impl<T: Own> session::Settings for Settings<T> {
    type Flags = Flags<T>;

    fn resolve(arguments: &Arguments<Flags<T>>) -> Result<Self, Failure> {
        let flags = &arguments.own;
        let mut settings: Self = arguments.over(T::preset(&flags.own))?;
        if settings.post_process().is_some() && flags.shared.alpha.is_none() {
            settings.shared.alpha = 0.0;
        }
        Ok(settings)
    }

    fn name(&self) -> String {
        let (alpha, epsilon) = (self.shared.alpha, self.shared.epsilon);
        format!("{}-alpha{alpha}-{}", T::NAME, budget_name(epsilon))
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.shared.insecure_noise_seed
    }

    fn check(&self) -> Result<(), Failure> {
        let (shared, task, slices) = (&self.shared, self.shared.task, self.shared.slices);
        let hidden = shared.hidden;
        let dimension = task.penalised();
        let bound = format!("at least {dimension}, the dimension");
        bounded("slices", slices, slices >= dimension, &bound)?;
        let holds = hidden > 0 || task.classifies();
        bounded("hidden", hidden, holds, "at least 1 for this task")?;
        self.objective().map(drop)
    }
}

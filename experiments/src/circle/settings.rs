//! A run's settings: the method's preset, then flags, then checks.

use dp_core::per_sample::JacobianClip;
use lab::diagnostic::Failure;
use lab::session::{self, Arguments, Basics, Ends, bounded, budget_name, by_name, name_of, within};
use private_training::{Clipping, Objective, Penalty};
use serde::{Deserialize, Serialize};

use crate::objective::refused;

/// What is private of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The gradient of the sliced distance, its activations and Jacobians clipped.
    Gradients,
    /// The distance: noisy projections of one sub-sample of the circle, released once.
    Smoothed,
}

/// A side of the distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The points that the network is fed.
    Source,
    /// The points of the circle.
    Target,
}

/// Where values that no flag gives come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// `assets/circle`.
    #[default]
    Tuned,
    /// The published constants, where the others differ: `assets/circle/paper.toml`.
    Paper,
}

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        records: usize, epsilon: Option<f64>, delta: Option<f64>, steps: u64, learning_rate: f64,
        slices: usize, seed: u64, insecure_noise_seed: Option<u64>,
    }
    preset {
        /// Whether the noisy projections of a point are combined, which leaves less noise.
        #[setting(default)]
        combine: bool,
    }
    flags {
        /// What is private of a step: its gradient, or a smoothed distance.
        #[flag(value_enum)]
        method: Method,
        /// Whose budget --epsilon is: that of the `target`, the circle, or of the `source`, the points that the
        /// network is fed, which cost more than twice as much by private gradients and are public otherwise.
        #[flag(value_enum)]
        side: Side,
        /// Points of each side in a batch, or of the circle in the one sub-sample.
        batch: usize,
        /// The share of the learning rate that is left at the last step; it falls along a line.
        final_rate: f64,
        /// How Jacobians are clipped: by `rows` as in the paper, or `spectral`, by singular values.
        #[flag(value_parser = by_name::<JacobianClip>)]
        clip: JacobianClip,
        /// M: the public bound on points, generated and of the circle.
        clip_activation: f64,
        /// L: the bound on Jacobians.
        clip_jacobian: f64,
    }
    optional {
        /// Score, and keep, an exponential moving average of the weights with this decay: free of budget.
        ema: f64,
    }
    switches {
        /// Combine the noisy projections of a point (`smoothed`): no more noise then than two slices have. No part of
        /// the published baseline.
        #[arg(long)]
        combine: bool,
        /// Where values that no flag gives come from.
        #[arg(long, value_enum, default_value_t = Preset::Tuned)]
        preset: Preset,
    }
}

impl Method {
    /// The values that no flag gives.
    pub fn preset(self, preset: Preset) -> &'static str {
        match (self, preset) {
            (Self::Smoothed, _) => include_str!("../../../assets/circle/smoothed.toml"),
            (Self::Gradients, Preset::Tuned) => {
                include_str!("../../../assets/circle/gradients.toml")
            }
            (Self::Gradients, Preset::Paper) => include_str!("../../../assets/circle/paper.toml"),
        }
    }
}

impl Settings {
    /// Delta: `0.1/n` where none is given.
    pub fn delta(&self) -> f64 {
        self.delta.unwrap_or(0.1 / self.records.max(1) as f64)
    }

    /// The distance to the circle with its clipping; a constant that is refused is named.
    pub fn objective(&self, share: f64) -> Result<Objective, Failure> {
        let clipping = Clipping {
            activation: self.clip_activation,
            jacobian: self.clip_jacobian,
            mode: self.clip,
        };
        let distance = Penalty::to_private_sample(share).slices(self.slices);
        let objective = Objective::default().penalty(distance.clipping(clipping));
        objective.check().map_err(refused)?;
        Ok(objective)
    }
}

impl session::Settings for Settings {
    type Flags = Flags;

    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        let own = &arguments.own;
        let preset = own.method.unwrap_or(Method::Gradients).preset(own.preset);
        Ok(Self {
            combine: own.combine,
            ..arguments.over(preset)?
        })
    }

    fn name(&self) -> String {
        format!("{}-{}", name_of(self.method), budget_name(self.epsilon))
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.insecure_noise_seed
    }

    fn check(&self) -> Result<(), Failure> {
        lab::basics!(self).check()?;
        Basics::check_batch(self.batch, self.records)?;
        within("final-rate", self.final_rate, 0.0, 1.0, Ends::BOTH)?;
        let slices = self.slices;
        bounded("slices", slices, slices > 1, "at least 2, the dimension")?;
        let released = self.method == Method::Gradients || self.side == Side::Target;
        let bound = "target where the distance is private: what the network is fed is public then";
        bounded("side", name_of(self.side), released, bound)?;
        self.objective(1.0).map(drop)
    }
}

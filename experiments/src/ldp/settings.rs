//! A run's settings: preset, then flags, then checks.

use std::path::PathBuf;

use lab::prelude::*;
use serde::{Deserialize, Serialize};

use crate::objective::Preset;
use crate::records::{kind, stem};
use crate::scores::ScoreFlags;

/// The distance to the privatised records that the generator minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// Entropic transport with the regularisation `p sigma^p`: its minimiser is the distribution before the noise.
    Entropic,
    /// Transport without regularisation: its minimiser is the distribution of the noisy records.
    W2,
    /// The Sinkhorn divergence with the regularisation of `entropic`: that of the noisy records too.
    Divergence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum NetworkKind {
    /// Transposed convolutions.
    Dcgan,
    /// Three hidden layers.
    Perceptron,
}

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common { steps: u64, learning_rate: f64, seed: u64 }
    flags {
        /// The privatised records: a file that `sliver privatise` wrote, which says what their noise is.
        #[flag(required_unless_present = "resume")]
        input: PathBuf,
        /// Data set whose public test images the result is judged by: mnist, fashion-mnist or usps, or glyphs, which needs no file.
        dataset: String,
        /// Distance to the privatised records that the generator minimises.
        #[flag(value_enum)]
        loss: Loss,
        /// Network that generates: transposed convolutions, or a perceptron.
        #[flag(value_enum)]
        network: NetworkKind,
        /// Width of the generator's code, uniform on [0, 1].
        #[bound(at_least(1))]
        latent: usize,
        /// Number of privatised records, and of generated ones, in a step.
        #[bound(must_be("at least 20: two of each of ten classes", |n: usize| n >= 20))]
        batch: usize,
        /// Maximum number of iterations of a transport.
        #[bound(at_least(1))]
        iterations: usize,
    }
    optional {
        /// Average the weights with this decay, and generate by the average.
        #[bound(within(0.0..1.0))]
        ema: f64,
    }
    switches {
        /// Where values that no flag gives come from.
        #[arg(long, value_enum, default_value_t = Preset::Tuned)]
        preset: Preset,
        /// How samples are scored.
        #[command(flatten)]
        score: ScoreFlags,
    }
}

impl lab::session::Settings for Settings {
    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        arguments.over(match arguments.own.preset {
            Preset::Tuned => include_str!("../../../assets/ldp/images.toml"),
            Preset::Paper => include_str!("../../../assets/ldp/paper.toml"),
        })
    }

    fn name(&self) -> String {
        format!("{}-{}", stem(&self.input), name_of(self.loss))
    }

    fn check(&self) -> Result<(), Failure> {
        kind("dataset", &self.dataset).map(drop)
    }
}

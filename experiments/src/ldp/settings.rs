//! A run's settings: preset, then flags, then checks.

use std::path::{Path, PathBuf};

use data::privatised::{Calibration, Header, LabelEncoding, NoiseKind, Transform, Wanted};
use lab::diagnostic::Failure;
use lab::session::{self, Arguments, Ends, bounded, budget_name, by_name, name_of, within};
use serde::{Deserialize, Serialize};

use super::private::{header_of, refused};
use crate::records::kind;
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
}

/// What generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum NetworkKind {
    /// Transposed convolutions.
    Dcgan,
    /// Three hidden layers.
    Perceptron,
}

/// Where values that no flag gives come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// `assets/ldp/images.toml`.
    #[default]
    Tuned,
    /// The published constants: `assets/ldp/paper.toml`.
    Paper,
}

impl Preset {
    fn text(self) -> &'static str {
        match self {
            Self::Tuned => include_str!("../../../assets/ldp/images.toml"),
            Self::Paper => include_str!("../../../assets/ldp/paper.toml"),
        }
    }
}

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        records: Option<usize>, epsilon: Option<f64>, delta: Option<f64>, steps: u64, learning_rate: f64, seed: u64,
        insecure_noise_seed: Option<u64>,
    }
    flags {
        /// Data set: mnist, fashion-mnist or usps, or glyphs, which needs no file.
        dataset: String,
        /// What the generator is trained to be near to.
        #[flag(value_enum)]
        loss: Loss,
        /// The noise of a record.
        #[flag(value_name = "gaussian|laplace", value_parser = by_name::<NoiseKind>)]
        mechanism: NoiseKind,
        /// How Gaussian noise is calibrated: exactly, or as published.
        #[flag(value_name = "exact|paper", value_parser = by_name::<Calibration>)]
        calibration: Calibration,
        /// Radius of the ball that records are scaled into: Euclidean for Gaussian noise, l1 for Laplace noise.
        #[bound(norm)]
        radius: f64,
        /// What the one-hot class behind the pixels is multiplied by; 0 leaves classes out.
        #[bound(within(0.0, 1e6, Ends::BOTH))]
        label_weight: f64,
        /// What generates: transposed convolutions, or a perceptron.
        #[flag(value_enum)]
        network: NetworkKind,
        /// Width of the generator's code, uniform on [0, 1].
        #[bound(at_least(1))]
        latent: usize,
        /// Privatised records, and generated ones, in a step.
        #[bound(must_be("at least 20: two of each of ten classes", |n: usize| n >= 20))]
        batch: usize,
        /// Iterations of a transport, at most.
        #[bound(at_least(1))]
        iterations: usize,
    }
    optional {
        /// Keep so many coefficients of lowest frequency of each image's cosine transform, and privatise those.
        #[bound(at_least(1))]
        keep: usize,
        /// Average the weights with this decay, and generate by the average.
        #[bound(within(0.0, 1.0, Ends::FIRST))]
        ema: f64,
        /// A file that `just privatise` made: no private record is read, and --dataset names public ones to judge by.
        input: PathBuf,
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

impl Settings {
    /// Takes the values that a header has decided.
    fn take(&mut self, header: &Header) {
        self.records = None;
        self.epsilon = Some(header.epsilon);
        if header.delta > 0.0 {
            self.delta = Some(header.delta);
        }
        self.radius = header.radius;
        (self.mechanism, self.calibration) = (header.mechanism, header.calibration);
        self.label_weight = match header.labels {
            LabelEncoding::Dropped => 0.0,
            LabelEncoding::OneHot { weight, .. } => weight,
        };
        self.keep = match &header.transform {
            Transform::None => None,
            Transform::Dct { kept, .. } => Some(kept.len()),
        };
    }
}

/// The header of privatised records, which has to be what the flags ask for.
fn header(input: &Path, flags: &Flags) -> Result<Header, Failure> {
    let decided = [
        ("records", flags.records.is_some()),
        ("no-privacy", flags.no_privacy),
        ("insecure-noise-seed", flags.insecure_noise_seed.is_some()),
        ("keep", flags.keep.is_some()),
        ("label-weight", flags.label_weight.is_some()),
    ];
    if let Some((flag, _)) = decided.into_iter().find(|&(_, given)| given) {
        return Err(Failure::input(
            format!("--{flag}: the records of --input were privatised already"),
            "leave it out",
        ));
    }
    let header = header_of(input)?;
    let wanted = Wanted {
        mechanism: flags.mechanism,
        calibration: flags.calibration,
        epsilon: flags.epsilon,
        delta: flags.delta,
        radius: flags.radius,
        ..Wanted::default()
    };
    let name = format!("--input {}", input.display());
    header.check_request(&name, &wanted).map_err(refused)?;
    Ok(header)
}

impl session::Settings for Settings {
    type Flags = Flags;

    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        let own = &arguments.own;
        let mut settings: Self = arguments.over(own.preset.text())?;
        if let Some(input) = &settings.input {
            let header = header(input, own)?;
            settings.take(&header);
        }
        Ok(settings)
    }

    fn name(&self) -> String {
        let (loss, privacy) = (name_of(self.loss), budget_name(self.epsilon));
        let noise = match self.mechanism {
            NoiseKind::Gaussian => "gaussian",
            NoiseKind::Laplace => "laplace",
        };
        format!("{}-{loss}-{noise}-{privacy}", self.dataset)
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.insecure_noise_seed
    }

    fn check(&self) -> Result<(), Failure> {
        kind("dataset", &self.dataset)?;
        within("delta", self.delta, 0.0, 0.5, Ends::NEITHER)?;
        if (self.mechanism, self.calibration) == (NoiseKind::Laplace, Calibration::Paper) {
            return Err(Failure::input(
                "--mechanism laplace: its calibration is exact, and --calibration paper was asked for",
                "say --calibration exact too",
            ));
        }
        let noisy = self.epsilon.is_some() || self.loss == Loss::W2;
        bounded("loss", name_of(self.loss), noisy, "w2 without noise")
    }
}

//! A run's settings: the preset of the data set, then flags, then checks.

use std::path::{Path, PathBuf};

use data::DatasetKind;
use data::privatised::{Calibration, Header, Labels, Mechanism, Transform, Wanted};
use lab::diagnostic::Failure;
use lab::session::{
    self, Arguments, Ends, bounded, budget_name, by_name, name_of, positive, text_in, within,
};
use serde::{Deserialize, Serialize};

use super::private::{header_of, refused};
use super::sources::Points;
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
    /// Sliced transport between the noisy records and generated ones with noise of the same distribution: a deconvolution in
    /// each slice, whose minimiser is the distribution before the noise.
    Sliced,
}

/// What generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Transposed convolutions, for images.
    Dcgan,
    /// Three hidden layers.
    Perceptron,
}

/// Where values that no flag gives come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// `assets/ldp/images.toml`, or `points.toml` for points.
    #[default]
    Tuned,
    /// The published constants: `assets/ldp/paper.toml`.
    Paper,
}

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        records: Option<usize>, epsilon: Option<f64>, delta: f64, steps: u64, learning_rate: f64, slices: usize,
        seed: u64, insecure_noise_seed: Option<u64>,
    }
    preset {
        /// Whether wavelets take noise off each record before a generator sees it.
        denoise: bool,
    }
    flags {
        /// Data set: mnist, fashion-mnist or usps, glyphs, which needs no file, or points: `line`, `gaussian` in the
        /// plane, `gaussians`, which are five.
        dataset: String,
        /// What the generator is trained to be near to.
        #[flag(value_enum)]
        loss: Loss,
        /// The noise of a record.
        #[flag(value_name = "gaussian|laplace", value_parser = by_name::<Mechanism>)]
        mechanism: Mechanism,
        /// How Gaussian noise is calibrated: exactly, or as published.
        #[flag(value_name = "exact|paper", value_parser = by_name::<Calibration>)]
        calibration: Calibration,
        /// What generates: transposed convolutions, or a perceptron.
        #[flag(value_enum)]
        network: Network,
        /// Radius of the ball that records are scaled into, with their classes: of the Euclidean norm for Gaussian
        /// noise, of the sum of absolute values for Laplace noise.
        radius: f64,
        /// What the one-hot class behind the pixels is multiplied by; 0 leaves classes out.
        label_weight: f64,
        /// Width of the generator's code, uniform on [0, 1].
        latent: usize,
        /// Privatised records, and generated ones, in a step.
        batch: usize,
        /// Iterations of a transport, at most.
        iterations: usize,
    }
    optional {
        /// Average the weights with this decay, and generate by the average.
        ema: f64,
        /// Keep so many coefficients of lowest frequency of each image's cosine transform, and privatise those.
        keep: usize,
        /// A file that `just privatise` made. No private record is read then: --dataset names public records that the
        /// result is judged by, and the file's header says what was done.
        input: PathBuf,
    }
    switches {
        /// Take noise off each record by wavelets first: the published baseline, for the loss `w2`.
        #[arg(long)]
        denoise: bool,
        /// Where values that no flag gives come from.
        #[arg(long, value_enum, default_value_t = Preset::Tuned)]
        preset: Preset,
        /// How samples are scored.
        #[command(flatten)]
        score: ScoreFlags,
    }
}

impl Settings {
    /// The points that are learned; none for images.
    pub fn points(&self) -> Option<Points> {
        Points::by_name(&self.dataset)
    }

    /// The data set of images.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a name that is not known.
    pub fn kind(&self) -> Result<DatasetKind, Failure> {
        let refuse = |e| {
            let points = Points::NAMES.join(", ");
            let what = format!("--dataset {}: {e}, or points: {points}", self.dataset);
            Failure::input(what, "choose one")
        };
        self.dataset.parse().map_err(refuse)
    }
}

/// The header of privatised records, which has to be what the flags ask for.
fn header(input: &Path, arguments: &Arguments<Flags>) -> Result<Header, Failure> {
    let own = &arguments.own;
    for (flag, given) in [
        ("records", own.records.is_some()),
        ("no-privacy", own.no_privacy),
        ("insecure-noise-seed", own.insecure_noise_seed.is_some()),
        ("keep", own.keep.is_some()),
        ("label-weight", own.label_weight.is_some()),
    ] {
        if given {
            return Err(Failure::input(
                format!("--{flag}: the records of --input were privatised already"),
                "leave it out",
            ));
        }
    }
    let header = header_of(input)?;
    let wanted = Wanted {
        mechanism: own.mechanism,
        calibration: own.calibration,
        epsilon: own.epsilon,
        delta: own.delta,
        radius: own.radius,
        ..Wanted::default()
    };
    let name = format!("--input {}", input.display());
    header.check_request(&name, &wanted).map_err(refused)?;
    Ok(header)
}

impl Settings {
    /// The values that a header has decided.
    fn take(&mut self, header: &Header) {
        self.records = None;
        self.epsilon = Some(header.epsilon);
        self.delta = if header.delta > 0.0 {
            header.delta
        } else {
            self.delta
        };
        self.radius = header.radius;
        (self.mechanism, self.calibration) = (header.mechanism, header.calibration);
        self.label_weight = match header.labels {
            Labels::Dropped => 0.0,
            Labels::OneHot { weight, .. } => weight,
        };
        self.keep = match &header.transform {
            Transform::None => None,
            Transform::Dct { kept, .. } => Some(kept.len()),
        };
    }
}

impl session::Settings for Settings {
    type Flags = Flags;

    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        let own = &arguments.own;
        let images = match own.preset {
            Preset::Tuned => include_str!("../../../assets/ldp/images.toml"),
            Preset::Paper => include_str!("../../../assets/ldp/paper.toml"),
        };
        let dataset = own.dataset.clone().or_else(|| text_in(images, "dataset"));
        let preset = match dataset.and_then(|name| Points::by_name(&name)) {
            Some(_) => include_str!("../../../assets/ldp/points.toml"),
            None => images,
        };
        let mut settings = Self {
            denoise: own.denoise,
            ..arguments.over(preset)?
        };
        if let Some(input) = &own.input {
            settings.take(&header(input, arguments)?);
        }
        if settings.points().is_none() {
            settings.dataset = settings.kind()?.name().to_string();
        }
        Ok(settings)
    }

    fn name(&self) -> String {
        let (loss, privacy) = (name_of(self.loss), budget_name(self.epsilon));
        let noise = match self.mechanism {
            Mechanism::Gaussian => "gaussian",
            Mechanism::Laplace => "laplace",
        };
        format!("{}-{loss}-{noise}-{privacy}", self.dataset)
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.insecure_noise_seed
    }

    fn check(&self) -> Result<(), Failure> {
        let points = self.points();
        if points.is_none() {
            self.kind()?;
        }
        positive("epsilon", self.epsilon.unwrap_or(1.0))?;
        within("delta", self.delta, 0.0, 0.5, Ends::NEITHER)?;
        bounded("steps", self.steps, self.steps > 0, "at least 1")?;
        positive("learning-rate", self.learning_rate)?;
        positive("radius", self.radius)?;
        within("label-weight", self.label_weight, 0.0, 1e6, Ends::BOTH)?;
        bounded("latent", self.latent, self.latent > 0, "at least 1")?;
        let bound = "at least 20: two of each of ten classes";
        bounded("batch", self.batch, self.batch >= 20, bound)?;
        bounded(
            "iterations",
            self.iterations,
            self.iterations > 0,
            "at least 1",
        )?;
        bounded("slices", self.slices, self.slices > 0, "at least 1")?;
        within("ema", self.ema.unwrap_or(0.0), 0.0, 1.0, Ends::FIRST)?;
        bounded("keep", 0, self.keep != Some(0), "at least 1")?;
        if points.is_some() {
            let holds = self.network == Network::Perceptron;
            bounded(
                "network",
                name_of(self.network),
                holds,
                "perceptron for points",
            )?;
            bounded("denoise", "", !self.denoise, "left out for points")?;
            let weight = self.label_weight;
            bounded(
                "label-weight",
                weight,
                weight == 0.0,
                "0 for points: they have no classes",
            )?;
            let keep = self.keep.unwrap_or(0);
            bounded("keep", keep, self.keep.is_none(), "left out for points")?;
        }
        if self.denoise {
            let holds = self.loss == Loss::W2 && self.keep.is_none() && self.label_weight == 0.0;
            let bound = "given with --loss w2 --label-weight 0 and without --keep: it is a baseline of images";
            bounded("denoise", "", holds, bound)?;
        }
        let noisy = self.epsilon.is_some() || self.loss == Loss::W2;
        bounded("loss", name_of(self.loss), noisy, "w2 without noise")
    }
}

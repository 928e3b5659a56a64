//! A run's settings: the preset of what the records are, then flags, then checks.

use std::path::{Path, PathBuf};

use data::privatised::{Calibration, Header, NoiseKind, Wanted};
use lab::diagnostic::Failure;
use lab::session::{
    self, Arguments, Ends, Part, bounded, budget_name, by_name, name_of, norm, positive, within,
};
use serde::{Deserialize, Serialize};

use super::images;
use super::private::{header_of, refused};
use super::sources::Clean;
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

/// What the records are: the settings that they alone have, and where they come from.
pub trait Kind: Part {
    /// Their name on the command line.
    const NAME: &'static str;
    /// What a run does, for `--help`.
    const ABOUT: &'static str;

    /// The values that no flag gives.
    fn preset(flags: &Self::Flags) -> &'static str;

    /// Flags of its own that a header takes the place of, and whether they are given.
    fn of_header(_: &Self::Flags) -> Vec<(&'static str, bool)> {
        Vec::new()
    }

    /// Takes the values that the header of privatised records has.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] where the records of `input` are none of its kind.
    fn take(&mut self, header: &Header, input: &str) -> Result<(), Failure>;

    /// Refuses what cannot be.
    fn check(&self, _: &Shared) -> Result<(), Failure> {
        Ok(())
    }

    /// The name of the data set.
    fn dataset(&self) -> String;

    /// The records.
    fn load(&self, settings: &Shared, data_dir: Option<&Path>) -> Result<Clean, Failure>;

    /// Samples that are judged.
    fn samples(flags: &Self::Flags) -> usize;

    /// What images alone have.
    fn images(&self) -> Option<&images::Settings> {
        None
    }

    /// How images are scored.
    fn score(_: &Self::Flags) -> Option<&ScoreFlags> {
        None
    }
}

lab::settings! {
    /// What images and points have.
    struct Shared, SharedFlags;
    common {
        records: Option<usize>, epsilon: Option<f64>, delta: Option<f64>, steps: u64, learning_rate: f64, slices: usize,
        seed: u64, insecure_noise_seed: Option<u64>,
    }
    preset {
        /// What the records are, by its name.
        kind: String,
    }
    flags {
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
        radius: f64,
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
        /// A file that `just privatise` made: no private record is read, and --dataset names public ones to judge by.
        input: PathBuf,
    }
}

lab::settings! {
    parts <K: Kind> {
        /// What images and points have.
        shared: Shared,
        /// What one of them has.
        own: K,
    }
}

impl Shared {
    /// The values that a header has decided.
    fn take(&mut self, header: &Header) {
        self.records = None;
        self.epsilon = Some(header.epsilon);
        if header.delta > 0.0 {
            self.delta = Some(header.delta);
        }
        self.radius = header.radius;
        (self.mechanism, self.calibration) = (header.mechanism, header.calibration);
    }
}

/// The header of privatised records, which has to be what the flags ask for.
fn header<K: Kind>(input: &Path, name: &str, flags: &Flags<K>) -> Result<Header, Failure> {
    let Flags { shared, own } = flags;
    let decided = [
        ("records", shared.records.is_some()),
        ("no-privacy", shared.no_privacy),
        ("insecure-noise-seed", shared.insecure_noise_seed.is_some()),
    ];
    let mut decided = decided.into_iter().chain(K::of_header(own));
    if let Some((flag, _)) = decided.find(|&(_, given)| given) {
        return Err(Failure::input(
            format!("--{flag}: the records of --input were privatised already"),
            "leave it out",
        ));
    }
    let header = header_of(input)?;
    let wanted = Wanted {
        mechanism: shared.mechanism,
        calibration: shared.calibration,
        epsilon: shared.epsilon,
        delta: shared.delta,
        radius: shared.radius,
        ..Wanted::default()
    };
    header.check_request(name, &wanted).map_err(refused)?;
    Ok(header)
}

impl<K: Kind> session::Settings for Settings<K> {
    type Flags = Flags<K>;

    fn resolve(arguments: &Arguments<Flags<K>>) -> Result<Self, Failure> {
        let mut settings: Self = arguments.over(K::preset(&arguments.own.own))?;
        if let Some(input) = &settings.shared.input {
            let name = format!("--input {}", input.display());
            let header = header(input, &name, &arguments.own)?;
            settings.shared.take(&header);
            settings.own.take(&header, &name)?;
        }
        Ok(settings)
    }

    fn name(&self) -> String {
        let shared = &self.shared;
        let (loss, privacy) = (name_of(shared.loss), budget_name(shared.epsilon));
        let noise = match shared.mechanism {
            NoiseKind::Gaussian => "gaussian",
            NoiseKind::Laplace => "laplace",
        };
        format!("{}-{loss}-{noise}-{privacy}", self.own.dataset())
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.shared.insecure_noise_seed
    }

    fn check(&self) -> Result<(), Failure> {
        let shared = &self.shared;
        positive("epsilon", shared.epsilon.unwrap_or(1.0))?;
        within(
            "delta",
            shared.delta.unwrap_or(0.25),
            0.0,
            0.5,
            Ends::NEITHER,
        )?;
        bounded("steps", shared.steps, shared.steps > 0, "at least 1")?;
        positive("learning-rate", shared.learning_rate)?;
        norm("radius", shared.radius)?;
        if (shared.mechanism, shared.calibration) == (NoiseKind::Laplace, Calibration::Paper) {
            return Err(Failure::input(
                "--mechanism laplace: its calibration is exact, and --calibration paper was asked for",
                "say --calibration exact too",
            ));
        }
        bounded("latent", shared.latent, shared.latent > 0, "at least 1")?;
        let bound = "at least 20: two of each of ten classes";
        bounded("batch", shared.batch, shared.batch >= 20, bound)?;
        let most = shared.iterations;
        bounded("iterations", most, most > 0, "at least 1")?;
        bounded("slices", shared.slices, shared.slices > 0, "at least 1")?;
        within("ema", shared.ema.unwrap_or(0.0), 0.0, 1.0, Ends::FIRST)?;
        let noisy = shared.epsilon.is_some() || shared.loss == Loss::W2;
        bounded("loss", name_of(shared.loss), noisy, "w2 without noise")?;
        self.own.check(shared)
    }
}

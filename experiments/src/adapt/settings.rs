//! A run's settings: the preset of its data, then flags, then checks.

use lab::diagnostic::Failure;
use lab::session::{self, Arguments, Ends, bounded, budget_name, name_of, positive, within};
use serde::{Deserialize, Serialize};

/// How the extractor learns of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The smoothed sliced distance between features of both domains; without privacy the plain one.
    Sliced,
    /// A discriminator of domains, whose gradient turns back at the features (Ganin et al. 2016).
    Dann,
    /// Not at all: the classifier of the source.
    Source,
}

/// How images come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Images {
    /// As they are.
    Raw,
    /// Without slant, and in one size: each by itself, the same in both domains.
    Upright,
}

/// Where values that no flag gives come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// `assets/adapt/digits.toml` and `features.toml`.
    #[default]
    Tuned,
    /// The published setting (Rakotomamonjy and Ralaivola 2021, section 8.5 and table 4), as far as it is sound:
    /// `assets/adapt/paper.toml`.
    Paper,
}

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        epsilon: Option<f64>, delta: f64, steps: u64, slices: usize, records: Option<usize>, learning_rate: f64,
        insecure_noise_seed: Option<u64>, seed: u64,
    }
    flags {
        /// Public records with labels: mnist, usps, fashion-mnist, glyphs, or a file of features (NPY or CSV).
        source: String,
        /// Private records without labels, likewise.
        target: String,
        /// How the extractor learns of the target; --steps releases.
        #[flag(value_enum)]
        method: Method,
        /// How images come in.
        #[flag(value_enum)]
        images: Images,
        /// How far public images are turned, sheared, stretched, shifted, thickened and blurred: 0 not at all, 1 usual.
        augment: f64,
        /// Columns of a file of features, without the label.
        features: usize,
        /// Classes of a file of features.
        classes: usize,
        /// Steps on source records before anything private is read.
        source_steps: u64,
        /// Source records in a step.
        source_batch: usize,
        /// Steps on source records after each release of projections.
        steps_per_release: u64,
        /// Weight of the distance, or of the reversed gradient of the discriminator.
        weight: f64,
        /// C: the bound on each target record's gradient, for `dann`.
        max_grad_norm: f64,
    }
    optional {
        /// Private target records in a release (default: all of them).
        batch: usize,
        /// Dimension of the features where they are compared (default: all of the extractor's).
        bottleneck: usize,
        /// Radius of the public ball that features are put into (default: half the root of their dimension).
        radius: f64,
        /// Test records of a target that is a file (default: one in five of its rows).
        target_test: String,
        /// Source records: the first ones (default: all of them).
        source_records: usize,
        /// Score, and keep, a moving average of the weights with this decay.
        ema: f64,
        /// Without privacy: the deviation of noise on both sides of the distance, from the public seed.
        noise: f64,
    }
    switches {
        /// Where values that no flag gives come from.
        #[arg(long, value_enum, default_value_t)]
        preset: Preset,
    }
}

/// Whether a domain is a file and no data set.
pub(crate) fn is_file(name: &str) -> bool {
    name.ends_with(".npy") || name.ends_with(".csv")
}

impl session::Settings for Settings {
    type Flags = Flags;

    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        let own = &arguments.own;
        let files = |name: &Option<String>| name.as_deref().is_some_and(is_file);
        let preset = match own.preset {
            Preset::Paper => include_str!("../../../assets/adapt/paper.toml"),
            Preset::Tuned if files(&own.source) || files(&own.target) => {
                include_str!("../../../assets/adapt/features.toml")
            }
            Preset::Tuned => include_str!("../../../assets/adapt/digits.toml"),
        };
        let mut settings: Self = arguments.over(preset)?;
        if settings.method == Method::Source {
            settings.steps = 0;
        }
        if settings.steps == 0 {
            settings.epsilon = None;
        }
        Ok(settings)
    }

    fn check(&self) -> Result<(), Failure> {
        let at_least_1 = |flag, value: usize| bounded(flag, value, value > 0, "at least 1");
        positive("epsilon", self.epsilon.unwrap_or(1.0))?;
        positive("learning-rate", self.learning_rate)?;
        positive("max-grad-norm", self.max_grad_norm)?;
        positive("weight", self.weight)?;
        positive("radius", self.radius.unwrap_or(1.0))?;
        within("delta", self.delta, 0.0, 1.0, Ends::NEITHER)?;
        within("ema", self.ema.unwrap_or(0.0), 0.0, 1.0, Ends::FIRST)?;
        within("augment", self.augment, 0.0, 3.0, Ends::BOTH)?;
        let noise = self.noise.unwrap_or(0.0);
        let holds = noise.is_finite() && noise >= 0.0;
        bounded("noise", noise, holds, "at least 0 and finite")?;
        let holds = self.noise.is_none() || self.epsilon.is_none();
        bounded("noise", noise, holds, "left out where --epsilon decides it")?;
        at_least_1("features", self.features)?;
        let classes = self.classes;
        bounded("classes", classes, (2..=256).contains(&classes), "2 to 256")?;
        at_least_1("source-batch", self.source_batch)?;
        at_least_1("batch", self.batch.unwrap_or(1))?;
        at_least_1("slices", self.slices)?;
        at_least_1("bottleneck", self.bottleneck.unwrap_or(1))?;
        let inner = self.steps_per_release;
        bounded("steps-per-release", inner, inner > 0, "at least 1")?;
        let steps = self.steps;
        let holds = steps > 0 || self.method == Method::Source;
        bounded("steps", steps, holds, "at least 1 for this method")?;
        if is_file(&self.source) != is_file(&self.target) {
            return Err(Failure::input(
                format!(
                    "--source {} --target {}: one is a file of features, the other has images",
                    self.source, self.target
                ),
                "give two files, or two data sets",
            ));
        }
        let test = self.target_test.as_deref();
        let holds = test.is_none() || is_file(&self.target);
        bounded(
            "target-test",
            test.unwrap_or(""),
            holds,
            "left out for a data set",
        )
    }

    fn name(&self) -> String {
        let short = |name: &str| {
            let stem = std::path::Path::new(name).file_stem();
            stem.map_or(String::new(), |stem| stem.to_string_lossy().into_owned())
        };
        format!(
            "{}-{}-{}-{}",
            short(&self.source),
            short(&self.target),
            name_of(self.method),
            budget_name(self.epsilon)
        )
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.insecure_noise_seed
    }
}

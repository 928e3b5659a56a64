//! A run's settings: the release's preset, then flags, then checks.

use data::{DatasetKind, ImageFolder};
use lab::diagnostic::Failure;
use lab::session::{self, Arguments, bounded, budget_name, positive};
use model::generator::Dcgan;
use serde::{Deserialize, Serialize};

use crate::export::ExportFlags;
use crate::scores::ScoreFlags;
use crate::variation::Variation;

/// The radius of the ball of photographs, of 12288 pixels, and the images of a step, where no flag says another.
const PHOTOGRAPH_RADIUS: f64 = 80.0;
const PHOTOGRAPH_POINTS: usize = 64;

/// What is released of the private records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Release {
    /// Once: a noisy histogram of every slice of each class.
    Marginals,
    /// At each step, as published: noisy projections of a batch of (image, one-hot class) rows.
    Projections,
}

impl Release {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Marginals => "marginals",
            Self::Projections => "projections",
        }
    }

    fn preset(self) -> &'static str {
        match self {
            Self::Marginals => include_str!("../../../assets/generator/marginals.toml"),
            Self::Projections => include_str!("../../../assets/generator/projections.toml"),
        }
    }
}

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        records: Option<usize>, epsilon: Option<f64>, delta: f64, steps: u64, learning_rate: f64, slices: usize,
        seed: u64, insecure_noise_seed: Option<u64>,
    }
    flags {
        /// What is released: histograms once, or projections at each step as published.
        #[flag(value_enum)]
        release: Release,
        /// Data set: mnist, fashion-mnist or usps, glyphs, which needs no file, or `images` for a folder of
        /// photographs (--data-dir): half of it is private, and they have no classes.
        dataset: String,
        /// Radius of the ball that rows are projected onto, in units of a pixel; histograms reach as far.
        radius: f64,
        /// Bins of a histogram, a power of two.
        bins: usize,
        /// Images that are generated at a step.
        points: usize,
        /// Width of the generator's noise.
        noise: usize,
        /// How much samples turn, stretch, move and bend at random, 0 for not at all: 1 for up to 12 degrees and a pixel.
        #[setting(default)]
        vary_pose: f64,
        /// How much their brightness and fabric vary at random, 0 for not at all.
        #[setting(default)]
        vary_texture: f64,
        /// How much their tone varies at random, 0 for not at all.
        #[setting(default)]
        vary_tone: f64,
    }
    optional {
        /// Average the weights with this decay, and generate by the average.
        ema: f64,
        /// Slices of one step, out of those released (default: all of them).
        slices_per_step: usize,
        /// Private records in a batch: `projections` alone.
        batch: usize,
        /// What the one-hot class is multiplied by, beside pixels in [0, 1]: `projections` alone.
        label_weight: f64,
    }
    switches {
        /// How samples are scored.
        #[command(flatten)]
        score: ScoreFlags,
        /// The samples to take away.
        #[command(flatten)]
        export: ExportFlags,
    }
}

impl Settings {
    /// The data set.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a name that is not known.
    pub fn kind(&self) -> Result<DatasetKind, Failure> {
        self.dataset
            .parse()
            .map_err(|e| Failure::input(format!("--dataset {}: {e}", self.dataset), "choose one"))
    }

    /// How much samples vary.
    pub fn variation(&self) -> Variation {
        Variation {
            pose: self.vary_pose,
            texture: self.vary_texture,
            tone: self.vary_tone,
        }
    }

    /// Whether the private records are a folder of photographs.
    pub fn photographs(&self) -> bool {
        self.dataset == ImageFolder::NAME
    }

    /// Refuses slices that rows of `dim` values do not have.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the flag, the value and the bound.
    pub fn check_slices(&self, dim: usize) -> Result<(), Failure> {
        let k = self.slices;
        let holds = !self.releases_each_step() || (k >= dim && k.is_power_of_two());
        let bound = format!("a power of two of at least {dim} for projections");
        bounded("slices", k, holds, &bound)
    }

    /// Whether every step releases.
    pub fn releases_each_step(&self) -> bool {
        self.release == Release::Projections
    }
}

impl session::Settings for Settings {
    type Flags = Flags;

    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        let own = &arguments.own;
        let release = own.release.unwrap_or(Release::Marginals);
        let of_projections = [
            ("batch", own.batch.is_some()),
            ("label-weight", own.label_weight.is_some()),
        ];
        let of_marginals = [("bins", own.bins.is_some())];
        let unused: &[_] = match release {
            Release::Marginals => &of_projections,
            Release::Projections => &of_marginals,
        };
        if let Some((flag, _)) = unused.iter().find(|(_, given)| *given) {
            let name = release.name();
            return Err(Failure::input(
                format!("--{flag}: --release {name} does not use it"),
                "leave it out",
            ));
        }
        let mut settings: Self = arguments.over(release.preset())?;
        if settings.photographs() {
            settings.noise = own.noise.unwrap_or(Dcgan::PHOTOGRAPH_INPUTS);
            settings.radius = own.radius.unwrap_or(PHOTOGRAPH_RADIUS);
            settings.points = own.points.unwrap_or(PHOTOGRAPH_POINTS);
        } else {
            settings.dataset = settings.kind()?.name().to_string();
        }
        Ok(settings)
    }

    fn name(&self) -> String {
        let (release, privacy) = (self.release.name(), budget_name(self.epsilon));
        format!("{}-{release}-{privacy}", self.dataset)
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.insecure_noise_seed
    }

    fn check(&self) -> Result<(), Failure> {
        if self.photographs() {
            let (found, width) = (self.noise, Dcgan::PHOTOGRAPH_INPUTS);
            let bound = format!("{width} for photographs");
            bounded("noise", found, found == width, &bound)?;
        } else {
            self.kind()?;
        }
        self.variation().check()?;
        positive("epsilon", self.epsilon.unwrap_or(1.0))?;
        let delta = self.delta;
        let bound = "above 0 and below 1/n for n records";
        bounded("delta", delta, delta > 0.0 && delta < 1.0, bound)?;
        bounded("steps", self.steps, self.steps > 0, "at least 1")?;
        positive("learning-rate", self.learning_rate)?;
        positive("radius", self.radius)?;
        positive("label-weight", self.label_weight.unwrap_or(1.0))?;
        let holds = self.bins.is_power_of_two() && self.bins >= 2;
        bounded("bins", self.bins, holds, "a power of two of at least 2")?;
        bounded("noise", self.noise, self.noise > 0, "at least 1")?;
        let bound = "at least 20: two of each of ten classes";
        bounded("points", self.points, self.points >= 20, bound)?;
        bounded("slices", self.slices, self.slices > 0, "at least 1")?;
        let (some, all) = (self.slices_per_step.unwrap_or(1), self.slices);
        let bound = format!("between 1 and the slices of a release, {all}");
        bounded("slices-per-step", some, (1..=all).contains(&some), &bound)?;
        let decay = self.ema.unwrap_or(0.0);
        let bound = "at least 0 and below 1";
        bounded("ema", decay, (0.0..1.0).contains(&decay), bound)?;
        bounded("batch", 0, self.batch != Some(0), "at least 1")?;
        let holds = self.batch.is_some() || !self.releases_each_step();
        bounded("batch", "(none)", holds, "given for projections")
    }
}

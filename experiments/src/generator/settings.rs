//! A run's settings: the release's preset, then flags, then checks.

use std::path::PathBuf;

use data::ImageFolder;
use lab::diagnostic::Failure;
use lab::session::{self, Arguments, Ends, bounded, budget_name};
use model::generator::Dcgan;

use super::release::Release;
use crate::export::ExportFlags;
use crate::records::kind;
use crate::scores::ScoreFlags;
use crate::variation::Variation;

/// The radius of the ball of photographs, of 12288 pixels, and the images of a step, where no flag says another.
const PHOTOGRAPH_RADIUS: f64 = 80.0;
const PHOTOGRAPH_POINTS: usize = 64;

lab::settings! {
    /// What every release has.
    struct Shared, SharedFlags;
    common {
        records: Option<usize>, epsilon: Option<f64>, delta: Option<f64>, steps: u64, learning_rate: f64, slices: usize,
        seed: u64, insecure_noise_seed: Option<u64>,
    }
    preset {
        /// The release, by its name.
        release: String,
    }
    flags {
        /// Data set: mnist, fashion-mnist, usps, glyphs, or `images`, a folder of photographs (--data-dir, --public).
        dataset: String,
        /// Radius of the ball that rows are projected onto, in units of a pixel; histograms reach as far.
        #[bound(norm)]
        radius: f64,
        /// Images that are generated at a step.
        #[bound(must_be("at least 20: two of each of ten classes", |n: usize| n >= 20))]
        points: usize,
        /// Dimension of the latent space: the generator's input, standard normal.
        #[bound(at_least(1))]
        latent: usize,
        /// How much samples turn, stretch, move and bend at random, 0 for not at all: 1 for up to 12 degrees and a pixel.
        #[setting(default)]
        #[bound(within(0.0, 3.0, Ends::BOTH))]
        vary_pose: f64,
        /// How much their brightness and fabric vary at random, 0 for not at all.
        #[setting(default)]
        #[bound(within(0.0, 3.0, Ends::BOTH))]
        vary_texture: f64,
        /// How much their tone varies at random, 0 for not at all.
        #[setting(default)]
        #[bound(within(0.0, 3.0, Ends::BOTH))]
        vary_tone: f64,
    }
    optional {
        /// The folder of public photographs, by which a generator of private ones is judged.
        public: PathBuf,
        /// Average the weights with this decay, and generate by the average.
        #[bound(within(0.0, 1.0, Ends::FIRST))]
        ema: f64,
        /// Slices of one step, out of those released (default: all of them).
        slices_per_step: usize,
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

lab::settings! {
    parts <R: Release> {
        /// What every release has.
        shared: Shared,
        /// The release's own.
        own: R,
    }
}

impl Shared {
    /// How much samples vary.
    pub(super) fn variation(&self) -> Variation {
        Variation {
            pose: self.vary_pose,
            texture: self.vary_texture,
            tone: self.vary_tone,
        }
    }

    /// Whether the private records are a folder of photographs.
    pub(super) fn photographs(&self) -> bool {
        self.dataset == ImageFolder::NAME
    }
}

impl<R: Release> session::Settings for Settings<R> {
    type Flags = Flags<R>;

    fn resolve(arguments: &Arguments<Flags<R>>) -> Result<Self, Failure> {
        let mut settings: Self = arguments.over(R::PRESET)?;
        let (flags, shared) = (&arguments.own.shared, &mut settings.shared);
        if shared.photographs() {
            shared.latent = flags.latent.unwrap_or(Dcgan::PHOTOGRAPH_INPUTS);
            shared.radius = flags.radius.unwrap_or(PHOTOGRAPH_RADIUS);
            shared.points = flags.points.unwrap_or(PHOTOGRAPH_POINTS);
        } else {
            shared.dataset = kind("dataset", &shared.dataset)?.name().to_string();
        }
        Ok(settings)
    }

    fn name(&self) -> String {
        let privacy = budget_name(self.shared.epsilon);
        format!("{}-{}-{privacy}", self.shared.dataset, R::NAME)
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.shared.insecure_noise_seed
    }

    fn check(&self) -> Result<(), Failure> {
        let shared = &self.shared;
        if shared.photographs() {
            let (found, width) = (shared.latent, Dcgan::PHOTOGRAPH_INPUTS);
            let bound = format!("{width} for photographs");
            bounded("latent", found, found == width, &bound)?;
        } else {
            kind("dataset", &shared.dataset)?;
        }
        let bound = match shared.photographs() {
            true => "named for photographs: the folder of the public ones",
            false => "left out: all training records of a labelled data set are private",
        };
        let holds = shared.photographs() == shared.public.is_some();
        bounded("public", "", holds, bound)?;
        let (some, all) = (shared.slices_per_step.unwrap_or(1), shared.slices);
        let bound = format!("between 1 and the slices of a release, {all}");
        bounded("slices-per-step", some, (1..=all).contains(&some), &bound)
    }
}

//! A flow's settings: the mechanism's preset, then flags, then checks.

mod check;
mod kinds;
mod unused;

use lab::diagnostic::Failure;
use lab::session::{self, Arguments, budget_name, text_in};

use crate::export::ExportFlags;
use crate::records::{COSINES, SHAPES, synthetic};
use crate::scores::ScoreFlags;
use crate::variation::Variation;

pub(crate) use kinds::{Encoder, Labels, Mechanism, Part, Start};
pub(crate) use unused::check_toy;

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        records: Option<usize>, epsilon: Option<f64>, delta: f64, steps: Option<u64>, learning_rate: f64,
        slices: usize, seed: u64, insecure_noise_seed: Option<u64>,
    }
    preset {
        /// One flow a class.
        conditional: bool,
        /// Slices of a class's release.
        class_slices: Option<usize>,
    }
    flags {
        /// How private data is used: `mixture` by default where public records are synthetic or latents are
        /// cosines, `marginals` elsewhere.
        #[flag(value_enum)]
        mechanism: Mechanism,
        /// Private data: glyphs, mnist, fashion-mnist, usps, `images` for a folder of photographs
        /// (--data-dir), or gaussians for the toy in the plane.
        dataset: String,
        /// What the autoencoder is trained on: `half`, the public half of the data set; `shapes`, made by
        /// random processes and of no class, fresh at each pass; another data set, such as `glyphs`; or nothing:
        /// `cosines`, where latents are the lowest frequencies of an image.
        public: String,
        /// How images become latents: by an autoencoder that the public records train, or as their lowest frequencies by
        /// `cosines`, of which public records, where there are any, teach no more than how to draw them (the default of
        /// `mixture` beside shapes).
        #[flag(value_enum)]
        #[setting(default)]
        encoder: Encoder,
        /// Which training records are private: `all`, the default unless --public is `half`, or the other `half`.
        #[flag(value_enum)]
        #[setting(default)]
        private_part: Part,
        /// Whether a neighbour may have another label, in a flow a class: `private` labels leave with the rest, `public`
        /// ones have class sizes that are known.
        #[flag(value_enum)]
        #[setting(default)]
        labels: Labels,
        /// Cells of each class, by the nearest of so many centres that are found in the Gaussian of the class: each has
        /// moments of its own, at the same noise. `mixture` alone, which has as many as records and budget bear by default.
        #[setting(default = "one")]
        cells: usize,
        /// Where particles start: on the sphere, in the private Gaussian of their group, or at public latents.
        /// `marginals` alone: the last is its default where synthetic digits stand beside private ones.
        #[flag(value_enum)]
        #[setting(default)]
        start: Start,
        /// Bins of a marginal, a power of two.
        bins: usize,
        /// The share of the budget (of `1/z^2`) that goes to moments of classes first. The bins of `marginals` then
        /// lie around each class's private Gaussian, and noise is pulled towards it; 0 for histograms alone. The cells of
        /// `mixture` are cut in it.
        #[setting(default)]
        moments_share: f64,
        /// h: the step of the flow.
        step_size: f64,
        /// The last step's size as a share of the first; it falls along a line. `fixed` and `marginals`
        /// alone.
        #[setting(default = "whole")]
        final_step: f64,
        /// Lambda: the diffusion of the flow.
        diffusion: f64,
        /// Dimension of the latent space (default: 8; beside synthetic public records as many as the private ones and the
        /// budget bear, 24 for 60000 at epsilon 1, and 72 of cosines).
        latent: usize,
        /// Channels of the narrowest layer of the autoencoder of photographs.
        #[setting(default = "paper_width")]
        width: usize,
        /// Passes of the autoencoder over the public records.
        public_epochs: usize,
    }
    optional {
        /// How much samples turn, stretch, move and bend at random, 0 for not at all (default: 1, up to 12 degrees and a
        /// pixel, where private records are digits and the public ones glyphs).
        vary_pose: f64,
        /// How much their brightness and fabric vary at random, 0 for not at all (default: 0.6 for cosines, else
        /// 1 where public records are synthetic).
        vary_texture: f64,
        /// How much their tone varies at random, 0 for not at all (default: 1 for cosines, whose edges have halos, and for
        /// `mixture` where public records are synthetic).
        vary_tone: f64,
        /// Public records: the first ones (default: all of them, 30000 of another data set); of synthetic ones, as
        /// many as asked for at each pass.
        public_records: usize,
        /// The noise multiplier instead of a budget: the epsilon is computed.
        #[flag(conflicts_with_all = ["no_privacy", "epsilon"])]
        noise_multiplier: f64,
        /// Particles over all classes (default: as many as private records).
        particles: usize,
        /// Passes over the private records, instead of steps: `resampled` and `generator` alone.
        #[flag(conflicts_with = "steps")]
        epochs: u64,
        /// Private records in a batch: `resampled` and `generator` alone.
        batch: usize,
        /// Slices of one flow step, out of those released: `fixed` and `marginals` alone.
        slices_per_step: usize,
    }
    switches {
        /// One flow a class: samples come with labels.
        #[arg(long, overrides_with = "unconditional")]
        conditional: bool,
        /// One flow for all records.
        #[arg(long)]
        unconditional: bool,
        /// How samples are scored.
        #[command(flatten)]
        score: ScoreFlags,
        /// The samples to take away.
        #[command(flatten)]
        export: ExportFlags,
    }
}

/// The name of a folder of photographs among the data sets.
pub(crate) const IMAGES: &str = data::ImageFolder::NAME;

/// Classes of every data set that has any.
const CLASSES: usize = 10;

/// How many synthetic public records, unless another number is asked for: minutes on two cores.
const SYNTHETIC: usize = 240_000;

/// How many synthetic public records teach how images of cosines look, unless another number is asked for.
const REFINING: usize = 40_000;

fn whole() -> f64 {
    1.0
}

fn one() -> usize {
    1
}

fn paper_width() -> usize {
    64
}

impl Settings {
    /// Photographs have no classes, and the settings of Sebag et al. 2023 for them are others (appendix C.5).
    fn take_photographs(&mut self, arguments: &Arguments<Flags>) {
        let (own, common) = (&arguments.own, &arguments.common);
        self.conditional = own.conditional;
        self.class_slices = None;
        self.latent = own.latent.unwrap_or(48);
        if own.step_size.is_none() && self.mechanism == Mechanism::Marginals {
            self.step_size = self.latent as f64;
        }
        self.delta = common.delta.unwrap_or(1e-6);
        match self.mechanism {
            Mechanism::Resampled | Mechanism::Generator => {
                self.slices = common.slices.unwrap_or(300);
                self.epochs = Some(30);
            }
            Mechanism::Fixed => {
                self.slices = common.slices.unwrap_or(250);
                self.slices_per_step = own.slices_per_step.or(Some(220));
                self.steps = Some(2000);
            }
            _ => {}
        }
    }

    /// Whether public records are synthetic, as many as are asked for, and none of the private ones is public.
    fn synthetic_beside_all(&self) -> bool {
        synthetic(&self.public).is_some()
            && self.private_part == Part::All
            && matches!(self.mechanism, Mechanism::Marginals | Mechanism::Mixture)
    }

    /// Private records as a share of 60000, times epsilon: what the default sizes of a release follow. A noise multiplier
    /// of 3.73 has epsilon 1 at delta 1e-5, and no budget counts as epsilon 10.
    fn signal(&self) -> f64 {
        let all = match (&*self.dataset, self.private_part) {
            ("usps", Part::All) => 7291,
            ("usps", Part::Half) => 3645,
            (_, Part::All) => 60_000,
            (_, Part::Half) => 30_000,
        };
        let records = self.records.unwrap_or(all).min(all) as f64 / 60_000.0;
        let by_noise = self.noise_multiplier.map(|z| 3.73 / z);
        records * self.epsilon.or(by_noise).unwrap_or(10.0)
    }

    /// The dimensions that the private records and the budget bear: `usual` for 60000 at epsilon 1 and the more the larger
    /// the fourth root of both, `most` at most (docs/results/flow.md).
    fn default_latent(&self, usual: f64, most: f64) -> usize {
        let dimensions = usual * self.signal().powf(0.25);
        (4.0 * (dimensions / 4.0).round()).clamp(8.0, most) as usize
    }

    /// The cells of a class that they bear: 4 at epsilon 1, 32 at 10; no more than there are particles for.
    fn borne_cells(&self) -> usize {
        let groups = if self.conditional { CLASSES } else { 1 };
        let most = self.particles.map_or(32, |n| (n / groups).clamp(1, 32));
        let cells = (4.0 * self.signal().powf(0.9)).round();
        (cells.max(1.0) as usize).min(most)
    }

    /// What suits synthetic public records, of which there is no end: each is seen once, and the latent space has as many
    /// dimensions as there can be.
    fn take_synthetic(&mut self, own: &Flags) {
        if own.public_records.is_none() && own.public_epochs.is_none() {
            self.public_records = Some(SYNTHETIC);
            self.public_epochs = 1;
        }
        if own.latent.is_none() {
            self.latent = self.default_latent(24.0, 40.0);
        }
    }

    /// Whether latents are cosines, which nothing has to be learned for.
    pub fn cosines(&self) -> bool {
        self.public == COSINES || self.encoder == Encoder::Cosines
    }

    /// Whether public records teach how images of cosines look.
    pub fn refined(&self) -> bool {
        self.cosines() && self.public != COSINES
    }

    /// Whether the private records are a folder of photographs.
    pub fn photographs(&self) -> bool {
        self.dataset == IMAGES
    }

    /// Whether noise is added.
    pub fn private(&self) -> bool {
        self.epsilon.is_some() || self.noise_multiplier.is_some()
    }

    /// Whether moments are released first, for marginals to be counted around.
    pub fn moments_first(&self) -> bool {
        match self.mechanism {
            Mechanism::Marginals => self.moments_share > 0.0,
            Mechanism::Mixture => true,
            _ => false,
        }
    }

    /// Whether the sizes of the groups are released, and not public: where a neighbour may change its group.
    pub fn sizes_released(&self) -> bool {
        let changes = self.conditional && self.labels == Labels::Private;
        changes || self.cells > 1
    }

    /// Whether neighbours replace a record by one of its class.
    pub fn within_classes(&self) -> bool {
        self.conditional && self.labels == Labels::Public
    }

    /// Whether synthetic public records show the classes of the private ones.
    fn synthetic_classes(&self) -> bool {
        self.public == "glyphs" && ["mnist", "usps", "glyphs"].contains(&&*self.dataset)
    }

    /// Whether public records show the classes that samples have.
    pub fn public_shows_classes(&self) -> bool {
        self.conditional && (self.public == "half" || self.synthetic_classes())
    }

    /// Whether the labels of public records are looked at by the mechanism: where they show the classes of the private
    /// ones.
    pub fn public_classes(&self) -> bool {
        self.public_shows_classes() && self.start == Start::Public
    }

    /// How much samples vary; folders of runs from before that was a setting have what suits them.
    pub fn variation(&self) -> Variation {
        let (synthetic, smooth) = (synthetic(&self.public).is_some(), self.cosines());
        let mut suited = Variation::suited(self.synthetic_classes(), synthetic, smooth);
        if synthetic && self.mechanism == Mechanism::Mixture {
            suited.tone = 1.0;
        }
        // Before tone was a setting it was none.
        let none = self.vary_texture.map(|_| 0.0);
        suited.or(self.vary_pose, self.vary_texture, self.vary_tone.or(none))
    }

    /// Slices of a release of one flow.
    pub fn flow_slices(&self) -> usize {
        match self.class_slices {
            Some(slices) if self.conditional => slices,
            _ => self.slices,
        }
    }

    /// Steps for `records` private records.
    pub fn step_count(&self, records: usize) -> u64 {
        match (self.steps, self.epochs, self.batch) {
            _ if !self.mechanism.moves() => 0,
            (Some(steps), _, _) => steps,
            (None, Some(epochs), Some(batch)) => epochs * records.div_ceil(batch.max(1)) as u64,
            _ => 0,
        }
    }
}

impl session::Settings for Settings {
    type Flags = Flags;

    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        let (own, common) = (&arguments.own, &arguments.common);
        let public = own.public.as_deref().unwrap_or_default();
        let by_program = public == COSINES || synthetic(public).is_some();
        let mixed = by_program || own.encoder == Some(Encoder::Cosines);
        // Photographs have neither; what is asked for is refused by its own name then.
        let mixed = mixed && own.dataset.as_deref() != Some(IMAGES);
        let mechanism = own.mechanism.unwrap_or(match mixed {
            true => Mechanism::Mixture,
            false => Mechanism::Marginals,
        });
        unused::check(arguments, mechanism)?;
        let mut settings: Self = arguments.over(mechanism.preset())?;
        if text_in(mechanism.preset(), "dataset").as_ref() != Some(&settings.dataset) {
            settings.records = common.records;
            settings.public_records = own.public_records;
        }
        if own.private_part.is_none() {
            settings.private_part = match settings.public == "half" {
                true => Part::Half,
                false => Part::All,
            };
        }
        if own.start.is_none() && mechanism == Mechanism::Marginals && settings.moments_first() {
            settings.start = match settings.synthetic_classes() {
                true => Start::Public,
                false => Start::Gaussian,
            };
        }
        if settings.photographs() {
            settings.take_photographs(arguments);
        } else if own.encoder.is_none() && public == SHAPES && mechanism == Mechanism::Mixture {
            settings.encoder = Encoder::Cosines;
        }
        if common.slices.is_some() {
            settings.class_slices = None;
            // The preset's; a flag of one's own is checked below.
            if own.slices_per_step.is_none() {
                let slices = settings.slices;
                settings.slices_per_step = settings.slices_per_step.map(|some| some.min(slices));
            }
        }
        if common.steps.is_some() || own.epochs.is_some() {
            settings.steps = common.steps;
            settings.epochs = own.epochs;
        }
        if common.epsilon.is_some() || own.noise_multiplier.is_some() {
            settings.epsilon = common.epsilon;
            settings.noise_multiplier = own.noise_multiplier;
        }
        settings.conditional = (settings.conditional || own.conditional) && !own.unconditional;
        if common.no_privacy || mechanism == Mechanism::Public {
            settings.epsilon = None;
            settings.noise_multiplier = None;
        }
        if settings.synthetic_beside_all() {
            settings.take_synthetic(own);
        }
        if settings.cosines() {
            settings.latent = own.latent.unwrap_or(settings.default_latent(72.0, 120.0));
        }
        if settings.public == COSINES {
            settings.public_records = None;
        }
        let asked = own.public_records.is_some() || own.public_epochs.is_some();
        if settings.refined() && synthetic(&settings.public).is_some() && !asked {
            settings.public_records = Some(REFINING);
            settings.public_epochs = 1;
        }
        if mechanism == Mechanism::Mixture && own.cells.is_none() {
            settings.cells = settings.borne_cells();
        }
        (
            settings.vary_pose,
            settings.vary_texture,
            settings.vary_tone,
        ) = (None, None, None);
        let suited = settings.variation();
        settings.vary_pose = own.vary_pose.or(Some(suited.pose));
        settings.vary_texture = own.vary_texture.or(Some(suited.texture));
        settings.vary_tone = own.vary_tone.or(Some(suited.tone));
        Ok(settings)
    }

    fn name(&self) -> String {
        let privacy = match (self.epsilon, self.noise_multiplier) {
            (None, Some(z)) => format!("z{z}"),
            (epsilon, _) => budget_name(epsilon),
        };
        format!("{}-{}-{privacy}", self.dataset, self.mechanism.name())
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.insecure_noise_seed
    }

    fn check(&self) -> Result<(), Failure> {
        self.check_all()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use lab::session::Settings as _;

    use super::*;

    fn settings(flags: &str) -> Settings {
        let line = format!("flow --dataset mnist {flags}");
        Settings::resolve(&Arguments::parse_from(line.split_whitespace())).unwrap()
    }

    /// What the program draws decides how private data is used, unless a mechanism is asked for.
    #[test]
    fn defaults_follow_the_public_side() {
        for (flags, expected) in [
            ("", "Marginals Learned 8 1 0"),
            ("--public glyphs", "Mixture Learned 24 4 1"),
            ("--public glyphs --epsilon 0.2", "Mixture Learned 16 1 1"),
            (
                "--public glyphs --epsilon 10 --particles 50",
                "Mixture Learned 40 5 1",
            ),
            ("--public half --mechanism mixture", "Mixture Learned 8 2 0"),
            ("--public shapes", "Mixture Cosines 72 4 1"),
            (
                "--public shapes --encoder learned",
                "Mixture Learned 24 4 1",
            ),
            (
                "--public shapes --mechanism marginals",
                "Marginals Learned 24 1 0",
            ),
            ("--public cosines --epsilon 10", "Mixture Learned 120 32 1"),
        ] {
            let found = settings(flags);
            let (mechanism, encoder) = (found.mechanism, found.encoder);
            let (latent, cells, tone) = (found.latent, found.cells, found.variation().tone);
            let found = format!("{mechanism:?} {encoder:?} {latent} {cells} {tone}");
            assert_eq!(found, expected, "{flags}");
        }
    }
}

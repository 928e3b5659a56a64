//! Settings that every mechanism has: the private records, the public side, and what samples look like.

use lab::diagnostic::Failure;
use lab::session::{Ends, bounded};
use model::latent::ImageShape;
use serde::{Deserialize, Serialize};

use private_synth::images::{Signal, SpaceForm, SpaceKind, public_images};

use super::budget;
use crate::export::ExportFlags;
use crate::records::{COSINES, SHAPES, synthetic};
use crate::scores::ScoreFlags;
use crate::variation::Variation;

/// How images become latents, and latents images.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Encoder {
    /// By an autoencoder that public records train.
    #[default]
    Learned,
    /// By the lowest frequencies of an image; public records, where there are any, teach how images of these look.
    Cosines,
}

/// Which training records are private.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// All of them.
    All,
    /// Those that are not the public half.
    #[default]
    Half,
}

lab::settings! {
    /// What every mechanism has.
    common { records: Option<usize>, seed: u64 }
    preset {
        /// The mechanism, by its name.
        mechanism: String,
        /// One flow a class.
        conditional: bool,
    }
    flags {
        /// Private data: glyphs, mnist, fashion-mnist, usps, or `images`, a folder of photographs (--data-dir).
        dataset: String,
        /// Public side: `half` of the data set, `shapes`, another data set such as `glyphs`, or nothing, `cosines`; for
        /// photographs the folder of the public ones.
        public: String,
        /// How images become latents (default: learned; cosines for `mixture` beside shapes).
        #[flag(value_enum)]
        #[setting(default)]
        encoder: Encoder,
        /// Which training records are private: `all`, the default unless --public is `half`, or the other `half`.
        #[flag(value_enum)]
        #[setting(default)]
        private_part: Part,
        /// Dimension of the latent space (default: 8; beside synthetic public records as many as records and budget bear).
        #[bound(between(2, 128))]
        latent: usize,
        /// Channels of the narrowest layer of the autoencoder of photographs.
        #[setting(default = "paper_width")]
        #[bound(at_least(1))]
        width: usize,
        /// Passes of the autoencoder over the public records.
        #[bound(at_least(1))]
        public_epochs: usize,
    }
    optional {
        /// How much samples turn, stretch, move and bend, 0 for not at all (default: 1 for digits beside glyphs).
        #[bound(within(0.0, 3.0, Ends::BOTH))]
        vary_pose: f64,
        /// How much their brightness and fabric vary (default: 0.6 for cosines, else 1 beside synthetic records).
        #[bound(within(0.0, 3.0, Ends::BOTH))]
        vary_texture: f64,
        /// How much their tone varies (default: 1 for cosines, and for `mixture` beside synthetic records).
        #[bound(within(0.0, 3.0, Ends::BOTH))]
        vary_tone: f64,
        /// Public records, the first ones (default: all, 30000 of another data set); of synthetic ones at each pass.
        public_records: usize,
        /// Particles over all classes (default: as many as private records).
        #[bound(at_least(1))]
        particles: usize,
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

/// The side of the images of the autoencoder, in whose middle smaller ones lie (Sebag et al. 2023, appendix C.2).
pub(super) const AUTOENCODED: usize = 32;

/// The name of a folder of photographs among the data sets.
pub(crate) const IMAGES: &str = data::ImageFolder::NAME;

/// Classes of every data set that has any.
const CLASSES: usize = 10;

fn paper_width() -> usize {
    64
}

impl Settings {
    /// Gives what no flag gave the values that suit the public side and the `signal`, and refuses flags of public records
    /// where there are none.
    ///
    /// - `follows`: whether the sizes of the release follow the signal beside synthetic public records, of which there is no
    ///   end: each is seen once, and the latent space has as many dimensions as there can be.
    pub(super) fn fill(
        &mut self,
        flags: &Flags,
        follows: bool,
        signal: Signal,
    ) -> Result<(), Failure> {
        let asked = flags.public_records.is_some() || flags.public_epochs.is_some();
        let learned = flags.encoder == Some(Encoder::Learned);
        if self.public == COSINES && (asked || learned) {
            return Err(Failure::input(
                format!(
                    "--public {COSINES} does not use --public-records, --public-epochs and --encoder learned"
                ),
                "leave them out: cosines learn from no record",
            ));
        }
        let synthetic = synthetic(&self.public).is_some();
        if follows && synthetic && self.private_part == Part::All {
            if !asked {
                (self.public_records, self.public_epochs) = (Some(public_images(true, 28)), 1);
            }
            self.latent = flags.latent.unwrap_or(signal.dimensions([24.0, 40.0]));
        }
        if self.cosines() {
            self.latent = flags.latent.unwrap_or(signal.dimensions([72.0, 120.0]));
        }
        if self.public == COSINES {
            self.public_records = None;
        }
        if self.refined() && synthetic && !asked {
            (self.public_records, self.public_epochs) = (Some(public_images(false, 28)), 1);
        }
        let suited = Variation::suited(self.synthetic_classes(), synthetic, self.cosines());
        self.vary_pose = self.vary_pose.or(Some(suited.pose));
        self.vary_texture = self.vary_texture.or(Some(suited.texture));
        self.vary_tone = self.vary_tone.or(Some(suited.tone));
        Ok(())
    }

    /// Private records as a share of 60000, times epsilon: what the default sizes of a release follow. A noise multiplier
    /// of 3.73 has epsilon 1 at delta 1e-5, and no budget counts as epsilon 10.
    pub(super) fn signal(&self, budget: &budget::Settings) -> Signal {
        let all = match (&*self.dataset, self.private_part) {
            ("usps", Part::All) => 7291,
            ("usps", Part::Half) => 3645,
            (_, Part::All) => 60_000,
            (_, Part::Half) => 30_000,
        };
        let records = self.records.unwrap_or(all).min(all);
        let epsilon = budget.epsilon.or(budget.noise_multiplier.map(|z| 3.73 / z));
        Signal::of(records, epsilon)
    }

    /// Groups of records that flow by themselves, at most.
    pub(super) fn groups(&self) -> usize {
        if self.conditional { CLASSES } else { 1 }
    }

    /// Whether latents are cosines, which nothing has to be learned for.
    pub(super) fn cosines(&self) -> bool {
        self.public == COSINES || self.encoder == Encoder::Cosines
    }

    /// Whether public records teach how images of cosines look.
    pub(super) fn refined(&self) -> bool {
        self.cosines() && self.public != COSINES
    }

    /// The latent space of private images of `shape`.
    pub(super) fn space(&self, shape: ImageShape) -> SpaceForm {
        let (kind, side) = match (self.photographs(), self.cosines(), self.refined()) {
            (true, ..) => (SpaceKind::Dcgan(self.width), shape.side),
            (_, _, true) => (SpaceKind::Refined, shape.side),
            (_, true, _) => (SpaceKind::Cosines, shape.side),
            _ => (SpaceKind::Small, AUTOENCODED),
        };
        SpaceForm {
            kind,
            latent: self.latent,
            shape: ImageShape { side, ..shape },
        }
    }

    /// Whether the private records are a folder of photographs.
    pub(super) fn photographs(&self) -> bool {
        self.dataset == IMAGES
    }

    /// Whether synthetic public records show the classes of the private ones.
    pub(super) fn synthetic_classes(&self) -> bool {
        self.public == "glyphs" && ["mnist", "usps", "glyphs"].contains(&&*self.dataset)
    }

    /// Whether public records show the classes that samples have.
    pub(super) fn public_shows_classes(&self) -> bool {
        self.conditional && (self.public == "half" || self.synthetic_classes())
    }

    /// How much samples vary.
    pub(super) fn variation(&self) -> Variation {
        let (pose, texture, tone) = (self.vary_pose, self.vary_texture, self.vary_tone);
        Variation::default().or(pose, texture, tone)
    }

    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.photographs() {
            if self.conditional {
                return Err(Failure::input(
                    "--conditional: photographs in a folder have no classes",
                    "leave it out",
                ));
            }
            let keyword = ["half", "glyphs", SHAPES, COSINES].contains(&&*self.public);
            let bound =
                "the folder of the public photographs: move into it those that may be public";
            bounded("public", &self.public, !keyword, bound)?;
            let bound = "learned for photographs";
            bounded("encoder", "cosines", !self.cosines(), bound)?;
        }
        let holds = self.private_part == Part::Half || self.public != "half";
        bounded("private-part", "all", holds, "half for --public half")
    }

    /// Refuses a public side of which no latents with the classes of the samples can be looked at.
    pub(super) fn check_public_latents(&self, flag: &str) -> Result<(), Failure> {
        let bound = format!("public records for {flag}: cosines have none");
        bounded("public", &self.public, self.public != COSINES, &bound)
    }
}

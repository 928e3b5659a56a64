//! A run's settings: defaults, then flags, then checks.

use std::path::PathBuf;

use data::DatasetKind;
use dp_core::plan::Noise;
use lab::prelude::*;
use model::latent::{DcganAutoencoder, ImageShape};
use private_synth::images::{Signal, SpaceForm, SpaceKind};
use serde::{Deserialize, Serialize};

use super::method::{LabelPrivacy, Method, OF_LATENTS, OF_METHODS, Start};
use crate::export::ExportRequest;
use crate::images::Naming;
use crate::records::{NO_IMAGES, SHAPES, stem};
use crate::scores::ScoreFlags;
use crate::variation::Variation;

/// The public side that is a half of a data set by its name (Sebag et al. 2023).
pub(super) const HALF: &str = "half";
/// The side of the images of an autoencoder, in whose middle smaller ones lie (Sebag et al. 2023, appendix C.2).
const AUTOENCODED: usize = 32;
/// Passes over the private images in batches (Sebag et al. 2023, appendix C.5).
const PASSES: u64 = 35;

/// The values of a run that no flag gives.
const DEFAULTS: &str = "
    kind = \"images\"
    input = \"shapes\"
    public = \"shapes\"
    epsilon = 1.0
    score-share = 0.02
";

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        records: Option<usize>, epsilon: Option<f64>, delta: Option<f64>, steps: Option<u64>, learning_rate: Option<f64>,
        slices: Option<usize>, seed: u64, insecure_noise_seed: Option<u64>,
    }
    preset {
        /// What `synth` makes a copy of.
        kind: String,
    }
    flags {
        /// The private images: a folder of classes or of files, a .tar, .zip or .npz archive, an idx file, or a data set by name.
        input: String,
        /// Public images, other ones than --input, or the name of a data set; `shapes`, `none`, or `half` of --input.
        public: String,
        /// What is released, and makes samples: each has settings of its own.
        #[flag(value_enum)]
        #[setting(default)]
        method: Method,
        /// Share of the budget (of `1/z^2`) for a noisy accuracy on the private images, without --test; 0 for none.
        #[bound(within(0.0..=0.5))]
        score_share: f64,
    }
    optional {
        /// Pixels along a side, public: 28 to 64 and a multiple of 4. Images are cut to squares of it.
        #[bound(must_be("a multiple of 4 from 28 to 64", |n: usize| (28..=64).contains(&n) && n.is_multiple_of(4)))]
        side: usize,
        /// 1 for grey images, 3 for colour: public likewise.
        #[bound(must_be("1 or 3", |n: usize| [1, 3].contains(&n)))]
        channels: usize,
        /// The classes, public: a number, or names with commas between them (default: the folders, whose names become public).
        classes: String,
        /// What pixels hold, public: 4096 for 12 bits of 16, a range such as 0..1 for floats (default: bytes, 0..255).
        #[flag(allow_hyphen_values = true)]
        levels: String,
        /// Whose images are private together: a CSV file of paths below --input, and the unit of each.
        #[flag(value_name = "CSV[:COLUMN]", requires = "most_per_unit", conflicts_with = "unit_from_name")]
        unit: String,
        /// The same by a regular expression for the path of an image: the unit is what its first group matches, or all of it.
        #[flag(value_name = "REGEX", requires = "most_per_unit")]
        unit_from_name: String,
        /// Maximum number of images used per unit: noise grows with it.
        #[flag(value_name = "K")]
        #[bound(at_least(1))]
        most_per_unit: usize,
        /// Public test images to judge the copy by (default: those of the data set, if --input names one).
        test: PathBuf,
        /// The noise multiplier instead of a budget: the epsilon is computed.
        #[flag(conflicts_with_all = ["no_privacy", "epsilon"])]
        #[bound(positive)]
        noise_multiplier: f64,
        /// How images become latents (default: cosines beside shapes or for colour, else learned).
        #[flag(value_enum)]
        encoder: Encoder,
        /// Channels of the narrowest layer of an autoencoder of colour images of 64 pixels a side (default: 64).
        #[bound(at_least(1))]
        width: usize,
        /// Public images, the first ones (default: all, or as many as the encoder needs of what the program draws).
        #[bound(at_least(1))]
        public_records: usize,
        /// Passes of the encoder over the public images.
        #[bound(at_least(1))]
        public_epochs: usize,
        /// Dimensions of the latent space (default: as many as records and budget bear; 8 for methods with projections).
        #[bound(between(2, 512))]
        latent: usize,
        /// Latents that samples are decoded from (default: as many as private images).
        #[bound(at_least(1))]
        particles: usize,
        /// How much samples turn, stretch, move and bend, 0 for not at all (default: 1 for digits beside glyphs).
        #[bound(within(0.0..=3.0))]
        vary_pose: f64,
        /// How much their brightness and fabric vary (default: 0.6 for cosines, else 1 beside synthetic images; 0 in colour).
        #[bound(within(0.0..=3.0))]
        vary_texture: f64,
        /// How much their tone varies (default: 1 for cosines, and for `mixture` beside synthetic images; 0 in colour).
        #[bound(within(0.0..=3.0))]
        vary_tone: f64,
        /// Cells of each class, each with moments of its own (default: as many as the records and the budget bear).
        #[bound(between(1, 64))]
        cells: usize,
        /// Of `marginals`: whether a neighbour may have another label (`private`), or class sizes are known (`public`).
        #[flag(value_enum)]
        labels: LabelPrivacy,
        /// Where particles of `marginals` start (default: public for digits beside glyphs, else gaussian).
        #[flag(value_enum)]
        start: Start,
        /// Bins of a histogram, a power of two.
        #[bound(must_be("a power of two of at least 2", |n: usize| n >= 2 && n.is_power_of_two()))]
        bins: usize,
        /// Slices of one step, out of those released.
        #[bound(at_least(1))]
        slices_per_step: usize,
        /// Private images in a batch.
        #[bound(at_least(1))]
        batch: usize,
        /// Of `projections`: what the one-hot class is multiplied by, beside pixels in [0, 1].
        #[bound(positive)]
        label_weight: f64,
    }
    switches {
        /// How samples are scored.
        #[command(flatten)]
        score: ScoreFlags,
        /// The copy.
        #[command(flatten)]
        export: ExportRequest,
    }
}

/// How images become latents, and latents images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Encoder {
    /// By an autoencoder that public images train.
    Learned,
    /// By the lowest frequencies of an image; public images, if there are any, teach how images of these look.
    Cosines,
}

impl Settings {
    /// How images of `shape` become latents. Of colour images an autoencoder of so few dimensions keeps less than frequencies do:
    /// public ones teach how they look, and no more.
    pub(super) fn space(&self, shape: ImageShape) -> SpaceKind {
        let colour = shape.channels == 3;
        let by_default = match self.public == SHAPES || colour {
            true => Encoder::Cosines,
            false => Encoder::Learned,
        };
        match (&*self.public, self.encoder.unwrap_or(by_default)) {
            (NO_IMAGES, _) => SpaceKind::Cosines,
            (_, Encoder::Cosines) => SpaceKind::Refined,
            _ if colour && shape.side == DcganAutoencoder::SIDE => {
                SpaceKind::Dcgan(self.width.unwrap_or(64))
            }
            _ => SpaceKind::Small,
        }
    }

    /// The latent space of images of `shape`.
    pub(super) fn form(&self, shape: ImageShape, latent: usize) -> SpaceForm {
        let kind = self.space(shape);
        let side = match kind {
            SpaceKind::Small => shape.side.max(AUTOENCODED),
            _ => shape.side,
        };
        SpaceForm {
            kind,
            latent,
            shape: ImageShape { side, ..shape },
        }
    }

    /// How samples for learning vary. Grey ones of smooth waves have halos and no fabric; those of a generator do not vary.
    pub(super) fn variation(&self, shape: ImageShape) -> Variation {
        if !self.method.way().has_latents {
            return Variation::default();
        }
        let smooth = matches!(self.space(shape), SpaceKind::Cosines | SpaceKind::Refined);
        let synthetic = [SHAPES, DatasetKind::Glyphs.name()].contains(&&*self.public);
        let mut suited = match shape.channels {
            1 => Variation::suited(self.synthetic_classes(), synthetic, smooth),
            _ => Variation::default(),
        };
        if shape.channels == 1 && synthetic && self.method == Method::Mixture {
            suited.tone = 1.0;
        }
        suited.or(self.vary_pose, self.vary_texture, self.vary_tone)
    }

    /// Whether synthetic public images show the classes of the private ones.
    pub(super) fn synthetic_classes(&self) -> bool {
        let glyphs = DatasetKind::Glyphs.name();
        self.public == glyphs && ["mnist", "usps", glyphs].contains(&&*self.input)
    }

    /// Steps for this number of private images: 35 passes of batches if nothing else is said.
    pub(super) fn steps(&self, records: usize) -> u64 {
        let passes = |batch| PASSES * records.div_ceil(batch) as u64;
        self.steps.or(self.batch.map(passes)).unwrap_or(0)
    }

    /// The noise; none without privacy.
    pub(super) fn noise(&self) -> Option<Noise> {
        let multiplier = self.noise_multiplier.map(Noise::Multiplier);
        multiplier.or(self.epsilon.map(Noise::TargetEpsilon))
    }

    /// What the sizes of a release follow. A noise multiplier of 3.73 has epsilon 1 at delta 1e-5.
    pub(super) fn signal(&self, records: usize) -> Signal {
        let epsilon = self.epsilon.or(self.noise_multiplier.map(|z| 3.73 / z));
        Signal::new(records, epsilon)
    }

    /// Maximum number of images used per unit.
    pub(super) fn most(&self) -> usize {
        self.most_per_unit.unwrap_or(1)
    }

    /// Whether `--public` names images.
    pub(super) fn names_public(&self) -> bool {
        ![SHAPES, NO_IMAGES, HALF].contains(&&*self.public)
    }

    /// Refuses what the method does not have.
    fn check_method(&self) -> Result<(), Failure> {
        let (way, name) = (self.method.way(), name_of(self.method));
        let given = toml::Table::try_from(self).or_failed()?;
        let latents = OF_LATENTS.into_iter().filter(|_| !way.has_latents);
        let others = OF_METHODS.into_iter().filter(|flag| !way.has(flag));
        for flag in latents.chain(others) {
            let value = given.get(flag).map(ToString::to_string);
            let value = value.unwrap_or_default().replace('"', "");
            let bound = format!("left out with --method {name}, which does not have it");
            bounded(flag, value, !given.contains_key(flag), &bound)?;
        }
        if !way.has_latents {
            let bound = format!(
                "shapes, the default, with --method {name}, which learns from no public image"
            );
            bounded("public", &self.public, self.public == SHAPES, &bound)?;
        }
        if self.public == NO_IMAGES {
            let learns = self.public_records.is_some()
                || self.public_epochs.is_some()
                || self.encoder == Some(Encoder::Learned);
            let bound = "images for --public-records, --public-epochs and --encoder learned: there are none";
            bounded("public", NO_IMAGES, !learns, bound)?;
        }
        let (some, all) = (self.slices_per_step.unwrap_or(1), self.slices.unwrap_or(1));
        let bound = format!("between 1 and the slices of a release, {all}");
        bounded("slices-per-step", some, some <= all, &bound)
    }

    /// What is said of the private images.
    pub(super) fn naming(&self) -> Naming<'_> {
        Naming {
            input: &self.input,
            side: self.side,
            channels: self.channels,
            classes: self.classes.as_deref(),
            levels: self.levels.as_deref(),
            unit: self.unit.as_deref(),
            unit_from_name: self.unit_from_name.as_deref(),
            most_per_unit: self.most_per_unit,
            test: self.test.as_deref(),
        }
    }
}

impl lab::session::Settings for Settings {
    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        let flags = &arguments.own;
        let of_method = flags.method.unwrap_or_default().way().defaults;
        let mut settings: Self = arguments.over(&format!("{DEFAULTS}{of_method}"))?;
        if flags.slices_per_step.is_none() {
            // The default of a method; a flag of one's own is checked.
            let all = settings.slices.unwrap_or(1);
            settings.slices_per_step = settings.slices_per_step.map(|some| some.min(all));
        }
        Ok(settings)
    }

    fn name(&self) -> String {
        let stem = stem(self.input.as_ref());
        let budget = match self.noise_multiplier {
            Some(z) => format!("z{z}"),
            None => budget_name(self.epsilon),
        };
        match self.method {
            Method::Mixture => format!("{stem}-{budget}"),
            other => format!("{stem}-{}-{budget}", name_of(other)),
        }
    }

    fn check(&self) -> Result<(), Failure> {
        let units = self.unit.is_some() || self.unit_from_name.is_some();
        bounded(
            "most-per-unit",
            self.most_per_unit.unwrap_or(1),
            units == self.most_per_unit.is_some(),
            "given with --unit or --unit-from-name",
        )?;
        self.check_method()?;
        self.naming().asked().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use clap::{Parser, ValueEnum};
    use lab::session::Settings as _;

    use super::*;

    fn settings(flags: &str) -> Settings {
        let line = format!("synth {flags}");
        Settings::resolve(&Arguments::parse_from(line.split_whitespace())).unwrap()
    }

    #[test]
    fn defaults_follow_the_public_side() {
        let grey = ImageShape {
            channels: 1,
            side: 28,
        };
        for (flags, expected) in [
            ("--public glyphs", "Small 1 1 1"),
            ("--public glyphs --method marginals", "Small 1 1 0"),
            ("--public half", "Small 0 0 0"),
            ("--public shapes", "Refined 0 0.6 1"),
            ("--public shapes --encoder learned", "Small 0 1 1"),
            ("--public none", "Cosines 0 0.6 1"),
            ("--public none --vary-texture 1", "Cosines 0 1 1"),
            ("--method generator", "Refined 0 0 0"),
        ] {
            let settings = settings(&format!("--input mnist {flags}"));
            let Variation {
                pose,
                texture,
                tone,
            } = settings.variation(grey);
            let found = format!("{:?} {pose} {texture} {tone}", settings.space(grey));
            assert_eq!(found, expected, "{flags}");
        }
    }

    /// What a run wrote is what resumes it, and has nothing of another method.
    #[test]
    fn settings_of_a_folder_are_those_of_its_method() {
        let mixture = settings("--noise-multiplier 2");
        let text = toml::to_string_pretty(&mixture).unwrap();
        assert!(
            !text.contains("epsilon") && !text.contains("bins"),
            "{text}"
        );
        assert_eq!(toml::from_str::<Settings>(&text).ok(), Some(mixture));
        for (line, flag) in [
            ("--bins 8", "--bins 8"),
            ("--method fixed --cells 2", "--cells 2"),
            ("--method merf --latent 8", "--latent 8"),
            ("--method generator --vary-tone 1.5", "--vary-tone 1.5"),
        ] {
            let refused = settings(line).check().unwrap_err().to_string();
            assert!(
                refused.contains(&format!("{flag}: it must be left out")),
                "{refused}"
            );
        }
        for method in Method::value_variants() {
            let settings = settings(&format!("--method {}", name_of(*method)));
            assert!(settings.check().is_ok(), "{method:?}");
        }
    }
}

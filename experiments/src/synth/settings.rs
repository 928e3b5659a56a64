//! A run's settings: defaults, then flags, then checks.

use std::path::PathBuf;

use data::DatasetKind;
use data::pictures::{Classes, MAX_CLASSES, Public};
use lab::diagnostic::Failure;
use lab::session::{self, Arguments, Ends, bounded, budget_name, name_of};
use model::latent::ImageShape;
use private_synth::images::SpaceKind;

use super::input::CIFAR10;
use super::method::Method;
use crate::export::ExportRequest;
use crate::records::{COSINES, SHAPES};
use crate::scores::ScoreFlags;

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
        records: Option<usize>, epsilon: Option<f64>, delta: Option<f64>, seed: u64, insecure_noise_seed: Option<u64>,
    }
    preset {
        /// What `synth` makes a copy of.
        kind: String,
    }
    flags {
        /// The private images: a folder of classes or of files, a .tar or .npz archive, an idx file, or a data set by name.
        input: String,
        /// Public images, other ones than --input, or the name of a data set; `shapes`, or `cosines` for none.
        public: String,
        /// What is released, and makes samples: the others are baselines of `mixture`.
        #[flag(value_enum)]
        #[setting(default)]
        method: Method,
        /// Share of the budget (of `1/z^2`) for a noisy accuracy on the private images, without --test; 0 for none.
        #[bound(within(0.0, 0.5, Ends::BOTH))]
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
        /// Whose images are private together: a CSV file of paths below --input, and the unit of each.
        #[flag(value_name = "CSV[:COLUMN]", requires = "most_per_unit", conflicts_with = "unit_from_name")]
        unit: String,
        /// The same by a regular expression for the path of an image: the unit is what its first group matches, or all of it.
        #[flag(value_name = "REGEX", requires = "most_per_unit")]
        unit_from_name: String,
        /// Images of a unit that count, at most: noise grows with it.
        #[flag(value_name = "K")]
        #[bound(at_least(1))]
        most_per_unit: usize,
        /// Public test images to judge the copy by (default: those of the data set, where --input names one).
        test: PathBuf,
        /// Dimensions of the latent space (default: as many as records and budget bear).
        #[bound(between(2, 512))]
        latent: usize,
        /// Cells of each class, each with moments of its own (default: as many as the records and the budget bear).
        #[bound(between(1, 64))]
        cells: usize,
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

/// Whether this is a data set by name, and no path.
pub(super) fn names_data_set(name: &str) -> bool {
    [SHAPES, CIFAR10].contains(&name) || name.parse::<DatasetKind>().is_ok()
}

impl Settings {
    /// The kind of the latent space of images of `shape`. Of colour images an autoencoder of so few dimensions keeps less than
    /// frequencies do: public ones teach how they look, and no more.
    pub(super) fn space(&self, shape: ImageShape) -> SpaceKind {
        match (&*self.public, shape.channels) {
            (COSINES, _) => SpaceKind::Cosines,
            (SHAPES, _) | (_, 3) => SpaceKind::Refined,
            _ => SpaceKind::Small,
        }
    }

    /// Whether `--public` names images.
    pub(super) fn names_public(&self) -> bool {
        ![SHAPES, COSINES].contains(&&*self.public)
    }

    /// Refuses what a data set by name does not take: all of it is known.
    pub(super) fn check_named(&self) -> Result<(), Failure> {
        let units = self.unit.is_some() || self.unit_from_name.is_some();
        for (flag, given) in [
            ("side", self.side.is_some()),
            ("channels", self.channels.is_some()),
            ("classes", self.classes.is_some()),
            ("test", self.test.is_some()),
            ("most-per-unit", units),
        ] {
            bounded(
                flag,
                &self.input,
                !given,
                "left out for a data set by its name",
            )?;
        }
        Ok(())
    }

    /// Refuses what a method does not have.
    fn check_method(&self) -> Result<(), Failure> {
        let cells = self.cells.unwrap_or(1);
        match self.method {
            Method::Mixture => Ok(()),
            Method::Merf => {
                let bound = "left out with --method merf, which has no latent space";
                bounded("cells", cells, self.cells.is_none(), bound)?;
                let latent = self.latent.unwrap_or_default();
                bounded("latent", latent, self.latent.is_none(), bound)?;
                let bound =
                    "shapes, the default, with --method merf, which learns from no public image";
                bounded("public", &self.public, self.public == SHAPES, bound)
            }
        }
    }

    /// What is public of the images before they are read.
    pub(super) fn public(&self) -> Result<Public, Failure> {
        let classes = match self.classes.as_deref() {
            None => Classes::Folders,
            Some(text) => match text.parse() {
                Ok(count) => Classes::Counted(count),
                Err(_) => Classes::Named(text.split(',').map(|name| name.trim().into()).collect()),
            },
        };
        classes.listed().map_err(|e| {
            let text = self.classes.as_deref().unwrap_or_default();
            Failure::input(
                format!(
                    "--classes {}: {e}",
                    text.chars().take(60).collect::<String>()
                ),
                format!("say how many there are, at most {MAX_CLASSES}, or name each once"),
            )
        })?;
        Ok(Public {
            side: self.side,
            channels: self.channels,
            classes,
        })
    }
}

impl session::Settings for Settings {
    type Flags = Flags;

    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        arguments.over(DEFAULTS)
    }

    fn name(&self) -> String {
        let path = std::path::Path::new(&self.input);
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        let (stem, budget) = (stem.to_string_lossy(), budget_name(self.epsilon));
        match self.method {
            Method::Mixture => format!("{stem}-{budget}"),
            other => format!("{stem}-{}-{budget}", name_of(other)),
        }
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.insecure_noise_seed
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
        self.public().map(drop)
    }
}

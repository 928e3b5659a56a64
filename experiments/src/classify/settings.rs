//! A run's settings: defaults, then flags, then checks.

use std::path::PathBuf;

use lab::prelude::*;
use serde::{Deserialize, Serialize};

use super::values::Range;
use crate::images::{Naming, names_data_set};
use crate::records::{SHAPES, stem};

/// The values of a run that no flag gives.
const DEFAULTS: &str = "
    kind = \"images\"
    input = \"shapes\"
    public = \"shapes\"
    epsilon = 1.0
    order = 1
    score-share = 0.02
";

/// What a model of numbers is charged for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// The square of a distance: the model says the mean.
    Squared,
    /// The distance: it says the median.
    Absolute,
}

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        records: Option<usize>, epsilon: Option<f64>, delta: Option<f64>, steps: Option<u64>, learning_rate: Option<f64>, seed: u64,
        insecure_noise_seed: Option<u64>,
    }
    preset {
        /// What `classify` learns from.
        kind: String,
    }
    flags {
        /// The private records: a folder of classes, a .tar, .zip or .npz archive, an idx file, a data set by name; with --labels, an
        /// .npy file of rows.
        input: String,
        /// Public records that decorrelate features: images, or rows beside --labels; `shapes` that the program draws, or `none`.
        public: String,
        /// Order of the scattering of images: 1, or 2, which takes five times as long.
        #[bound(between(1, 2))]
        order: usize,
        /// Share of the budget (of `1/z^2`) for a noisy score on the private records, without --test; 0 for none.
        #[bound(within(0.0..=0.5))]
        score_share: f64,
        /// Learn even if noise hides all classes when each has equally many records: say it if some classes are rare or absent.
        #[flag(num_args = 0, default_missing_value = "true", hide_possible_values = true)]
        #[setting(default)]
        rare_classes: bool,
    }
    optional {
        /// The labels of an .npy file of rows: an .npy file of whole numbers from 0; of any numbers with --range.
        labels: PathBuf,
        /// For a model of a number: what labels lie between, public, such as 0..100. Labels beyond are taken for its ends.
        #[flag(value_name = "LOW..HIGH", requires = "labels", conflicts_with = "classes", allow_hyphen_values = true)]
        range: String,
        /// What a model of a number is charged for (default: squared).
        #[flag(requires = "range")]
        loss: Loss,
        /// Share of the budget that counts classes, so that rare ones weigh as much as others (default: every record weighs the same).
        #[flag(value_name = "SHARE", conflicts_with = "range")]
        #[bound(within((Excluded(0.0), Included(0.5))))]
        balance: f64,
        /// Pixels along a side, public: 8 to 128 and a multiple of 4. Images are cut to squares of it.
        #[bound(must_be("a multiple of 4 from 8 to 128", |n: usize| (8..=128).contains(&n) && n.is_multiple_of(4)))]
        side: usize,
        /// 1 for grey images, 3 for colour: public likewise.
        #[bound(must_be("1 or 3", |n: usize| [1, 3].contains(&n)))]
        channels: usize,
        /// The classes, public: a number, or names with commas between them (default: the folders, whose names become public).
        classes: String,
        /// What pixels hold, public: 4096 for 12 bits of 16, a range such as 0..1 for floats (default: bytes, 0..255).
        #[flag(allow_hyphen_values = true)]
        levels: String,
        /// Whose records are private together: a CSV file of paths below --input, and the unit of each image; with --labels an .npy file
        /// of a whole number for each row.
        #[flag(value_name = "CSV[:COLUMN]", requires = "most_per_unit", conflicts_with = "unit_from_name")]
        unit: String,
        /// The same by a regular expression for the path of an image: the unit is what its first group matches, or all of it.
        #[flag(value_name = "REGEX", requires = "most_per_unit")]
        unit_from_name: String,
        /// Maximum number of records used per unit: noise grows with it.
        #[flag(value_name = "K")]
        #[bound(at_least(1))]
        most_per_unit: usize,
        /// Public test records to judge the model by (default: those of the data set, if --input names one).
        test: PathBuf,
        /// The labels of --test, if it is an .npy file of rows.
        #[flag(requires = "test", requires = "labels")]
        test_labels: PathBuf,
        /// The bound on each record's gradient.
        #[bound(norm)]
        max_grad_norm: f64,
    }
    switches {}
}

impl Settings {
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

    /// What labels lie between, of a model of a number.
    pub(super) fn range(&self) -> Result<Option<Range>, Failure> {
        self.range.as_deref().map(Range::parse).transpose()
    }

    /// Maximum number of records used per unit.
    pub(super) fn most(&self) -> usize {
        self.most_per_unit.unwrap_or(1)
    }
}

impl lab::session::Settings for Settings {
    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        arguments.over(DEFAULTS)
    }

    fn name(&self) -> String {
        let input = std::path::Path::new(&self.input);
        format!("{}-{}", stem(input), budget_name(self.epsilon))
    }

    fn check(&self) -> Result<(), Failure> {
        if let Some(classes) = self.naming().asked()?.classes.listed().or_failed()? {
            let (count, text) = (classes.len(), self.classes.as_deref().unwrap_or_default());
            bounded("classes", text, count >= 2, "at least 2 classes")?;
        }
        self.range()?;
        if let Some(most) = self.most_per_unit {
            let named = self.unit.is_some() || self.unit_from_name.is_some();
            let bound = "beside --unit or --unit-from-name, which say whose records are whose";
            bounded("most-per-unit", most, named, bound)?;
        }
        let balance = self.balance.unwrap_or(0.0);
        let rest = balance + self.score_share < 1.0;
        let bound = "less than what --score-share leaves";
        bounded("balance", balance, rest, bound)?;
        if self.labels.is_none() {
            return Ok(());
        }
        for (flag, given) in [
            ("side", self.side.map(|side| side.to_string())),
            (
                "channels",
                self.channels.map(|channels| channels.to_string()),
            ),
            ("levels", self.levels.clone()),
            ("unit-from-name", self.unit_from_name.clone()),
        ] {
            let bound = "left out with --labels, which stand beside rows of numbers";
            let value = given.as_deref().unwrap_or_default();
            bounded(flag, value, given.is_none(), bound)?;
        }
        let bound = "an .npy file with --labels";
        bounded("input", &self.input, !names_data_set(&self.input), bound)?;
        let said = self.classes.is_some() || self.range.is_some();
        let bound = "beside --classes, which says how many there are, or --range: to look at the labels would tell of them";
        let labels = self.labels.as_deref().unwrap_or(std::path::Path::new(""));
        bounded("labels", labels.display(), said, bound)?;
        let tested = self.test.is_some() == self.test_labels.is_some();
        let test = self.test.as_deref().unwrap_or(std::path::Path::new(""));
        bounded("test", test.display(), tested, "beside --test-labels")?;
        let shapes = self.public == SHAPES;
        // What the program draws are images.
        bounded(
            "public",
            &self.public,
            shapes || !names_data_set(&self.public),
            "an .npy file, or left out",
        )
    }
}

//! The tasks, each with the settings that it alone has and with its records.

use std::path::{Path, PathBuf};

use lab::diagnostic::Failure;
use lab::session::{Ends, Part, Tables};

use super::judges::Judges;
use super::settings::{Notion, Shared};
use super::table;
use crate::objective::Preset;

/// A task, by the settings that it alone has.
pub trait Own: Part {
    /// Its name on the command line.
    const NAME: &'static str;
    /// What it does, for `--help`.
    const ABOUT: &'static str;

    /// The values that no flag gives.
    fn preset(flags: &Self::Flags) -> &'static str;

    /// The notion of fairness.
    fn notion(&self) -> Notion {
        Notion::Sp
    }

    /// Its records.
    fn tables(&self, shared: &Shared, _data_dir: Option<&Path>) -> Result<Tables, Failure> {
        table::simulated(shared)
    }
}

lab::settings! {
    /// Settings of a classification.
    struct Classification, ClassificationFlags;
    common {}
    flags {
        /// Statistical parity, or equality of odds.
        #[flag(value_enum)]
        notion: Notion,
    }
    optional {
        /// A table of one's own: a CSV file that --schema describes.
        #[flag(requires = "schema", conflicts_with = "records")]
        input: PathBuf,
        /// Public test records for --input: another file of the same form.
        #[flag(requires = "input", conflicts_with = "test_share")]
        test: PathBuf,
        /// Instead: the share of the rows of --input, chosen by their numbers, that become public test records.
        #[flag(value_name = "SHARE", requires = "input")]
        #[bound(within(0.0, 1.0, Ends::NEITHER))]
        test_share: f64,
        /// What the columns of --input are: a TOML file, see `docs/schemas.md`.
        #[flag(requires = "input")]
        schema: PathBuf,
    }
}

impl Own for Classification {
    const NAME: &'static str = "classification";
    const ABOUT: &'static str = "Learn the label of a simulated bias, or of a table of one's own";

    fn preset(_: &ClassificationFlags) -> &'static str {
        include_str!("../../../assets/fair/classification.toml")
    }

    fn notion(&self) -> Notion {
        self.notion
    }

    fn tables(&self, shared: &Shared, _: Option<&Path>) -> Result<Tables, Failure> {
        match (&self.input, &self.schema) {
            (Some(input), Some(schema)) => {
                let test = self.test.as_deref();
                table::read(input, Judges::of(input, test, self.test_share)?, schema)
            }
            _ => table::simulated(shared),
        }
    }
}

lab::settings! {
    /// Settings of a regression in the plane.
    struct Regression2d, Regression2dFlags;
    common {}
}

impl Own for Regression2d {
    const NAME: &'static str = "regression2d";
    const ABOUT: &'static str = "Learn the response of a simulated bias in the plane";

    fn preset(_: &Regression2dFlags) -> &'static str {
        include_str!("../../../assets/fair/regression2d.toml")
    }
}

lab::settings! {
    /// Settings of a regression on the line.
    struct Regression1d, Regression1dFlags;
    common {}
    flags {
        /// The share of epsilon that the post-processing's histograms spend (default: 0.5).
        #[setting(default = "half")]
        #[bound(within(0.0, 1.0, Ends::NEITHER))]
        post_share: f64,
    }
    optional {
        /// Post-process to this Kolmogorov-Smirnov distance (Xian et al. 2024), without penalty unless --alpha is given.
        #[flag(value_name = "BETA")]
        #[bound(within(0.0, 1.0, Ends::BOTH))]
        post_process: f64,
    }
    switches {
        /// Preset in `assets/fair`, or in `assets/fair/paper` (Rodriguez-Vitores, Lalanne and Loubes 2025, appendix C).
        #[arg(long, value_enum, default_value = "tuned")]
        preset: Preset,
    }
}

fn half() -> f64 {
    0.5
}

impl Own for Regression1d {
    const NAME: &'static str = "regression1d";
    const ABOUT: &'static str = "Learn the sum of the coordinates of that response, on the line";

    fn preset(flags: &Regression1dFlags) -> &'static str {
        match flags.preset {
            Preset::Tuned => include_str!("../../../assets/fair/regression1d.toml"),
            Preset::Paper => include_str!("../../../assets/fair/paper/regression1d.toml"),
        }
    }
}

lab::settings! {
    /// Settings of an autoencoder.
    struct Representation, RepresentationFlags;
    common {}
    switches {
        /// Preset in `assets/fair`, or in `assets/fair/paper` (Rodriguez-Vitores, Lalanne and Loubes 2025, appendix C).
        #[arg(long, value_enum, default_value = "tuned")]
        preset: Preset,
    }
}

impl Own for Representation {
    const NAME: &'static str = "representation";
    const ABOUT: &'static str = "Learn an autoencoder of the features of a simulated bias";

    fn preset(flags: &RepresentationFlags) -> &'static str {
        match flags.preset {
            Preset::Tuned => include_str!("../../../assets/fair/representation.toml"),
            Preset::Paper => include_str!("../../../assets/fair/paper/representation.toml"),
        }
    }
}

lab::settings! {
    /// Settings of a classification of the Adult data.
    struct Adult, AdultFlags;
    common {}
    flags {
        /// Statistical parity, or equality of odds.
        #[flag(value_enum)]
        notion: Notion,
        /// Sensitive attribute: sex or race.
        sensitive: String,
    }
    optional {
        /// Move all records to the barycentre of both groups first, by marginals that are released for this share of epsilon
        /// and delta.
        #[flag(value_name = "SHARE")]
        #[bound(within(0.0, 1.0, Ends::NEITHER))]
        repair: f64,
    }
}

impl Own for Adult {
    const NAME: &'static str = "adult";
    const ABOUT: &'static str = "Learn who has a high income, of the Adult data";

    fn preset(_: &AdultFlags) -> &'static str {
        include_str!("../../../assets/fair/adult.toml")
    }

    fn notion(&self) -> Notion {
        self.notion
    }

    fn tables(&self, shared: &Shared, data_dir: Option<&Path>) -> Result<Tables, Failure> {
        table::adult(shared, &self.sensitive, data_dir)
    }
}

//! A run's settings: defaults, then flags, then checks.

use std::path::PathBuf;

use lab::prelude::*;
use serde::{Deserialize, Serialize};

use crate::records::stem;

/// The values of a run that no flag gives.
const DEFAULTS: &str = "
    protect = \"both\"
    epsilon = 1.0
    slices = 100
    side = 32
    permutations = 199
    false-alarm = 0.05
";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Protect {
    /// Those of both files.
    Both,
    /// Those of the source; the target is public.
    Source,
    /// Those of the target; the source is public.
    Target,
}

impl Protect {
    /// The private ones of two sides.
    pub(super) fn sides(self) -> &'static [usize] {
        match self {
            Self::Both => &[0, 1],
            Self::Source => &[0],
            Self::Target => &[1],
        }
    }
}

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        epsilon: Option<f64>, delta: Option<f64>, slices: usize, seed: u64, insecure_noise_seed: Option<u64>,
    }
    flags {
        /// One file: idx images (gzip or not), .csv, .npy, or a folder of images.
        #[flag(required_unless_present = "resume")]
        source: PathBuf,
        /// The file to compare it with.
        #[flag(required_unless_present = "resume")]
        target: PathBuf,
        /// Whose rows are private; the others are public, and get their noise from --seed.
        #[flag(value_enum)]
        protect: Protect,
        /// Pixels along a side of the images of a folder.
        #[bound(at_least(1))]
        side: usize,
        /// Test whether both files have one distribution, on what is released for the distance.
        #[flag(num_args = 0, default_missing_value = "true", hide_possible_values = true)]
        #[setting(default)]
        test: bool,
        /// Number of permutations of the two-sample test.
        permutations: u64,
        /// The false-alarm rate of the two-sample test, its level.
        #[bound(within((Excluded(0.0), Excluded(1.0))))]
        false_alarm: f64,
    }
    optional {
        /// The public bound on the norm of a row; longer rows are scaled down to it. Images need none.
        #[bound(norm)]
        radius: f64,
    }
}

impl lab::session::Settings for Settings {
    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        arguments.over(DEFAULTS)
    }

    fn name(&self) -> String {
        let budget = budget_name(self.epsilon);
        format!("{}-{}-{budget}", stem(&self.source), stem(&self.target))
    }

    fn check(&self) -> Result<(), Failure> {
        let least = (1.0 / self.false_alarm).ceil() as u64 - 1;
        let bound = format!("at least {least}, or the test could never speak at its level");
        let enough = !self.test || self.permutations >= least;
        bounded("permutations", self.permutations, enough, &bound)
    }
}

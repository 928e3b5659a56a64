//! Points of few coordinates, which are sampled, or a file of privatised ones.

use std::path::Path;

use data::Gaussians;
use data::privatised::{Header, LabelEncoding};
use lab::diagnostic::{Failure, OrFailed};
use lab::session::name_of;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::settings::{self, Kind};
use super::sources::{Clean, Rows};
use crate::random::stream;

/// Points that are judged, and those that they are judged by.
const JUDGED: usize = 10_000;

/// The distribution of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Points {
    /// Standard Gaussian on a line.
    Line,
    /// Gaussian in the plane, with covariance [[1, 0.6], [0.6, 0.5]].
    Gaussian,
    /// Five Gaussians on a circle of radius 3.
    Gaussians,
}

lab::settings! {
    /// What points alone have.
    common {}
    flags {
        /// The points.
        #[flag(value_enum)]
        dataset: Points,
    }
    switches {
        /// What it is judged by.
        #[command(flatten)]
        judged: Judged,
    }
}

/// What points are judged by.
#[derive(Debug, Clone, clap::Args)]
pub struct Judged {
    /// Points that are generated and judged (default: 10000).
    #[arg(long, value_parser = clap::value_parser!(u64).range(100..))]
    scored: Option<u64>,
}

impl Points {
    fn draw(self, count: usize, rng: &mut ChaCha20Rng) -> Result<Vec<f32>, Failure> {
        let mut normal = || -> f64 { StandardNormal.sample(rng) };
        Ok(match self {
            Self::Line => (0..count).map(|_| normal() as f32).collect(),
            Self::Gaussian => (0..count)
                .flat_map(|_| {
                    let (a, b) = (normal(), normal());
                    [a as f32, (0.6 * a + 0.14_f64.sqrt() * b) as f32]
                })
                .collect(),
            Self::Gaussians => Gaussians::five().sample(count, rng).or_failed()?.values,
        })
    }
}

impl Kind for Settings {
    const NAME: &'static str = "points";
    const ABOUT: &'static str = "Privatise every point alone, then learn from what is left the distribution that the points \
                                 had before. Values come from a preset, and a flag wins over the preset.";

    fn preset(_: &Flags) -> &'static str {
        include_str!("../../../assets/ldp/points.toml")
    }

    fn samples(flags: &Flags) -> usize {
        let scored = flags.judged.scored.map(|scored| scored as usize);
        scored.unwrap_or(JUDGED)
    }

    /// Rows that were no images, without classes.
    fn take(&mut self, header: &Header, input: &str) -> Result<(), Failure> {
        if let Some([c, h, w]) = header.source_shape {
            return Err(Failure::input(
                format!("{input}: its records are images of {c}x{h}x{w}, and no points"),
                "give the file to `sliver ldp images`",
            ));
        }
        if let LabelEncoding::OneHot { classes, .. } = header.labels {
            return Err(Failure::input(
                format!("{input}: its records have {classes} classes, and points have none"),
                "give a file that was privatised without --label-weight",
            ));
        }
        Ok(())
    }

    fn dataset(&self) -> String {
        name_of(self.dataset)
    }

    /// The data of a task, whatever the seed of a run; without private points where the input was privatised before.
    fn load(&self, shared: &settings::Shared, _: Option<&Path>) -> Result<Clean, Failure> {
        let dim = if self.dataset == Points::Line { 1 } else { 2 };
        let draw = |count, number| {
            let values = self.dataset.draw(count, &mut stream(0, number))?;
            Ok::<_, Failure>(Rows::Points { values, dim })
        };
        let private = || draw(shared.records.unwrap_or(JUDGED), 0);
        Ok(Clean {
            name: format!("synthetic points, `{}`", self.dataset()),
            private: shared.input.is_none().then(private).transpose()?,
            test: draw(JUDGED, 1)?,
            used: Vec::new(),
        })
    }
}

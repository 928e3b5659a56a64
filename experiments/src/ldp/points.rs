//! Points of few coordinates, which are sampled.

use std::path::Path;

use data::Gaussians;
use lab::diagnostic::Failure;
use lab::session::name_of;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::settings::{self, Kind};
use super::sources::{Clean, Rows};
use crate::random::stream;

/// Points that the result is judged by.
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
            Self::Gaussians => {
                let sampled = Gaussians::five().sample(count, rng);
                sampled.map_err(Failure::failed)?.values
            }
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

    fn dataset(&self) -> String {
        name_of(self.dataset)
    }

    /// The data of a task, whatever the seed of a run.
    fn load(&self, shared: &settings::Shared, _: Option<&Path>) -> Result<Clean, Failure> {
        let dim = if self.dataset == Points::Line { 1 } else { 2 };
        let draw = |count, number| {
            let values = self.dataset.draw(count, &mut stream(0, number))?;
            Ok::<_, Failure>(Rows::Points { values, dim })
        };
        Ok(Clean {
            name: format!("synthetic points, `{}`", self.dataset()),
            private: Some(draw(shared.records.unwrap_or(JUDGED), 0)?),
            test: draw(JUDGED, 1)?,
            used: Vec::new(),
        })
    }
}

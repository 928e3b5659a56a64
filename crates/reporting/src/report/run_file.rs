//! `run.json`: what a finished run says of itself.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The content of `run.json`, written last: its presence means that the run finished.
///
/// Fields that an experiment adds of its own are kept in `more`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct RunFile {
    /// The experiment's name, such as `swae`.
    pub experiment: String,
    /// Heading of the page; made from the experiment and the data set where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Version of the program.
    pub version: String,
    /// Commit of the program, where it is known.
    #[serde(default)]
    pub commit: Option<String>,
    /// The device in words.
    pub device: String,
    /// The settings as resolved.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Private records.
    #[serde(default)]
    pub records: Option<u64>,
    /// What is promised, to whom, and what is not, in words.
    pub privacy: String,
    /// Whether anything is promised: false without privacy, and with noise from a known seed.
    pub private: bool,
    /// The plan, where there is one.
    #[serde(default)]
    pub plan: Option<Plan>,
    /// Lines of the ledger.
    #[serde(default)]
    pub releases: Option<u64>,
    /// How long all of it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<Took>,
    /// Seconds of that for steps, those before the run resumed among them.
    #[serde(default)]
    pub training_seconds: Option<f64>,
    /// Scores on public records, by name; the page shows them where `metrics` is absent.
    #[serde(default)]
    pub test: Map<String, Value>,
    /// The command that repeats the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Pictures in the folder, in the order in which they are shown.
    #[serde(default)]
    pub figures: Vec<FigureFile>,
    /// Results, beside published ones.
    #[serde(default)]
    pub metrics: Vec<Metric>,
    /// What a reader must know before believing the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// When the run finished, as [`super::timestamp`] writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<String>,
    /// Fields of the experiment's own.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// How long a run took, from when it began to read to when all was written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Took {
    /// Seconds.
    pub seconds: f64,
    /// Whether they are of the process alone that resumed the run and ended it.
    pub resumed: bool,
}

/// The part of a privacy plan that every experiment has; the rest is kept as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Plan {
    /// Upper bound on epsilon.
    #[serde(default)]
    pub epsilon_upper: Option<f64>,
    /// Delta.
    #[serde(default)]
    pub delta: Option<f64>,
    /// The accountant's name.
    #[serde(default)]
    pub accountant: Option<String>,
    /// The neighbour relation.
    #[serde(default)]
    pub neighbours: Option<String>,
    /// What neighbours replace if that is no single record, such as `all images of one person`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Standard deviation of the noise over the sensitivity.
    #[serde(default)]
    pub noise_multiplier: Option<f64>,
    /// Steps.
    #[serde(default)]
    pub steps: Option<u64>,
    /// The event of a step, and whatever else the plan holds.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A picture of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigureFile {
    /// Its name in the run's folder.
    pub file: String,
    /// What it shows.
    pub caption: String,
    /// What it shows, for those who cannot see it; the caption where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt: Option<String>,
}

impl FigureFile {
    /// A picture whose caption says enough for those who cannot see it.
    pub fn new(file: impl Into<String>, caption: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            caption: caption.into(),
            alt: None,
        }
    }
}

/// Which way a number is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// What was measured, and on what.
    pub name: String,
    /// Its value; absent (`null`) where it is not finite.
    pub value: Option<f64>,
    /// Its unit, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Which way it is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// The published number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<f64>,
    /// Where it is published, or the command that prints ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Metric {
    /// A result without a published counterpart.
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Self {
            name: name.into(),
            value: Some(value),
            unit: None,
            better: None,
            paper: None,
            source: None,
        }
    }

    /// With its unit.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// With the way in which it is better.
    #[must_use]
    pub fn better(mut self, better: Better) -> Self {
        self.better = Some(better);
        self
    }

    /// With the published number and where it stands.
    #[must_use]
    pub fn paper(mut self, value: f64, source: impl Into<String>) -> Self {
        self.paper = Some(value);
        self.source = Some(source.into());
        self
    }
}

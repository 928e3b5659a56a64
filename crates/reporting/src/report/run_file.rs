//! `run.json`, in which a finished run describes itself.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The content of `run.json`, which is written last: if it exists, the run finished.
///
/// The field `more` keeps all further fields that an experiment adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct RunFile {
    /// The name of the experiment, such as `swae`.
    pub experiment: String,
    /// The heading of the page; if absent, it is made from the experiment and the data set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version of the program.
    pub version: String,
    /// The commit of the program, if it is known.
    #[serde(default)]
    pub commit: Option<String>,
    /// The device in words.
    pub device: String,
    /// The settings after all defaults were filled in.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// The number of private records.
    #[serde(default)]
    pub records: Option<u64>,
    /// The promise in words: what is promised, to whom, and what is not.
    pub privacy: String,
    /// Whether anything is promised: false without privacy, and for noise from a known seed.
    pub private: bool,
    /// The privacy plan, if there is one.
    #[serde(default)]
    pub plan: Option<Plan>,
    /// The number of lines of the ledger.
    #[serde(default)]
    pub releases: Option<u64>,
    /// The duration of the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<Took>,
    /// The seconds spent on steps, including those before the run was resumed.
    #[serde(default)]
    pub training_seconds: Option<f64>,
    /// Scores on public records, by name; the page shows them if `metrics` is absent.
    #[serde(default)]
    pub test: Map<String, Value>,
    /// The command that repeats the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The pictures in the folder, in the order in which they are shown.
    #[serde(default)]
    pub figures: Vec<FigureFile>,
    /// The results, with published ones.
    #[serde(default)]
    pub metrics: Vec<Metric>,
    /// The warnings that a reader must know before believing the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The time at which the run finished, as [`super::timestamp`] writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<String>,
    /// The experiment's own fields.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The duration of a run, from the start of reading until all was written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Took {
    /// The duration in seconds.
    pub seconds: f64,
    /// Whether the run was resumed; the duration is then that of the last process alone.
    pub resumed: bool,
}

/// The part of a privacy plan that every experiment has; other fields are kept as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Plan {
    /// An upper bound on epsilon.
    #[serde(default)]
    pub epsilon_upper: Option<f64>,
    /// Delta.
    #[serde(default)]
    pub delta: Option<f64>,
    /// The name of the accountant.
    #[serde(default)]
    pub accountant: Option<String>,
    /// The neighbour relation.
    #[serde(default)]
    pub neighbours: Option<String>,
    /// The unit that neighbours replace, if that is not a single record, such as `all images of one person`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The noise multiplier: the standard deviation of the noise over the sensitivity.
    #[serde(default)]
    pub noise_multiplier: Option<f64>,
    /// The number of steps.
    #[serde(default)]
    pub steps: Option<u64>,
    /// The event of a step, and all other fields of the plan.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A picture of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigureFile {
    /// The name of the file in the run's folder.
    pub file: String,
    /// The caption, which says what the picture shows.
    pub caption: String,
    /// A description for those who cannot see the picture; if absent, the caption serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt: Option<String>,
}

impl FigureFile {
    /// Returns a picture whose caption also serves as its description.
    pub fn new(file: impl Into<String>, caption: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            caption: caption.into(),
            alt: None,
        }
    }
}

/// Whether a higher or a lower value is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// One result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The name of what was measured, and on what.
    pub name: String,
    /// The value; absent (`null`) if it is not finite.
    pub value: Option<f64>,
    /// The unit, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Whether higher or lower is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// The published number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<f64>,
    /// Where the number was published, or the command that prints our value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Metric {
    /// Returns a result without a published counterpart.
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

    /// Sets the unit.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// Sets whether higher or lower is better.
    #[must_use]
    pub fn better(mut self, better: Better) -> Self {
        self.better = Some(better);
        self
    }

    /// Sets the published number and its source.
    #[must_use]
    pub fn paper(mut self, value: f64, source: impl Into<String>) -> Self {
        self.paper = Some(value);
        self.source = Some(source.into());
        self
    }
}

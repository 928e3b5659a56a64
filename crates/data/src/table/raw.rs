use serde::Deserialize;

use super::{Missing, Outside};

/// A schema as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSchema {
    pub delimiter: Option<String>,
    pub header: Option<bool>,
    pub comment: Option<String>,
    #[serde(default)]
    pub missing: Vec<String>,
    #[serde(default)]
    pub column: Vec<toml::Table>,
}

/// A column as it is written, but for its name: which fields it has depends on its kind.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum RawColumn {
    Numeric {
        min: f64,
        max: f64,
        #[serde(default)]
        outside: Outside,
        #[serde(default)]
        missing: Missing,
    },
    Categorical {
        levels: Option<Vec<String>>,
        zero: Option<Vec<String>>,
        one: Option<Vec<String>>,
        #[serde(default)]
        missing: Missing,
    },
    Sensitive {
        zero: Vec<String>,
        one: Vec<String>,
        #[serde(default)]
        missing: Missing,
    },
    /// Classes, or a range.
    Label {
        classes: Option<Vec<Vec<String>>>,
        min: Option<f64>,
        max: Option<f64>,
        outside: Option<Outside>,
        #[serde(default)]
        missing: Missing,
    },
    Ignore {},
}

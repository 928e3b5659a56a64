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
    pub column: Vec<RawColumn>,
}

/// A column as it is written; which fields it needs depends on its kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawColumn {
    pub name: String,
    pub kind: Kind,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub outside: Option<Outside>,
    pub levels: Option<Vec<String>>,
    pub zero: Option<Vec<String>>,
    pub one: Option<Vec<String>>,
    pub classes: Option<Vec<Vec<String>>>,
    pub missing: Option<Missing>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Numeric,
    Categorical,
    Label,
    Sensitive,
    Ignore,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Numeric => "numeric",
            Self::Categorical => "categorical",
            Self::Label => "label",
            Self::Sensitive => "sensitive",
            Self::Ignore => "ignore",
        }
    }
}

//! A schema as it is written, before its checks.

use std::collections::HashSet;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::text::Quotes;
use crate::DataError;
use crate::error::decoded;

/// Decodes the text of a schema; `name` is for errors. They quote no lines, because those of a draft come from records.
pub(super) fn parsed<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, DataError> {
    decoded(name, || {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = 1 + text.bytes().take(start).filter(|&b| b == b'\n').count();
            DataError::file(format!("{name}, line {line}: {}", error.message()))
                .telling(format!("{name}: {error}"))
        })
    })
}

/// Says what happens to a line in which a value is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// The line is an error.
    #[default]
    Refuse,
    /// The line is skipped. The data set is then the remaining lines, and which lines remain is public: neighbours replace one
    /// record that is kept by another that is kept.
    Drop,
    /// The missing value is a level: a feature that is 1 if the value is missing. A number's own feature is then 0. Labels and
    /// sensitive attributes have no such level: for them a missing value is an error.
    Level,
}

/// Says what happens to a number outside its public range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outside {
    /// The number is an error.
    #[default]
    Refuse,
    /// The number becomes the nearer end of the range.
    Clamp,
}

/// A schema as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSchema {
    pub delimiter: Option<String>,
    pub header: Option<bool>,
    pub comment: Option<String>,
    #[serde(default)]
    pub byte_order_mark: bool,
    #[serde(default)]
    pub line_ends: LineEnds,
    #[serde(default)]
    pub quotes: Quotes,
    #[serde(default)]
    pub missing: Vec<String>,
    #[serde(default)]
    pub column: Vec<toml::Table>,
    #[serde(default)]
    pub rule: Vec<RawRule>,
}

/// The line breaks of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LineEnds {
    #[default]
    Lf,
    Crlf,
}

/// A rule between columns as it is written: `at_most`, or `when` and `then`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRule {
    pub at_most: Option<[String; 2]>,
    pub when: Option<RawCondition>,
    pub then: Option<RawCondition>,
}

/// A condition on a column: a number between bounds, or one of some values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCondition {
    pub column: String,
    pub min: Option<toml::Value>,
    pub max: Option<toml::Value>,
    pub values: Option<Vec<String>>,
}

/// A column as it is written, without the fields that all columns share. Its kind decides which fields it has.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum RawColumn {
    Numeric(RawNumber<f64>),
    Integer(RawNumber<RawWhole>),
    Date(RawNumber<String>),
    Datetime(RawNumber<String>),
    Time(RawNumber<String>),
    Boolean {
        zero: Vec<String>,
        one: Vec<String>,
        #[serde(default)]
        missing: Missing,
    },
    Categorical {
        levels: Option<Vec<String>>,
        zero: Option<Vec<String>>,
        one: Option<Vec<String>>,
        other: Option<String>,
        #[serde(default)]
        ordered: bool,
        #[serde(default)]
        missing: Missing,
    },
    Sensitive {
        zero: Vec<String>,
        one: Vec<String>,
        #[serde(default)]
        missing: Missing,
    },
    /// A label has classes or a range.
    Label {
        classes: Option<Vec<Vec<String>>>,
        min: Option<f64>,
        max: Option<f64>,
        outside: Option<Outside>,
        decimals: Option<u32>,
        special: Option<Vec<f64>>,
        scale: Option<Scale>,
        edges: Option<Vec<f64>>,
        written: Option<RawWritten>,
        #[serde(default)]
        missing: Missing,
    },
    /// The reason, for readers of the schema.
    Ignore {
        why: Option<String>,
    },
}

/// The form of a column's values, or several forms if a draft cannot tell which is right.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum RawWritten {
    One(String),
    Several(Vec<String>),
}

/// A range of numbers, dates or times. Without an end it is open.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNumber<T> {
    pub min: Option<T>,
    pub max: Option<T>,
    #[serde(default)]
    pub outside: Outside,
    pub decimals: Option<u32>,
    pub special: Option<Vec<T>>,
    pub scale: Option<Scale>,
    pub edges: Option<Vec<T>>,
    pub written: Option<RawWritten>,
    #[serde(default)]
    pub missing: Missing,
}

/// A whole number, or another value, which is refused with a message.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum RawWhole {
    Number(i64),
    Other(toml::Value),
}

/// The spacing of a number's bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scale {
    Linear,
    /// Bins are even in log(1 + x - min).
    Log,
}

/// Checks values that fields are compared with: no white space around them, no duplicates, and no word for a missing value.
pub(super) fn values(what: &str, values: &[String], missing: &[String]) -> Result<(), String> {
    texts(what, values)?;
    match values.iter().find(|value| missing.contains(value)) {
        None => Ok(()),
        Some(value) => Err(format!(
            "'{value}' in '{what}' is what stands for a missing value: remove it from one of them"
        )),
    }
}

pub(super) fn texts(what: &str, values: &[String]) -> Result<(), String> {
    let mut seen = HashSet::new();
    for value in values {
        if value.trim() != value {
            return Err(format!(
                "'{value}' in '{what}': fields are compared without the white space around them; \
                 remove it"
            ));
        }
        if !seen.insert(value) {
            return Err(format!("'{value}' is in '{what}' twice: remove one"));
        }
    }
    Ok(())
}

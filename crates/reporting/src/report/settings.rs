//! Settings as rows of a table.

use serde_json::{Map, Value};

use super::number::significant;

/// The names and values of settings in words, sorted by name; names in nested tables are joined by dots.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings(Vec<(String, String)>);

impl Settings {
    /// Returns the settings of a `run.json`.
    pub(super) fn from_json(settings: &Map<String, Value>) -> Self {
        let mut rows = Vec::new();
        flatten("", settings, &mut rows);
        rows.sort();
        Self(rows)
    }

    /// Returns the settings of a `config.toml`.
    pub(super) fn from_toml(table: toml::Table) -> Self {
        match serde_json::to_value(table) {
            Ok(Value::Object(settings)) => Self::from_json(&settings),
            _ => Self::default(),
        }
    }

    /// Returns the value of a setting.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Iterates over the names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// Returns all names and values for readers; numbers that are not whole get six significant digits.
    pub(super) fn shown(&self) -> Vec<(String, String)> {
        let number = |text: &str| -> Option<String> {
            let value: f64 = text.parse().ok().filter(|_| text.contains('.'))?;
            Some(significant(value, 6))
        };
        let shown =
            |(key, text): (&str, &str)| (key.into(), number(text).unwrap_or_else(|| text.into()));
        self.iter().map(shown).collect()
    }

    /// Returns the settings without those of the given names.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let rows = self.0.iter();
        Self(
            rows.filter(|(key, _)| !names.contains(&key.as_str()))
                .cloned()
                .collect(),
        )
    }
}

fn flatten(before: &str, table: &Map<String, Value>, rows: &mut Vec<(String, String)>) {
    for (name, value) in table {
        let name = format!("{before}{name}");
        match value {
            Value::Object(inner) => flatten(&format!("{name}."), inner, rows),
            Value::Null => {}
            other => rows.push((name, words(other))),
        }
    }
}

/// Returns a value in words; numbers keep all their digits, because settings are compared.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(yes) => (if *yes { "yes" } else { "no" }).into(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

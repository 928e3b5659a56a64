//! `metrics.jsonl`: quantities over the steps of a run.

use std::path::Path;

use serde_json::Value;

use super::read::{at, read_text};
use crate::diagnostic::Failure;

/// One quantity over the steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The name of the field; names of nested fields are joined by dots.
    pub field: String,
    /// The steps and the values.
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    /// Returns the name of the field in words.
    pub fn title(&self) -> String {
        self.field.replace(['_', '-'], " ").replace('.', ", ")
    }
}

/// The content of `metrics.jsonl`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metrics {
    /// The quantities, in the order in which they first appear.
    pub curves: Vec<Curve>,
    /// Whether a kill cut off the last line.
    pub torn: bool,
}

impl Metrics {
    /// Reads the file; an absent file counts as empty. For a line without a `step`, the step is the line's number.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the first line that cannot be read.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let mut metrics = Self::default();
        for (index, text) in read_text(path)?.unwrap_or_default().lines().enumerate() {
            let mut source = serde_json::Deserializer::from_str(text);
            let line: Value = match serde_path_to_error::deserialize(&mut source) {
                Ok(line) => line,
                Err(error) if error.inner().is_eof() => {
                    metrics.torn = true;
                    continue;
                }
                Err(error) => return Err(at(path, &format!("line {}: ", index + 1), &error)),
            };
            let step = line
                .get("step")
                .and_then(Value::as_f64)
                .unwrap_or(index as f64 + 1.0);
            metrics.add("", &line, step);
        }
        Ok(metrics)
    }

    fn add(&mut self, field: &str, value: &Value, step: f64) {
        match value {
            Value::Number(number) if field != "step" => {
                let point = (step, number.as_f64().unwrap_or(f64::NAN));
                match self.curves.iter_mut().find(|curve| curve.field == field) {
                    Some(curve) => curve.points.push(point),
                    None => self.curves.push(Curve {
                        field: field.to_string(),
                        points: vec![point],
                    }),
                }
            }
            Value::Object(inner) => {
                for (name, value) in inner {
                    let dot = if field.is_empty() { "" } else { "." };
                    self.add(&format!("{field}{dot}{name}"), value, step);
                }
            }
            // JSON has no NaN: a number that was not finite comes back as null.
            Value::Null => {
                if let Some(curve) = self.curves.iter_mut().find(|curve| curve.field == field) {
                    curve.points.push((step, f64::NAN));
                }
            }
            _ => {}
        }
    }

    /// Returns the curve of a field.
    pub fn curve(&self, field: &str) -> Option<&Curve> {
        self.curves.iter().find(|curve| curve.field == field)
    }
}

//! Answers for people and for programs.

use dp_accountant::accounting::{
    Accountant, GaussianAccountant, GdpCltAccountant, PldAccountant, RdpAccountant,
};
use dp_accountant::decimal::upper;
use serde_json::{Map, Value, json};

use super::arguments::AccountantName;

/// Said with every answer of an accountant that is no upper bound.
pub(super) const NOT_A_BOUND: &str =
    "not an upper bound: the true epsilon may be larger; use it for comparison only";

impl AccountantName {
    /// The accountant of this name.
    pub fn accountant(self) -> Box<dyn Accountant> {
        match self {
            Self::Pld => Box::new(PldAccountant::default()),
            Self::Gaussian => Box::new(GaussianAccountant),
            Self::Rdp => Box::new(RdpAccountant),
            Self::GdpCltUniform => Box::new(GdpCltAccountant::uniform()),
            Self::GdpCltPoisson => Box::new(GdpCltAccountant::poisson()),
        }
    }
}

/// A number for JSON, which has no infinity.
pub(super) fn number(value: f64) -> Value {
    if value == f64::INFINITY {
        json!("infinity")
    } else {
        json!(value)
    }
}

/// The shortest decimal that reads back as the number.
pub(super) fn in_full(value: f64) -> String {
    value.to_string()
}

/// A name, what it says, and how a fraction is printed.
type Field = (&'static str, Value, fn(f64) -> String);

/// An answer: its fields in order.
pub(super) struct Answer {
    fields: Vec<Field>,
}

impl Answer {
    /// An answer of this accountant.
    pub(super) fn new(accountant: &dyn Accountant, epsilon: f64, delta: f64) -> Self {
        let mut answer = Self { fields: vec![] };
        answer.push("epsilon", number(epsilon));
        answer.push("delta", number(delta));
        answer.push("accountant", json!(accountant.name()));
        answer.push("is_upper_bound", json!(accountant.is_upper_bound()));
        if !accountant.is_upper_bound() {
            answer.push("note", json!(NOT_A_BOUND));
        }
        answer
    }

    /// Adds a field. A number with a fraction is printed rounded up: an epsilon, a delta and the noise that
    /// is needed must not be printed as less than they are.
    pub(super) fn push(&mut self, name: &'static str, value: Value) {
        self.fields.push((name, value, upper));
    }

    /// Adds a number that was given: it is printed in full, so that who takes it gets the same answer.
    pub(super) fn push_given(&mut self, name: &'static str, value: f64) {
        self.fields.push((name, json!(value), in_full));
    }

    pub(super) fn print(self, as_json: bool) {
        if as_json {
            let object: Map<String, Value> = self
                .fields
                .into_iter()
                .map(|(name, value, _)| (name.into(), value))
                .collect();
            println!("{}", Value::Object(object));
            return;
        }
        let width = self.fields.iter().map(|(name, ..)| name.len()).max();
        for (name, value, shown) in self.fields {
            let text = match &value {
                Value::String(text) => text.clone(),
                Value::Number(n) if n.is_f64() => shown(n.as_f64().unwrap_or(f64::NAN)),
                Value::Bool(yes) => (if *yes { "yes" } else { "no" }).into(),
                other => other.to_string(),
            };
            let label = name.replace('_', " ");
            println!("{label:<width$}  {text}", width = width.unwrap_or(0));
        }
    }
}

/// Prints rows under a heading, columns aligned.
pub(super) fn table(heading: &[&str], rows: &[Vec<String>]) {
    let mut widths: Vec<usize> = heading.iter().map(|cell| cell.len()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    let line = |cells: Vec<&str>| {
        let text: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        println!("{}", text.join("  ").trim_end());
    };
    line(heading.to_vec());
    for row in rows {
        line(row.iter().map(String::as_str).collect());
    }
}

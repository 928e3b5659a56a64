//! Reads the fields of a column as values.

use std::collections::HashMap;

use super::column::{Column, Kind};
use super::number::Number;

/// The value of a field.
#[derive(Clone, Copy)]
pub(super) enum Value {
    Missing,
    Number(f64),
    /// The index of a category, a truth value, a class or a group.
    Level(usize),
}

/// The value that was expected, and how to repair the field.
pub(super) type Refusal = (String, &'static str);

/// Reads the fields of a column; a map finds its levels, because there may be many.
pub(super) struct Reader<'a> {
    pub column: &'a Column,
    /// Whether it reads the groups of the sensitive column, which is not a feature.
    pub is_group: bool,
    levels: HashMap<&'a str, usize>,
    other: Option<usize>,
    expected: String,
    advice: &'static str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(column: &'a Column) -> Self {
        let number = |number: &Number| (number.expected(), "repair or remove it");
        let (expected, advice) = match column.levels() {
            None => column.number().map_or((String::new(), ""), number),
            Some(levels) => (
                one_of(&levels.spellings.concat()),
                match levels.kind {
                    Kind::Categories => "repair or remove it, or add the level to the schema",
                    Kind::Truth => {
                        "repair or remove it, or add the spelling to 'zero' or 'one' in the schema"
                    }
                    Kind::Classes => {
                        "repair or remove it, or add the class or its spelling to the schema"
                    }
                },
            ),
        };
        Self {
            column,
            is_group: false,
            levels: spelled(column.levels().map_or(&[], |levels| &levels.spellings)),
            other: column.levels().and_then(|levels| levels.other),
            expected,
            advice,
        }
    }

    /// A reader of the sensitive column, whose values are groups.
    pub(super) fn groups(column: &'a Column, groups: &'a [Vec<String>; 2]) -> Self {
        let [zero, one] = groups;
        Self {
            column,
            is_group: true,
            levels: spelled(groups),
            other: None,
            expected: format!("{} (group 0) or {} (group 1)", one_of(zero), one_of(one)),
            advice: "a sensitive column has two groups: add the value to 'zero' or 'one' in the schema, or remove the record",
        }
    }

    /// The level with this spelling.
    pub(super) fn level(&self, text: &str) -> Option<usize> {
        self.levels.get(text).copied()
    }

    /// Reads a field that is not a word for a missing value. Fields of a `typed` column are written as the schema writes them.
    pub(super) fn value(&self, text: &str, typed: bool) -> Result<Value, Refusal> {
        let value = match self.column.number() {
            Some(number) => number.parse(text, typed).map(Value::Number),
            None => self.level(text).or(self.other).map(Value::Level),
        };
        value.ok_or_else(|| (self.expected.clone(), self.advice))
    }
}

fn spelled(levels: &[Vec<String>]) -> HashMap<&str, usize> {
    let all = levels.iter().enumerate();
    all.flat_map(|(level, texts)| texts.iter().map(move |text| (text.as_str(), level)))
        .collect()
}

pub(super) fn outside(number: &Number) -> Refusal {
    let advice = "repair or remove it, or say outside = \"clamp\" in the schema";
    (number.expected(), advice)
}

/// Refuses a missing value in a copy, for which no line may be dropped.
pub(super) fn missing_in_copy() -> Refusal {
    let advice = "repair or remove it, or say missing = \"level\" in the schema";
    ("a value".into(), advice)
}

/// The first values of a list, for a message.
pub(super) fn one_of(values: &[String]) -> String {
    const SHOWN: usize = 8;
    let quoted: Vec<String> = values
        .iter()
        .take(SHOWN)
        .map(|value| format!("'{value}'"))
        .collect();
    let list = quoted.join(", ");
    match values.len() {
        1 => list,
        count if count <= SHOWN => format!("one of {list}"),
        count => format!("one of {count}: {list}, ..."),
    }
}

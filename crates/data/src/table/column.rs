//! A schema is checked once, into types that need no further check.

use std::collections::HashSet;

use super::calendar::{day, minute};
use super::number::{Asked, Number, Unit};
use super::raw::{RawColumn, RawNumber, RawSchema};
use super::{GroupedTable, Missing, Schema, rules};

/// The most codes of a column: they are numbers of 16 bits.
const MAX_CODES: usize = u16::MAX as usize;

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub name: String,
    pub role: Role,
    pub missing: Missing,
    /// Whether someone said that what the schema says of it is public.
    pub public: bool,
    /// Whether it is a feature of a grouped table, where it is neither the label nor the sensitive one.
    pub feature: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Role {
    Number(Number),
    Categorical {
        levels: Vec<String>,
        /// The levels of group 0 and those of group 1: together all levels.
        group_levels: Option<[Vec<String>; 2]>,
        /// The level of a value that is not listed.
        other: Option<usize>,
        /// Whether the levels are in order.
        ordered: bool,
    },
    /// The spellings of 0 and of 1.
    Boolean([Vec<String>; 2]),
    /// The spellings of each class.
    Classes(Vec<Vec<String>>),
    Response(Number),
    Ignored,
}

impl Column {
    /// The values of group 0 and of group 1, of a column that can be the sensitive one.
    pub(super) fn groups(&self) -> Option<&[Vec<String>; 2]> {
        match &self.role {
            Role::Categorical { group_levels, .. } => group_levels.as_ref(),
            Role::Boolean(spellings) => Some(spellings),
            _ => None,
        }
    }

    /// What it is to a table of features, if it is not the sensitive one.
    pub(super) fn role_as_feature(&self) -> &Role {
        const IGNORED: &Role = &Role::Ignored;
        match &self.role {
            Role::Number(_) | Role::Categorical { .. } | Role::Boolean(_) if !self.feature => {
                IGNORED
            }
            role => role,
        }
    }

    /// The number of its codes, without that of a missing value.
    pub(super) fn codes(&self) -> usize {
        match &self.role {
            Role::Number(number) | Role::Response(number) => {
                number.bins.len() + number.special.len()
            }
            Role::Categorical { levels, .. } => levels.len(),
            Role::Boolean(_) => 2,
            Role::Classes(classes) => classes.len(),
            Role::Ignored => 0,
        }
    }
}

/// Checks a schema; the error says what is wrong and what to do.
pub(super) fn check(name: &str, mut raw: RawSchema) -> Result<Schema, String> {
    let delimiter = byte("delimiter", raw.delimiter.as_deref().unwrap_or(","))?;
    let comment = raw
        .comment
        .as_deref()
        .map(|text| byte("comment", text))
        .transpose()?;
    if comment == Some(delimiter) {
        return Err("'comment' and 'delimiter' are the same: change one".into());
    }
    let level =
        |column: &toml::Table| column.get("missing").and_then(toml::Value::as_str) == Some("level");
    // What is missing has to be written somehow.
    if raw.missing.is_empty() && raw.column.iter().any(level) {
        raw.missing.push(String::new());
    }
    texts("missing", &raw.missing)?;

    let mut columns: Vec<Column> = Vec::with_capacity(raw.column.len());
    let (mut sensitive, mut labels) = (Vec::new(), Vec::new());
    for (number, mut column) in raw.column.into_iter().enumerate() {
        let Some(toml::Value::String(name)) = column.remove("name") else {
            return Err(format!("column {}: expected a name; add it", number + 1));
        };
        let refuse = |problem: &str| format!("column '{name}': {problem}");
        if columns.iter().any(|known| known.name == name) {
            return Err(refuse("is there twice: rename one"));
        }
        if name.is_empty() || name.trim() != name {
            return Err(refuse(
                "expected a name without white space around it; rename it",
            ));
        }
        let [public, feature] = [("public", false), ("feature", true)].map(|(field, default)| {
            match column.remove(field) {
                None => Ok(default),
                Some(toml::Value::Boolean(value)) => Ok(value),
                Some(_) => Err(refuse(&format!("'{field}': expected true or false"))),
            }
        });
        let (public, feature) = (public?, feature?);
        dates_as_texts(&mut column);
        let raw_column: RawColumn = column.try_into().map_err(|error| refuse(error.message()))?;
        match raw_column {
            RawColumn::Sensitive { .. } => sensitive.push(columns.len()),
            RawColumn::Label { .. } => labels.push(columns.len()),
            _ => {}
        }
        let (role, missing) = role(raw_column, &raw.missing).map_err(|problem| refuse(&problem))?;
        let column = Column {
            name,
            role,
            missing,
            public,
            feature,
        };
        let missing = usize::from(missing == Missing::Level && !raw.missing.is_empty());
        let codes = column.codes() + missing;
        if codes > MAX_CODES {
            return Err(format!(
                "column '{}': {codes} values: expected at most {MAX_CODES}",
                column.name
            ));
        }
        columns.push(column);
    }
    for (kind, found) in [("sensitive", sensitive.len()), ("label", labels.len())] {
        if found > 1 {
            return Err(format!(
                "{found} columns of kind {kind}: expected exactly 1"
            ));
        }
    }
    if columns.is_empty() {
        return Err("0 columns: expected at least 1; add a [[column]]".into());
    }
    let rules = rules::check(&columns, &raw.rule)?;
    Ok(Schema {
        name: name.into(),
        delimiter,
        header: raw.header.unwrap_or(true),
        comment,
        missing: raw.missing,
        columns,
        rules,
        sensitive: sensitive.first().copied(),
        label: labels.first().copied(),
    })
}

/// TOML has dates of its own: they are read as texts are.
fn dates_as_texts(column: &mut toml::Table) {
    let text = |value: &mut toml::Value| {
        if let toml::Value::Datetime(date) = value {
            *value = toml::Value::String(date.to_string());
        }
    };
    for (_, value) in column.iter_mut() {
        match value {
            toml::Value::Array(values) => values.iter_mut().for_each(text),
            value => text(value),
        }
    }
}

fn role(raw: RawColumn, absent: &[String]) -> Result<(Role, Missing), String> {
    Ok(match raw {
        RawColumn::Numeric(raw) => number(raw, Unit::Decimal(0), absent, |_, value| Ok(value))?,
        RawColumn::Integer(raw) => number(raw, Unit::One, absent, |_, value| Ok(value as f64))?,
        RawColumn::Date(raw) => number(raw, Unit::Day, absent, |field, text: String| {
            let date = day(&text).ok_or_else(|| unreadable(field, &text, Unit::Day))?;
            Ok(date as f64)
        })?,
        RawColumn::Datetime(raw) => number(raw, Unit::Minute, absent, |field, text: String| {
            let time = minute(&text).ok_or_else(|| unreadable(field, &text, Unit::Minute))?;
            Ok(time as f64)
        })?,
        RawColumn::Boolean { zero, one, missing } => {
            let spellings = [zero, one];
            two_lists(&spellings, absent)?;
            (Role::Boolean(spellings), missing)
        }
        RawColumn::Categorical {
            levels,
            zero,
            one,
            other,
            ordered,
            missing,
        } => {
            if ordered && other.is_some() {
                return Err("'other' of levels that are in order: what is not listed has no place there; remove one".into());
            }
            let group_levels = match (zero, one) {
                (None, None) => None,
                (zero, one) => Some([zero.unwrap_or_default(), one.unwrap_or_default()]),
            };
            (
                categorical(levels, group_levels, other, ordered, absent)?,
                missing,
            )
        }
        RawColumn::Sensitive { zero, one, missing } => (
            categorical(None, Some([zero, one]), None, false, absent)?,
            missing,
        ),
        RawColumn::Label {
            classes,
            min,
            max,
            outside,
            decimals,
            special,
            scale,
            edges,
            missing,
        } => {
            let bare = outside.is_none()
                && decimals.is_none()
                && special.is_none()
                && scale.is_none()
                && edges.is_none();
            let role = match (classes, min, max) {
                (Some(classes), None, None) if bare => label(classes, absent)?,
                (None, Some(min), Some(max)) => Role::Response(Number::new(
                    Asked {
                        unit: Unit::Decimal(0),
                        min,
                        max,
                        outside: outside.unwrap_or_default(),
                        decimals,
                        special: special.unwrap_or_default(),
                        scale,
                        edges,
                    },
                    absent,
                )?),
                _ => return Err("expected either 'classes', or 'min' and 'max'".into()),
            };
            (role, missing)
        }
        RawColumn::Ignore {} => (Role::Ignored, Missing::default()),
    })
}

fn label(classes: Vec<Vec<String>>, absent: &[String]) -> Result<Role, String> {
    if !(2..=GroupedTable::MAX_CLASSES).contains(&classes.len()) {
        return Err(format!(
            "{} classes: expected 2 to {}",
            classes.len(),
            GroupedTable::MAX_CLASSES
        ));
    }
    if classes.iter().any(Vec::is_empty) {
        return Err("a class without a spelling: give it one, or remove it".into());
    }
    values("classes", &classes.concat(), absent)?;
    Ok(Role::Classes(classes))
}

fn number<T>(
    raw: RawNumber<T>,
    unit: Unit,
    absent: &[String],
    value: impl Fn(&str, T) -> Result<f64, String>,
) -> Result<(Role, Missing), String> {
    let all = |field: &str, list: Vec<T>| -> Result<Vec<f64>, String> {
        list.into_iter().map(|one| value(field, one)).collect()
    };
    let asked = Asked {
        unit,
        min: value("min", raw.min)?,
        max: value("max", raw.max)?,
        outside: raw.outside,
        decimals: raw.decimals,
        special: all("special", raw.special.unwrap_or_default())?,
        scale: raw.scale,
        edges: raw.edges.map(|list| all("edges", list)).transpose()?,
    };
    Ok((Role::Number(Number::new(asked, absent)?), raw.missing))
}

pub(super) fn unreadable(field: &str, text: &str, unit: Unit) -> String {
    format!("'{text}' in '{field}': expected {}", unit.expected())
}

fn categorical(
    levels: Option<Vec<String>>,
    group_levels: Option<[Vec<String>; 2]>,
    other: Option<String>,
    ordered: bool,
    absent: &[String],
) -> Result<Role, String> {
    if let Some(group_levels) = &group_levels {
        two_lists(group_levels, absent)?;
    }
    let mut levels = match (levels, &group_levels) {
        (Some(levels), _) => levels,
        (None, Some(group_levels)) => group_levels.concat(),
        (None, None) => return Err("categorical columns need 'levels': add them".into()),
    };
    let other = other.map(|other| {
        let place = levels.iter().position(|level| *level == other);
        place.unwrap_or_else(|| {
            levels.push(other);
            levels.len() - 1
        })
    });
    if levels.is_empty() {
        return Err("no levels: expected at least 1".into());
    }
    values("levels", &levels, absent)?;
    let sorted = |mut values: Vec<String>| {
        values.sort();
        values
    };
    if let Some(group_levels) = &group_levels
        && sorted(levels.clone()) != sorted(group_levels.concat())
    {
        return Err("'zero' and 'one' together have to be the levels: add or remove some".into());
    }
    Ok(Role::Categorical {
        levels,
        group_levels,
        other,
        ordered,
    })
}

fn two_lists(lists: &[Vec<String>; 2], absent: &[String]) -> Result<(), String> {
    if lists.iter().any(Vec::is_empty) {
        return Err("expected at least one value in each of 'zero' and 'one'".into());
    }
    values("zero and one", &lists.concat(), absent)
}

/// Values that fields are compared with: without white space, each once, and none that says that a
/// value is missing.
pub(super) fn values(what: &str, values: &[String], missing: &[String]) -> Result<(), String> {
    texts(what, values)?;
    match values.iter().find(|value| missing.contains(value)) {
        None => Ok(()),
        Some(value) => Err(format!(
            "'{value}' in '{what}' is what stands for a missing value: remove it from one of them"
        )),
    }
}

fn texts(what: &str, values: &[String]) -> Result<(), String> {
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

fn byte(field: &str, text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        &[byte] if byte.is_ascii() && !b"\"\r\n".contains(&byte) => Ok(byte),
        _ => Err(format!(
            "'{field}' is {text:?}: expected one ASCII character, no quote and no line break"
        )),
    }
}

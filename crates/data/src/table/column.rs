//! A schema is checked once, into types that need no further check.

use super::raw::{RawColumn, RawSchema};
use super::{GroupedTable, Missing, Outside, Schema};

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub name: String,
    pub role: Role,
    pub missing: Missing,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Role {
    Numeric(Range),
    Categorical {
        levels: Vec<String>,
        /// The levels of group 0 and those of group 1: together all levels.
        group_levels: Option<[Vec<String>; 2]>,
    },
    /// The spellings of each class.
    Classes(Vec<Vec<String>>),
    Response(Range),
    Ignored,
}

/// A public range, `min < max`, both finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub min: f64,
    pub max: f64,
    pub outside: Outside,
}

/// Checks a schema; the error says what is wrong and what to do.
pub(super) fn check(name: &str, raw: RawSchema) -> Result<Schema, String> {
    let delimiter = byte("delimiter", raw.delimiter.as_deref().unwrap_or(","))?;
    let comment = raw
        .comment
        .as_deref()
        .map(|text| byte("comment", text))
        .transpose()?;
    if comment == Some(delimiter) {
        return Err("'comment' and 'delimiter' are the same: change one".into());
    }
    texts("missing", &raw.missing)?;

    let mut columns: Vec<Column> = Vec::with_capacity(raw.column.len());
    let (mut sensitive, mut labels) = (Vec::new(), 0);
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
        let raw_column: RawColumn = column.try_into().map_err(|error| refuse(error.message()))?;
        match raw_column {
            RawColumn::Sensitive { .. } => sensitive.push(columns.len()),
            RawColumn::Label { .. } => labels += 1,
            _ => {}
        }
        let (role, missing) = role(raw_column, &raw.missing).map_err(|problem| refuse(&problem))?;
        columns.push(Column {
            name,
            role,
            missing,
        });
    }
    let &[sensitive] = sensitive.as_slice() else {
        let found = sensitive.len();
        return Err(format!(
            "{found} columns of kind sensitive: expected exactly 1"
        ));
    };
    if labels != 1 {
        return Err(format!(
            "{labels} columns of kind label: expected exactly 1"
        ));
    }
    let schema = Schema {
        name: name.into(),
        delimiter,
        header: raw.header.unwrap_or(true),
        comment,
        missing: raw.missing,
        columns,
        sensitive,
    };
    if schema.feature_names().is_empty() {
        return Err("no column of kind numeric or categorical: expected at least 1".into());
    }
    Ok(schema)
}

fn role(raw: RawColumn, absent: &[String]) -> Result<(Role, Missing), String> {
    Ok(match raw {
        RawColumn::Numeric {
            min,
            max,
            outside,
            missing,
        } => (Role::Numeric(range(min, max, outside)?), missing),
        RawColumn::Categorical {
            levels,
            zero,
            one,
            missing,
        } => {
            let group_levels = match (zero, one) {
                (None, None) => None,
                (zero, one) => Some([zero.unwrap_or_default(), one.unwrap_or_default()]),
            };
            (categorical(levels, group_levels, absent)?, missing)
        }
        RawColumn::Sensitive { zero, one, missing } => {
            (categorical(None, Some([zero, one]), absent)?, missing)
        }
        RawColumn::Label {
            classes,
            min,
            max,
            outside,
            missing,
        } => {
            let role = match (classes, min, max, outside) {
                (Some(classes), None, None, None) => label(classes, absent)?,
                (None, Some(min), Some(max), outside) => {
                    Role::Response(range(min, max, outside.unwrap_or_default())?)
                }
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

fn categorical(
    levels: Option<Vec<String>>,
    group_levels: Option<[Vec<String>; 2]>,
    absent: &[String],
) -> Result<Role, String> {
    if let Some(group_levels) = &group_levels {
        if group_levels.iter().any(Vec::is_empty) {
            return Err("expected at least one value in each of 'zero' and 'one'".into());
        }
        values("zero and one", &group_levels.concat(), absent)?;
    }
    let levels = match (levels, &group_levels) {
        (Some(levels), _) => levels,
        (None, Some(group_levels)) => group_levels.concat(),
        (None, None) => return Err("categorical columns need 'levels': add them".into()),
    };
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
    })
}

fn range(min: f64, max: f64, outside: Outside) -> Result<Range, String> {
    if !(min.is_finite() && max.is_finite() && min < max && (max - min).is_finite()) {
        return Err(format!(
            "min {min:?} and max {max:?}: expected finite numbers, min below max"
        ));
    }
    Ok(Range { min, max, outside })
}

/// Values that fields are compared with: without white space, each once, and none that says that a
/// value is missing.
fn values(what: &str, values: &[String], missing: &[String]) -> Result<(), String> {
    texts(what, values)?;
    match values.iter().find(|value| missing.contains(value)) {
        None => Ok(()),
        Some(value) => Err(format!(
            "'{value}' in '{what}' is what stands for a missing value: remove it from one of them"
        )),
    }
}

fn texts(what: &str, values: &[String]) -> Result<(), String> {
    for (place, value) in values.iter().enumerate() {
        if value.trim() != value {
            return Err(format!(
                "'{value}' in '{what}': fields are compared without the white space around them; \
                 remove it"
            ));
        }
        if values[..place].contains(value) {
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

//! A schema is checked once, into types that need no further check.

use super::raw::{Kind, RawColumn, RawSchema};
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
        halves: Option<[Vec<String>; 2]>,
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
    for column in raw.column {
        if columns.iter().any(|known| known.name == column.name) {
            return Err(format!(
                "column '{}' is there twice: rename one",
                column.name
            ));
        }
        if column.name.is_empty() || column.name.trim() != column.name {
            return Err(format!(
                "column '{}': expected a name without white space around it; rename it",
                column.name
            ));
        }
        match column.kind {
            Kind::Sensitive => sensitive.push(columns.len()),
            Kind::Label => labels += 1,
            _ => {}
        }
        let name = column.name.clone();
        let checked = self::column(column, &raw.missing);
        columns.push(checked.map_err(|problem| format!("column '{name}': {problem}"))?);
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

fn column(raw: RawColumn, missing: &[String]) -> Result<Column, String> {
    only_fields_of_its_kind(&raw)?;
    let role = match raw.kind {
        Kind::Numeric => Role::Numeric(range(&raw)?),
        Kind::Label if raw.classes.is_none() => Role::Response(range(&raw)?),
        Kind::Label => {
            let classes = raw.classes.unwrap_or_default();
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
            values("classes", &classes.concat(), missing)?;
            Role::Classes(classes)
        }
        Kind::Categorical | Kind::Sensitive => categorical(&raw, missing)?,
        Kind::Ignore => Role::Ignored,
    };
    Ok(Column {
        name: raw.name,
        role,
        missing: raw.missing.unwrap_or_default(),
    })
}

fn categorical(raw: &RawColumn, missing: &[String]) -> Result<Role, String> {
    let halves = match (&raw.zero, &raw.one) {
        (None, None) => None,
        (Some(zero), Some(one)) if !zero.is_empty() && !one.is_empty() => {
            Some([zero.clone(), one.clone()])
        }
        _ => return Err("expected at least one value in each of 'zero' and 'one'".into()),
    };
    let levels = match (&raw.levels, &halves) {
        (Some(levels), _) => levels.clone(),
        (None, Some(halves)) => halves.concat(),
        (None, None) => {
            let fields = if raw.kind == Kind::Sensitive {
                "'zero' and 'one'"
            } else {
                "'levels'"
            };
            return Err(format!(
                "{} columns need {fields}: add them",
                raw.kind.name()
            ));
        }
    };
    if levels.is_empty() {
        return Err("no levels: expected at least 1".into());
    }
    values("levels", &levels, missing)?;
    if let Some(halves) = &halves {
        values("zero and one", &halves.concat(), missing)?;
        let (mut all, mut both) = (levels.clone(), halves.concat());
        all.sort();
        both.sort();
        if all != both {
            return Err(
                "'zero' and 'one' together have to be the levels: add or remove some".into(),
            );
        }
    }
    Ok(Role::Categorical { levels, halves })
}

fn only_fields_of_its_kind(raw: &RawColumn) -> Result<(), String> {
    use Kind::{Categorical, Ignore, Label, Numeric, Sensitive};
    let ranged = raw.classes.is_none();
    for (field, there, fits) in [
        (
            "min",
            raw.min.is_some(),
            raw.kind == Numeric || raw.kind == Label && ranged,
        ),
        (
            "max",
            raw.max.is_some(),
            raw.kind == Numeric || raw.kind == Label && ranged,
        ),
        (
            "outside",
            raw.outside.is_some(),
            raw.kind == Numeric || raw.kind == Label && ranged,
        ),
        ("levels", raw.levels.is_some(), raw.kind == Categorical),
        (
            "zero",
            raw.zero.is_some(),
            raw.kind == Categorical || raw.kind == Sensitive,
        ),
        (
            "one",
            raw.one.is_some(),
            raw.kind == Categorical || raw.kind == Sensitive,
        ),
        ("classes", raw.classes.is_some(), raw.kind == Label),
        ("missing", raw.missing.is_some(), raw.kind != Ignore),
    ] {
        if there && !fits {
            return Err(match raw.kind {
                Label => format!("'{field}' does not go with 'classes': remove one"),
                kind => format!("'{field}' is not for {} columns: remove it", kind.name()),
            });
        }
    }
    Ok(())
}

fn range(raw: &RawColumn) -> Result<Range, String> {
    let (Some(min), Some(max)) = (raw.min, raw.max) else {
        let or = if raw.kind == Kind::Label {
            "'classes', or "
        } else {
            ""
        };
        return Err(format!(
            "{} columns need {or}'min' and 'max': add them",
            raw.kind.name()
        ));
    };
    if !(min.is_finite() && max.is_finite() && min < max && (max - min).is_finite()) {
        return Err(format!(
            "min {min:?} and max {max:?}: expected finite numbers, min below max"
        ));
    }
    Ok(Range {
        min,
        max,
        outside: raw.outside.unwrap_or_default(),
    })
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

//! The columns of a schema after their checks.

use super::GroupedTable;
use super::calendar::Step;
use super::number::{Asked, Number, Unit};
use super::parquet::Storage;
use super::raw::{Missing, RawColumn, RawNumber, RawWhole, RawWritten, values};
use super::written::Written;

/// A column of a checked schema.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub name: String,
    pub role: Role,
    pub is_label: bool,
    pub missing: Missing,
    /// The words that stand for a missing value.
    pub absent: Vec<String>,
    /// Whether the column has its own words, the first of which is written, instead of those of all columns.
    pub own_absent: bool,
    /// Whether someone has confirmed that the schema's entry for this column is public.
    pub public: bool,
    /// The type in a Parquet file of a copy, if it is not the default of the kind.
    pub stored: Option<Storage>,
    /// Whether it is a feature of a grouped table, unless it is the label or the sensitive column.
    pub feature: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Role {
    Number(Number),
    Levels(Levels),
    Open(Open),
    /// Left out of copies, with the reason.
    Ignored(Option<String>),
}

/// Categories, truth values or classes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Levels {
    pub kind: Kind,
    /// The spellings of each level.
    pub spellings: Vec<Vec<String>>,
    /// The spellings of group 0 and of group 1, which together are all spellings.
    pub groups: Option<[Vec<String>; 2]>,
    /// The level of a value that is not listed.
    pub other: Option<usize>,
    /// Whether the levels are in order.
    pub ordered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Categories,
    Truth,
    Classes,
}

/// A range or categories that noisy counts have to find.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Open {
    /// The range of a number that has no ends yet.
    Range(Asked),
    /// A range with one end, which is refused; this is the name of the missing end.
    Half(&'static str),
    Categories,
}

impl Open {
    /// Says which field is missing if the schema may leave nothing open.
    pub(super) fn missing(&self) -> String {
        match self {
            // These are the words of `serde`.
            Self::Range(_) => "missing field `min`".into(),
            Self::Half(field) => format!("missing field `{field}`"),
            Self::Categories => "categorical columns need 'levels': add them".into(),
        }
    }
}

impl Column {
    pub(super) fn number(&self) -> Option<&Number> {
        match &self.role {
            Role::Number(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn levels(&self) -> Option<&Levels> {
        match &self.role {
            Role::Levels(levels) => Some(levels),
            _ => None,
        }
    }

    /// The values of group 0 and of group 1, if the column can be the sensitive one.
    pub(super) fn groups(&self) -> Option<&[Vec<String>; 2]> {
        self.levels()?.groups.as_ref()
    }

    /// Whether the column is in a copy.
    pub(super) fn is_kept(&self) -> bool {
        !matches!(self.role, Role::Ignored(_))
    }

    /// Whether the column is a feature, unless it is the sensitive column.
    pub(super) fn is_feature(&self) -> bool {
        self.is_kept() && self.feature && !self.is_label
    }

    /// The number of codes of the column, without the code of a missing value.
    pub(super) fn codes(&self) -> usize {
        match &self.role {
            Role::Number(number) => number.bins.len() + number.special.len(),
            Role::Levels(levels) => levels.spellings.len(),
            Role::Open(_) | Role::Ignored(_) => 0,
        }
    }

    /// The spellings of a level.
    pub(super) fn spellings(&self, code: usize) -> &[String] {
        let spellings = self.levels().and_then(|levels| levels.spellings.get(code));
        spellings.map_or(&[], Vec::as_slice)
    }

    /// The word that a copy has for a missing value: the column's first own word, or the first nonempty word of all columns.
    pub(super) fn absent_word(&self) -> Option<&str> {
        let some = self
            .absent
            .iter()
            .find(|word| !word.is_empty() && !self.own_absent);
        some.or(self.absent.first()).map(String::as_str)
    }

    /// The first spelling of a level.
    pub(super) fn word(&self, code: usize) -> Option<&String> {
        self.spellings(code).first()
    }
}

/// Converts a raw column to its role and to its rule for missing values.
pub(super) fn role(raw: RawColumn, absent: &[String]) -> Result<(Role, Missing), String> {
    Ok(match raw {
        RawColumn::Numeric(raw) => number(raw, Unit::Decimal(0), absent, |_, x, _| Ok(x))?,
        RawColumn::Integer(raw) => number(raw, Unit::One, absent, whole)?,
        RawColumn::Date(raw) => number(raw, Unit::Day, absent, dated)?,
        RawColumn::Datetime(raw) => number(raw, time(true), absent, dated)?,
        RawColumn::Time(raw) => number(raw, time(false), absent, dated)?,
        RawColumn::Boolean { zero, one, missing } => {
            let spellings = [zero, one];
            two_lists(&spellings, absent)?;
            let levels = Levels {
                kind: Kind::Truth,
                spellings: spellings.to_vec(),
                groups: Some(spellings),
                other: None,
                ordered: false,
            };
            (Role::Levels(levels), missing)
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
            let groups = match (zero, one) {
                (None, None) => None,
                (zero, one) => Some([zero.unwrap_or_default(), one.unwrap_or_default()]),
            };
            match (levels, groups) {
                (None, None) => {
                    if other.is_some() {
                        categorical(Some(Vec::new()), None, other, ordered, absent)?;
                    }
                    (Role::Open(Open::Categories), missing)
                }
                (levels, groups) => (
                    categorical(levels, groups, other, ordered, absent)?,
                    missing,
                ),
            }
        }
        RawColumn::Sensitive { zero, one, missing } => (
            categorical(None, Some([zero, one]), None, false, absent)?,
            missing,
        ),
        RawColumn::Label {
            classes: Some(classes),
            min: None,
            max: None,
            outside: None,
            decimals: None,
            special: None,
            scale: None,
            edges: None,
            written: None,
            missing,
        } => (label(classes, absent)?, missing),
        RawColumn::Label {
            classes: None,
            min: min @ Some(_),
            max: max @ Some(_),
            outside,
            decimals,
            special,
            scale,
            edges,
            written,
            missing,
        } => {
            let raw = RawNumber {
                min,
                max,
                outside: outside.unwrap_or_default(),
                decimals,
                special,
                scale,
                edges,
                written,
                missing,
            };
            number(raw, Unit::Decimal(0), absent, |_, x, _| Ok(x))?
        }
        RawColumn::Label { .. } => {
            return Err("expected either 'classes', or 'min' and 'max'".into());
        }
        RawColumn::Ignore { why } => (Role::Ignored(why), Missing::default()),
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
    Ok(Role::Levels(Levels {
        kind: Kind::Classes,
        spellings: classes,
        groups: None,
        other: None,
        ordered: false,
    }))
}

fn number<T>(
    raw: RawNumber<T>,
    unit: Unit,
    absent: &[String],
    value: impl Fn(&str, T, Unit) -> Result<f64, String>,
) -> Result<(Role, Missing), String> {
    let written = match raw.written {
        None => None,
        Some(RawWritten::One(text)) => Some(Written::parse(&text, unit)?),
        Some(RawWritten::Several(texts)) => {
            return Err(format!(
                "'written' says {}: keep the one that is right",
                texts.join(" or ")
            ));
        }
    };
    let unit = match (unit, &written) {
        (Unit::Time { date, .. }, Some(written)) => Unit::Time {
            date,
            step: written.step(),
        },
        (unit, _) => unit,
    };
    let is_open = match (&raw.min, &raw.max) {
        (None, Some(_)) => return Ok((Role::Open(Open::Half("min")), raw.missing)),
        (Some(_), None) => return Ok((Role::Open(Open::Half("max")), raw.missing)),
        (min, _) => min.is_none(),
    };
    let end = |field, end: Option<T>| end.map_or(Ok(f64::NAN), |end| value(field, end, unit));
    let all = |field: &str, list: Vec<T>| -> Result<Vec<f64>, String> {
        list.into_iter()
            .map(|one| value(field, one, unit))
            .collect()
    };
    let asked = Asked {
        unit,
        written,
        min: end("min", raw.min)?,
        max: end("max", raw.max)?,
        outside: raw.outside,
        decimals: raw.decimals,
        special: all("special", raw.special.unwrap_or_default())?,
        scale: raw.scale,
        edges: raw.edges.map(|list| all("edges", list)).transpose()?,
    };
    let role = match is_open {
        true => Role::Open(Open::Range(asked)),
        false => Role::Number(Number::new(&asked, absent)?),
    };
    Ok((role, raw.missing))
}

fn time(date: bool) -> Unit {
    Unit::Time {
        date,
        step: Step::Minute,
    }
}

fn whole(field: &str, number: RawWhole, _: Unit) -> Result<f64, String> {
    match number {
        RawWhole::Number(number) => Ok(number as f64),
        RawWhole::Other(other) => Err(format!(
            "{other} in '{field}': expected a whole number; write one, or kind = \"numeric\" with decimals"
        )),
    }
}

fn dated(field: &str, text: String, unit: Unit) -> Result<f64, String> {
    unit.parse(&text)
        .ok_or_else(|| unreadable(field, &text, unit))
}

pub(super) fn unreadable(field: &str, text: &str, unit: Unit) -> String {
    format!("'{text}' in '{field}': expected {}", unit.expected())
}

fn categorical(
    levels: Option<Vec<String>>,
    groups: Option<[Vec<String>; 2]>,
    other: Option<String>,
    ordered: bool,
    absent: &[String],
) -> Result<Role, String> {
    if let Some(groups) = &groups {
        two_lists(groups, absent)?;
    }
    if let Some(other) = &other {
        values("other", std::slice::from_ref(other), absent)?;
    }
    let of_groups = || groups.iter().flatten().flatten().cloned().collect();
    let mut levels: Vec<String> = levels.unwrap_or_else(of_groups);
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
    if let Some(groups) = &groups
        && sorted(levels.clone()) != sorted(groups.concat())
    {
        return Err("'zero' and 'one' together have to be the levels: add or remove some".into());
    }
    Ok(Role::Levels(Levels {
        kind: Kind::Categories,
        spellings: levels.into_iter().map(|level| vec![level]).collect(),
        groups,
        other,
        ordered,
    }))
}

fn two_lists(lists: &[Vec<String>; 2], absent: &[String]) -> Result<(), String> {
    if lists.iter().any(Vec::is_empty) {
        return Err("expected at least one value in each of 'zero' and 'one'".into());
    }
    values("zero and one", &lists.concat(), absent)
}

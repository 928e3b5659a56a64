use super::Outside;
use super::number::{Coded, Number};
use crate::DataError;
use crate::error::{Position, field};

/// A value and where it stands.
pub(super) struct Field<'a> {
    pub file: &'a str,
    pub place: Position,
    pub column: &'a str,
    pub value: &'a str,
}

impl Field<'_> {
    /// The number, x, as (x - min) / (max - min).
    pub(super) fn number(&self, number: &Number) -> Result<f32, DataError> {
        let value = self.value_of(number)?;
        let inside = value.clamp(number.min, number.max);
        if inside != value && number.outside == Outside::Refuse {
            return Err(self.outside(number));
        }
        Ok(((inside - number.min) / (number.max - number.min)) as f32)
    }

    pub(super) fn coded(&self, number: &Number) -> Result<Coded, DataError> {
        let value = self.value_of(number)?;
        number.code(value).ok_or_else(|| self.outside(number))
    }

    fn value_of(&self, number: &Number) -> Result<f64, DataError> {
        number
            .unit
            .parse(self.value)
            .ok_or_else(|| self.refuse(number.expected(), "repair or remove it"))
    }

    fn outside(&self, number: &Number) -> DataError {
        self.refuse(
            number.expected(),
            "repair or remove it, or say outside = \"clamp\" in the schema",
        )
    }

    pub(super) fn level(&self, levels: &[String]) -> Result<usize, DataError> {
        let place = levels.iter().position(|level| level == self.value);
        place.ok_or_else(|| {
            self.refuse(
                one_of(levels),
                "repair or remove it, or add the level to the schema",
            )
        })
    }

    pub(super) fn class(&self, classes: &[Vec<String>]) -> Result<usize, DataError> {
        let has = |spellings: &Vec<String>| spellings.iter().any(|text| text == self.value);
        classes.iter().position(has).ok_or_else(|| {
            self.refuse(
                one_of(&classes.concat()),
                "repair or remove it, or add the class or its spelling to the schema",
            )
        })
    }

    pub(super) fn group(&self, group_levels: &[Vec<String>; 2]) -> Result<u8, DataError> {
        let has = |levels: &[String]| levels.iter().any(|text| text == self.value);
        let [zero, one] = group_levels;
        if has(zero) {
            Ok(0)
        } else if has(one) {
            Ok(1)
        } else {
            Err(self.refuse(
                format!("{} (group 0) or {} (group 1)", one_of(zero), one_of(one)),
                "a sensitive column has two groups: add the value to 'zero' or 'one' in the schema, \
                 or remove the record",
            ))
        }
    }

    pub(super) fn missing(&self) -> DataError {
        self.refuse(
            "a value".into(),
            "repair or remove it, or say missing = \"drop\" (or, for a feature, \"level\") in \
             the schema",
        )
    }

    /// As [`Field::missing`], of a copy, for which no line is dropped.
    pub(super) fn missing_in_copy(&self) -> DataError {
        self.refuse(
            "a value".into(),
            "repair or remove it, or say missing = \"level\" in the schema",
        )
    }

    /// Either of two lists of spellings, as 0 or 1.
    pub(super) fn boolean(&self, spellings: &[Vec<String>; 2]) -> Result<usize, DataError> {
        let has = |texts: &Vec<String>| texts.iter().any(|text| text == self.value);
        spellings.iter().position(has).ok_or_else(|| {
            self.refuse(
                one_of(&spellings.concat()),
                "repair or remove it, or add the spelling to 'zero' or 'one' in the schema",
            )
        })
    }

    fn refuse(&self, expected: String, advice: &str) -> DataError {
        field(
            self.file,
            self.place,
            self.column,
            expected,
            self.value,
            advice,
        )
    }
}

/// The first values of a list.
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

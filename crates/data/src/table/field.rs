use super::Outside;
use super::column::Range;
use crate::DataError;
use crate::error::field;

/// A value and where it stands.
pub(super) struct Field<'a> {
    pub file: &'a str,
    pub line: u64,
    pub column: &'a str,
    pub value: &'a str,
}

impl Field<'_> {
    pub(super) fn number(&self, range: &Range) -> Result<f32, DataError> {
        let bounds = format!("a number from {} to {}", range.min, range.max);
        let number: f64 = match self.value.parse() {
            Ok(number) if f64::is_finite(number) => number,
            _ => return Err(self.refuse(bounds, "repair or remove the line")),
        };
        let inside = number.clamp(range.min, range.max);
        if inside != number && range.outside == Outside::Refuse {
            return Err(self.refuse(
                bounds,
                "repair or remove the line, or say outside = \"clamp\" in the schema",
            ));
        }
        Ok(((inside - range.min) / (range.max - range.min)) as f32)
    }

    pub(super) fn level(&self, levels: &[String]) -> Result<usize, DataError> {
        let place = levels.iter().position(|level| level == self.value);
        place.ok_or_else(|| {
            self.refuse(
                one_of(levels),
                "repair or remove the line, or add the level to the schema",
            )
        })
    }

    pub(super) fn class(&self, classes: &[Vec<String>]) -> Result<usize, DataError> {
        let has = |spellings: &Vec<String>| spellings.iter().any(|text| text == self.value);
        classes.iter().position(has).ok_or_else(|| {
            self.refuse(
                one_of(&classes.concat()),
                "repair or remove the line, or add the class or its spelling to the schema",
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
                 or remove the line",
            ))
        }
    }

    pub(super) fn missing(&self) -> DataError {
        self.refuse(
            "a value".into(),
            "repair or remove the line, or say missing = \"drop\" (or, for a feature, \"level\") in \
             the schema",
        )
    }

    fn refuse(&self, expected: String, advice: &str) -> DataError {
        field(self.file, self.line, self.column, expected, advice)
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

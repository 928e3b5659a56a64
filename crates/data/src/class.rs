//! Classes that stand among numbers.

use crate::DataError;

/// The class that a value is, if it is one.
pub(crate) fn class(value: f64, classes: usize) -> Option<usize> {
    let holds = value >= 0.0 && value < classes as f64 && value.fract() == 0.0;
    holds.then_some(value as usize)
}

/// A row whose label, which is `found` at a place, is no class.
pub(crate) fn no_class(file: &str, place: &str, classes: usize, found: f32) -> DataError {
    const ADVICE: &str = "repair or remove the row";
    let last = classes.saturating_sub(1);
    let bound = format!("a class, a whole number from 0 to {last}");
    DataError::record(format!("{file}: expected {bound} in each row; {ADVICE}")).telling(format!(
        "{file}, {place}: expected {bound}, found {found}; {ADVICE}"
    ))
}

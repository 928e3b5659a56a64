//! Reads a class from a number.

use crate::DataError;

/// Returns the class that a value stands for, if it is one.
pub(crate) fn class(value: f64, classes: usize) -> Option<usize> {
    let holds = value >= 0.0 && value < classes as f64 && value.fract() == 0.0;
    holds.then_some(value as usize)
}

/// The error for a row whose label `found`, at `place`, is no class.
pub(crate) fn no_class(file: &str, place: &str, classes: usize, found: f32) -> DataError {
    const ADVICE: &str = "repair or remove the row";
    let last = classes.saturating_sub(1);
    let bound = format!("a class, a whole number from 0 to {last}");
    DataError::record(format!("{file}: expected {bound} in each row; {ADVICE}")).telling(format!(
        "{file}, {place}: expected {bound}, found {found}; {ADVICE}"
    ))
}

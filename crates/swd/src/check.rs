//! Checks of input before anything is computed from it.

use crate::SwdError;

/// Checks that a matrix of points, one a row, is not empty and has whole rows.
pub(crate) fn check_shape(what: &'static str, len: usize, d: usize) -> Result<(), SwdError> {
    if len == 0 {
        return Err(SwdError::Empty { what });
    }
    if !len.is_multiple_of(d) {
        return Err(SwdError::Length {
            what,
            found: len,
            expected: len.checked_div(d).unwrap_or(0) * d,
        });
    }
    Ok(())
}

/// Checks that a length is the one that other lengths require.
pub(crate) fn check_length(
    what: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), SwdError> {
    if found == expected {
        return Ok(());
    }
    Err(SwdError::Length {
        what,
        found,
        expected,
    })
}

/// Checks that a matrix of points, one a row, is not empty, has whole rows and is finite.
pub(crate) fn check_points(what: &'static str, points: &[f32], d: usize) -> Result<(), SwdError> {
    check_shape(what, points.len(), d)?;
    if let Some(place) = points.iter().position(|value| !value.is_finite()) {
        return Err(SwdError::NotFinite {
            what,
            row: place / d,
            index: place % d,
            value: f64::from(points[place]),
        });
    }
    Ok(())
}

/// Checks that a bound is a finite number that is not negative: NaN would vanish in a maximum.
pub(crate) fn check_bound(what: &'static str, value: f64) -> Result<(), SwdError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(SwdError::NotABound { what, value })
}

/// Checks the weights of a sample and returns their sum.
pub(crate) fn check_weights(weights: &[f64]) -> Result<f64, SwdError> {
    weights.iter().try_for_each(|&w| check_bound("weight", w))?;
    let sum: f64 = weights.iter().sum();
    if sum > 0.0 && sum.is_finite() {
        return Ok(sum);
    }
    Err(SwdError::NotPositive {
        what: "sum of weights",
        value: sum,
    })
}

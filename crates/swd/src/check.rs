//! What input has to be before anything is computed from it.

use crate::SwdError;

/// Checks the length of a matrix of points, one a row, for being there and whole.
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

/// Checks a length for being the one that other lengths ask for.
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

/// Checks a matrix of points, one a row, for being there, whole and finite.
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

/// A bound must be a finite number that is not negative: NaN would vanish in a maximum.
pub(crate) fn check_bound(what: &'static str, value: f64) -> Result<(), SwdError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(SwdError::NotABound { what, value })
}

/// Checks the weights of a sample, and adds them up.
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

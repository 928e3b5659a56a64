//! What Rust refuses, as exceptions with the same words; numbers that must be whole.

use std::fmt::Display;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// A `ValueError` of what an error says.
pub(crate) fn refused(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A whole number that Rust can hold: what is none, or is negative, is refused with the value and the bound.
pub(crate) struct Whole(pub(crate) u64);

impl FromPyObject<'_, '_> for Whole {
    type Error = PyErr;

    fn extract(found: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match found.extract() {
            Ok(value) => Ok(Self(value)),
            Err(error) => {
                let words = format!(
                    "found {}, expected a whole number of at least 0 and below 2^64",
                    found.repr()?
                );
                let a_kind = error.is_instance_of::<PyTypeError>(found.py());
                Err(if a_kind {
                    PyTypeError::new_err(words)
                } else {
                    PyValueError::new_err(words)
                })
            }
        }
    }
}

impl Whole {
    pub(crate) fn size(&self) -> PyResult<usize> {
        usize::try_from(self.0).map_err(refused)
    }
}

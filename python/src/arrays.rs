//! numpy arrays as slices of numbers: read where they lie if they are contiguous and of the right type.

use numpy::{
    Element, PyArray, PyArrayDyn, PyArrayMethods, PyReadonlyArray, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The entries of an array, as `f32` or `f64`.
pub(crate) enum Entries<'py, T: Element> {
    /// Where numpy has them.
    There(PyReadonlyArray<'py, T, numpy::IxDyn>),
    /// Of the other width, or of a list.
    Converted(Vec<T>),
}

impl<T: Element> Entries<'_, T> {
    pub(crate) fn as_slice(&self) -> PyResult<&[T]> {
        match self {
            Self::There(array) => array
                .as_slice()
                .map_err(|error| PyValueError::new_err(error.to_string())),
            Self::Converted(entries) => Ok(entries),
        }
    }
}

/// Points as Rust has them, `[n, d]`: float32 as it lies, float64 rounded to float32.
pub(crate) fn points<'py>(
    name: &str,
    found: &Bound<'py, PyAny>,
) -> PyResult<(Entries<'py, f32>, [usize; 2])> {
    let array = array(name, found, 2)?;
    let shape = [array.shape()[0], array.shape()[1]];
    if shape.contains(&0) {
        return Err(PyValueError::new_err(format!(
            "{name} has shape ({}, {}), expected at least one point and one coordinate",
            shape[0], shape[1]
        )));
    }
    if let Some(there) = readable::<f32>(name, found)? {
        return Ok((Entries::There(there), shape));
    }
    let Some(wide) = readable::<f64>(name, found)? else {
        return Err(other_type(name, found, 2));
    };
    let wide = Entries::There(wide);
    let mut narrow = Vec::with_capacity(shape[0] * shape[1]);
    for (place, &value) in wide.as_slice()?.iter().enumerate() {
        let rounded = value as f32;
        if value.is_finite() && !rounded.is_finite() {
            return Err(PyValueError::new_err(format!(
                "{name}: row {}, coordinate {} is {value:e}, expected a number of float32, at most {:e}",
                place / shape[1],
                place % shape[1],
                f32::MAX
            )));
        }
        narrow.push(rounded);
    }
    Ok((Entries::Converted(narrow), shape))
}

/// Numbers in a row, `[n]`: an array of float64 as it lies, one of float32, or a list.
pub(crate) fn numbers<'py>(name: &str, found: &Bound<'py, PyAny>) -> PyResult<Entries<'py, f64>> {
    if found.cast::<PyUntypedArray>().is_err() {
        return found
            .extract()
            .map(Entries::Converted)
            .map_err(|_| other_type(name, found, 1));
    }
    array(name, found, 1)?;
    if let Some(there) = readable::<f64>(name, found)? {
        return Ok(Entries::There(there));
    }
    let Some(narrow) = readable::<f32>(name, found)? else {
        return Err(other_type(name, found, 1));
    };
    let narrow = Entries::There(narrow);
    let wide = narrow.as_slice()?.iter().copied().map(f64::from);
    Ok(Entries::Converted(wide.collect()))
}

/// An array of one row a point, `[n, d]`, of what Rust gives row by row.
pub(crate) fn rows<T: Element>(
    py: Python<'_>,
    entries: Vec<T>,
    width: usize,
) -> PyResult<Bound<'_, PyArray<T, numpy::Ix2>>> {
    let shape = [entries.len() / width.max(1), width];
    PyArray::from_vec(py, entries).reshape(shape)
}

/// An array of so many dimensions that can be read as it lies.
fn array<'a, 'py>(
    name: &str,
    found: &'a Bound<'py, PyAny>,
    dimensions: usize,
) -> PyResult<&'a Bound<'py, PyUntypedArray>> {
    let Ok(array) = found.cast::<PyUntypedArray>() else {
        return Err(other_type(name, found, dimensions));
    };
    if array.ndim() != dimensions {
        return Err(PyValueError::new_err(format!(
            "{name} has {} dimensions, expected {dimensions}",
            array.ndim()
        )));
    }
    let aligned: bool = found.getattr("flags")?.getattr("aligned")?.extract()?;
    if !(array.is_c_contiguous() && aligned) {
        return Err(PyValueError::new_err(format!(
            "{name} has strides {}, expected a C-contiguous and aligned array: pass numpy.ascontiguousarray({name})",
            found.getattr("strides")?
        )));
    }
    Ok(array)
}

fn readable<'py, T: Element>(
    name: &str,
    found: &Bound<'py, PyAny>,
) -> PyResult<Option<PyReadonlyArray<'py, T, numpy::IxDyn>>> {
    let Ok(array) = found.cast::<PyArrayDyn<T>>() else {
        return Ok(None);
    };
    let read = array.try_readonly();
    read.map(Some)
        .map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

fn other_type(name: &str, found: &Bound<'_, PyAny>, dimensions: usize) -> PyErr {
    let of = |what: &str| found.getattr(what).and_then(|value| value.str());
    let kind = match of("dtype") {
        Ok(dtype) => format!("an array of {dtype}"),
        Err(_) => format!("{}", found.get_type()),
    };
    PyTypeError::new_err(format!(
        "{name} is {kind}, expected a numpy array of float32 or float64 with {dimensions} dimensions"
    ))
}

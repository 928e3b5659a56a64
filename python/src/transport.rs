//! Sliced distances with their gradients, and plans on a line.

use numpy::{PyArray1, PyArray2, ToPyArray};
use pyo3::prelude::*;
use swd::transport::{host, line};
use swd::{Cost, TargetQuantiles};

use crate::arrays::{numbers, points, rows};
use crate::refusal::refused;
use crate::slices::PySlices;

/// The squared sliced 2-Wasserstein distance between two samples, in squared units of the points.
///
/// u: [n, d], v: [m, d], contiguous; float32 is read where it lies, and no other thread may write to it meanwhile; float64 is
/// rounded to float32. Sums are in float64.
/// (1/k) sum over slices of W_2^2 of the projections (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, proposition 3.1).
///
/// Raises TypeError for another dtype; ValueError for other shapes, no points, or a coordinate that is not finite.
#[pyfunction]
pub(crate) fn sliced_w2_squared(
    py: Python<'_>,
    u: &Bound<'_, PyAny>,
    v: &Bound<'_, PyAny>,
    slices: &PySlices,
) -> PyResult<f64> {
    Ok(sliced_w2_squared_and_gradient(py, u, v, slices)?.0)
}

/// The distance of `sliced_w2_squared`, and its gradient in `u`: float32, [n, d].
#[pyfunction]
pub(crate) fn sliced_w2_squared_and_gradient<'py>(
    py: Python<'py>,
    u: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
    slices: &PySlices,
) -> PyResult<(f64, Bound<'py, PyArray2<f32>>)> {
    let ((u, [_, d]), (v, [_, e])) = (points("u", u)?, points("v", v)?);
    slices.check("u", d)?;
    slices.check("v", e)?;
    let (u, v) = (u.as_slice()?, v.as_slice()?);
    let found = py.detach(|| host::sliced_gradient_and_distance(u, v, &slices.0));
    let (gradient, distance) = found.map_err(refused)?;
    Ok((distance, rows(py, gradient, d)?))
}

/// The least mean cost of moving `u` to the quantile cells of `v` along slices, and its gradient in `u`: float32, [n, d].
///
/// cost: "square", "power:P" with 1 < P <= 16, or "huber:T" with a width T > 0 in the
/// units of the points. Where u and v have one size, the cells are the sorted values of v; otherwise the variance of v
/// within its cells is left out of every cost but the square.
#[pyfunction]
pub(crate) fn sliced_cost_and_gradient<'py>(
    py: Python<'py>,
    cost: &str,
    u: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
    slices: &PySlices,
) -> PyResult<(f64, Bound<'py, PyArray2<f32>>)> {
    let cost: Cost = cost.parse().map_err(refused)?;
    let ((u, [n, d]), (v, [_, e])) = (points("u", u)?, points("v", v)?);
    slices.check("u", d)?;
    slices.check("v", e)?;
    let (u, v) = (u.as_slice()?, v.as_slice()?);
    let found = py.detach(|| {
        let cells = TargetQuantiles::of_sample(v, &slices.0, n)?;
        host::sliced_cotangents_and_cost(cost, u, &slices.0, &cells)
    });
    let (gradient, value) = found.map_err(refused)?;
    Ok((value, rows(py, gradient, d)?))
}

/// Both samples of a line, and what is asked of their plan.
fn planned<T: Send>(
    py: Python<'_>,
    [x, y]: [&Bound<'_, PyAny>; 2],
    weights: [Option<&Bound<'_, PyAny>>; 2],
    of: impl FnOnce(&[line::Move], &[f64], &[f64]) -> Result<T, swd::SwdError> + Send,
) -> PyResult<T> {
    let (x, y) = (numbers("x", x)?, numbers("y", y)?);
    let read = |name, found: Option<&Bound<'_, PyAny>>| {
        let Some(found) = found else {
            return Ok(None);
        };
        let weights = numbers(name, found)?;
        weights.as_slice().map(|weights| Some(weights.to_vec()))
    };
    let weights_x: Option<Vec<f64>> = read("weights_x", weights[0])?;
    let weights_y: Option<Vec<f64>> = read("weights_y", weights[1])?;
    let (x, y) = (x.as_slice()?, y.as_slice()?);
    let found = py.detach(|| {
        let moves = line::plan(x, weights_x.as_deref(), y, weights_y.as_deref())?;
        of(&moves, x, y)
    });
    found.map_err(refused)
}

/// Places in the first sample, places in the second, and masses, one a move.
type Plan<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<f64>>,
);

/// The optimal plan between two samples on a line, such as projections on a slice, for every convex cost.
///
/// x: [n], y: [m], float64 or float32; weights_x, weights_y: one a value, divided by their sum; None for equal ones.
/// Returns (i, j, mass), at most n + m - 1 moves each: uint64 places in x and in y, and float64 masses that sum to 1.
#[pyfunction]
#[pyo3(signature = (x, y, *, weights_x=None, weights_y=None))]
pub(crate) fn plan_1d<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    weights_x: Option<&Bound<'py, PyAny>>,
    weights_y: Option<&Bound<'py, PyAny>>,
) -> PyResult<Plan<'py>> {
    let moves = planned(py, [x, y], [weights_x, weights_y], |moves, _, _| {
        Ok(moves.to_vec())
    })?;
    let from: Vec<u64> = moves.iter().map(|found| found.from as u64).collect();
    let to: Vec<u64> = moves.iter().map(|found| found.to as u64).collect();
    let mass: Vec<f64> = moves.iter().map(|found| found.mass).collect();
    Ok((from.to_pyarray(py), to.to_pyarray(py), mass.to_pyarray(py)))
}

/// W_p^p between two samples on a line, `p >= 1`, in the units of the values to the power p. Arguments as of `plan_1d`.
#[pyfunction]
#[pyo3(signature = (x, y, p=2.0, *, weights_x=None, weights_y=None))]
pub(crate) fn wp_power_1d(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    p: f64,
    weights_x: Option<&Bound<'_, PyAny>>,
    weights_y: Option<&Bound<'_, PyAny>>,
) -> PyResult<f64> {
    let power = |moves: &[line::Move], x: &[f64], y: &[f64]| line::wp_power(moves, x, y, p);
    planned(py, [x, y], [weights_x, weights_y], power)
}

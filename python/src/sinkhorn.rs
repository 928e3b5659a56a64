//! Entropic transport.

use numpy::{PyArray1, PyArray2, ToPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use swd::sinkhorn::{Cost, Memory, Sinkhorn};

use crate::arrays::{points, rows};
use crate::refusal::{Whole, refused};

/// An entropic transport between two samples, as `sinkhorn` left it.
#[pyclass(
    frozen,
    get_all,
    name = "EntropicTransport",
    module = "sliver_dp.transport"
)]
pub(crate) struct Entropic {
    /// W_lambda, the dual objective: at most the minimum over couplings, and equal to it where converged.
    value: f64,
    /// <plan, costs>, in units of the cost: what POT's `ot.sinkhorn2` gives.
    transport_cost: f64,
    /// Whether the rows of the plan are as right as was asked for.
    converged: bool,
    /// The iterations that were taken.
    iterations: usize,
    /// sum_i |sum_j plan_ij - 1/n|.
    marginal_error: f64,
    /// The gradient in the points of x: float32, [n, d].
    gradient: Py<PyArray2<f32>>,
    /// The potentials of x: float64, [n], in units of the cost.
    f: Py<PyArray1<f64>>,
    /// The potentials of y: float64, [m], in units of the cost.
    g: Py<PyArray1<f64>>,
    /// The plan: float64, [n, m], which sums to 1; None unless it was asked for.
    plan: Option<Py<PyArray2<f64>>>,
}

fn solver(
    cost: &str,
    regularisation: f64,
    iterations: &Whole,
    tolerance: f64,
    lazy: bool,
) -> PyResult<Sinkhorn> {
    let cost = match cost {
        "squared-euclidean" => Cost::SquaredEuclidean,
        "manhattan" => Cost::Manhattan,
        _ => {
            return Err(PyValueError::new_err(format!(
                "cost is {cost:?}, but must be one of squared-euclidean, manhattan"
            )));
        }
    };
    let memory = if lazy { Memory::Lazy } else { Memory::Dense };
    let found = Sinkhorn::new(cost, regularisation).map_err(refused)?;
    let found = found.iterations(iterations.size()?).tolerance(tolerance);
    Ok(found.memory(memory))
}

fn check(d: usize, e: usize) -> PyResult<()> {
    if d == e {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "y has {e} coordinates, expected {d}, those of x"
    )))
}

/// Transports `x`, [n, d], to `y`, [m, d], with entropic regularisation, in the log domain.
///
/// min over plans of <plan, C> + lambda * (mutual information of the plan), with equal weights.
///
/// cost: "squared-euclidean" or "manhattan". regularisation: lambda, in units of the cost.
/// iterations, tolerance: ends after so many, or where the rows of the plan are together at most this far from 1/n.
/// lazy: costs are computed anew in each iteration, in O(n + m) memory instead of O(n m). plan: whether it is kept.
#[pyfunction]
#[pyo3(signature = (x, y, regularisation, *, cost="squared-euclidean", iterations=Whole(1000), tolerance=1e-9, lazy=false, plan=false))]
#[pyo3(
    text_signature = "(x, y, regularisation, *, cost='squared-euclidean', iterations=1000, tolerance=1e-9, lazy=False, plan=False)"
)]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn sinkhorn(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    regularisation: f64,
    cost: &str,
    iterations: Whole,
    tolerance: f64,
    lazy: bool,
    plan: bool,
) -> PyResult<Entropic> {
    let solver = solver(cost, regularisation, &iterations, tolerance, lazy)?;
    let ((x, [_, d]), (y, [m, e])) = (points("x", x)?, points("y", y)?);
    check(d, e)?;
    let (x, y) = (x.as_slice()?, y.as_slice()?);
    let solved = py.detach(|| {
        let found = solver.solve(x, y, d)?;
        let (gradient, matrix) = (found.gradient(), plan.then(|| found.plan()));
        Ok::<_, swd::SwdError>((found, gradient, matrix))
    });
    let (found, gradient, matrix) = solved.map_err(refused)?;
    let (f, g) = found.potentials();
    let matrix = matrix.map(|matrix| rows(py, matrix, m)).transpose()?;
    Ok(Entropic {
        value: found.value(),
        transport_cost: found.transport_cost(),
        converged: found.converged(),
        iterations: found.iterations(),
        marginal_error: found.marginal_error(),
        gradient: rows(py, gradient, d)?.unbind(),
        f: f.to_pyarray(py).unbind(),
        g: g.to_pyarray(py).unbind(),
        plan: matrix.map(Bound::unbind),
    })
}

/// The Sinkhorn divergence between `x` and `y`: entropic transport without its bias (Feydy et al. 2019, arXiv 1810.08278).
///
/// Returns (value, gradient in x as float32 [n, d], converged). Arguments as of `sinkhorn`.
#[pyfunction]
#[pyo3(signature = (x, y, regularisation, *, cost="squared-euclidean", iterations=Whole(1000), tolerance=1e-9, lazy=false))]
#[pyo3(
    text_signature = "(x, y, regularisation, *, cost='squared-euclidean', iterations=1000, tolerance=1e-9, lazy=False)"
)]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn sinkhorn_divergence<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    regularisation: f64,
    cost: &str,
    iterations: Whole,
    tolerance: f64,
    lazy: bool,
) -> PyResult<(f64, Bound<'py, PyArray2<f32>>, bool)> {
    let solver = solver(cost, regularisation, &iterations, tolerance, lazy)?;
    let ((x, [_, d]), (y, [_, e])) = (points("x", x)?, points("y", y)?);
    check(d, e)?;
    let (x, y) = (x.as_slice()?, y.as_slice()?);
    let found = py.detach(|| solver.divergence(x, y, d)).map_err(refused)?;
    Ok((found.value, rows(py, found.gradient, d)?, found.converged))
}

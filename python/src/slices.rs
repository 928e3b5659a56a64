//! Directions to project on.

use numpy::PyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use swd::Slices;

use crate::arrays::{points, rows};
use crate::refusal::{Whole, refused};

/// Directions of unit length, rounded so that none is longer, to project points of `dim` coordinates on.
///
/// Where they are sampled, `seed` says from what: the same seed gives the same slices.
#[pyclass(frozen, name = "Slices", module = "sliver_dp.transport")]
pub(crate) struct PySlices(pub(crate) Slices);

impl PySlices {
    fn sampled(
        dim: &Whole,
        count: &Whole,
        seed: &Whole,
        of: impl Fn(usize, usize, &mut ChaCha20Rng) -> Result<Slices, swd::SwdError>,
    ) -> PyResult<Self> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed.0);
        of(dim.size()?, count.size()?, &mut rng)
            .map(Self)
            .map_err(refused)
    }

    /// Refuses points of another dimension.
    pub(crate) fn check(&self, name: &str, found: usize) -> PyResult<()> {
        if found == self.0.dim() {
            return Ok(());
        }
        Err(PyValueError::new_err(format!(
            "{name} has {found} coordinates, expected {}, the dimension of the slices",
            self.0.dim()
        )))
    }
}

#[pymethods]
impl PySlices {
    /// `count` independent directions, uniform on the sphere.
    #[staticmethod]
    #[pyo3(signature = (dim, count, *, seed))]
    fn iid(dim: Whole, count: Whole, seed: Whole) -> PyResult<Self> {
        Self::sampled(&dim, &count, &seed, Slices::iid)
    }

    /// `count >= dim` directions that are a tight frame: all coordinates count alike.
    #[staticmethod]
    #[pyo3(signature = (dim, count, *, seed))]
    fn tight(dim: Whole, count: Whole, seed: Whole) -> PyResult<Self> {
        Self::sampled(&dim, &count, &seed, Slices::tight)
    }

    /// `count <= dim` orthonormal directions.
    #[staticmethod]
    #[pyo3(signature = (dim, count, *, seed))]
    fn orthonormal(dim: Whole, count: Whole, seed: Whole) -> PyResult<Self> {
        Self::sampled(&dim, &count, &seed, |d, k, rng| {
            Slices::orthonormal(d, k, rng)
        })
    }

    /// The directions of an array, [count, dim], rounded to float32 and scaled to unit length.
    #[staticmethod]
    fn from_directions(directions: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (entries, [_, dim]) = points("directions", directions)?;
        let wide: Vec<f64> = entries.as_slice()?.iter().copied().map(f64::from).collect();
        Slices::from_directions(dim, &wide)
            .map(Self)
            .map_err(refused)
    }

    /// The dimension of the points.
    #[getter]
    fn dim(&self) -> usize {
        self.0.dim()
    }

    /// The number of directions.
    #[getter]
    fn count(&self) -> usize {
        self.0.count()
    }

    /// The directions: float64, [count, dim].
    #[getter]
    fn directions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        rows(py, self.0.directions().to_vec(), self.0.dim())
    }

    fn __repr__(&self) -> String {
        format!(
            "<Slices: {} directions in {} dimensions>",
            self.0.count(),
            self.0.dim()
        )
    }
}

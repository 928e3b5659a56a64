//! A test of claims that may be looked at after every pair of runs.

use dp_audit::{Claim, Sequential};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::audit::LowerBound;
use crate::refusal::{Whole, refused};

/// Tests claims by pairs of runs, one with the record and one without, and may be stopped at any time, for any reason.
///
/// claims: values of mu, from the strongest (the least) to the weakest, each the claim that the mechanism hides the
/// record as Gaussian noise of standard deviation 1 hides a shift of mu.
/// alarm_rate: the probability in (0, 1) with which a true claim is ever refuted, at most.
///
/// It keeps the scores that it was shown, which are as private as the records: it cannot be pickled.
#[pyclass(name = "Sequential", module = "sliver_dp.audit")]
pub(crate) struct PySequential(Sequential);

#[pymethods]
impl PySequential {
    #[new]
    #[pyo3(signature = (claims, alarm_rate=0.05))]
    fn new(claims: Vec<f64>, alarm_rate: f64) -> PyResult<Self> {
        let claims = claims.into_iter().map(Claim::gaussian);
        let claims = claims.collect::<Result<_, _>>().map_err(refused)?;
        Sequential::new(claims, alarm_rate)
            .map(Self)
            .map_err(refused)
    }

    /// A test of `count` claims, of mu from `largest / count` to `largest`.
    #[staticmethod]
    #[pyo3(signature = (largest, count, alarm_rate=0.05))]
    fn ladder(largest: f64, count: Whole, alarm_rate: f64) -> PyResult<Self> {
        let count = u32::try_from(count.0).map_err(refused)?;
        let test = Sequential::ladder(largest, count, alarm_rate);
        test.map(Self).map_err(refused)
    }

    /// Takes in the scores of one more pair of runs; whether all claims are refuted.
    fn observe(&mut self, with_record: f64, without_record: f64) -> PyResult<bool> {
        self.0.observe(with_record, without_record).map_err(refused)
    }

    /// Pairs of runs so far.
    #[getter]
    fn pairs(&self) -> usize {
        self.0.pairs()
    }

    /// The values of mu whose claims are refuted: once, and for good.
    #[getter]
    fn refuted(&self) -> Vec<f64> {
        self.0.refuted().filter_map(Claim::mu).collect()
    }

    /// Whether nothing is left to test.
    #[getter]
    fn all_refuted(&self) -> bool {
        self.0.all_refuted()
    }

    /// An upper bound on the probability that the evidence against the first claim ever is as strong, were it true.
    #[getter]
    fn p_value_upper(&self) -> f64 {
        self.0.p_value()
    }

    /// The epsilon at `delta` of the weakest claim that is refuted, after any number of pairs.
    fn lower_bound(&self, delta: f64) -> PyResult<LowerBound> {
        self.0.lower_bound(delta).map(LowerBound).map_err(refused)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Sequential cannot be pickled: it holds scores, which are as private as the records",
        ))
    }
}

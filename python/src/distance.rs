//! The private distance between two samples, and a two-sample test on what was released for it.

use std::path::PathBuf;

use dp_accountant::DpError;
use dp_accountant::accounting::{BatchDistribution, Event, Neighbours};
use dp_accountant::ledger::Ledger;
use dp_accountant::plan::CheckedPlan;
use dp_core::mechanism::NoiseSource;
use private_queries::Query;
use private_queries::distance::{
    Directions, Estimate, LEAST_ROWS, RELEASE, Side, Sides, estimate, permutation_test,
};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use swd::NormBound;

use crate::arrays::points;
use crate::event::PyEvent;
use crate::refusal::{Whole, refused};

/// What was released of two samples, and what follows from it at no more cost.
///
/// Distances are those after smoothing: in each direction, of the projections with noise of `smoothing_deviation`, which is
/// never above the distance without noise.
#[pyclass(frozen, name = "PrivateDistance", module = "sliver_dp.transport")]
pub(crate) struct PrivateDistance {
    found: Estimate,
    directions: Directions,
    sides: [Side; 2],
    deviation: f64,
    /// As the estimate left it.
    public: ChaCha20Rng,
    event: Event,
    neighbours: Neighbours,
    delta: f64,
    epsilon_upper: f64,
    accountant: &'static str,
    secret_noise: bool,
}

#[pymethods]
impl PrivateDistance {
    /// The squared sliced distance without the bias of few rows, in squared units of the points; it may be negative.
    #[getter]
    fn squared_distance(&self) -> f64 {
        self.found.squared
    }

    /// The root of `squared_distance`, in units of the points; 0 where that is negative.
    #[getter]
    fn distance(&self) -> f64 {
        self.found.distance()
    }

    /// The standard error of `squared_distance` over rows, noise and slices.
    #[getter]
    fn standard_error(&self) -> f64 {
        self.found.error()
    }

    /// That over rows and noise alone, by a jackknife over groups of released rows.
    #[getter]
    fn standard_error_rows_and_noise(&self) -> f64 {
        self.found.error_rows
    }

    /// That over slices alone, which is too large for tight frames.
    #[getter]
    fn standard_error_slices(&self) -> f64 {
        self.found.error_slices
    }

    /// The squared distance of the noisy samples as published, biased upwards.
    #[getter]
    fn plug_in_squared_distance(&self) -> f64 {
        self.found.plug_in
    }

    /// The standard deviation of the noise on each projection, in units of the points.
    #[getter]
    fn smoothing_deviation(&self) -> f64 {
        self.deviation
    }

    /// What was released, for `sliver_dp.accounting` to compose with what else is released of the same rows.
    #[getter]
    fn event(&self) -> PyEvent {
        PyEvent(self.event.clone())
    }

    /// The relation that the event holds under: "k-end", by which one row is replaced by another of the same sample, where
    /// both are private; "replace-one", in the private sample, where one is.
    #[getter]
    fn neighbours(&self) -> String {
        self.neighbours.to_string()
    }

    /// An upper bound on the epsilon of this release, at `delta`.
    #[getter]
    fn epsilon_upper(&self) -> f64 {
        self.epsilon_upper
    }

    /// The delta of the guarantee.
    #[getter]
    fn delta(&self) -> f64 {
        self.delta
    }

    /// The accountant that answered.
    #[getter]
    fn accountant(&self) -> &'static str {
        self.accountant
    }

    /// Whether nobody knows the noise: without it nothing is private.
    #[getter]
    fn secret_noise(&self) -> bool {
        self.secret_noise
    }

    /// Tests whether both samples have one distribution, by permuting released rows: post-processing, at no cost.
    ///
    /// Exact for any sizes and any noise: where rows are independent draws of one distribution, the p-value is at most alpha with
    /// probability at most alpha. The same number of permutations, at least 1, gives the same answer again.
    #[pyo3(signature = (permutations=Whole(199)), text_signature = "($self, permutations=199)")]
    fn test(&self, py: Python<'_>, permutations: Whole) -> PyResult<TwoSampleTest> {
        let permutations = permutations.0;
        if permutations == 0 {
            return Err(PyValueError::new_err(
                "permutations is 0, expected at least 1",
            ));
        }
        let [a, b] = &self.sides;
        let (directions, mut public) = (&self.directions, self.public.clone());
        let found = py.detach(|| permutation_test([a, b], directions, permutations, &mut public));
        let found = found.map_err(refused)?;
        Ok(TwoSampleTest {
            p_value: found.p_value,
            statistic: found.statistic,
            null_mean: found.null_mean,
            null_deviation: found.null_deviation,
            permutations,
        })
    }
}

/// What a two-sample test found, of what was released for a private distance.
#[pyclass(
    frozen,
    get_all,
    name = "TwoSampleTest",
    module = "sliver_dp.transport"
)]
pub(crate) struct TwoSampleTest {
    /// (1 + permutations with a statistic at least as large) / (1 + permutations).
    p_value: f64,
    /// The squared sliced distance of the released samples, in squared units of the points.
    statistic: f64,
    /// Its mean over permutations: what it is where both have one distribution.
    null_mean: f64,
    /// Its standard deviation over permutations.
    null_deviation: f64,
    /// How many there were.
    permutations: u64,
}

#[pymethods]
impl TwoSampleTest {
    /// Whether the samples differ, at a level in (0, 1) that was chosen before: the false-alarm rate.
    ///
    /// Raises ValueError where so few permutations could not tell at that level.
    #[pyo3(signature = (false_alarm=0.05))]
    fn differ(&self, false_alarm: f64) -> PyResult<bool> {
        if !(false_alarm > 0.0 && false_alarm < 1.0) {
            return Err(PyValueError::new_err(format!(
                "false_alarm is {false_alarm}, expected a level in (0, 1)"
            )));
        }
        let least = (1.0 / false_alarm).ceil() as u64 - 1;
        if self.permutations < least {
            return Err(PyValueError::new_err(format!(
                "{} permutations at level {false_alarm}, expected at least {least}",
                self.permutations
            )));
        }
        Ok(self.p_value <= false_alarm)
    }
}

/// The private smoothed sliced 2-Wasserstein distance between two samples (Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848).
///
/// x: [n, d], y: [m, d], at least 4 rows each; float32, or float64 rounded to it. radius: the public bound on the norm of a
/// row, in units of the points; longer rows are scaled down to it. One Gaussian release of the projections on at most d
/// orthonormal directions, with all of (epsilon, delta), delta in (0, 1/rows) of the private rows; nothing is sampled. The line is in
/// the file `ledger`, which is created or appended to, before the noise leaves. Each call is a release of its own: ask
/// `epsilon_upper_of_ledger` for all of them.
///
/// protect: "both", where neighbours replace one row by another of the same sample; "x" or "y", where the other is public. The
/// numbers of rows are public. slices: directions of the estimate; more than d are computed from what is released, and add no
/// noise. seed: of directions, halves, permutations and the noise of a public sample. Noise is of the operating system's
/// generator; with insecure_noise_seed nothing is private. An exception is raised before anything is released, and may tell of the rows.
///
/// >>> import numpy, os, tempfile
/// >>> from sliver_dp.transport import private_distance
/// >>> rng = numpy.random.default_rng(0)
/// >>> x, y = rng.normal(size=(4000, 2)), rng.normal(size=(3000, 2)) + 1
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> ledger = os.path.join(folder.name, "ledger.jsonl")
/// >>> found = private_distance(x, y, radius=4, epsilon=5, delta=1e-5, ledger=ledger)
/// >>> found.epsilon_upper <= 5, found.neighbours, found.test().differ(0.05)
/// (True, 'k-end', True)
///
/// Raises TypeError for another dtype; OSError for a ledger that cannot be written; ValueError, with value and bound, for what is
/// out of range, other shapes, or a coordinate that is not finite.
#[pyfunction]
#[pyo3(
    signature = (x, y, *, radius, epsilon, delta, ledger, protect="both", slices=Whole(100), seed=Whole(0), insecure_noise_seed=None),
    text_signature = "(x, y, *, radius, epsilon, delta, ledger, protect='both', slices=100, seed=0, insecure_noise_seed=None)"
)]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn private_distance(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    radius: f64,
    epsilon: f64,
    delta: f64,
    ledger: PathBuf,
    protect: &str,
    slices: Whole,
    seed: Whole,
    insecure_noise_seed: Option<Whole>,
) -> PyResult<PrivateDistance> {
    let private: &[usize] = match protect {
        "both" => &[0, 1],
        "x" => &[0],
        "y" => &[1],
        _ => {
            return Err(PyValueError::new_err(format!(
                "protect is {protect:?}, but must be one of both, x, y"
            )));
        }
    };
    let (x, [n, d]) = sample("x", x)?;
    let (y, [m, e]) = sample("y", y)?;
    if d != e {
        return Err(PyValueError::new_err(format!(
            "x has {d} coordinates and y {e}, expected as many"
        )));
    }
    let rows: Vec<usize> = private.iter().map(|&side| [n, m][side]).collect();
    let (slices, records) = (slices.size()?, rows.iter().sum::<usize>() as u64);
    let noise = match insecure_noise_seed {
        Some(seed) => NoiseSource::insecure(seed.0),
        None => NoiseSource::secret().map_err(PyOSError::new_err)?,
    };
    py.detach(|| {
        let region = NormBound::ball(radius).map_err(refused)?;
        let plan = Sides::plan(&rows, epsilon, delta).map_err(refused)?;
        let plan = plan.check().map_err(refused)?;
        let mut public = ChaCha20Rng::seed_from_u64(seed.0);
        let directions = Directions::draw(d, slices, &mut public).map_err(refused)?;
        let query = Sides {
            slices: directions.released.clone(),
            region,
            rows,
        };
        let files = [x, y];
        let measured: Vec<_> = private.iter().map(|&side| files[side].clone()).collect();
        let measured = query.measure(&measured).map_err(refused)?;
        let (event, neighbours) = (planned(&plan, records)?, plan.neighbours());
        let (epsilon_upper, accountant) = (plan.epsilon_upper(), plan.accountant());
        let secret_noise = noise.is_secret();
        let mut ledger = match ledger.exists() {
            true => Ledger::open(&ledger),
            false => Ledger::create(&ledger),
        }
        .map_err(unwritten)?;
        let mut releaser = plan.releaser(noise);
        let noisy = releaser
            .release_vector(RELEASE, &measured, &mut ledger)
            .map_err(unwritten)?;
        let (mut sides, deviation) = query.read(&noisy).map_err(refused)?;
        if let Some(side) = [0, 1].into_iter().find(|side| !private.contains(side)) {
            let projected = region.project(&files[side], &query.slices);
            let projected = projected.map_err(refused)?;
            let count = query.slices.count();
            let noisy = Side::public(&projected, count, deviation, &mut public);
            sides.insert(side, noisy);
        }
        let sides: [Side; 2] = sides
            .try_into()
            .map_err(|_| PyValueError::new_err("expected two released sides"))?;
        let [a, b] = &sides;
        let found = estimate([a, b], &directions, &mut public).map_err(refused)?;
        Ok(PrivateDistance {
            found,
            directions,
            deviation,
            public,
            event,
            neighbours,
            delta,
            epsilon_upper,
            accountant,
            secret_noise,
            sides,
        })
    })
}

/// The rows of a sample, all finite.
fn sample(name: &str, found: &Bound<'_, PyAny>) -> PyResult<(Vec<f32>, [usize; 2])> {
    let (values, [n, d]) = points(name, found)?;
    let values = values.as_slice()?;
    if n < LEAST_ROWS {
        return Err(PyValueError::new_err(format!(
            "{name} has {n} rows, expected at least {LEAST_ROWS}"
        )));
    }
    if let Some(place) = values.iter().position(|value| !value.is_finite()) {
        return Err(PyValueError::new_err(format!(
            "{name}: row {}, coordinate {} is {}, expected a finite number",
            place / d,
            place % d,
            values[place]
        )));
    }
    Ok((values.to_vec(), [n, d]))
}

/// The one release of a plan, under the relation that it holds under: a sample of everything costs the same, and has it.
fn planned(plan: &CheckedPlan, records: u64) -> PyResult<Event> {
    let (_, event) = plan.releases().next().ok_or_else(|| refused(RELEASE))?;
    let everything = plan.sampler().distribution();
    let one_sample = BatchDistribution::WithoutReplacement {
        records,
        batch: records,
    };
    Ok(event.clone().sampled(everything.unwrap_or(one_sample)))
}

/// An `OSError` of a ledger that cannot be written or read.
pub(crate) fn unwritten(error: DpError) -> PyErr {
    match error {
        DpError::Ledger { .. } | DpError::LedgerUnread { .. } => {
            PyOSError::new_err(error.to_string())
        }
        other => refused(other),
    }
}

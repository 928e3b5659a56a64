//! Private copies of tables and of images: no private record leaves the memory of this process.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use burn::tensor::Device;
use data::{DataError, Part, Schema, Shapes, Units};
use dp_accountant::ledger::Ledger;
use dp_accountant::plan::{CheckedPlan, TrainingPlan};
use dp_core::mechanism::{NameCounts, NoiseSource, Releaser, SensitiveVector};
use model::latent::{ImageShape, LatentSpace};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray4};
use private_queries::Query;
use private_synth::images::{
    CosineSpace, ImageCopy, Mixed, Mixture, Signal, Space, SpaceForm, SpaceKind, SpaceTraining,
    public_images, samples,
};
use private_synth::table::{Aim, Fitted, Records, Released, TableCopy};
use private_synth::{Direct, Releasing, SynthError, Watch, Work};
use private_training::TrainingError;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::distance::unwritten;
use crate::refusal::{Whole, refused};

/// One set of shapes for all seeds.
const SHAPES_SEED: u64 = 0;

/// What is promised of a copy, or of a model.
pub(crate) struct Promise {
    pub(crate) epsilon_upper: f64,
    pub(crate) delta: f64,
    pub(crate) accountant: &'static str,
    pub(crate) secret_noise: bool,
    /// The lines of the ledger, as JSON.
    pub(crate) releases: Vec<String>,
}

/// Makes the releases of a plan; Python's signals end the work.
pub(crate) struct Watched<'a>(pub(crate) Direct<'a>);

impl Watch for Watched<'_> {
    type Error = PyErr;

    fn go_on(&mut self, _: Work) -> PyResult<()> {
        Signals.go_on(Work::Sampling)
    }

    fn failed(error: SynthError) -> PyErr {
        Signals::failed(error)
    }
}

impl Releasing for Watched<'_> {
    fn release<Q: Query>(
        &mut self,
        name: &str,
        query: &Q,
        measure: impl FnOnce() -> Result<SensitiveVector, SynthError>,
    ) -> PyResult<Q::Answer> {
        let released = self.0.release(name, query, measure);
        released.map_err(Self::failed)
    }

    fn release_names(
        &mut self,
        name: &str,
        count: impl FnOnce() -> Result<NameCounts, SynthError>,
    ) -> PyResult<Vec<Vec<String>>> {
        let released = self.0.release_names(name, count);
        released.map_err(Self::failed)
    }
}

/// Python's signals end the work.
pub(crate) struct Signals;

impl Watch for Signals {
    type Error = PyErr;

    fn go_on(&mut self, _: Work) -> PyResult<()> {
        Python::attach(|py| py.check_signals())
    }

    fn failed(error: SynthError) -> PyErr {
        match error {
            SynthError::Privacy(error) => unwritten(error),
            SynthError::Randomness(error) => PyOSError::new_err(error),
            error @ SynthError::Rules { .. } => PyRuntimeError::new_err(error.to_string()),
            error => refused(error),
        }
    }
}

/// Why no decoder was taught.
enum Untaught {
    Training(TrainingError),
    Python(PyErr),
}

impl From<TrainingError> for Untaught {
    fn from(error: TrainingError) -> Self {
        Self::Training(error)
    }
}

/// Has `release` make what is planned, with secret noise unless its seed is given, and says what is promised of it.
pub(crate) fn promised<T>(
    plan: TrainingPlan,
    path: &Path,
    insecure_noise_seed: Option<u64>,
    release: impl FnOnce(Releaser, &mut Ledger) -> PyResult<T>,
) -> PyResult<(T, Promise)> {
    let plan: CheckedPlan = plan.check().map_err(refused)?;
    let noise = match insecure_noise_seed {
        Some(seed) => NoiseSource::insecure(seed),
        None => NoiseSource::secret().map_err(PyOSError::new_err)?,
    };
    let mut promise = Promise {
        epsilon_upper: plan.epsilon_upper(),
        delta: plan.delta(),
        accountant: plan.accountant(),
        secret_noise: noise.is_secret(),
        releases: Vec::new(),
    };
    let opened = match path.exists() {
        true => Ledger::open(path),
        false => Ledger::create(path),
    };
    let mut ledger = opened.map_err(unwritten)?;
    let before = ledger.entries().map_err(unwritten)?.entries.len();
    let made = release(plan.releaser(noise), &mut ledger)?;
    let all = ledger.entries().map_err(unwritten)?.entries;
    let lines = all[before..].iter().map(serde_json::to_string);
    promise.releases = lines.collect::<Result<_, _>>().map_err(refused)?;
    Ok((made, promise))
}

/// Refuses fewer than two records, or units: one has no other to hide behind.
pub(crate) fn several(what: &str, found: usize) -> PyResult<()> {
    match found {
        0 | 1 => Err(PyValueError::new_err(format!(
            "there are {found} {what}, expected at least 2: one has no other to hide behind"
        ))),
        _ => Ok(()),
    }
}

/// The unit of each record, and how many records of a unit are used.
pub(crate) fn units(
    names: Option<Vec<String>>,
    most: Option<Whole>,
) -> PyResult<Option<(Units, usize)>> {
    let wrong = "units and most_per_unit: expected both, with most_per_unit at least 1, or none";
    match (names, most) {
        (None, None) => Ok(None),
        (Some(names), Some(most)) if most.0 > 0 => {
            let units = Units::of_texts(names.iter().map(String::as_str));
            Ok(Some((units, most.size()?)))
        }
        _ => Err(PyValueError::new_err(wrong)),
    }
}

/// The refusal of records: what it keeps back is written to standard error, for their owner, if that is asked for.
fn refused_record(py: Python<'_>, error: DataError, show_private: bool) -> PyErr {
    match error.private() {
        Some(private) if show_private => {
            // No character starts a line without a mark, as one of a record might.
            let shown = |c: char| match c.is_control() {
                true => c.escape_default().to_string(),
                false => c.into(),
            };
            let line: String = private.chars().map(shown).collect();
            let write = || -> PyResult<_> {
                let out = py.import("sys")?.getattr("stderr")?;
                out.call_method1("write", (format!("PRIVATE   {line}\n"),))
            };
            write().err().unwrap_or_else(|| refused(error))
        }
        Some(_) => PyValueError::new_err(format!(
            "{error}; show_private=True says which one, on standard error"
        )),
        None => refused(error),
    }
}

/// What was released of a table, and a model that was fitted to it.
#[pyclass(frozen, module = "sliver_dp._native")]
pub(crate) struct TableModel {
    fitted: Fitted,
    promise: Promise,
    records: usize,
}

/// What was released of images, and what decodes its samples.
#[pyclass(frozen, module = "sliver_dp._native")]
pub(crate) struct ImagesModel {
    latents: Mixed,
    space: Mutex<Space>,
    promise: Promise,
    images: usize,
}

macro_rules! promises {
    ($model:ident, $($rest:tt)*) => {
        #[pymethods]
        impl $model {
            /// An upper bound on the epsilon of all releases, at `delta`.
            #[getter]
            fn epsilon_upper(&self) -> f64 {
                self.promise.epsilon_upper
            }

            /// The delta of all releases.
            #[getter]
            fn delta(&self) -> f64 {
                self.promise.delta
            }

            /// What bounds epsilon.
            #[getter]
            fn accountant(&self) -> &'static str {
                self.promise.accountant
            }

            /// Whether nobody knows the noise: without it nothing is private.
            #[getter]
            fn secret_noise(&self) -> bool {
                self.promise.secret_noise
            }

            /// The ledger's lines of this copy, as JSON.
            #[getter]
            fn releases(&self) -> Vec<String> {
                self.promise.releases.clone()
            }

            $($rest)*
        }
    };
}

pub(crate) use promises;

promises! { TableModel,
    /// Samples of the copy, unless another number is asked for; with units what noisy counts say.
    #[getter]
    fn count(&self) -> usize {
        self.records
    }

    /// `count` records, each column as texts by its name.
    fn sample(
        &self,
        py: Python<'_>,
        count: Whole,
        seed: Whole,
    ) -> PyResult<HashMap<String, Vec<String>>> {
        let count = count.size()?;
        py.detach(|| {
            let rng = &mut ChaCha20Rng::seed_from_u64(seed.0);
            let Fitted { schema, model, .. } = &self.fitted;
            let codes = model.sample(schema.rules(), count, rng, &mut Signals)?;
            let mut texts = schema.texts(&codes, rng).map_err(refused)?;
            let columns = schema.code_columns();
            let width = columns.len();
            let column = |place| {
                let column = texts.iter_mut().skip(place).step_by(width);
                column.map(std::mem::take).collect()
            };
            let values: Vec<Vec<String>> = (0..width).map(column).collect();
            let names = columns.into_iter().map(|column| column.name);
            Ok(names.zip(values).collect())
        })
    }
}

promises! { ImagesModel,
    /// Samples of the copy, unless another number is asked for; with units what noisy counts say.
    #[getter]
    fn count(&self) -> usize {
        self.images
    }

    /// `count` images, `[n c s s]` as bytes, and their classes, `[n]`, in random order.
    #[allow(clippy::type_complexity)]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        count: Whole,
        seed: Whole,
    ) -> PyResult<(Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>)> {
        let count = count.size()?;
        let (pixels, classes) = py.detach(|| {
            let rng = &mut ChaCha20Rng::seed_from_u64(seed.0);
            let space = self.space.lock().unwrap_or_else(PoisonError::into_inner);
            let (rows, classes) = self.latents.sample(count, rng);
            let values = space.decode_host(&rows, &Device::flex());
            let mut order: Vec<usize> = (0..classes.len()).collect();
            rand::seq::SliceRandom::shuffle(&mut order[..], rng);
            // There are more where cells are more.
            order.truncate(count);
            let size = space.shape().values();
            let image = |&place: &usize| &values[place * size..(place + 1) * size];
            let byte = |value: &f32| (255.0 * value).round().clamp(0.0, 255.0) as u8;
            let pixels: Vec<u8> = order.iter().flat_map(image).map(byte).collect();
            let classes: Vec<i64> = order.iter().map(|&place| classes[place] as i64).collect();
            (pixels, classes)
        });
        Ok((PyArray1::from_vec(py, pixels), PyArray1::from_vec(py, classes)))
    }
}

/// The private records of a table, the text of a CSV file.
pub(crate) fn private_table(
    py: Python<'_>,
    table: &[u8],
    schema: &str,
    label: Option<&str>,
    units: Option<Vec<String>>,
    most_per_unit: Option<Whole>,
    show_private: bool,
) -> PyResult<Records> {
    let units = self::units(units, most_per_unit)?;
    let schema = Schema::parse("schema", schema).map_err(refused)?;
    let schema = match label {
        Some(label) => schema.with_label(label).map_err(refused)?,
        None => schema,
    };
    let coded = py.detach(|| schema.coded_bytes("df", table));
    let coded = coded.map_err(|error| refused_record(py, error, show_private))?;
    py.detach(|| {
        let records = Records::of(schema, coded.into(), None, Part::ALL);
        let mut records = records.map_err(Signals::failed)?;
        let what = match &units {
            Some((units, most)) => {
                records = records.by_units(units, *most).map_err(Signals::failed)?;
                "units"
            }
            None => "records",
        };
        several(what, records.neighbours())?;
        Ok(records)
    })
}

/// Releases counts of a table, the text of a CSV file, and fits a model to them.
#[pyfunction]
#[pyo3(signature = (table, schema, *, epsilon, delta, label, units, most_per_unit, ledger, seed, insecure_noise_seed, show_private))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_table(
    py: Python<'_>,
    table: &[u8],
    schema: &str,
    epsilon: f64,
    delta: Option<f64>,
    label: Option<&str>,
    units: Option<Vec<String>>,
    most_per_unit: Option<Whole>,
    ledger: PathBuf,
    seed: Whole,
    insecure_noise_seed: Option<Whole>,
    show_private: bool,
) -> PyResult<TableModel> {
    let noise_seed = insecure_noise_seed.map(|seed| seed.0);
    let mut records = private_table(py, table, schema, label, units, most_per_unit, show_private)?;
    py.detach(|| {
        let copy = TableCopy::new().epsilon(epsilon);
        let copy = delta.map_or(copy.clone(), |delta| copy.delta(delta));
        let plan = copy.plan(&records).map_err(Signals::failed)?;
        let rng = &mut ChaCha20Rng::seed_from_u64(seed.0);
        let (fitted, promise) = promised(plan, &ledger, noise_seed, |releaser, ledger| {
            let multiplier = releaser.plan().noise_multiplier();
            let by = &mut Watched(Direct::new(releaser, ledger));
            let released = Released::of(&mut records, multiplier, Aim::Copy, by)?;
            Ok(Fitted {
                model: released.fit(&records, rng, by)?,
                schema: records.schema().clone(),
                released,
            })
        })?;
        Ok(TableModel {
            records: fitted.released.records(&records),
            fitted,
            promise,
        })
    })
}

/// Releases moments of images, `[n, c, s, s]`, in a latent space that learned from no private image.
#[pyfunction]
#[pyo3(signature = (images, labels, classes, *, epsilon, delta, units, most_per_unit, shapes, latent, cells, ledger, seed, insecure_noise_seed))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_images(
    py: Python<'_>,
    images: PyReadonlyArray4<'_, u8>,
    labels: PyReadonlyArray1<'_, u8>,
    classes: Whole,
    epsilon: f64,
    delta: Option<f64>,
    units: Option<Vec<String>>,
    most_per_unit: Option<Whole>,
    shapes: bool,
    latent: Option<Whole>,
    cells: Option<Whole>,
    ledger: PathBuf,
    seed: Whole,
    insecure_noise_seed: Option<Whole>,
) -> PyResult<ImagesModel> {
    let units = self::units(units, most_per_unit)?;
    let noise_seed = insecure_noise_seed.map(|seed| seed.0);
    let latent = latent.map(|latent| latent.size()).transpose()?;
    let cells = cells.map(|cells| cells.size()).transpose()?;
    let array = images.as_array();
    let [_, channels, side, width]: [usize; 4] = array.shape().try_into().map_err(refused)?;
    if side != width {
        return Err(PyValueError::new_err(format!(
            "images are of {side} x {width} pixels, expected squares: cut them"
        )));
    }
    // A decoder learns every pixel, for minutes.
    let widest = if shapes { 64 } else { 256 };
    for (name, value, least, most) in [
        ("latent", latent, 2, 512),
        ("cells", cells, 1, 64),
        ("side", Some(side), 4, widest),
    ] {
        if let Some(wrong) = value.filter(|value| !(least..=most).contains(value)) {
            return Err(PyValueError::new_err(format!(
                "{name} is {wrong}, expected {least} to {most}"
            )));
        }
    }
    let (pixels, labels) = (images.to_vec().map_err(refused)?, labels.to_vec());
    let labels = labels.map_err(refused)?;
    let classes = classes.size()?;
    py.detach(|| {
        let of = data::Records::planes(pixels, labels, [channels, side, side], classes);
        let mut images = of.map_err(refused)?;
        let units = match units {
            Some((units, most)) => {
                images = units.bounded(&images, most).map_err(refused)?;
                several("units", units.count())?;
                Some((units.count(), most))
            }
            None => None,
        };
        several("images", images.len())?;
        // How many images the units have together is private.
        let count = units.map_or(images.len(), |(units, most)| samples(units, most));
        let latent = latent.unwrap_or_else(|| {
            let records = units.map_or(images.len(), |(units, _)| units);
            let signal = Signal::new(records, Some(epsilon));
            signal.dimensions(SpaceKind::Cosines, channels)
        });
        let shape = ImageShape { channels, side };
        let copy_in = |space| {
            let method = Mixture::new(space);
            let method = cells.map_or(method, |cells| method.cells(cells));
            let copy = ImageCopy::new(method).epsilon(epsilon);
            let copy = delta.map_or(copy.clone(), |delta| copy.delta(delta));
            units.map_or(copy.clone(), |(units, most)| copy.of_units(units, most))
        };
        // Refused before a decoder learns, which takes minutes.
        let untaught = CosineSpace::new(shape, latent).map_err(refused)?;
        let plan = copy_in(&untaught).plan(&images).map_err(Signals::failed)?;
        plan.clone().check().map_err(refused)?;
        let space = space(shape, latent, shapes)?;
        let rng = &mut ChaCha20Rng::seed_from_u64(seed.0);
        let copy = copy_in(&space);
        let (latents, promise) = promised(plan, &ledger, noise_seed, |releaser, ledger| {
            let by = &mut Watched(Direct::new(releaser, ledger));
            let fitted = copy.released(&images, &Device::flex(), rng, by)?;
            Ok(fitted.latents)
        })?;
        Ok(ImagesModel {
            latents,
            space: Mutex::new(space),
            promise,
            images: count,
        })
    })
}

/// Cosines, to which shapes teach how edges look.
fn space(shape: ImageShape, latent: usize, shapes: bool) -> PyResult<Space> {
    let kind = if shapes {
        SpaceKind::Refined
    } else {
        SpaceKind::Cosines
    };
    let form = SpaceForm {
        kind,
        latent,
        shape,
    };
    let of = match shape.channels {
        1 => Shapes::grey(shape.side, SHAPES_SEED),
        _ => Shapes::colour(shape.side, SHAPES_SEED),
    };
    let gather = |places: &[usize]| {
        let bytes = places.iter().flat_map(|&place| of.image(place as u64));
        Ok::<_, Untaught>(bytes.map(|byte| f32::from(byte) / 255.0).collect())
    };
    let images = SpaceTraining {
        count: public_images(false, shape.side),
        epochs: 1,
        shape,
        gather,
    };
    let rng = &mut ChaCha20Rng::seed_from_u64(SHAPES_SEED);
    let each = |_, _: &dyn Fn() -> _| Signals.go_on(Work::Encoding).map_err(Untaught::Python);
    form.trained(images, &Device::flex(), rng, None, each)
        .map_err(|untaught| match untaught {
            Untaught::Training(error) => refused(error),
            Untaught::Python(error) => error,
        })
}

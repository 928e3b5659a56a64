//! Private classifiers: of rows, of images, and of one column of a table.

use std::collections::HashMap;
use std::path::PathBuf;

use data::{Records as Images, Schema, Shapes, Units};
use dp_core::delta::default_delta;
use dp_core::plan::TrainingPlan;
use dp_core::sampling::Sampler;
use numpy::{
    PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray4,
    PyUntypedArrayMethods,
};
use private_classifiers::{
    Embedding, Examples, Features, Head, HeadConfig, Scattering, TableModel, ValueLoss, Whitening,
};
use private_synth::table::{Aim, CLASSES, Released, Signal, TableCopy, check_classes};
use private_synth::{Direct, Watch, Work};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::refusal::{Whole, refused};
use crate::synth::{Promise, Signals, Watched, private_table, promised, promises, several, units};

/// Images of which features are computed between two looks for signals.
const BLOCK: usize = 2000;
/// Synthetic images that decorrelate features, for each feature, and their seed; as the program has them.
const SHAPES_PER_FEATURE: usize = 3;
const SHAPES_SEED: u64 = 5;

/// A linear head on public features.
#[pyclass(frozen, module = "sliver_dp._native")]
pub(crate) struct HeadModel {
    features: Features,
    head: Head,
    promise: Promise,
}

/// A model of one column of a table, given the others.
#[pyclass(frozen, module = "sliver_dp._native")]
pub(crate) struct ColumnModel {
    model: TableModel,
    classes: Vec<String>,
    promise: Promise,
}

promises! { HeadModel,
    /// The weights of the head, `[width, classes]` in rows.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.head.weights())
    }

    /// The mean, `[width]`, and the map, `[width, width]` in rows, that decorrelate features; None of features as they are.
    #[getter]
    #[allow(clippy::type_complexity)]
    fn whitening<'py>(
        &self,
        py: Python<'py>,
    ) -> Option<(Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>)> {
        let whitening = self.features.whitening()?;
        let [mean, map] = [whitening.mean(), whitening.map()];
        Some((PyArray1::from_slice(py, mean), PyArray1::from_slice(py, map)))
    }
}

promises! { ColumnModel,
    /// The names of the classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.classes.clone()
    }

    /// How the model learned, in words.
    #[getter]
    fn learner(&self) -> &'static str {
        self.model.learner().name()
    }

    /// The number of values of each column, how many of them are in order, and the place of the label.
    #[getter]
    fn form(&self) -> (Vec<usize>, Vec<usize>, usize) {
        let model = &self.model;
        (model.sizes().to_vec(), model.ordered().to_vec(), model.label())
    }

    /// The values of the model by their names.
    #[getter]
    fn tensors<'py>(&self, py: Python<'py>) -> HashMap<String, Bound<'py, PyArray1<f32>>> {
        let tensors = self.model.tensors().into_iter();
        tensors.map(|(name, _, values)| (name, PyArray1::from_vec(py, values))).collect()
    }
}

/// The features of rows of `size` numbers, or of images `(channels, side, order)`.
fn features_of(form: &[usize]) -> PyResult<Features> {
    match *form {
        [size] => Embedding::new(size).map(Features::from),
        [channels, side, order] => Scattering::new(channels, side, order).map(Features::from),
        _ => return Err(PyValueError::new_err("form: expected one number, or three")),
    }
    .map_err(refused)
}

/// The probabilities of `classes` classes, `[n, classes]` in rows, that a head gives to rows or images; of 1 the numbers that it says.
#[pyfunction]
#[pyo3(signature = (values, *, form, classes, weights, whitening))]
#[allow(clippy::type_complexity)]
pub(crate) fn probabilities_of_rows<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f32>,
    form: Vec<usize>,
    classes: Whole,
    weights: PyReadonlyArray1<'py, f64>,
    whitening: Option<(PyReadonlyArray1<'py, f32>, PyReadonlyArray1<'py, f32>)>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (values, weights) = (values.to_vec().map_err(refused)?, weights.to_vec());
    let (classes, weights) = (classes.size()?, weights.map_err(refused)?);
    let whitening = match whitening {
        Some((mean, map)) => Some((
            mean.to_vec().map_err(refused)?,
            map.to_vec().map_err(refused)?,
        )),
        None => None,
    };
    let found = py.detach(|| {
        let features = features_of(&form)?;
        let features = match whitening {
            Some((mean, map)) => Whitening::new(mean, map)
                .and_then(|whitening| features.with_whitening(whitening))
                .map_err(refused)?,
            None => features,
        };
        let head = Head::new(features.width(), classes, weights).map_err(refused)?;
        let rows = rows(&features, &values)?;
        let found = match classes {
            1 => head.values(&rows),
            _ => head.probabilities(&rows),
        };
        found.map_err(refused)
    });
    found.map(|found| PyArray1::from_vec(py, found))
}

/// A schema and its label.
fn labelled(schema: &str, label: &str) -> PyResult<Schema> {
    let schema = Schema::parse("schema", schema).map_err(refused)?;
    schema.with_label(label).map_err(refused)
}

/// The places of the labels of the records of a CSV file among the classes, `[n]`.
#[pyfunction]
pub(crate) fn classes_of_table<'py>(
    py: Python<'py>,
    table: &[u8],
    schema: &str,
    label: &str,
) -> PyResult<Bound<'py, PyArray1<u16>>> {
    let schema = labelled(schema, label)?;
    let place = schema.label().unwrap_or_default();
    let table = schema.coded_bytes("df", table).map_err(refused)?;
    let codes = table.codes.iter().skip(place).step_by(table.columns);
    Ok(PyArray1::from_vec(py, codes.copied().collect()))
}

/// The probabilities of the classes, `[n, classes]` in rows, that a model of a column, the label, gives to the records of a CSV file,
/// whose labels are not looked at.
#[pyfunction]
#[pyo3(signature = (table, schema, label, *, form, tensors))]
pub(crate) fn probabilities_of_table<'py>(
    py: Python<'py>,
    table: &[u8],
    schema: &str,
    label: &str,
    form: (Vec<usize>, Vec<usize>, usize),
    tensors: HashMap<String, PyReadonlyArray1<'py, f32>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let tensors = tensors
        .into_iter()
        .map(|(name, values)| Ok((name, values.to_vec().map_err(refused)?)));
    let tensors = tensors.collect::<PyResult<HashMap<String, Vec<f32>>>>()?;
    let (sizes, ordered, place) = form;
    let found = py.detach(|| {
        let values = |name: &str| tensors.get(name).cloned();
        let model = TableModel::of_tensors(sizes, ordered, place, values).map_err(refused)?;
        let schema = labelled(schema, label)?.without_label();
        let table = schema.coded_bytes("df", table).map_err(refused)?;
        model
            .probabilities_without_label(&table.codes)
            .map_err(refused)
    });
    found.map(|found| PyArray1::from_vec(py, found))
}

/// The rows of features of some records.
fn rows(features: &Features, values: &[f32]) -> PyResult<Vec<f32>> {
    let mut rows = Vec::with_capacity(values.len() / features.size() * features.width());
    for block in values.chunks(BLOCK * features.size()) {
        Signals.go_on(Work::Encoding)?;
        rows.extend(features.rows(block).map_err(refused)?);
    }
    Ok(rows)
}

/// What a head is to say of each record.
enum Targets {
    Classes(Vec<u16>, usize),
    /// Numbers from -1 to 1.
    Values(Vec<f32>, ValueLoss),
}

/// How a head learns.
struct Learning {
    epsilon: f64,
    delta: Option<f64>,
    /// Units or records, whichever neighbours replace.
    neighbours: usize,
    most_per_unit: usize,
    /// Whether some classes are said to be rare or absent.
    rare_classes: bool,
    ledger: PathBuf,
    insecure_noise_seed: Option<u64>,
}

impl Learning {
    fn of(self, features: Features, values: &[f32], targets: Targets) -> PyResult<HeadModel> {
        let (count, epsilon) = (self.neighbours, self.epsilon);
        if !(epsilon > 0.0 && epsilon.is_finite()) {
            return Err(PyValueError::new_err(format!(
                "epsilon is {epsilon}: expected a positive number"
            )));
        }
        let suited = match &targets {
            Targets::Classes(..) => HeadConfig::suited(count, Some(epsilon)),
            Targets::Values(_, loss) => HeadConfig::suited_to_values(count, Some(epsilon), *loss),
        };
        let config = HeadConfig {
            most_per_unit: self.most_per_unit,
            ..suited
        };
        let sampler = Sampler::all(count).map_err(refused)?;
        let delta = self
            .delta
            .unwrap_or(default_delta(sampler.presumed_records()));
        let plan = TrainingPlan::for_epsilon(epsilon, delta, config.steps, sampler);
        let checked = plan.clone().check().map_err(refused)?;
        if let Targets::Classes(_, classes) = targets
            && !self.rare_classes
        {
            let (noise, rng) = (
                checked.noise_multiplier(),
                &mut ChaCha20Rng::seed_from_u64(0),
            );
            let told = config.check_classes(classes, count, noise, rng);
            let advised = |e| {
                refused(format!(
                    "{e}; or set rare_classes, if some are rare or absent"
                ))
            };
            told.map_err(advised)?;
        }
        let rows = rows(&features, values)?;
        let examples = match targets {
            Targets::Classes(labels, classes) => Examples::new(rows, labels, classes),
            Targets::Values(values, loss) => Examples::of_values(rows, values, loss),
        };
        let examples = examples.map_err(refused)?;
        let seed = self.insecure_noise_seed;
        let (head, promise) = promised(plan, &self.ledger, seed, |mut releaser, ledger| {
            config
                .fit(&examples, &mut releaser, ledger)
                .map_err(refused)
        })?;
        Ok(HeadModel {
            features,
            head,
            promise,
        })
    }
}

/// Learns a classifier of rows, `[n, d]`, each of which is divided by its norm; without classes a model of labels that are numbers from -1
/// to 1.
#[pyfunction]
#[pyo3(signature = (values, labels, classes, *, absolute, epsilon, delta, units, most_per_unit, rare_classes, ledger, insecure_noise_seed))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_rows(
    py: Python<'_>,
    values: PyReadonlyArray2<'_, f32>,
    labels: PyReadonlyArray1<'_, f32>,
    classes: Option<Whole>,
    absolute: bool,
    epsilon: f64,
    delta: Option<f64>,
    units: Option<Vec<String>>,
    most_per_unit: Option<Whole>,
    rare_classes: bool,
    ledger: PathBuf,
    insecure_noise_seed: Option<Whole>,
) -> PyResult<HeadModel> {
    let [count, size] = [values.shape()[0], values.shape()[1]];
    let units = self::units(units, most_per_unit)?;
    let mut values: Vec<f32> = values.to_vec().map_err(refused)?;
    let mut labels: Vec<f32> = labels.to_vec().map_err(refused)?;
    let (mut neighbours, mut most) = (count, 1);
    if let Some((units, bound)) = &units {
        let bytes = |row: &[f32]| {
            row.iter()
                .flat_map(|x| x.to_le_bytes())
                .collect::<Vec<u8>>()
        };
        let sums = values
            .chunks_exact(size.max(1))
            .map(|row| Units::sum(&bytes(row)));
        let kept = units
            .kept(*bound, &sums.collect::<Vec<_>>())
            .map_err(refused)?;
        let rows = kept
            .iter()
            .flat_map(|&place| &values[place * size..][..size]);
        values = rows.copied().collect();
        labels = kept.iter().map(|&place| labels[place]).collect();
        (neighbours, most) = (units.count(), *bound);
        several("units", neighbours)?;
    } else {
        several("rows", count)?;
    }
    let targets = match classes {
        // Below 65 536, so that a float holds them.
        Some(classes) => {
            let labels = labels.iter().map(|&label| label as u16).collect();
            Targets::Classes(labels, classes.size()?)
        }
        None if absolute => Targets::Values(labels, ValueLoss::Absolute),
        None => Targets::Values(labels, ValueLoss::Squared),
    };
    let learning = Learning {
        epsilon,
        delta,
        neighbours,
        most_per_unit: most,
        rare_classes,
        ledger,
        insecure_noise_seed: insecure_noise_seed.map(|seed| seed.0),
    };
    py.detach(|| {
        let features = features_of(&[size])?;
        learning.of(features, &values, targets)
    })
}

/// Learns a classifier of images, `[n, c, s, s]`, on scattering features that synthetic shapes decorrelate if that is asked for.
#[pyfunction]
#[pyo3(signature = (images, labels, classes, *, epsilon, delta, units, most_per_unit, rare_classes, order, shapes, ledger, insecure_noise_seed))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_image_classifier(
    py: Python<'_>,
    images: PyReadonlyArray4<'_, u8>,
    labels: PyReadonlyArray1<'_, u8>,
    classes: Whole,
    epsilon: f64,
    delta: Option<f64>,
    units: Option<Vec<String>>,
    most_per_unit: Option<Whole>,
    rare_classes: bool,
    order: Whole,
    shapes: bool,
    ledger: PathBuf,
    insecure_noise_seed: Option<Whole>,
) -> PyResult<HeadModel> {
    let units = self::units(units, most_per_unit)?;
    let shape: [usize; 4] = images.shape().try_into().map_err(refused)?;
    let [count, channels, side, width] = shape;
    if side != width {
        return Err(PyValueError::new_err(format!(
            "images are of {side} x {width} pixels, expected squares: cut them"
        )));
    }
    let (pixels, labels) = (images.to_vec().map_err(refused)?, labels.to_vec());
    let labels = labels.map_err(refused)?;
    let (classes, order) = (classes.size()?, order.size()?);
    py.detach(|| {
        let features = features_of(&[channels, side, order])?;
        let of = Images::planes(pixels, labels, [channels, side, side], classes);
        let mut images = of.map_err(refused)?;
        let mut neighbours = count;
        let mut most = 1;
        if let Some((units, bound)) = &units {
            images = units.bounded(&images, *bound).map_err(refused)?;
            (neighbours, most) = (units.count(), *bound);
            several("units", neighbours)?;
        } else {
            several("images", count)?;
        }
        let learning = Learning {
            epsilon,
            delta,
            neighbours,
            most_per_unit: most,
            rare_classes,
            ledger,
            insecure_noise_seed: insecure_noise_seed.map(|seed| seed.0),
        };
        let features = match shapes {
            false => features,
            true => {
                let drawn = match channels {
                    1 => Shapes::grey(side, SHAPES_SEED),
                    _ => Shapes::colour(side, SHAPES_SEED),
                };
                let wanted = (SHAPES_PER_FEATURE * features.width()) as u64;
                let bytes = drawn.draw(0..wanted);
                let values: Vec<f32> = bytes.iter().map(|&b| f32::from(b) / 255.0).collect();
                features.whitened_by(&values).map_err(refused)?
            }
        };
        let labels = images.labels().iter().map(|&label| label.into()).collect();
        let values = images.values().map_err(refused)?;
        learning.of(features, &values, Targets::Classes(labels, classes))
    })
}

/// Releases counts of a table, the text of a CSV file, and learns a model of its label from samples of what is fitted to them.
#[pyfunction]
#[pyo3(signature = (table, schema, *, epsilon, delta, label, units, most_per_unit, rare_classes, ledger, seed, insecure_noise_seed, show_private))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_column(
    py: Python<'_>,
    table: &[u8],
    schema: &str,
    epsilon: f64,
    delta: Option<f64>,
    label: Option<&str>,
    units: Option<Vec<String>>,
    most_per_unit: Option<Whole>,
    rare_classes: bool,
    ledger: PathBuf,
    seed: Whole,
    insecure_noise_seed: Option<Whole>,
    show_private: bool,
) -> PyResult<ColumnModel> {
    let noise_seed = insecure_noise_seed.map(|seed| seed.0);
    let mut records = private_table(py, table, schema, label, units, most_per_unit, show_private)?;
    let (sizes, label) = (records.sizes(), records.label());
    let classes = label.map_or(0, |label| sizes[label]);
    if !CLASSES.contains(&classes) {
        let (least, most) = (CLASSES.start(), CLASSES.end());
        return Err(PyValueError::new_err(format!(
            "the label has {classes} values: expected a column of {least} to {most}"
        )));
    }
    py.detach(|| {
        let copy = TableCopy::new().epsilon(epsilon);
        let copy = delta.map_or(copy.clone(), |delta| copy.delta(delta));
        let plan = copy.plan(&records).map_err(Signals::failed)?;
        let rng = &mut ChaCha20Rng::seed_from_u64(seed.0);
        if !rare_classes {
            let noise = plan.clone().check().map_err(refused)?.noise_multiplier();
            let signal = Signal::new(records.neighbours(), noise);
            let rng = &mut ChaCha20Rng::seed_from_u64(0);
            check_classes(classes, signal, rng).map_err(Signals::failed)?;
        }
        let (found, promise) = promised(plan, &ledger, noise_seed, |releaser, ledger| {
            let multiplier = releaser.plan().noise_multiplier();
            let by = &mut Watched(Direct::new(releaser, ledger));
            let released = Released::of(&mut records, multiplier, Aim::Model, by)?;
            released.classifier(&records, rng, by)
        })?;
        let label = found.model.label();
        Ok(ColumnModel {
            classes: records.columns()[label].codes.clone(),
            model: found.model,
            promise,
        })
    })
}

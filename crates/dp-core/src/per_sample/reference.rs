//! The slow and simple engine: burn's autodiff, one record and one output at a time, for any module.

use std::convert::Infallible;
use std::iter::Peekable;
use std::slice::Iter;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor, TensorData};

use super::ParameterSlot;
use crate::per_sample::LayerError;

/// Lists the trained parameters of `module`: the floating-point ones that require gradients, in the order in which
/// the module visits them.
pub fn parameters_of<M: Module>(module: &M) -> Vec<ParameterSlot> {
    struct Slots(Vec<ParameterSlot>);
    impl ModuleVisitor for Slots {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.0.extend(super::nn::slot(param));
        }
    }
    let mut slots = Slots(Vec::new());
    module.visit(&mut slots);
    slots.0
}

/// Refuses a module in which one record's output depends on another record.
///
/// # Errors
///
/// [`LayerError::MixesRecords`] names the first batch normalisation, or the first state that a module keeps of the
/// records it has seen ([`burn::module::RunningState`]).
pub fn refuse_mixing<M: Module>(module: &M) -> Result<(), LayerError> {
    let mut search = Search::default();
    module.visit(&mut search);
    if search.found.is_none() {
        // Among floating-point values, only a module's own state refuses to require gradients.
        search.states = true;
        let open = module.clone().set_require_grad(true).train();
        open.visit(&mut search);
    }
    match search.found {
        Some((path, module)) => Err(LayerError::MixesRecords { path, module }),
        None => Ok(()),
    }
}

/// The search for the first module that mixes records.
#[derive(Default)]
struct Search {
    path: Vec<String>,
    states: bool,
    found: Option<(String, &'static str)>,
}

impl Search {
    fn find(&mut self, module: &'static str) {
        if self.found.is_none() {
            let path = match &self.path[..] {
                [] => "the module".into(),
                path => path.join("."),
            };
            self.found = Some((path, module));
        }
    }
}

impl ModuleVisitor for Search {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        if container_type == "Struct:BatchNorm" {
            self.find("a batch normalisation");
        }
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.states && !param.is_require_grad() {
            self.find("a running state");
        }
    }
}

/// Per-record gradients of any module, by autodiff. It is the engine for modules without a layer in
/// [`nn::Chain`](super::nn::Chain), and every layer is tested against it.
///
/// The differentiated function runs once for each scalar, since burn keeps no graph for a second backward pass. Give
/// it one record at a time, so that nothing can mix. Dropout in it draws anew each time: weigh the rows whose Gram
/// matrix you looked at, and no others.
///
/// # Example
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::{Device, Tensor};
/// use dp_core::per_sample::{JacobianClip, Reference};
///
/// # fn main() -> Result<(), dp_core::per_sample::LayerError> {
/// let device = Device::flex();
/// let model = LinearConfig::new(2, 2).init(&device);
/// let reference = Reference::new(&model)?;
/// let mut sum = vec![0.0; reference.scalars()];
/// for record in [[1.0, 0.0], [3.0, 4.0]] {
///     // Two outputs, so a Jacobian of two rows.
///     let record = Tensor::<2>::from_data([record], &device);
///     let rows = reference.jacobian(record, |model, x| model.forward(x));
///     // The cotangent (1, -1), inside of a Jacobian of spectral norm 1.
///     let weights = JacobianClip::Spectral.apply(&rows.gram(), &[1.0, -1.0], 1.0);
///     rows.add_weighted(&weights, &mut sum);
/// }
/// assert_eq!(reference.parameters().len(), 2);
/// let norm = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
/// assert!(norm <= 2.0 * 2.0_f64.sqrt() * (1.0 + 1e-5));
/// # Ok(())
/// # }
/// ```
pub struct Reference<M> {
    module: M,
    slots: Vec<ParameterSlot>,
}

impl<M: Module> Reference<M> {
    /// Takes a copy of the module with autodiff, on the module's device.
    ///
    /// # Errors
    ///
    /// Those of [`refuse_mixing`].
    pub fn new(module: &M) -> Result<Self, LayerError> {
        refuse_mixing(module)?;
        Ok(Self {
            module: module.valid().train(),
            slots: parameters_of(module),
        })
    }

    /// The trained parameters, in the order of a row.
    pub fn parameters(&self) -> &[ParameterSlot] {
        &self.slots
    }

    /// The length of a row.
    pub fn scalars(&self) -> usize {
        self.slots.iter().map(ParameterSlot::len).sum()
    }

    /// Computes the gradient of each scalar of one record; `scalars` returns them as tensors of one element.
    ///
    /// On Vulkan and Metal burn's backward pass may fail if only parameters require gradients: let the record require
    /// them too, as [`Reference::jacobian`] does.
    pub fn rows(&self, scalars: impl Fn(&M) -> Vec<Tensor<1>>) -> Rows {
        let rows = self.try_rows(|module| Ok::<_, Infallible>(scalars(module)));
        rows.unwrap_or_else(|never| match never {})
    }

    /// Computes [`Reference::rows`] of a function that may fail.
    ///
    /// # Errors
    ///
    /// Those of `scalars`.
    pub fn try_rows<E>(
        &self,
        scalars: impl Fn(&M) -> Result<Vec<Tensor<1>>, E>,
    ) -> Result<Rows, E> {
        let mut rows = Vec::new();
        loop {
            let mut made = scalars(&self.module)?;
            if rows.len() >= made.len() {
                return Ok(Rows { rows });
            }
            let scalar = made.swap_remove(rows.len());
            drop(made);
            rows.push(self.row(&scalar));
        }
    }

    /// Computes the gradient of each output of one record: `record` is `[1, ..]`, and the output of `forward` is read
    /// in memory order.
    pub fn jacobian<const D: usize, const E: usize>(
        &self,
        record: Tensor<D>,
        forward: impl Fn(&M, Tensor<D>) -> Tensor<E>,
    ) -> Rows {
        let record = record.without_autodiff();
        self.rows(|module| {
            let output = forward(module, record.clone().autodiff().require_grad());
            let outputs = output.dims().iter().product();
            let flat = output.reshape([outputs]);
            (0..outputs).map(|r| flat.clone().narrow(0, r, 1)).collect()
        })
    }

    fn row(&self, scalar: &Tensor<1>) -> Vec<f32> {
        // No parameter reaches this scalar.
        if !scalar.is_tracked() {
            return vec![0.0; self.scalars()];
        }
        let mut collector = Collector {
            gradients: scalar.backward(),
            slots: self.slots.iter().peekable(),
            row: Vec::new(),
        };
        self.module.visit(&mut collector);
        collector.row
    }
}

/// Collects gradients in the order of the slots.
struct Collector<'a> {
    gradients: Gradients,
    slots: Peekable<Iter<'a, ParameterSlot>>,
    row: Vec<f32>,
}

impl ModuleVisitor for Collector<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(slot) = self.slots.next_if(|slot| slot.id == param.id) else {
            return;
        };
        match param.val().grad(&self.gradients) {
            Some(gradient) => self.row.extend(gradient.into_data().iter::<f32>()),
            None => self.row.resize(self.row.len() + slot.len(), 0.0),
        }
    }
}

/// The explicit gradients of some scalars of one record: the rows of `J`.
#[derive(Clone, PartialEq)]
pub struct Rows {
    rows: Vec<Vec<f32>>,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Rows");
        shown.field("rows", &self.rows.len());
        shown.finish_non_exhaustive()
    }
}

impl Rows {
    /// The rows, each of all trained parameters, flat.
    pub fn values(&self) -> &[Vec<f32>] {
        &self.rows
    }

    /// Copies the rows of a range.
    pub fn part(&self, rows: std::ops::Range<usize>) -> Self {
        Self {
            rows: self.rows[rows].to_vec(),
        }
    }

    /// Computes `G = J J^T`, row-major, summed in `f64`.
    pub fn gram(&self) -> Vec<f32> {
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            let pairs = a.iter().zip(b);
            pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
        };
        let row = |a: &Vec<f32>| -> Vec<f32> {
            let row = self.rows.iter().map(|b| dot(a, b) as f32);
            row.collect()
        };
        self.rows.iter().flat_map(row).collect()
    }

    /// Computes the squared norm of `J^T w` in `f64`.
    pub fn norm_squared(&self, weights: &[f32]) -> f64 {
        let mut sum = vec![0.0; self.rows.first().map_or(0, Vec::len)];
        self.add_weighted(weights, &mut sum);
        sum.iter().map(|x| x * x).sum()
    }

    /// The number of scalars in all rows.
    pub(super) fn scalars(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }

    /// Sums `sum_i J_i^T w_i` for weights `[n, g]` of the records of these rows: one flat tensor for each of `slots`.
    pub(super) fn weighted(
        records: &[Self],
        weights: &Tensor<2>,
        slots: &[ParameterSlot],
    ) -> Vec<Tensor<1>> {
        let device = weights.device();
        let g = weights.dims()[1];
        let weights: Vec<f32> = weights.to_data().iter().collect();
        let mut sum = vec![0.0f64; slots.iter().map(ParameterSlot::len).sum()];
        for (rows, weights) in records.iter().zip(weights.chunks_exact(g.max(1))) {
            rows.add_weighted(weights, &mut sum);
        }
        let mut rest = sum.into_iter().map(|x| x as f32);
        let part = |slot: &ParameterSlot| {
            let part: Vec<f32> = rest.by_ref().take(slot.len()).collect();
            Tensor::from_data(TensorData::new(part, [slot.len()]), &device)
        };
        slots.iter().map(part).collect()
    }

    /// Adds `J^T w` to `sum`; a row of weight zero adds nothing, finite or not.
    pub fn add_weighted(&self, weights: &[impl Copy + Into<f64>], sum: &mut [f64]) {
        for (row, &weight) in self.rows.iter().zip(weights) {
            let weight = weight.into();
            if weight == 0.0 {
                continue;
            }
            for (sum, &value) in sum.iter_mut().zip(row) {
                *sum += weight * f64::from(value);
            }
        }
    }
}

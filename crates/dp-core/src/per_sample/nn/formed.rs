//! A layer that forms its gradients by autodiff.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};

use super::pull::gradient_at;
use crate::per_sample::LayerError;
use crate::per_sample::{Gram, Kept, Layer, ParameterSlot, Reference, Rows};

/// Any module, run on one record at a time, so that nothing can mix.
///
/// The rows whose norms are measured are also summed, whatever a pass draws at random. The module's output and the
/// cotangents below it come from other passes; no bound depends on these.
pub(super) struct Formed<M, F> {
    name: &'static str,
    own: M,
    plain: M,
    reference: Reference<M>,
    forward: F,
}

impl<M: Module, F: Fn(&M, Tensor<2>) -> Tensor<2>> Formed<M, F> {
    pub(super) fn new(name: &'static str, module: &M, forward: F) -> Result<Self, LayerError> {
        Ok(Self {
            name,
            own: module.clone(),
            plain: module.valid(),
            reference: Reference::new(module)?,
            forward,
        })
    }

    /// The gradients of `delta_r^T y` for one record, `[1, d_in]`, with its cotangents, `[g, d_out]`.
    fn rows(&self, record: &Tensor<2>, delta: &Tensor<2>) -> Rows {
        let g = delta.dims()[0];
        self.reference.rows(|module| {
            let record = record.clone().autodiff().require_grad();
            let output = (self.forward)(module, record);
            let scalar = |r| (output.clone() * delta.clone().narrow(0, r, 1)).sum();
            (0..g).map(scalar).collect()
        })
    }
}

/// Row `i` of a matrix as a matrix.
fn row(matrix: &Tensor<2>, i: usize) -> Tensor<2> {
    matrix.clone().narrow(0, i, 1)
}

/// The cotangents of record `i`, `[g, d_out]`.
fn of_record(delta: &Tensor<3>, i: usize) -> Tensor<2> {
    delta.clone().narrow(0, i, 1).squeeze_dim(0)
}

fn upload<const D: usize>(values: Vec<f32>, shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

impl<M: Module, F: Fn(&M, Tensor<2>) -> Tensor<2>> Layer for Formed<M, F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        self.reference.parameters().to_vec()
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let n = input.dims()[0];
        // The output has the module's graph if the input has one.
        let module = match input.is_autodiff() {
            true => &self.own,
            false => &self.plain,
        };
        let one = |i| (self.forward)(module, row(&input, i));
        Tensor::cat((0..n).map(one).collect(), 0)
    }

    fn backward(&self, input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let [n, g, _] = delta.dims();
        let one = |i: usize| {
            let (record, delta) = (row(input, i), of_record(&delta, i));
            let pull = |r| {
                gradient_at(record.clone(), row(&delta, r), |x| {
                    (self.forward)(&self.plain, x)
                })
            };
            Tensor::cat((0..g).map(pull).collect(), 0)
        };
        Tensor::stack((0..n).map(one).collect(), 0)
    }

    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Gram> {
        if self.reference.parameters().is_empty() {
            return None;
        }
        let [n, g, _] = delta.dims();
        let one = |i| self.rows(&row(input, i), &of_record(delta, i));
        let rows: Vec<Rows> = (0..n).map(one).collect();
        let values = rows.iter().flat_map(Rows::gram).collect();
        Some(Gram {
            values: upload(values, [n, g, g], &delta.device()),
            // Another pass would draw the module's random numbers, such as dropout's, anew.
            kept: Some(Kept::Rows(rows)),
        })
    }

    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>> {
        if self.reference.parameters().is_empty() {
            return Vec::new();
        }
        let n = input.dims()[0];
        let owed: Vec<f32> = delta.clone().abs().sum_dim(1).into_data().iter().collect();
        let one = |i| self.rows(&row(input, i), &row(&delta, i));
        // A record of cotangent 0 is left out, because its values may be anything.
        let owing = (0..n).filter(|&i| owed[i] != 0.0);
        let rows: Vec<Rows> = owing.map(one).collect();
        let ones = Tensor::ones([rows.len(), 1], &delta.device());
        Rows::weighted(&rows, &ones, self.reference.parameters())
    }

    fn formed_by_record(&self) -> Vec<&'static str> {
        vec![self.name]
    }
}

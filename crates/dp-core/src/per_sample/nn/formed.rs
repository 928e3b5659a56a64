//! A layer whose gradients are formed, by autodiff.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};

use super::pull::gradient_at;
use crate::DpError;
use crate::per_sample::{Layer, ParameterSlot, Reference, Rows};

/// Any module: each record passes it alone, so that nothing can mix.
pub(super) struct Formed<M, F> {
    name: &'static str,
    plain: M,
    reference: Reference<M>,
    forward: F,
}

impl<M: Module, F: Fn(&M, Tensor<2>) -> Tensor<2>> Formed<M, F> {
    pub(super) fn new(name: &'static str, module: &M, forward: F) -> Result<Self, DpError> {
        Ok(Self {
            name,
            plain: module.valid(),
            reference: Reference::new(module)?,
            forward,
        })
    }

    /// The gradients of `delta_r^T y` for one record, `[1, d_in]`, and its cotangents, `[g, d_out]`.
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
        let one = |i| (self.forward)(&self.plain, row(&input, i));
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

    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Tensor<3>> {
        if self.reference.parameters().is_empty() {
            return None;
        }
        let [n, g, _] = delta.dims();
        let one = |i| self.rows(&row(input, i), &of_record(delta, i)).gram();
        let values = (0..n).flat_map(one).collect();
        Some(upload(values, [n, g, g], &delta.device()))
    }

    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>> {
        if self.reference.parameters().is_empty() {
            return Vec::new();
        }
        let owed: Vec<f32> = delta.clone().abs().sum_dim(1).into_data().iter().collect();
        let mut sum = vec![0.0; self.reference.scalars()];
        for (i, owed) in owed.into_iter().enumerate() {
            // Where nothing is owed, what a record sees may be anything.
            if owed != 0.0 {
                let rows = self.rows(&row(input, i), &row(&delta, i));
                rows.add_weighted(&[1.0_f32], &mut sum);
            }
        }
        let mut rest = &sum[..];
        let slots = self.reference.parameters().iter();
        slots
            .map(|slot| {
                let (part, behind) = rest.split_at(slot.len());
                rest = behind;
                let part = part.iter().map(|&x| x as f32).collect();
                upload(part, [slot.len()], &delta.device())
            })
            .collect()
    }

    fn formed_by_record(&self) -> Vec<&'static str> {
        vec![self.name]
    }
}

//! The fully connected layer.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use dp_core::per_sample::{HostLayer, Layer, ParameterSlot};
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};
use rand::Rng;

use super::{constant_bias, gaussian_parameter, host_values};

/// `y = x W + b`, with `W` of shape `[d_in, d_out]`.
///
/// Its part of a record's Gram matrix is `(delta delta^T) (||x||^2 + 1)` (MATH: ghost norms).
#[derive(Module, Debug)]
pub struct Linear {
    /// The weight, `[d_in, d_out]`.
    pub weight: Param<Tensor<2>>,
    /// The bias, `[d_out]`.
    pub bias: Param<Tensor<1>>,
}

impl Linear {
    /// He initialisation, `W ~ N(0, gain / d_in)`, and zero biases. The gain is 2 in front of a
    /// ReLU and 1 in front of a linear output.
    pub fn new(d_in: usize, d_out: usize, gain: f64, rng: &mut impl Rng, device: &Device) -> Self {
        Self {
            weight: gaussian_parameter([d_in, d_out], (gain / d_in as f64).sqrt(), rng, device),
            bias: constant_bias(d_out, 0.0, device),
        }
    }
}

impl Layer for Linear {
    fn name(&self) -> &'static str {
        "Linear"
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        vec![
            ParameterSlot {
                id: self.weight.id,
                shape: self.weight.lazy_shape().as_slice().to_vec(),
            },
            ParameterSlot {
                id: self.bias.id,
                shape: self.bias.lazy_shape().as_slice().to_vec(),
            },
        ]
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        input.matmul(self.weight.val()) + self.bias.val().unsqueeze::<2>()
    }

    fn backward(&self, _input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let [n, g, features] = delta.dims();
        let weight = self.weight.val().transpose();
        let inputs = weight.dims()[1];
        delta
            .reshape([n * g, features])
            .matmul(weight)
            .reshape([n, g, inputs])
    }

    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Tensor<3>> {
        let scale = input.clone().square().sum_dim(1) + 1.0;
        let outer = delta.clone().matmul(delta.clone().swap_dims(1, 2));
        Some(outer * scale.unsqueeze_dim::<3>(2))
    }

    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>> {
        let weight = input.clone().transpose().matmul(delta.clone());
        vec![weight.flatten(0, 1), delta.sum_dim(0).flatten(0, 1)]
    }

    fn host(&self) -> Option<Box<dyn HostLayer>> {
        let [inputs, outputs] = self.weight.val().dims();
        Some(Box::new(HostLinear {
            inputs,
            outputs,
            weight: host_values(&self.weight),
            bias: host_values(&self.bias),
        }))
    }
}

struct HostLinear {
    inputs: usize,
    outputs: usize,
    weight: Vec<f32>,
    bias: Vec<f32>,
}

/// A row-major slice as a matrix; the layer's own sizes make the shape right.
#[allow(clippy::expect_used)]
fn matrix(values: &[f32], rows: usize, columns: usize) -> ArrayView2<'_, f32> {
    ArrayView2::from_shape((rows, columns), values).expect("a chunk's buffer has its layer's size")
}

#[allow(clippy::expect_used)]
fn matrix_mut(values: &mut [f32], rows: usize, columns: usize) -> ArrayViewMut2<'_, f32> {
    ArrayViewMut2::from_shape((rows, columns), values)
        .expect("a chunk's buffer has its layer's size")
}

impl HostLayer for HostLinear {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn parameters(&self) -> usize {
        self.weight.len() + self.bias.len()
    }

    fn forward(&self, n: usize, input: &[f32], output: &mut [f32]) {
        for row in output.chunks_exact_mut(self.outputs) {
            row.copy_from_slice(&self.bias);
        }
        general_mat_mul(
            1.0,
            &matrix(input, n, self.inputs),
            &matrix(&self.weight, self.inputs, self.outputs),
            1.0,
            &mut matrix_mut(output, n, self.outputs),
        );
    }

    fn backward(
        &self,
        (n, g): (usize, usize),
        _input: &[f32],
        _output: &[f32],
        delta: &[f32],
        delta_in: &mut [f32],
    ) {
        general_mat_mul(
            1.0,
            &matrix(delta, n * g, self.outputs),
            &matrix(&self.weight, self.inputs, self.outputs).t(),
            0.0,
            &mut matrix_mut(delta_in, n * g, self.inputs),
        );
    }

    fn gram(&self, (n, g): (usize, usize), input: &[f32], delta: &[f32], gram: &mut [f32]) {
        for i in 0..n {
            let x = &input[i * self.inputs..(i + 1) * self.inputs];
            let scale = dot(x, x) + 1.0;
            let rows = &delta[i * g * self.outputs..(i + 1) * g * self.outputs];
            add_scaled_gram(rows, self.outputs, g, scale, &mut gram[i * g * g..]);
        }
    }

    fn gradient(&self, n: usize, input: &[f32], delta: &[f32], gradient: &mut [f32]) {
        let (weight, bias) = gradient.split_at_mut(self.weight.len());
        general_mat_mul(
            1.0,
            &matrix(input, n, self.inputs).t(),
            &matrix(delta, n, self.outputs),
            1.0,
            &mut matrix_mut(weight, self.inputs, self.outputs),
        );
        for row in delta.chunks_exact(self.outputs) {
            for (b, d) in bias.iter_mut().zip(row) {
                *b += d;
            }
        }
    }
}

/// The dot product in eight lanes, which the compiler turns into vector instructions.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for ((lane, x), y) in lanes.iter_mut().zip(x).zip(y) {
            *lane += x * y;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    lanes.iter().sum::<f32>() + rest
}

/// Adds `scale * rows rows^T`, `g x g`, to the front of `gram`.
pub(super) fn add_scaled_gram(rows: &[f32], length: usize, g: usize, scale: f32, gram: &mut [f32]) {
    for r in 0..g {
        for s in 0..=r {
            let value = scale
                * dot(
                    &rows[r * length..(r + 1) * length],
                    &rows[s * length..(s + 1) * length],
                );
            gram[r * g + s] += value;
            if s != r {
                gram[s * g + r] += value;
            }
        }
    }
}

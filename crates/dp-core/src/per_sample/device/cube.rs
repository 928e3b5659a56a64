//! Finiteness and small symmetric eigenproblems on CubeCL, with one unit for each record.
//!
//! The eigenproblems take cyclic Jacobi rotations in `f32`. After the sweeps the matrix is diagonal up to rounding,
//! and the result is that of a matrix that differs from the given one by a few units of 2^-24 of its norm. The
//! allowance for the rounding of a Gram matrix is many times that.

use burn::backend::TensorMetadata;
use burn::tensor::Shape;
use burn_cubecl::CubeBackend;
use burn_cubecl::cubecl;
use burn_cubecl::cubecl::prelude::*;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;

use super::extension::PerRecord;

/// The number of rotations of every pair. They converge quadratically: the last ones change nothing at this size.
const SWEEPS: usize = 8;

impl PerRecord for CubeBackend {
    fn spectral_clip(
        gram: CubeTensor,
        cotangents: CubeTensor,
        bound: f32,
        rounding: f32,
    ) -> CubeTensor {
        let (gram, cotangents) = (into_contiguous(gram), into_contiguous(cotangents));
        let shape = cotangents.shape();
        let [n, d] = shape.dims();
        let (client, device) = (cotangents.client.clone(), cotangents.device.clone());
        let output = empty_device_contiguous_dtype(client.clone(), device, shape, cotangents.dtype);
        if n == 0 || d == 0 {
            return output;
        }
        let unit = CubeDim::new_1d(64);
        clip_records::launch(
            &client,
            cubecl::calculate_cube_count_elemwise(&client, n, unit),
            unit,
            gram.into_tensor_arg(),
            cotangents.into_tensor_arg(),
            output.clone().into_tensor_arg(),
            n as u32,
            bound,
            rounding,
            d,
            SWEEPS,
        );
        output
    }

    fn finite_rows(values: CubeTensor) -> CubeTensor {
        let values = into_contiguous(values);
        let [n, width] = values.shape().dims();
        let (client, device) = (values.client.clone(), values.device.clone());
        let shape = Shape::new([n, 1]);
        let output = empty_device_contiguous_dtype(client.clone(), device, shape, values.dtype);
        if n == 0 {
            return output;
        }
        let unit = CubeDim::new_1d(64);
        mark_finite::launch(
            &client,
            cubecl::calculate_cube_count_elemwise(&client, n, unit),
            unit,
            values.into_tensor_arg(),
            output.clone().into_tensor_arg(),
            n as u32,
            width as u32,
        );
        output
    }
}

/// Marks the finite rows, with one unit for each row.
#[cube(launch)]
fn mark_finite(values: &Tensor<f32>, output: &mut Tensor<f32>, n: u32, width: u32) {
    let row = ABSOLUTE_POS;
    if row >= n as usize {
        terminate!();
    }
    let mut mark = 1.0f32;
    for place in 0..width as usize {
        if !finite(values[row * width as usize + place]) {
            mark = 0.0;
        }
    }
    output[row] = mark;
}

/// Whether a float is finite, by its bits: a compiler may assume that floats are finite.
#[cube]
fn finite(value: f32) -> bool {
    u32::reinterpret(value) & 0x7f80_0000u32 != 0x7f80_0000u32
}

#[cube(launch)]
fn clip_records(
    gram: &Tensor<f32>,
    cotangents: &Tensor<f32>,
    output: &mut Tensor<f32>,
    n: u32,
    bound: f32,
    rounding: f32,
    #[comptime] d: usize,
    #[comptime] sweeps: usize,
) {
    let record = ABSOLUTE_POS;
    if record >= n as usize {
        terminate!();
    }
    let mut a = Array::<f32>::new(comptime!(d * d));
    let mut v = Array::<f32>::new(comptime!(d * d));
    let start = record * comptime!(d * d);
    let mut good = true;
    let mut trace = 0.0f32;
    for r in 0..d {
        good = good && finite(cotangents[record * d + r]);
        for s in 0..d {
            let here = gram[start + r * d + s];
            good = good && finite(here);
            // f32 sums leave G symmetric only to rounding.
            a[r * d + s] = 0.5 * (here + gram[start + s * d + r]);
            v[r * d + s] = 0.0;
        }
        v[r * d + r] = 1.0;
        trace += a[r * d + r];
    }
    let raised = rounding * trace;
    good = good && finite(trace);
    if !good {
        for r in 0..d {
            output[record * d + r] = 0.0;
        }
        terminate!();
    }
    // If the trace is below the bound's square, so is every eigenvalue.
    if trace + raised <= bound * bound {
        for r in 0..d {
            output[record * d + r] = cotangents[record * d + r];
        }
        terminate!();
    }
    for _sweep in 0..sweeps {
        for p in 0..d {
            for q in p + 1..d {
                let across = a[p * d + q];
                // An entry below the rounding of the diagonal needs no rotation.
                if across.abs() > 1e-9 * (a[p * d + p].abs() + a[q * d + q].abs()) {
                    let tau = (a[q * d + q] - a[p * d + p]) / (2.0 * across);
                    let sign = select(tau >= 0.0, 1.0f32, -1.0f32);
                    let tangent = sign / (tau.abs() + (1.0 + tau * tau).sqrt());
                    let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
                    let sine = tangent * cosine;
                    for k in 0..d {
                        let kp = a[k * d + p];
                        let kq = a[k * d + q];
                        a[k * d + p] = cosine * kp - sine * kq;
                        a[k * d + q] = sine * kp + cosine * kq;
                    }
                    for k in 0..d {
                        let pk = a[p * d + k];
                        let qk = a[q * d + k];
                        a[p * d + k] = cosine * pk - sine * qk;
                        a[q * d + k] = sine * pk + cosine * qk;
                        let kp = v[k * d + p];
                        let kq = v[k * d + q];
                        v[k * d + p] = cosine * kp - sine * kq;
                        v[k * d + q] = sine * kp + cosine * kq;
                    }
                }
            }
        }
    }
    for r in 0..d {
        output[record * d + r] = 0.0;
    }
    for e in 0..d {
        let singular = (a[e * d + e].max(0.0) + raised).sqrt();
        let mut along = 0.0f32;
        for r in 0..d {
            along += v[r * d + e] * cotangents[record * d + r];
        }
        let mut scale = 1.0f32;
        if singular > bound {
            scale = bound / singular;
        }
        for r in 0..d {
            output[record * d + r] += scale * along * v[r * d + e];
        }
    }
}

//! Clipping from Gram matrices, for many records at once.

use burn::tensor::{Tensor, TensorData};
use dp_core::per_sample::{JacobianClip, Rounding, norm_clip_weight, norm_clip_weights};

use super::{Case, TestDevice, Tolerance, wave};

const GROUP: &str = "dp-core";

/// Gram matrices of `n` Jacobians of sizes from far below the bound to far above, the last of them not
/// finite.
fn grams(n: usize, d: usize) -> Vec<f32> {
    let entries = wave(n * d * 2 * d);
    let mut grams = Vec::with_capacity(n * d * d);
    for (i, jacobian) in entries.chunks_exact(2 * d * d).enumerate() {
        let size = 10f32.powi(i as i32 % 5 - 2);
        for r in 0..d {
            for s in 0..d {
                let rows = jacobian[2 * d * r..].iter().zip(&jacobian[2 * d * s..]);
                let product: f32 = rows.take(2 * d).map(|(a, b)| a * b).sum();
                grams.push(size * product);
            }
        }
    }
    grams[n * d * d - 1] = f32::NAN;
    grams
}

fn host(clip: JacobianClip, n: usize, d: usize) -> Vec<f64> {
    let (grams, cotangents) = (grams(n, d), wave(n * d));
    grams
        .chunks_exact(d * d)
        .zip(cotangents.chunks_exact(d))
        .flat_map(|(gram, c)| clip.apply(gram, c, 1.0))
        .collect()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for clip in [JacobianClip::Rows, JacobianClip::Spectral] {
        // 32 columns are the most that the kernel takes; the host takes the rest.
        for (n, d) in [(5, 1), (70, 3), (30, 8), (6, 16), (10, 32), (6, 33)] {
            cases.push(Case::new(
                GROUP,
                format!("{clip:?} clip of {n} Jacobians, d = {d}").to_lowercase(),
                // The device's bound is tightened by more than an operation may be off.
                Tolerance::Clip,
                move |test_device: &TestDevice| {
                    let on = |values: Vec<f32>, shape: [usize; 2]| -> Tensor<2> {
                        Tensor::from_data(TensorData::new(values, shape), &test_device.device)
                    };
                    let gram = on(grams(n, d), [n, d * d]).reshape([n, d, d]);
                    let cotangents = on(wave(n * d), [n, d]);
                    let rounding = Rounding::SINGLE;
                    let found = clip.apply_all(gram, cotangents, 1.0, rounding);
                    found.into_data().iter::<f64>().collect()
                },
                move || host(clip, n, d),
            ));
        }
    }
    let norms = || vec![0.0, 1e-30, 0.25, 1.0, 9.0, 1e30, f32::INFINITY, f32::NAN];
    cases.push(Case::new(
        GROUP,
        "weights of norms",
        Tolerance::Clip,
        move |test_device: &TestDevice| {
            let squares = Tensor::<1>::from_floats(norms().as_slice(), &test_device.device);
            let rounding = Rounding::SINGLE;
            let found = norm_clip_weights(squares, 1.0, rounding);
            found.into_data().iter::<f64>().collect()
        },
        move || {
            let weight = |square| f64::from(norm_clip_weight(f64::from(square), 1.0));
            norms().into_iter().map(weight).collect()
        },
    ));
    cases
}

//! The same numbers on every backend of this build that this machine has: `just portability`.

use std::process::Command;

use burn::tensor::{Tensor, TensorData};
use portability::available_devices;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::Slices;
use swd::cells::quantile_cells;
use swd::transport::tensor::{cotangent_rounding, two_sample_gradients};
use test_support::skipped;

/// Gradients that are a little wrong are seen there, and what a private step reads back from a GPU. In a process of its
/// own: one thread of it compiles a GPU's kernels, which takes longest, and other tests of a GPU have this one beside it.
#[test]
fn every_backend_gives_the_same_numbers() {
    for test_device in available_devices().iter().filter(|on| !on.private()) {
        let why = format!("{}: its products are too coarse", test_device.name);
        skipped("private-steps", &why);
    }
    for test_device in available_devices().iter().filter(|on| !on.hardware()) {
        let why = format!("{}: minutes of compiling", test_device.name);
        skipped("public-autoencoders-on-hardware", &why);
    }
    let mut program = Command::new(env!("CARGO_BIN_EXE_portability"));
    // What it lacks is counted here.
    let output = program.env_remove("SLIVER_SKIPPED").output();
    let output = output.expect("it starts");
    let [said, failed] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{said}{failed}");
}

/// Points, `[n, d]`, with their keys on a device, `[k, n]`.
#[derive(Clone, Copy)]
struct Side<'a> {
    points: &'a [f32],
    keys: &'a [f32],
}

impl Side<'_> {
    /// The projections in `f64`.
    fn projected(&self, theta: &[f64]) -> Vec<f64> {
        let along = |point: &[f32]| {
            point
                .iter()
                .zip(theta)
                .map(|(&x, t)| f64::from(x) * t)
                .sum()
        };
        self.points.chunks(theta.len()).map(along).collect()
    }

    /// The cotangents towards `other` in `f64`, in the order of the device's keys.
    fn cotangents(&self, other: Side, slices: &Slices) -> Vec<f64> {
        let (d, k) = (slices.dim(), slices.count());
        let n = self.points.len() / d;
        let mut cotangents = vec![0.0; self.points.len()];
        for l in 0..k {
            let theta = slices.direction(l);
            let keys = &self.keys[l * n..(l + 1) * n];
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&i, &j| keys[i].total_cmp(&keys[j]));
            let mut targets = other.projected(theta);
            targets.sort_by(f64::total_cmp);
            let cells = quantile_cells(&targets, n).expect("cells");
            let projected = self.projected(theta);
            for (i, q) in order.into_iter().zip(cells) {
                for (a, t) in theta.iter().enumerate() {
                    cotangents[i * d + a] += 2.0 / (n * k) as f64 * (projected[i] - q) * t;
                }
            }
        }
        cotangents
    }
}

/// The errors that private steps on a device make room for are not larger than the bounds on them.
#[test]
fn cotangents_are_rounded_no_more_than_stated() {
    let (n, m, d, k) = (3000, 1700, 3, 50);
    let mut rng = ChaCha20Rng::seed_from_u64(31);
    // In the ball of radius 1.
    let mut sample = |count: usize| -> Vec<f32> {
        (0..count * d)
            .map(|_| rng.random_range(-0.57..0.57))
            .collect()
    };
    let (x, y) = (sample(n), sample(m));
    let slices = Slices::tight(d, k, &mut rng).expect("slices");
    let cells = 6.0 * f64::powi(2.0, -24);
    let bound = cotangent_rounding(k, d, 1.0, 1.0) + cells;
    for test_device in available_devices()
        .iter()
        .filter(|test_device| test_device.private())
    {
        let on = |values: &[f32]| -> Tensor<2> {
            let shape = [values.len() / d, d];
            Tensor::from_data(TensorData::new(values.to_vec(), shape), &test_device.device)
        };
        let theta = slices.tensor(&test_device.device);
        let [of_x, of_y] = [&x, &y].map(|points| -> Vec<f32> {
            let keys = theta.clone().transpose().matmul(on(points).transpose());
            keys.into_data().iter().collect()
        });
        let (left, right) = (
            Side {
                points: &x,
                keys: &of_x,
            },
            Side {
                points: &y,
                keys: &of_y,
            },
        );
        let expected = [
            left.cotangents(right, &slices),
            right.cotangents(left, &slices),
        ];
        let (in_x, in_y, _) = two_sample_gradients(on(&x), on(&y), theta).expect("cotangents");
        for (found, expected) in [in_x, in_y].into_iter().zip(&expected) {
            let records = found.dims()[0] as f64;
            let found: Vec<f64> = found.into_data().iter().collect();
            let mut worst = 0.0f64;
            for (a, b) in found.chunks(d).zip(expected.chunks(d)) {
                let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
                worst = worst.max(squares.sum::<f64>().sqrt() * records / 2.0);
            }
            let name = &test_device.name;
            assert!(worst <= bound, "{name}: {worst:e} of {bound:e}");
            // Nor are the bounds empty.
            assert!(worst > 1e-3 * bound, "{name}: only {worst:e} of {bound:e}");
        }
    }
}

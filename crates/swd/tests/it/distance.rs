//! The differentiable distance against its definition, finite differences and the metric's laws.

use burn::tensor::{Device, Tensor, TensorData};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::transport::host::{sliced_cotangents, sliced_cotangents_and_distance};
use swd::transport::tensor::{sliced_w2_squared, transport_residual, w2_squared};
use swd::{Slices, SwdError, TargetQuantiles};

use crate::common::{all_close, numbers};

fn matrix(values: &[f32], columns: usize, device: &Device) -> Tensor<2> {
    let shape = [values.len() / columns, columns];
    Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
}

fn distance(x: &[f32], y: &[f32], slices: &Slices) -> f64 {
    let device = Device::flex();
    let d = slices.dim();
    let (x, y) = (matrix(x, d, &device), matrix(y, d, &device));
    numbers(sliced_w2_squared(x, y, slices.tensor(&device)).unwrap())[0]
}

/// `SW_2^2` by proposition 3.1 of Rodriguez-Vitores et al. 2025, arXiv 2502.01701, a double loop over `R_ij`, in
/// `f64`.
fn distance_reference(x: &[f64], y: &[f64], slices: &Slices) -> f64 {
    let d = slices.dim();
    let mut sum = 0.0;
    for l in 0..slices.count() {
        let project = |points: &[f64]| {
            let along = |x: &[f64]| x.iter().zip(slices.direction(l)).map(|(x, t)| x * t).sum();
            let mut values: Vec<f64> = points.chunks(d).map(along).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (u, v) = (project(x), project(y));
        let (n, m) = (u.len() as f64, v.len() as f64);
        for (i, u) in u.iter().enumerate() {
            for (j, v) in v.iter().enumerate() {
                let low = (i as f64 / n).max(j as f64 / m);
                let high = ((i + 1) as f64 / n).min((j + 1) as f64 / m);
                sum += (high - low).max(0.0) * (u - v).powi(2);
            }
        }
    }
    sum / slices.count() as f64
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&x| f64::from(x)).collect()
}

fn random(count: usize, ties: bool, rng: &mut ChaCha20Rng) -> Vec<f32> {
    let mut draw = || -> f32 { rng.random_range(-1.5..1.5) };
    let round = |x: f32| if ties { (x * 2.0).round() / 2.0 } else { x };
    (0..count).map(|_| round(draw())).collect()
}

/// Equal, smaller, larger, dividing and not dividing sample sizes.
const SIZES: [[usize; 2]; 8] = [
    [1, 1],
    [12, 12],
    [4, 12],
    [12, 4],
    [5, 12],
    [12, 7],
    [1, 9],
    [33, 20],
];

#[test]
fn distance_is_that_of_the_definition() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for [n, m] in SIZES {
        for (d, k) in [(1, 3), (2, 5), (6, 9)] {
            for ties in [false, true] {
                let slices = Slices::iid(d, k, &mut rng).unwrap();
                let x = random(n * d, ties, &mut rng);
                let y = random(m * d, ties, &mut rng);
                let value = distance(&x, &y, &slices);
                let expected = distance_reference(&wide(&x), &wide(&y), &slices);
                assert!((value - expected).abs() <= 2e-6 * (1.0 + expected));
                // The host path reports the same distance.
                let cells = TargetQuantiles::of_sample(&y, &slices, n).unwrap();
                let (_, host) = sliced_cotangents_and_distance(&x, &slices, &cells).unwrap();
                assert!((host - expected).abs() <= 1e-12 * (1.0 + expected));
            }
        }
    }
}

#[test]
fn gradients_are_the_cotangents_and_the_finite_differences() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let device = Device::flex().autodiff();
    for [n, m] in SIZES {
        let (d, k) = (3, 4);
        let slices = Slices::iid(d, k, &mut rng).unwrap();
        let x = random(n * d, false, &mut rng);
        let y = random(m * d, false, &mut rng);
        let x_tensor = matrix(&x, d, &device).require_grad();
        let y_tensor = matrix(&y, d, &device).require_grad();
        let theta = slices.tensor(&device);
        let value = sliced_w2_squared(x_tensor.clone(), y_tensor.clone(), theta).unwrap();
        let gradients = value.backward();
        let in_x = numbers(x_tensor.grad(&gradients).unwrap());
        let in_y = numbers(y_tensor.grad(&gradients).unwrap());

        let of_y = TargetQuantiles::of_sample(&y, &slices, n).unwrap();
        let of_x = TargetQuantiles::of_sample(&x, &slices, m).unwrap();
        let c_x = wide(&sliced_cotangents(&x, &slices, &of_y).unwrap());
        let c_y = wide(&sliced_cotangents(&y, &slices, &of_x).unwrap());
        all_close(&in_x, &c_x, 1e-5);
        all_close(&in_y, &c_y, 1e-5);

        // Central differences of the definition, which is quadratic between crossings.
        let (x, y) = (wide(&x), wide(&y));
        let slope = |index: usize, of_x: bool| {
            let h = 1e-6;
            let at = |step: f64| {
                let (mut x, mut y) = (x.clone(), y.clone());
                let moved = if of_x { &mut x } else { &mut y };
                moved[index] += step;
                distance_reference(&x, &y, &slices)
            };
            (at(h) - at(-h)) / (2.0 * h)
        };
        let slopes =
            |side: &[f64], of_x| (0..side.len()).map(|i| slope(i, of_x)).collect::<Vec<_>>();
        all_close(&in_x, &slopes(&x, true), 1e-4);
        all_close(&in_y, &slopes(&y, false), 1e-4);
    }
}

/// Ties in the projections themselves, where host and device must break them alike: coordinates
/// are halves and the slices axes, so that projections are exact.
#[test]
fn ties_are_broken_by_index_on_both_paths() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let device = Device::flex().autodiff();
    for [n, m] in SIZES {
        let axes = [0.0, 1.0, -1.0, 0.0];
        let slices = Slices::from_directions(2, &axes).unwrap();
        let x = random(n * 2, true, &mut rng);
        let y = random(m * 2, false, &mut rng);
        let x_tensor = matrix(&x, 2, &device).require_grad();
        let (y_tensor, theta) = (matrix(&y, 2, &device), slices.tensor(&device));
        let value = sliced_w2_squared(x_tensor.clone(), y_tensor, theta).unwrap();
        let gradients = value.backward();
        let gradient = numbers(x_tensor.grad(&gradients).unwrap());
        let cells = TargetQuantiles::of_sample(&y, &slices, n).unwrap();
        let expected = wide(&sliced_cotangents(&x, &slices, &cells).unwrap());
        all_close(&gradient, &expected, 1e-6);

        // The residuals on the device, summed as the cotangents are.
        let projected = matrix(&x, 2, &device).matmul(slices.tensor(&device));
        let residual = transport_residual(projected, cells.tensor(&device)).unwrap();
        let cotangents = residual.matmul(slices.tensor(&device).transpose()) / n as f32;
        all_close(&numbers(cotangents), &expected, 1e-6);
    }
}

#[test]
fn shared_cells_serve_every_slice() {
    let device = Device::flex();
    let projected = matrix(&[0.5, 3.0, -1.0, 2.0, 0.5, 1.0], 2, &device);
    let cells = TargetQuantiles::shared(vec![-1.0, 0.0, 1.0], 0.0).unwrap();
    let residual = transport_residual(projected, cells.tensor(&device)).unwrap();
    assert_eq!(numbers(residual), [0.5, 2.0, 0.0, 2.0, -0.5, 2.0]);
}

#[test]
fn one_dimension_needs_no_slices() {
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let device = Device::flex().autodiff();
    let line = Slices::from_directions(1, &[1.0]).unwrap();
    for [n, m] in SIZES {
        let (u, v) = (random(n, true, &mut rng), random(m, true, &mut rng));
        let tensor = |values: &[f32]| Tensor::<1>::from_floats(values, &device);
        let u_tensor = tensor(&u).require_grad();
        let value = w2_squared(u_tensor.clone(), tensor(&v)).unwrap();
        let expected = distance_reference(&wide(&u), &wide(&v), &line);
        assert!((numbers(value.clone())[0] - expected).abs() < 1e-5);
        let gradient = numbers(u_tensor.grad(&value.backward()).unwrap());
        let cells = TargetQuantiles::of_sample(&v, &line, n).unwrap();
        let cotangents = wide(&sliced_cotangents(&u, &line, &cells).unwrap());
        all_close(&gradient, &cotangents, 1e-6);
    }
}

#[test]
fn bad_input_is_refused() {
    let device = Device::flex();
    let slices = matrix(&[1.0, 0.0, 0.0, 1.0], 2, &device);
    let good = matrix(&[0.0, 1.0, 2.0, 3.0], 2, &device);
    let three = matrix(&[0.0, 1.0, 2.0], 3, &device);
    let nan = matrix(&[0.0, 1.0, 2.0, f32::NAN], 2, &device);
    assert!(sliced_w2_squared(good.clone(), three.clone(), slices.clone()).is_err());
    assert!(sliced_w2_squared(three.clone(), three.clone(), slices.clone()).is_err());
    assert!(matches!(
        sliced_w2_squared(good.clone(), nan, slices.clone()),
        Err(SwdError::NotANumber { index: 1, .. })
    ));
    assert!(transport_residual(good.clone(), three).is_err());
    assert!(transport_residual(slices, good).is_ok());
}

/// Points and slices for the laws: two samples and a seed for the slices.
fn samples() -> impl Strategy<Value = (Vec<f32>, Vec<f32>, u64)> {
    let sample = |most| {
        prop::collection::vec(prop_oneof![3 => -2.0_f32..2.0, 1 => Just(0.5_f32)], 2..most)
            .prop_map(|values| values[..values.len() / 2 * 2].to_vec())
    };
    (sample(30), sample(30), any::<u64>())
}

fn slices_for(seed: u64) -> Slices {
    Slices::tight(2, 5, &mut ChaCha20Rng::seed_from_u64(seed)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_is_a_distance_of_measures((x, y, seed) in samples(), turn in 0_usize..30) {
        let slices = slices_for(seed);
        let value = distance(&x, &y, &slices);
        prop_assert!(value >= 0.0);
        let mut turned = x.clone();
        turned.rotate_left(turn % (x.len() / 2) * 2);
        for same in [distance(&y, &x, &slices), distance(&turned, &y, &slices)] {
            prop_assert!((value - same).abs() <= 1e-6 * (1.0 + value));
        }
        prop_assert_eq!(distance(&x, &turned, &slices), 0.0);
        // A repeated sample is the same measure.
        prop_assert!(distance(&x, &turned.repeat(3), &slices) < 1e-10);
    }

}

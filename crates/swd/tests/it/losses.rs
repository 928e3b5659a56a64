//! The loss module, and the weighted distances: values beside POT's, definitions in
//! `f64`, finite differences and laws.

use burn::tensor::{Device, Tensor, TensorData};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use serde_json::Value;
use swd::transport::tensor::{sliced_w2_squared, w2_squared_1d, wp_power_1d};
use swd::{SlicedWassersteinConfig, Slices, SwdError};

use crate::common::{all_close, floats, numbers, pot};

fn matrix(values: &[f64], columns: usize, device: &Device) -> Tensor<2> {
    let narrow: Vec<f32> = values.iter().map(|&x| x as f32).collect();
    let shape = [values.len() / columns, columns];
    Tensor::from_data(TensorData::new(narrow, shape), device)
}

fn line(values: &[f64], device: &Device) -> Tensor<1> {
    matrix(values, 1, device).reshape([values.len()])
}

fn number(tensor: Tensor<1>) -> f64 {
    numbers(tensor)[0]
}

/// Numbers that an `f32` holds.
fn random(count: usize, rng: &mut ChaCha20Rng) -> Vec<f64> {
    let mut draw = || f64::from(rng.random_range(-1.5_f32..1.5));
    (0..count).map(|_| draw()).collect()
}

/// The central difference of `of` in each of the numbers.
fn slopes(at: &[f64], of: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    // So small that none of the fixed points meets another on the way.
    const STEP: f64 = 1e-8;
    let moved = |index: usize, step: f64| {
        let mut values = at.to_vec();
        values[index] += step;
        of(&values)
    };
    let slope = |index| (moved(index, STEP) - moved(index, -STEP)) / (2.0 * STEP);
    (0..at.len()).map(slope).collect()
}

// Values beside POT's.

fn pot_list(name: &str) -> Vec<f64> {
    floats(&pot(name))
}

fn agrees_with_pot(found: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
}

#[test]
fn sliced_values_are_those_of_pot() {
    let device = Device::flex();
    let [x, y] = ["x", "y"].map(|name| matrix(&pot_list(name), 5, &device));
    let theta = matrix(&pot_list("projections"), 50, &device);
    let slices = Slices::from_tensor(theta.clone()).unwrap();
    let loss = SlicedWassersteinConfig::new().init();
    let root = |x: &Tensor<2>, y: &Tensor<2>| {
        let squared = loss.forward_with(x.clone(), y.clone(), &slices);
        number(squared.unwrap()).sqrt()
    };
    agrees_with_pot(root(&x, &y), &pot("sliced"));
    agrees_with_pot(root(&x, &x), &pot("sliced_same"));
    let fewer = x.clone().slice([0..15, 0..5]);
    agrees_with_pot(root(&fewer, &y), &pot("sliced_equal_sizes"));

    // Projections of another length: POT takes them as they are, here they are the same directions.
    let long = theta * matrix(&pot_list("lengths"), 50, &device);
    let scaled = Slices::from_tensor(long.clone()).unwrap();
    let found = loss.forward_with(x.clone(), y.clone(), &scaled).unwrap();
    agrees_with_pot(number(found).sqrt(), &pot("sliced"));
    let found = sliced_w2_squared(x, y, long).unwrap();
    agrees_with_pot(number(found).sqrt(), &pot("sliced"));
    assert!((pot("sliced_long").as_f64().unwrap() - pot("sliced").as_f64().unwrap()).abs() > 0.1);
}

#[test]
fn weighted_values_are_those_of_pot() {
    let device = Device::flex();
    let [u, v] = ["u", "v"].map(|name| line(&pot_list(name), &device));
    let [a, b] = ["a", "b"].map(pot_list);
    for (p, expected) in pot("weighted").as_object().unwrap() {
        let p = p.parse().unwrap();
        let found = wp_power_1d(u.clone(), &a, v.clone(), &b, p).unwrap();
        agrees_with_pot(number(found), expected);
    }
    let squared = w2_squared_1d(u, &a, v, &b).unwrap();
    agrees_with_pot(number(squared), &pot("weighted")["2"]);
}

// The module.

#[test]
fn the_module_draws_its_slices_from_the_generator() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let device = Device::flex();
    let (x, y) = (random(12 * 3, &mut rng), random(7 * 3, &mut rng));
    let [x, y] = [x, y].map(|side| matrix(&side, 3, &device));
    for tight in [false, true] {
        let config = SlicedWassersteinConfig::new().with_slices(9);
        let loss = config.with_tight_frame(tight).init();
        let seeded = || ChaCha20Rng::seed_from_u64(5);
        let slices = match tight {
            true => Slices::tight(3, 9, &mut seeded()),
            false => Slices::iid(3, 9, &mut seeded()),
        };
        let slices = slices.unwrap();
        let sampled = number(loss.forward(x.clone(), y.clone(), &mut seeded()).unwrap());
        let given = loss.forward_with(x.clone(), y.clone(), &slices).unwrap();
        assert_eq!(sampled, number(given));
        let alone = |l| {
            let slice = Slices::from_directions(3, slices.direction(l)).unwrap();
            number(loss.forward_with(x.clone(), y.clone(), &slice).unwrap())
        };
        assert!(((0..9).map(alone).sum::<f64>() / 9.0 - sampled).abs() < 1e-6);
    }
    // Another draw, another estimate.
    let loss = SlicedWassersteinConfig::new().init();
    assert_eq!(loss.slices, 50);
    let mut draw = || number(loss.forward(x.clone(), y.clone(), &mut rng).unwrap());
    assert_ne!(draw(), draw());
}

#[test]
fn the_module_refuses_what_has_no_distance() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let device = Device::flex();
    let x = matrix(&[0.0, 1.0, 2.0, 3.0], 2, &device);
    let none = SlicedWassersteinConfig::new().with_slices(0).init();
    assert!(none.forward(x.clone(), x.clone(), &mut rng).is_err());
    let few = SlicedWassersteinConfig::new().with_slices(1);
    let few = few.with_tight_frame(true).init();
    let refused = few.forward(x.clone(), x.clone(), &mut rng).unwrap_err();
    assert_eq!(refused, SwdError::TooFewSlices { count: 1, dim: 2 });
    let loss = SlicedWassersteinConfig::new().init();
    let wide = matrix(&[0.0; 3], 3, &device);
    assert!(loss.forward(x.clone(), wide, &mut rng).is_err());
    // A zero column has no direction: its number is in the error.
    let zero = matrix(&[1.0, 0.0, 1.0, 0.0], 2, &device);
    let error = sliced_w2_squared(x.clone(), x, zero.clone()).unwrap_err();
    assert!(matches!(error, SwdError::ZeroDirection { index: 1, .. }));
    let error = Slices::from_tensor(zero).unwrap_err().to_string();
    assert!(error.contains("direction 1 has length 0"), "{error}");
}

// Weighted samples on the line.

/// `W_p^p` by its definition, a double loop over the shared lengths of the intervals of mass.
fn wp_power_reference(x: &[f64], a: &[f64], y: &[f64], b: &[f64], p: f64) -> f64 {
    let intervals = |values: &[f64], weights: &[f64]| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
        let sum: f64 = weights.iter().sum();
        let mut end = 0.0;
        let mut laid = Vec::new();
        for i in order {
            let start = end;
            end += weights[i] / sum;
            laid.push((values[i], start, end));
        }
        laid
    };
    let (x, y) = (intervals(x, a), intervals(y, b));
    let pairs = x.iter().flat_map(|i| y.iter().map(move |j| (i, j)));
    pairs
        .map(|(i, j)| (i.2.min(j.2) - i.1.max(j.1)).max(0.0) * (i.0 - j.0).abs().powf(p))
        .sum()
}

#[test]
fn weighted_gradients_are_the_finite_differences() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let device = Device::flex().autodiff();
    for (n, m) in [(1, 1), (6, 6), (5, 9), (12, 1)] {
        let (x, y) = (random(n, &mut rng), random(m, &mut rng));
        let mut weights =
            |count: usize| -> Vec<f64> { (0..count).map(|_| rng.random_range(0.1..2.0)).collect() };
        let (a, b) = (weights(n), weights(m));
        for p in [1.0, 1.5, 2.0, 3.0] {
            let [u, v] = [&x, &y].map(|side| line(side, &device).require_grad());
            let value = wp_power_1d(u.clone(), &a, v.clone(), &b, p).unwrap();
            let gradients = value.backward();
            let expected = wp_power_reference(&x, &a, &y, &b, p);
            assert!((number(value) - expected).abs() < 1e-5 * (1.0 + expected));
            let in_x = slopes(&x, |x| wp_power_reference(x, &a, &y, &b, p));
            let in_y = slopes(&y, |y| wp_power_reference(&x, &a, y, &b, p));
            all_close(&numbers(u.grad(&gradients).unwrap()), &in_x, 1e-4);
            all_close(&numbers(v.grad(&gradients).unwrap()), &in_y, 1e-4);
        }
    }
}

#[test]
fn weights_that_are_none_are_refused() {
    let device = Device::flex();
    let two = || line(&[0.0, 1.0], &device);
    let refused = |weights: &[f64]| w2_squared_1d(two(), weights, two(), &[1.0, 1.0]).unwrap_err();
    for (weights, words) in [
        (&[1.0, -0.5][..], "weight"),
        (&[1.0, -0.5], "-0.5"),
        (&[1.0, f64::NAN], "weight"),
        (&[0.0, 0.0], "weight"),
        (&[f64::MAX; 2], "weight"),
        (&[1.0], "weight"),
    ] {
        let said = refused(weights).to_string();
        assert!(said.contains(words), "{said}");
    }
    for p in [0.5, 0.0, f64::NAN, f64::INFINITY] {
        assert!(wp_power_1d(two(), &[1.0; 2], two(), &[1.0; 2], p).is_err());
    }
    let none = line(&[], &device);
    assert!(w2_squared_1d(none, &[], two(), &[1.0; 2]).is_err());
    let nan = line(&[0.0, f64::NAN], &device);
    assert!(w2_squared_1d(nan, &[1.0; 2], two(), &[1.0; 2]).is_err());
    // A value without weight does not count.
    let far = line(&[0.0, 1e9], &device);
    let distance = w2_squared_1d(far, &[1.0, 0.0], two(), &[1.0, 1.0]).unwrap();
    assert_eq!(number(distance), 0.5);
}

/// Values in halves, with ties, and weights.
fn weighted() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((-6_i8..7, 0.05..2.0_f64), 1..20).prop_map(|entries| {
        let half = |(value, weight)| (f64::from(value) / 2.0, weight);
        entries.into_iter().map(half).collect()
    })
}

fn weighted_distance(x: &[(f64, f64)], y: &[(f64, f64)]) -> f64 {
    let device = Device::flex();
    let apart = |side: &[(f64, f64)]| -> (Vec<f64>, Vec<f64>) { side.iter().copied().unzip() };
    let ((x, a), (y, b)) = (apart(x), apart(y));
    number(w2_squared_1d(line(&x, &device), &a, line(&y, &device), &b).unwrap())
}

fn mean(side: &[(f64, f64)]) -> f64 {
    let sum: f64 = side.iter().map(|(_, weight)| weight).sum();
    side.iter().map(|(x, weight)| x * weight / sum).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn weighted_distances_obey_their_laws(
        x in weighted(),
        y in weighted(),
        turn in 0_usize..20,
        shift in -4_i8..5,
    ) {
        let value = weighted_distance(&x, &y);
        let close = |other: f64| (value - other).abs() <= 2e-6 * (1.0 + value);
        prop_assert!(value >= 0.0);
        prop_assert!(close(weighted_distance(&y, &x)));
        let mut turned = x.clone();
        turned.rotate_left(turn % x.len());
        prop_assert!(close(weighted_distance(&turned, &y)));
        prop_assert!(weighted_distance(&x, &turned) < 1e-9);
        // Weights in other units, and a value in two parts, are the same measure.
        let mut parts: Vec<_> = x.iter().map(|&(x, weight)| (x, 3.0 * weight)).collect();
        parts[0].1 *= 0.25;
        parts.push((parts[0].0, parts[0].1 * 3.0));
        prop_assert!(close(weighted_distance(&parts, &y)));
        let shift = f64::from(shift) / 2.0;
        let moved: Vec<_> = x.iter().map(|&(x, weight)| (x + shift, weight)).collect();
        let change = 2.0 * shift * (mean(&x) - mean(&y)) + shift * shift;
        prop_assert!((weighted_distance(&moved, &y) - value - change).abs() <= 1e-5 * (1.0 + value));
    }

}

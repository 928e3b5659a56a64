//! The loss module, and the weighted, max-sliced and spherical distances: values beside POT's, definitions in
//! `f64`, finite differences and laws.

use burn::tensor::{Device, Tensor, TensorData};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use serde_json::Value;
use swd::transport::tensor::{
    max_sliced_w2_squared, sliced_w2_squared, sphere_sliced_w1,
    sphere_sliced_w2_squared_to_uniform, w2_squared_1d, wp_power_1d,
};
use swd::{GreatCircles, SlicedWassersteinConfig, Slices, SwdError};

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

    let (largest, _) = max_sliced_w2_squared(x.clone(), y.clone(), &slices, 0).unwrap();
    agrees_with_pot(number(largest).sqrt(), &pot("max_sliced"));

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

#[test]
fn spherical_values_are_those_of_pot() {
    let device = Device::flex();
    // `[k, 3, 2]`.
    let axes = pot_list("circles");
    let axis = |which: usize| {
        let axis: Vec<f64> = axes.iter().skip(which).step_by(2).copied().collect();
        Slices::from_directions(3, &axis).unwrap()
    };
    let circles = GreatCircles::through(axis(0), &axis(1)).unwrap();
    assert_eq!((circles.dim(), circles.count()), (3, 50));
    let sphere = |name: &str| matrix(&pot_list(name), 3, &device);
    let uniform = sphere_sliced_w2_squared_to_uniform(sphere("sphere_x"), &circles);
    agrees_with_pot(number(uniform.unwrap()).sqrt(), &pot("sphere_uniform"));
    let between = sphere_sliced_w1(sphere("sphere_s"), sphere("sphere_t"), &circles);
    agrees_with_pot(number(between.unwrap()), &pot("sphere_w1"));
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
        let each = loss.forward_no_reduction(x.clone(), y.clone(), &slices);
        let each = numbers(each.unwrap());
        assert_eq!(each.len(), 9);
        assert!((each.iter().sum::<f64>() / 9.0 - sampled).abs() < 1e-6);
        for (l, value) in each.iter().enumerate() {
            let slice = Slices::from_directions(3, slices.direction(l)).unwrap();
            let alone = loss.forward_with(x.clone(), y.clone(), &slice).unwrap();
            assert!((number(alone) - value).abs() < 1e-6);
        }
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

// The farthest slice.

#[test]
fn the_farthest_slice_of_a_translation_is_along_it() {
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let device = Device::flex().autodiff();
    let x = random(30 * 4, &mut rng);
    let shift = [0.5, -1.0, 2.0, 0.25];
    let length: f64 = shift.iter().map(|a| a * a).sum();
    let moved: Vec<f64> = x
        .iter()
        .zip(shift.iter().cycle())
        .map(|(x, a)| x + a)
        .collect();
    let starts = Slices::iid(4, 6, &mut rng).unwrap();
    let side = matrix(&x, 4, &device).require_grad();
    let (value, direction) =
        max_sliced_w2_squared(side.clone(), matrix(&moved, 4, &device), &starts, 40).unwrap();
    let gradients = value.backward();
    assert!((number(value) - length).abs() < 1e-4);
    let sign = direction.direction(0)[2].signum();
    for (found, a) in direction.direction(0).iter().zip(shift) {
        assert!((sign * found - a / length.sqrt()).abs() < 1e-3);
    }
    // At the maximum the direction does not count: `-(2/n) a` for each point.
    let expected: Vec<f64> = (0..30 * 4).map(|i| -2.0 / 30.0 * shift[i % 4]).collect();
    all_close(&numbers(side.grad(&gradients).unwrap()), &expected, 1e-3);
}

#[test]
fn ascent_finds_no_less_than_its_starts() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let device = Device::flex();
    for (n, m) in [(10, 10), (8, 13), (1, 5)] {
        let (x, y) = (random(n * 3, &mut rng), random(m * 3, &mut rng));
        let [x, y] = [x, y].map(|side| matrix(&side, 3, &device));
        let starts = Slices::iid(3, 4, &mut rng).unwrap();
        let search = |x: &Tensor<2>, y: &Tensor<2>, steps: usize| {
            let found = max_sliced_w2_squared(x.clone(), y.clone(), &starts, steps);
            number(found.unwrap().0)
        };
        let loss = SlicedWassersteinConfig::new().init();
        let each = loss.forward_no_reduction(x.clone(), y.clone(), &starts);
        let largest = numbers(each.unwrap()).into_iter().fold(0.0, f64::max);
        assert!((search(&x, &y, 0) - largest).abs() < 1e-6);
        let found = search(&x, &y, 25);
        assert!(found >= largest - 1e-6);
        assert!((search(&y, &x, 25) - found).abs() < 1e-5);
        // A fine grid of directions finds nothing that is much larger.
        let grid = Slices::iid(3, 4000, &mut rng).unwrap();
        let (grid, _) = max_sliced_w2_squared(x.clone(), y.clone(), &grid, 0).unwrap();
        assert!(found >= 0.98 * number(grid));
        assert_eq!(search(&x, &x, 5), 0.0);
    }
    let x = matrix(&[0.0; 6], 3, &device);
    let flat = Slices::iid(2, 4, &mut rng).unwrap();
    assert!(max_sliced_w2_squared(x.clone(), x, &flat, 5).is_err());
}

// The sphere.

const AXES: [([f64; 3], [f64; 3]); 3] = [
    ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
    ([0.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
    ([0.0, -1.0, 0.0], [1.0, 0.0, 0.0]),
];

fn axes() -> GreatCircles {
    let first: Vec<f64> = AXES.iter().flat_map(|(first, _)| *first).collect();
    // Longer and oblique: only the plane counts.
    let oblique = |(first, second): &([f64; 3], [f64; 3])| {
        [0, 1, 2].map(|a| 2.0 * second[a] + 0.5 * first[a])
    };
    let second: Vec<f64> = AXES.iter().flat_map(oblique).collect();
    let first = Slices::from_directions(3, &first).unwrap();
    GreatCircles::through(first, &Slices::from_directions(3, &second).unwrap()).unwrap()
}

/// Sorted places on circle `l`, between 0 and 1.
fn turns(points: &[f64], l: usize) -> Vec<f64> {
    let along = |x: &[f64], axis: &[f64; 3]| x.iter().zip(axis).map(|(x, a)| x * a).sum::<f64>();
    let (first, second) = &AXES[l];
    let turn = |x: &[f64]| along(x, second).atan2(along(x, first)) / std::f64::consts::TAU;
    let mut turns: Vec<f64> = points.chunks(3).map(|x| turn(x).rem_euclid(1.0)).collect();
    turns.sort_by(f64::total_cmp);
    turns
}

/// The closed form as Bonet et al. have it.
fn uniform_reference(points: &[f64]) -> f64 {
    let circle = |l: usize| {
        let turns = turns(points, l);
        let n = turns.len() as f64;
        let squares = turns.iter().map(|t| t * t).sum::<f64>() / n;
        let mean = turns.iter().sum::<f64>() / n;
        let rank = |(i, t): (usize, &f64)| (n - 1.0 - 2.0 * i as f64) * t / (n * n);
        squares - mean * mean + turns.iter().enumerate().map(rank).sum::<f64>() + 1.0 / 12.0
    };
    (0..AXES.len()).map(circle).sum::<f64>() / AXES.len() as f64
}

/// `W_1` on the circle: the least over all levels that the difference of the distributions takes.
fn w1_reference(x: &[f64], y: &[f64]) -> f64 {
    let circle = |l: usize| {
        let (s, t) = (turns(x, l), turns(y, l));
        let share = |side: &[f64], at: f64| {
            side.iter().filter(|&&place| place <= at).count() as f64 / side.len() as f64
        };
        let mut places = [s.clone(), t.clone()].concat();
        places.sort_by(f64::total_cmp);
        let ends = places.iter().skip(1).copied().chain([places[0] + 1.0]);
        let piece = |(at, end): (&f64, f64)| (end - at, share(&s, *at) - share(&t, *at));
        let pieces: Vec<(f64, f64)> = places.iter().zip(ends).map(piece).collect();
        let cost = |level: f64| {
            pieces
                .iter()
                .map(|(len, f)| len * (f - level).abs())
                .sum::<f64>()
        };
        pieces
            .iter()
            .map(|(_, f)| cost(*f))
            .fold(f64::INFINITY, f64::min)
    };
    (0..AXES.len()).map(circle).sum::<f64>() / AXES.len() as f64
}

#[test]
fn spherical_distances_are_their_definitions_with_their_gradients() {
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let device = Device::flex().autodiff();
    let circles = axes();
    for (n, m) in [(1, 1), (2, 3), (9, 9), (5, 14)] {
        let (x, y) = (random(n * 3, &mut rng), random(m * 3, &mut rng));
        let sides = || [&x, &y].map(|side| matrix(side, 3, &device).require_grad());
        let [side, _] = sides();
        let value = sphere_sliced_w2_squared_to_uniform(side.clone(), &circles).unwrap();
        let gradients = value.backward();
        assert!((number(value) - uniform_reference(&x)).abs() < 1e-6);
        let found = numbers(side.grad(&gradients).unwrap());
        all_close(&found, &slopes(&x, uniform_reference), 1e-4);

        let [one, other] = sides();
        let value = sphere_sliced_w1(one.clone(), other.clone(), &circles).unwrap();
        let gradients = value.backward();
        assert!((number(value) - w1_reference(&x, &y)).abs() < 1e-6);
        let found = numbers(one.grad(&gradients).unwrap());
        all_close(&found, &slopes(&x, |x| w1_reference(x, &y)), 1e-4);
        let found = numbers(other.grad(&gradients).unwrap());
        all_close(&found, &slopes(&y, |y| w1_reference(&x, y)), 1e-4);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn spherical_distances_obey_their_laws(seed in any::<u64>(), n in 1_usize..12, m in 1_usize..12) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let device = Device::flex();
        let circles = GreatCircles::iid(3, 5, &mut rng).unwrap();
        let (x, y) = (random(n * 3, &mut rng), random(m * 3, &mut rng));
        let mut turned = x.clone();
        turned.rotate_left(seed as usize % n * 3);
        let far: Vec<f64> = x.iter().map(|x| 4.0 * x).collect();
        let between = |x: &[f64], y: &[f64]| {
            let (x, y) = (matrix(x, 3, &device), matrix(y, 3, &device));
            number(sphere_sliced_w1(x, y, &circles).unwrap())
        };
        let value = between(&x, &y);
        prop_assert!((0.0..=0.5 + 1e-6).contains(&value));
        prop_assert!((between(&y, &x) - value).abs() < 2e-6);
        prop_assert!((between(&turned, &y) - value).abs() < 2e-6);
        prop_assert!((between(&far, &y) - value).abs() < 2e-6);
        prop_assert!(between(&x, &turned) < 1e-6);
        let uniform = |x: &[f64]| {
            number(sphere_sliced_w2_squared_to_uniform(matrix(x, 3, &device), &circles).unwrap())
        };
        prop_assert!((uniform(&turned) - uniform(&x)).abs() < 2e-6);
        prop_assert!((uniform(&far) - uniform(&x)).abs() < 2e-6);
        // The least that n points leave, and the most, all in one place.
        let least = 1.0 / (12.0 * (n * n) as f64);
        prop_assert!((least - 1e-6..=1.0 / 12.0 + 1e-6).contains(&uniform(&x)));
    }
}

#[test]
fn circles_that_are_none_are_refused() {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let none = GreatCircles::iid(1, 3, &mut rng);
    assert_eq!(none, Err(SwdError::NoGreatCircle { dim: 1 }));
    assert!(GreatCircles::iid(3, 0, &mut rng).is_err());
    let slices = Slices::iid(3, 4, &mut rng).unwrap();
    let error = GreatCircles::through(slices.clone(), &slices).unwrap_err();
    assert!(matches!(error, SwdError::ZeroDirection { index: 0, .. }));
    let fewer = Slices::iid(3, 3, &mut rng).unwrap();
    assert!(GreatCircles::through(slices, &fewer).is_err());
    let circles = GreatCircles::iid(3, 4, &mut rng).unwrap();
    let of = |values: &[f64], columns| matrix(values, columns, &Device::flex());
    let (flat, none) = (of(&[1.0, 2.0], 2), of(&[], 3));
    assert!(sphere_sliced_w2_squared_to_uniform(flat.clone(), &circles).is_err());
    assert!(sphere_sliced_w1(flat.clone(), flat, &circles).is_err());
    assert!(sphere_sliced_w2_squared_to_uniform(none, &circles).is_err());
}

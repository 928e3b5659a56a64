//! Costs other than the square: the bounds against reference values and attacks, the gradient against its formula.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use serde_json::Value;
use swd::sensitivity::Norms;
use swd::transport::between::sliced_gradients_and_cost;
use swd::transport::host::{
    sliced_cotangents_and_cost, sliced_cotangents_and_distance, sliced_gradient_and_distance,
};
use swd::{Cost, Slices, TargetQuantiles, UniformBall};

fn reference() -> Value {
    serde_json::from_str(include_str!("../data/convex_costs.json")).unwrap()
}

fn cost_of(case: &Value) -> Cost {
    let number = |names: [&str; 3]| names.iter().find_map(|name| case[*name].as_f64()).unwrap();
    let value = number(["p", "t", "par"]);
    match case["h"].as_str().unwrap() {
        "power" => Cost::Power(value),
        "huber" => Cost::Huber(value),
        other => panic!("{other}"),
    }
}

/// The derivatives of the cost between points `u` and `v` on a line in each of them, times the number of `u`.
fn coefficients(cost: Cost, u: &[f64], v: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (n, m) = (u.len(), v.len());
    let order = |values: &[f64]| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        order
    };
    let (of_u, of_v) = (order(u), order(v));
    let (mut c, mut e) = (vec![0.0; n], vec![0.0; m]);
    let (mut i, mut j, mut at) = (0, 0, 0.0);
    // Both cut [0, 1) into cells: the overlaps are matched.
    while i < n && j < m {
        let ends = [(i + 1) as f64 / n as f64, (j + 1) as f64 / m as f64];
        let to = ends[0].min(ends[1]);
        let slope = cost.slope(u[of_u[i]] - v[of_v[j]]) * (to - at) * n as f64;
        c[of_u[i]] += slope;
        e[of_v[j]] -= slope;
        at = to;
        i += usize::from((i + 1) * m <= (j + 1) * n && ends[0] <= to + 1e-12);
        j += usize::from(ends[1] <= to + 1e-12);
    }
    (c, e)
}

/// How far the coefficients of two sets of points on a line are apart, times their number: of the points `u`, of which those at
/// `index` are two records, and of the points `v`.
fn moved(cost: Cost, u: [&[f64]; 2], v: &[f64], index: usize) -> [f64; 2] {
    let n = u[0].len();
    let [(c, e), (c_other, e_other)] = u.map(|u| coefficients(cost, u, v));
    let others = (0..n).filter(|&i| i != index);
    let others = others.map(|i| (c[i] - c_other[i]).abs()).sum::<f64>();
    let pairs = e.iter().zip(&e_other).map(|(a, b)| (a - b).abs());
    [others + c[index].abs() + c_other[index].abs(), pairs.sum()]
}

/// The reference's bounds, to 1e-6 and never below; its worst instances attain them.
#[test]
fn bounds_are_those_of_the_reference() {
    let reference = reference();
    let cases = reference["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 35);
    let mut attacked = 0;
    for case in cases {
        let number = |name: &str| case[name].as_f64().unwrap();
        let (m_bound, l1, l2) = (number("M"), number("L1"), number("L2"));
        let (n, m) = (number("n") as usize, number("m") as usize);
        let cost = cost_of(case);
        let bound = Norms::new(m_bound, l1)
            .other_jacobian(l2)
            .line_bound(cost, n, Some(m))
            .unwrap();
        let (expected, found) = (number("bound"), number("best_attack_found"));
        assert!(bound >= found, "{case}: {bound} < {found}");
        let ratio = bound / expected;
        assert!(
            (1.0 - 1e-9..=1.0 + 1e-6).contains(&ratio),
            "{case}: {bound}"
        );
        if let Some(any) = case["bound_any_n"].as_f64() {
            assert!(bound <= any * (1.0 + 1e-6), "{case}: {bound}");
        }
        let Some(instance) = case["instance"].as_object() else {
            continue;
        };
        let points =
            |name: &str| -> Vec<f64> { serde_json::from_value(instance[name].clone()).unwrap() };
        let (u, v) = (points("u"), points("v"));
        let index = instance["index"].as_u64().unwrap() as usize;
        let mut other = u.clone();
        other[index] = instance["u_new"].as_f64().unwrap();
        let [own, others] = moved(cost, [&u, &other], &v, index);
        let attained = (l1 * own + l2 * others) / n as f64;
        let least = found * (1.0 - 1e-6);
        assert!(attained <= bound && attained > least, "{case}: {attained}");
        attacked += 1;
    }
    assert!(attacked >= 17, "{attacked}");
}

#[test]
fn sliced_bounds_are_those_of_the_reference() {
    let reference = reference();
    for case in reference["sliced"].as_array().unwrap() {
        let number = |name: &str| case[name].as_f64().unwrap();
        let matrix =
            |name: &str| -> Vec<Vec<f64>> { serde_json::from_value(case[name].clone()).unwrap() };
        let (theta, v) = (matrix("theta"), matrix("v"));
        let (d, k, n) = (theta.len(), theta[0].len(), number("n") as usize);
        let columns: Vec<f64> = (0..k)
            .flat_map(|l| theta.iter().map(move |row| row[l]))
            .collect();
        let slices = Slices::from_directions(d, &columns).unwrap();
        let mut rows = Vec::new();
        for direction in columns.chunks_exact(d) {
            let project = |point: &Vec<f64>| point.iter().zip(direction).map(|(x, t)| x * t).sum();
            let mut row: Vec<f64> = v.iter().map(project).collect();
            row.sort_by(f64::total_cmp);
            rows.extend(row);
        }
        let cells = TargetQuantiles::from_rows(n, rows, vec![0.0; k]).unwrap();
        let (m_bound, l1, l2) = (number("M"), number("L1"), number("L2"));
        let bound = Norms::new(m_bound, l1)
            .other_jacobian(l2)
            .prior_bound(cost_of(case), &slices, &cells)
            .unwrap();
        let times = &case["n_times"];
        let n = n as f64;
        for (name, value) in [
            ("joint", bound.joint),
            ("per_slice", bound.per_slice),
            ("bound", bound.sensitivity()),
        ] {
            let Some(expected) = times[name].as_f64() else {
                continue;
            };
            let ratio = n * value / expected;
            // Of two bounds on a slice ours takes the smaller in each, the reference the smaller of their means.
            let below = if name == "per_slice" { 1e-2 } else { 1e-3 };
            let near = (1.0 - below..1.0 + 1e-6).contains(&ratio);
            assert!(near, "{name} of {}: {ratio}", case["h"]);
        }
        assert!(n * bound.sensitivity() >= case["n_times_best_attack"].as_f64().unwrap());
        assert!(bound.in_f32_upper() > bound.sensitivity());
    }
}

/// The closed forms that the documentation quotes, and the square to the bit.
#[test]
fn known_bounds() {
    let times = |cost, m_bound, l1, l2, n: usize| {
        n as f64
            * Norms::new(m_bound, l1)
                .other_jacobian(l2)
                .line_bound(cost, n, None)
                .unwrap()
    };
    for (t, expected) in [(0.3, 2.0 + 10.0), (1.0, 5.0), (3.0, 2.0)] {
        let found = times(Cost::Huber(t), 1.5, 1.0, 0.0, 600);
        assert!((found / expected - 1.0).abs() < 1e-8, "{t}: {found}");
    }
    let power = times(Cost::Power(1.5), 1.0, 1.0, 0.0, 100);
    assert!((power - 3.0 * 102.0_f64.sqrt()).abs() < 1e-6, "{power}");
    let [some, all] = [0.5, 1.0].map(|l2| times(Cost::Power(3.0), 1.0, 1.0, l2, 7));
    assert_eq!(some, all);
    for (l1, l2) in [(1.0, 0.0), (1.0, 1.7)] {
        let square = Norms::new(1.5, l1)
            .other_jacobian(l2)
            .line_bound(Cost::Square, 60, Some(7))
            .unwrap();
        assert_eq!(
            square,
            Norms::new(1.5, l1)
                .other_jacobian(l2)
                .theorem_bound(60)
                .unwrap()
        );
        let two = Norms::new(1.5, l1)
            .other_jacobian(l2)
            .line_bound(Cost::Power(2.0), 60, Some(7))
            .unwrap();
        assert!((two / square - 1.0).abs() < 1e-8);
    }
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let slices = Slices::tight(6, 24, rng).unwrap();
    let cells = UniformBall::new(6).unwrap().cells(50).unwrap();
    let square = Norms::new(1.5, 2.0)
        .prior_bound(Cost::Square, &slices, &cells)
        .unwrap();
    let matching = Norms::new(1.5, 2.0)
        .prior_bound(Cost::Square, &slices, &cells)
        .unwrap();
    assert_eq!(square, matching);
    let [one, other] = [(1.0, 0.3), (0.3, 1.0)].map(|(l1, l2)| {
        Norms::new(1.0, l1)
            .other_jacobian(l2)
            .both_private_bound(Cost::Huber(0.2), [30, 30], 1.0)
            .unwrap()
    });
    assert_eq!(one, other);
    for bad in [f64::NAN, -1.0, f64::INFINITY] {
        assert!(
            Norms::new(bad, 1.0)
                .line_bound(Cost::Huber(0.2), 3, None)
                .is_err()
        );
        assert!(
            Norms::new(1.0, 1.0)
                .line_bound(Cost::Huber(bad), 3, None)
                .is_err()
        );
        assert!(
            Norms::new(1.0, 1.0)
                .prior_bound(Cost::Huber(bad), &slices, &cells)
                .is_err()
        );
    }
    assert!(
        Norms::new(1.0, 1.0)
            .line_bound(Cost::Huber(0.2), 0, None)
            .is_err()
    );
    assert!(
        Norms::new(1.0, 1.0)
            .line_bound(Cost::Huber(0.2), 3, Some(0))
            .is_err()
    );
}

/// Of equal points each keeps its place whatever another record is: an order of ties that depends on other records moves all of
/// them, half of which are matched with the one end and half with the other.
#[test]
fn ties_of_two_samples_keep_their_order() {
    let line = Slices::from_directions(1, &[1.0]).unwrap();
    let cost = Cost::Huber(1.0);
    let v = [-1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0];
    let of = |record: f32| {
        let mut u = [0.0; 8];
        u[0] = record;
        sliced_gradients_and_cost(cost, &u, &v, &line).unwrap().0
    };
    let bound = Norms::new(1.0, 1.0)
        .other_jacobian(1.0)
        .both_private_bound(cost, [8, 8], 1.0)
        .unwrap();
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    for _ in 0..40 {
        let [a, b] = [0.0; 2].map(|_: f32| of(rng.random_range(-1.0..1.0)));
        let apart = |side: usize, from: usize| -> f64 {
            let pairs = a[side].iter().zip(&b[side]).skip(from);
            pairs.map(|(a, b)| f64::from(a - b).abs()).sum()
        };
        let own = f64::from(a[0][0].abs() + b[0][0].abs());
        let found = own + apart(0, 1) + apart(1, 0);
        assert!(found <= bound * (1.0 + 1e-6), "{found} > {bound}");
    }
}

fn costs() -> impl Strategy<Value = Cost> {
    prop_oneof![
        (1.05_f64..5.0).prop_map(Cost::Power),
        (0.05_f64..3.0).prop_map(Cost::Huber),
    ]
}

proptest! {
    /// Any neighbours on a line, of any two numbers of points, are within the bound.
    #[test]
    fn neighbours_on_a_line_are_within_the_bound(
        cost in costs(), n in 1_usize..9, m in 1_usize..9, l2 in 0.0_f64..2.0, seed: u64,
    ) {
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        let ends = rng.random_bool(0.5);
        let mut point = || match ends {
            true => f64::from(rng.random_range(-2_i8..3)) / 2.0,
            false => rng.random_range(-1.0..1.0),
        };
        let u: Vec<f64> = (0..n).map(|_| point()).collect();
        let v: Vec<f64> = (0..m).map(|_| point()).collect();
        let mut other = u.clone();
        other[n / 2] = point();
        let [own, others] = moved(cost, [&u, &other], &v, n / 2);
        let bound = Norms::new(1.0, 1.0).other_jacobian(l2).line_bound(cost, n, Some(m)).unwrap();
        let found = (own + l2 * others) / n as f64;
        prop_assert!(found <= bound * (1.0 + 1e-9), "{} > {}", found, bound);
    }

    /// Neighbours in the ball towards public cells: what the transport gives moves by no more than the bound.
    #[test]
    fn neighbours_towards_cells_are_within_the_bound(cost in costs(), d in 1_usize..4, seed: u64) {
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        let n = rng.random_range(1..12);
        // Some costs have a bound for activations of any size.
        let free = matches!(cost, Cost::Huber(_)) && rng.random_bool(0.5);
        let (m_bound, radius) = if free { (f64::INFINITY, 500.0) } else { (1.5, 1.4999) };
        let slices = Slices::tight(d, 2 * d, rng).unwrap();
        let prior: Vec<f32> = (0..n * d).map(|_| rng.random_range(-1.2_f32..1.2)).collect();
        let cells = TargetQuantiles::of_sample(&prior, &slices, n).unwrap();
        let mut inside = || -> Vec<f32> {
            let row: Vec<f32> = (0..d).map(|_| rng.random_range(-1.0..1.0)).collect();
            let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-3);
            row.iter().map(|x| x * radius / norm).collect()
        };
        let u: Vec<f32> = (0..n).flat_map(|_| inside()).collect();
        let mut other = u.clone();
        other[..d].copy_from_slice(&inside());
        let [a, b] = [&u, &other].map(|u| sliced_cotangents_and_cost(cost, u, &slices, &cells).unwrap().0);
        let norm = |of: &dyn Fn(usize) -> f64| (0..d).map(|j| of(j).powi(2)).sum::<f64>().sqrt();
        // Jacobians of norm 1 may turn each change to add up; those of the two records are unrelated.
        let mut found = norm(&|j| a[j].into()) + norm(&|j| b[j].into());
        found += (1..n).map(|i| norm(&|j| f64::from(a[i * d + j]) - f64::from(b[i * d + j]))).sum::<f64>();
        let bound = Norms::new(m_bound, 1.0).prior_bound(cost, &slices, &cells).unwrap();
        prop_assert!(found <= bound.in_f32_upper(), "{} > {:?}", found, bound);
    }

    /// Neighbours in the ball towards another private sample of any size, whose points move too.
    #[test]
    fn neighbours_of_two_private_samples_are_within_the_bound(cost in costs(), d in 1_usize..4, l2 in 0.0_f64..2.0, seed: u64) {
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        let (n, m) = (rng.random_range(1..9), rng.random_range(1..9));
        let slices = Slices::tight(d, 2 * d, rng).unwrap();
        let ends = rng.random_bool(0.5);
        let mut points = |count: usize| -> Vec<f32> {
            let row = |_| -> Vec<f32> {
                let row: Vec<f32> = (0..d).map(|_| rng.random_range(-1.0..1.0)).collect();
                let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-3);
                row.iter().map(|x| x * 1.4999 / if ends { norm } else { norm.max(1.0) }).collect()
            };
            (0..count).flat_map(row).collect()
        };
        let (u, v) = (points(n), points(m));
        let mut other = u.clone();
        other[..d].copy_from_slice(&points(1));
        let [(a, _), (b, _)] = [&u, &other].map(|u| sliced_gradients_and_cost(cost, u, &v, &slices).unwrap());
        let apart = |a: &[f32], b: &[f32]| {
            let squares = a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let rows = |side: usize| a[side].chunks_exact(d).zip(b[side].chunks_exact(d)).map(|(a, b)| apart(a, b));
        let zero = vec![0.0; d];
        let own = apart(&a[0][..d], &zero) + apart(&b[0][..d], &zero) + rows(0).skip(1).sum::<f64>();
        let found = own + l2 * rows(1).sum::<f64>();
        let bound = Norms::new(1.5, 1.0).other_jacobian(l2).both_private_bound(cost, [n, m], slices.lambda_max_upper()).unwrap();
        prop_assert!(found <= bound * (1.0 + 1e-5), "{} > {}", found, bound);
    }

    /// Gradients of either sample are the derivatives of the cost between both; on a line they are the reference's, and those of
    /// the square what its cells give.
    #[test]
    fn gradients_of_two_samples_are_derivatives(cost in costs(), n in 1_usize..8, m in 1_usize..8, seed: u64) {
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        let mut values = |count: usize| -> Vec<f32> { (0..count).map(|_| rng.random_range(-1.0..1.0)).collect() };
        let (u, v) = (values(n), values(m));
        let line = Slices::from_directions(1, &[1.0]).unwrap();
        let ([first, second], value) = sliced_gradients_and_cost(cost, &u, &v, &line).unwrap();
        let wide = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let (c, e) = coefficients(cost, &wide(&u), &wide(&v));
        for (found, expected) in first.iter().chain(&second).zip(c.iter().chain(&e)) {
            prop_assert!((f64::from(*found) - expected / n as f64).abs() < 1e-6, "{} {}", found, expected);
        }
        let mut moved = u.clone();
        moved.iter_mut().zip(&first).for_each(|(u, g)| *u -= 1e-3 * g);
        let squares: f64 = first.iter().map(|&g| f64::from(g).powi(2)).sum();
        let gained = value - sliced_gradients_and_cost(cost, &moved, &v, &line).unwrap().1;
        prop_assert!(gained > -1e-6 && gained < 1e-3 * squares + 1e-6, "{} of {}", gained, squares);

        let (rows, others) = (values(2 * n), values(2 * m));
        let slices = Slices::iid(2, 5, rng).unwrap();
        let (both, cost) = sliced_gradients_and_cost(Cost::Square, &rows, &others, &slices).unwrap();
        for (found, (x, y)) in both.iter().zip([(&rows, &others), (&others, &rows)]) {
            let (expected, distance) = sliced_gradient_and_distance(x, y, &slices).unwrap();
            prop_assert!((distance - cost).abs() < 1e-6 * (1.0 + cost));
            for (a, b) in found.iter().zip(&expected) {
                prop_assert!((a - b).abs() < 1e-5, "{} {}", a, b);
            }
        }
    }

    /// Cotangents are the derivatives of the cost, and those of the square what they were.
    #[test]
    fn cotangents_are_derivatives(cost in costs(), seed: u64) {
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        let (n, d) = (7, 2);
        let slices = Slices::iid(d, 5, rng).unwrap();
        let mut values = |count: usize| -> Vec<f32> { (0..count).map(|_| rng.random_range(-1.0..1.0)).collect() };
        let (u, prior) = (values(n * d), values(n * d));
        let cells = TargetQuantiles::of_sample(&prior, &slices, n).unwrap();
        let of = |u: &[f32]| sliced_cotangents_and_cost(cost, u, &slices, &cells).unwrap();
        let (cotangents, _) = of(&u);
        let h = 1e-3_f32;
        for (place, &cotangent) in cotangents.iter().enumerate() {
            let mut both = [u.clone(), u.clone()];
            both[0][place] -= h;
            both[1][place] += h;
            let width = f64::from(both[1][place]) - f64::from(both[0][place]);
            let [(low, before), (high, after)] = both.map(|u| {
                let (cotangents, cost) = of(&u);
                (cost, cotangents[place])
            });
            let difference = (high - low) / width;
            // If ranks change between the ends, or there is a kink, the mean lies between the derivatives.
            let all = [cotangent, before, after].map(f64::from);
            let [least, most] = [f64::min, f64::max].map(|of| all.into_iter().reduce(of).unwrap());
            prop_assert!(least - 0.01 < difference && difference < most + 0.01, "{:?} for {}", all, difference);
        }
        let square = sliced_cotangents_and_cost(Cost::Square, &u, &slices, &cells).unwrap();
        prop_assert_eq!(square, sliced_cotangents_and_distance(&u, &slices, &cells).unwrap());
    }
}

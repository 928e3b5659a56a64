//! Entropic transport: beside POT and in its limits.

use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use swd::sinkhorn::{Cost, Memory, Sinkhorn};

use crate::common::{floats, pot};

const COSTS: [Cost; 2] = [Cost::Manhattan, Cost::SquaredEuclidean];

fn normal(count: usize, rng: &mut ChaCha20Rng) -> Vec<f32> {
    let draw = |_| Distribution::<f64>::sample(&StandardNormal, rng) as f32;
    (0..count).map(draw).collect()
}

#[test]
fn values_and_plans_are_those_of_pot() {
    let [x, y] = ["x", "y"].map(|name| {
        let points = floats(&pot(name)).into_iter().map(|x| x as f32);
        points.collect::<Vec<_>>()
    });
    for (name, case) in pot("sinkhorn").as_object().unwrap() {
        let cost = COSTS[usize::from(name.starts_with("squared"))];
        let lambda = case["lambda"].as_f64().unwrap();
        let sinkhorn = Sinkhorn::new(cost, lambda).unwrap();
        let sinkhorn = sinkhorn.iterations(1_000_000).tolerance(1e-12);
        for memory in [Memory::Dense, Memory::Lazy] {
            let found = sinkhorn.memory(memory).solve(&x, &y, 5).unwrap();
            assert!(found.converged(), "{name}");
            let close = |found: f64, expected: &str| {
                let expected = case[expected].as_f64().unwrap();
                let relative = (found - expected).abs() / expected.abs().max(lambda);
                assert!(relative < 1e-5, "{name}: {found} for {expected}");
            };
            close(found.transport_cost(), "linear");
            close(found.value(), "value");
            // POT's entropy is that of the plan alone, without its marginals.
            let pairs = (x.len() * y.len()) as f64 / 25.0;
            close(found.value() - lambda * pairs.ln(), "entropy");
            for (found, expected) in found.plan().iter().zip(floats(&case["plan"])) {
                assert!((found - expected).abs() < 1e-7, "{name}: {found}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn plans_couple_and_the_gradient_is_the_slope_of_the_value(
        seed in any::<u64>(), n in 1_usize..9, m in 1_usize..9, d in 1_usize..7, wide in any::<bool>(),
    ) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (x, y) = (normal(n * d, &mut rng), normal(m * d, &mut rng));
        for cost in COSTS {
            let lambda = if wide { 30.0 } else { d as f64 };
            let sinkhorn = Sinkhorn::new(cost, lambda).unwrap();
            let sinkhorn = sinkhorn.iterations(20_000).tolerance(1e-10);
            let found = sinkhorn.solve(&x, &y, d).unwrap();
            prop_assert!(found.converged());
            let plan = found.plan();
            for row in plan.chunks(m) {
                prop_assert!((row.iter().sum::<f64>() * n as f64 - 1.0).abs() < 1e-8);
            }
            for j in 0..m {
                let column: f64 = plan.iter().skip(j).step_by(m).sum();
                prop_assert!((column * m as f64 - 1.0).abs() < 1e-8);
            }
            // The value is between the mean cost of no coupling and that of any: the independent one costs no entropy.
            prop_assert!(found.value() - found.transport_cost() > -1e-9 * lambda);
            let lazy = sinkhorn.memory(Memory::Lazy).solve(&x, &y, d).unwrap();
            prop_assert_eq!(lazy.value(), found.value());
            let swapped = sinkhorn.solve(&y, &x, d).unwrap();
            prop_assert!((swapped.value() - found.value()).abs() < 1e-7 * (1.0 + lambda));

            let gradients = [found.gradient(), swapped.gradient_y()];
            for place in [seed as usize % (n * d), (seed >> 20) as usize % (n * d)] {
                let ends = [-1.0, 1.0].map(|sign| {
                    let mut moved = x.clone();
                    moved[place] += sign * 2.0_f32.powi(-10);
                    let value = sinkhorn.solve(&moved, &y, d).unwrap().value();
                    (f64::from(moved[place]), value)
                });
                let slope = (ends[1].1 - ends[0].1) / (ends[1].0 - ends[0].0);
                for gradient in &gradients {
                    let gradient = f64::from(gradient[place]);
                    // An absolute cost has a bend where coordinates meet.
                    let near = cost == Cost::Manhattan
                        && y.iter().skip(place % d).step_by(d).any(|y| (y - x[place]).abs() < 1e-3);
                    prop_assert!(near || (slope - gradient).abs() < 2e-3, "{slope} for {gradient}");
                }
            }
            let divergence = sinkhorn.divergence(&x, &y, d).unwrap();
            prop_assert!(divergence.value > -1e-7 * (1.0 + lambda));
            let same = sinkhorn.divergence(&x, &x, d).unwrap();
            prop_assert!(same.value.abs() < 1e-7 * (1.0 + lambda));
            prop_assert!(same.gradient.iter().all(|g| g.abs() < 1e-6));
        }
    }

    /// From a thousandth of the median cost to a million times of it, and for points of any size.
    #[test]
    fn no_regularisation_breaks_it(
        seed in any::<u64>(), factor in -3.0_f64..6.0, size in -15.0_f64..15.0, cost in 0_usize..2,
    ) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let size = 10.0_f64.powf(size) as f32;
        let mut draw = || normal(40, &mut rng).into_iter().map(|x| x * size).collect::<Vec<_>>();
        let (x, y) = (draw(), draw());
        let typical = f64::from(size).powi(cost as i32 + 1) * 4.0;
        let sinkhorn = Sinkhorn::new(COSTS[cost], typical * 10.0_f64.powf(factor)).unwrap();
        let found = sinkhorn.solve(&x, &y, 4).unwrap();
        prop_assert!(found.value().is_finite() && found.plan().iter().all(|p| p.is_finite()));
        prop_assert!(found.gradient().iter().all(|g| g.is_finite()));
        prop_assert!(!found.converged() || found.marginal_error() <= 1e-9);
        // Never above the cost of the independent coupling.
        let loose = Sinkhorn::new(COSTS[cost], typical * 1e9).unwrap();
        let mean = loose.solve(&x, &y, 4).unwrap().transport_cost();
        prop_assert!(found.value() <= mean * (1.0 + 1e-6));
    }
}

#[test]
fn bad_input_is_refused() {
    for lambda in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Sinkhorn::new(Cost::Manhattan, lambda).is_err());
        assert!(Sinkhorn::denoising(Cost::SquaredEuclidean, lambda).is_err());
    }
    let sinkhorn = Sinkhorn::new(Cost::SquaredEuclidean, 1.0).unwrap();
    assert!(sinkhorn.solve(&[], &[1.0], 1).is_err());
    assert!(sinkhorn.solve(&[1.0; 3], &[1.0; 2], 2).is_err());
    assert!(sinkhorn.solve(&[f32::NAN], &[1.0], 1).is_err());
    assert!(sinkhorn.solve(&[1.0], &[f32::INFINITY], 1).is_err());
    assert!(sinkhorn.iterations(0).solve(&[1.0], &[1.0], 1).is_err());
    let exact = sinkhorn.tolerance(f64::NAN);
    assert!(exact.solve(&[1.0], &[1.0], 1).is_err());
    // A quotient beyond f64: an error, never "converged" with something that is no number.
    let tiny = Sinkhorn::new(Cost::SquaredEuclidean, 1e-300).unwrap();
    assert!(tiny.solve(&[1e30, -1e30], &[-1e30, 5e29], 1).is_err());
}

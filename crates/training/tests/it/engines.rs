//! Two engines, one answer: layers against one record at a time through autodiff.

use burn::tensor::Device;
use private_training::penalty::Pair;
use private_training::{Batch, Clipping, Engine, Loss, Objective, Penalty, Prior, StepObjective};
use test_support::networks::{Small, fixed_batches, generator, labels, uniform};
use test_support::relative_error;

fn cotangent_loss() -> Loss {
    Loss::of_classes(|outputs, _| outputs.tanh().sum_dim(1).squeeze_dim(1))
}

/// Objectives of every kind, with bounds that bind for some records and not for others.
fn objectives() -> Vec<(&'static str, Objective)> {
    let clipping = Clipping::new(0.3, 0.8);
    let entropy = || Loss::cross_entropy().max_grad_norm(0.5);
    let one_group = cotangent_loss()
        .weight(0.3)
        .max_grad_norm(0.2)
        .only_strata(&[1]);
    let prior = Penalty::to(Prior::UniformBall)
        .clipping(clipping)
        .weight(0.5);
    let gaussian = Penalty::to(Prior::StandardGaussian).clipping(clipping);
    let between = Penalty::between_strata()
        .slices(4)
        .clipping(Clipping::new(1.0, 0.1));
    let (strata, weight) = ([1, 0], 0.7);
    let pair = Penalty::between(vec![Pair { strata, weight }])
        .slices(3)
        .clipping(clipping);
    let two = Objective::new([entropy()])
        .penalty(gaussian)
        .penalty(between);
    vec![
        ("a loss", Objective::new([entropy()])),
        (
            "two losses, one of them on a stratum",
            Objective::new([entropy(), one_group]),
        ),
        (
            "a prior",
            Objective::new([entropy().weight(0.5)]).penalty(prior),
        ),
        ("two penalties", two),
        ("a penalty alone", Objective::default().penalty(pair)),
    ]
}

fn sampled(objective: &mut Objective, sizes: &[usize]) -> StepObjective {
    let sizes = &fixed_batches(sizes);
    objective.draw(&[3], sizes, &mut generator(1)).unwrap()
}

#[test]
fn layers_and_single_records_give_the_same_clipped_gradient() {
    for device in [Device::flex(), Device::flex().autodiff()] {
        let network = Small::new(3, 4, &device);
        let inner = device.clone().without_autodiff();
        let [c, h, w] = Small::IMAGE;
        let (sizes, n) = ([5, 6], 11);
        let images = uniform([n, c, h, w], 2, &inner);
        let batch = Batch::new(images, labels(n, 4, &inner), &sizes).unwrap();
        for (name, mut objective) in objectives() {
            let step = sampled(&mut objective, &sizes);
            let bounded = |engine| {
                let clipped = step.clipped_gradient(&network, &batch, engine, &device);
                let (gradient, losses) = clipped.unwrap();
                (gradient.before_noise(), losses)
            };
            let (slow, slow_losses) = bounded(Engine::Autodiff);
            let [few, many] = [4, 100].map(|chunk| Engine::Tensor { chunk });
            for engine in [few, many, Engine::Host { chunk: 8 }] {
                let (fast, losses) = bounded(engine);
                // Tightened bounds differ by 2^-16.
                let error = relative_error(&fast, &slow);
                assert!(error < 1e-4, "{name}, {engine:?}: {error}");
                let pairs = losses.losses.iter().chain(&losses.penalties);
                let others = slow_losses.losses.iter().chain(&slow_losses.penalties);
                for (a, b) in pairs.zip(others) {
                    assert!((a - b).abs() < 1e-4 * b.abs().max(1e-3), "{name}: {a} {b}");
                }
            }
            let plain = |engine| {
                let plain = step.gradient_without_privacy(&network, &batch, engine, &device);
                plain.unwrap().0.to_host()
            };
            let slow = plain(Engine::Autodiff);
            for engine in [few, Engine::Host { chunk: 8 }] {
                let error = relative_error(&plain(engine), &slow);
                assert!(error < 1e-5, "{name} without clipping, {engine:?}: {error}");
            }
        }
    }
}

/// The worst case of a sum: all records pull one way. What is rounded on the way to the sum over `n` of them stays
/// within what the sensitivity has for it, and would not if they were added one after the other in `f32`.
#[test]
fn sums_over_records_are_off_by_no_more_than_the_sensitivity_has_for_them() {
    let n = 20_000;
    let device = Device::flex();
    let network = Small::new(3, 4, &device);
    let [c, h, w] = Small::IMAGE;
    let (image, class) = (uniform([1, c, h, w], 5, &device), labels(1, 4, &device));
    let clip = 0.1;
    let mut objective = Objective::new([Loss::cross_entropy().max_grad_norm(clip)]);
    let mean_of = |objective: &mut Objective, records: usize, engine: Engine| {
        let step = sampled(objective, &[records]);
        let images = image.clone().repeat_dim(0, records);
        let classes = class.clone().repeat_dim(0, records);
        let batch = Batch::new(images, classes, &[records]).unwrap();
        let clipped = step.clipped_gradient(&network, &batch, engine, &device);
        let sensitivity = step.sensitivity(engine).unwrap().l2_upper();
        (clipped.unwrap().0.before_noise(), sensitivity)
    };
    let far = |a: &[f32], b: &[f32]| {
        let squares = a.iter().zip(b).map(|(&a, &b)| f64::from(a - b).powi(2));
        squares.sum::<f64>().sqrt()
    };
    for engine in [Engine::Host { chunk: 16 }, Engine::Tensor { chunk: 128 }] {
        let (one, _) = mean_of(&mut objective, 1, engine);
        let (mean, sensitivity) = mean_of(&mut objective, n, engine);
        // Two data sets share what is declared beyond exact arithmetic; a record's own part is rounded too.
        let own = 4.0 * f64::from(f32::EPSILON) * clip;
        let allowed = (sensitivity - 2.0 * clip / n as f64) / 2.0 + own;
        let off = far(&mean, &one);
        assert!(off <= allowed, "{engine:?}: {off:e} over {allowed:e}");
        let one_by_one = |&part: &f32| {
            let part = part / n as f32;
            (0..n).fold(0.0_f32, |sum, _| sum + part)
        };
        let naive: Vec<f32> = one.iter().map(one_by_one).collect();
        let off = far(&naive, &one);
        assert!(off > allowed, "{off:e} is no more than {allowed:e}");
    }
}

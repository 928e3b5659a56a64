//! Two engines, one answer: layers against one record at a time through autodiff.

mod common;

use burn::tensor::Device;
use common::{Small, generator, labels, uniform};
use private_training::penalty::Pair;
use private_training::{
    Batch, Clipping, Engine, GroupSizes, Loss, Objective, Penalty, Prior, StepObjective,
};

/// `||a - b|| / ||b||`.
fn relative_error(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let difference = a.iter().zip(b);
    let difference: f64 = difference
        .map(|(&x, &y)| (f64::from(x) - f64::from(y)).powi(2))
        .sum();
    let norm: f64 = b.iter().map(|&y| f64::from(y).powi(2)).sum();
    (difference / norm.max(1e-30)).sqrt()
}

fn cotangent_loss() -> Loss {
    Loss::new(|outputs, _| outputs.tanh().sum_dim(1).squeeze_dim(1))
}

/// Objectives of every kind, with bounds that bind for some records and not for others.
fn objectives() -> Vec<(&'static str, Objective)> {
    let clipping = Clipping::new(0.3, 0.8);
    let entropy = || Loss::cross_entropy().clip(0.5);
    vec![
        ("a loss", Objective::of([entropy()])),
        (
            "two losses, one of them on a group",
            Objective::of([
                entropy(),
                cotangent_loss().weight(0.3).clip(0.2).only_groups(&[1]),
            ]),
        ),
        (
            "a prior",
            Objective::of([entropy().weight(0.5)])
                .penalty(Penalty::to(Prior::UniformBall).clip(clipping).weight(0.5)),
        ),
        (
            "two penalties",
            Objective::of([entropy()])
                .penalty(Penalty::to(Prior::StandardGaussian).clip(clipping))
                .penalty(
                    Penalty::between_groups()
                        .slices(4)
                        .clip(Clipping::new(1.0, 0.1)),
                ),
        ),
        (
            "a penalty alone",
            Objective::default().penalty(
                Penalty::between(vec![Pair {
                    groups: [1, 0],
                    weight: 0.7,
                }])
                .slices(3)
                .clip(clipping),
            ),
        ),
    ]
}

fn drawn(objective: &mut Objective, sizes: &[usize]) -> StepObjective {
    let sizes = GroupSizes::Fixed(sizes.to_vec());
    objective.draw(&[3], sizes, &mut generator(1)).unwrap()
}

#[test]
fn layers_and_single_records_give_the_same_clipped_gradient() {
    for device in [Device::flex(), Device::flex().autodiff()] {
        let network = Small::new(3, 4, &device);
        let inner = device.clone().without_autodiff();
        let [c, h, w] = Small::IMAGE;
        let (sizes, n) = ([5, 6], 11);
        let batch = Batch::new(
            uniform([n, c, h, w], 2, &inner),
            labels(n, 4, &inner),
            &sizes,
        )
        .unwrap();
        for (name, mut objective) in objectives() {
            let step = drawn(&mut objective, &sizes);
            let bounded = |engine| {
                let (gradient, losses) = step
                    .clipped_gradient(&network, &batch, engine, &device)
                    .unwrap();
                (gradient.before_noise(), losses)
            };
            let (slow, slow_losses) = bounded(Engine::Alone);
            for engine in [
                Engine::Tensor { chunk: 4 },
                Engine::Tensor { chunk: 100 },
                Engine::Host { chunk: 8 },
            ] {
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
                let (gradient, _) = step
                    .gradient_without_privacy(&network, &batch, engine, &device)
                    .unwrap();
                gradient.to_host()
            };
            let slow = plain(Engine::Alone);
            for engine in [Engine::Tensor { chunk: 4 }, Engine::Host { chunk: 8 }] {
                let error = relative_error(&plain(engine), &slow);
                assert!(error < 1e-5, "{name} without clipping, {engine:?}: {error}");
            }
        }
    }
}

//! What privacy costs: a private step against a plain one of the same model and batch.
//!
//! Floor: `cost --only step` counts the multiply-adds, layer by layer (plain 3.0 M a record, private 6.3 M).
//! With kernels of equal speed the ratio would be 2.1.

use std::hint::black_box;

use burn::tensor::Device;
use criterion::{Criterion, criterion_group, criterion_main};
use dp_core::per_sample::JacobianClip;
use model::swae::SwaeConfig;
use private_training::{
    Clipping, Engine, GroupSizes, Loss, Objective, Penalty, Prior, StepObjective,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

const BATCH: usize = 600;

/// The paper's objective, with the same slices for every mode.
fn objective(mode: JacobianClip) -> StepObjective {
    let loss = Loss::binary_cross_entropy_with_logits();
    let penalty = Penalty::to(Prior::UniformBall).slices(100);
    Objective::of([loss.weight(0.9)])
        .penalty(penalty.weight(0.1).clip(Clipping::published(mode)))
        .draw(
            &[6],
            GroupSizes::Fixed(vec![BATCH]),
            &mut ChaCha20Rng::seed_from_u64(2),
        )
        .unwrap()
}

fn steps(criterion: &mut Criterion) {
    let device = Device::flex();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let config = SwaeConfig {
        latent: 6,
        classes: 0,
    };
    let model = config.init(&mut rng, &device);
    let pixels = (0..BATCH * SwaeConfig::PIXELS)
        .map(|_| rng.random_range(0.0..1.0))
        .collect();
    let batch = model.batch(pixels, &[BATCH], &device).unwrap();
    let mut group = criterion.benchmark_group("private_step");
    group.sample_size(10);
    for (name, engine) in [
        ("host", Engine::Host { chunk: 16 }),
        ("tensor", Engine::Tensor { chunk: 100 }),
    ] {
        let plain = objective(JacobianClip::Rows);
        group.bench_function(format!("{name}/plain"), |b| {
            b.iter(|| {
                let step = plain.gradient_without_privacy(&model, &batch, engine, &device);
                black_box(step.unwrap().0.to_host())
            });
        });
        for mode in [JacobianClip::Rows, JacobianClip::Spectral] {
            let objective = objective(mode);
            group.bench_function(format!("{name}/{mode:?}").to_lowercase(), |b| {
                b.iter(|| {
                    let step = objective.clipped_gradient(&model, &batch, engine, &device);
                    black_box(step.unwrap().0.before_noise())
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, steps);
criterion_main!(benches);

//! What privacy costs: a private step against a plain one of the same model and batch.
//!
//! Floor: `cost --only step` counts the multiply-adds, layer by layer (plain 3.0 M a record, private 6.3 M).
//! With kernels of equal speed the ratio would be 2.1.

use std::hint::black_box;

use burn::tensor::Device;
use criterion::{Criterion, criterion_group, criterion_main};
use dp_core::per_sample::JacobianClip;
use model::swae::{
    Batch, Clipping, Engine, ExactCells, Matching, Objective, Prior, SwaeConfig, bounded_gradient,
    plain_gradient,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::Slices;

const BATCH: usize = 600;

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
    let batch = Batch::single(pixels, SwaeConfig::PIXELS).unwrap();
    let slices = Slices::tight(6, 100, &mut rng).unwrap();
    let mut exact = ExactCells::default();
    let matching = Matching::draw(Prior::Exact, &[BATCH], slices, &mut exact, &mut rng).unwrap();
    let mut group = criterion.benchmark_group("private_step");
    group.sample_size(10);
    for (name, engine) in [
        ("host", Engine::Host { chunk: 16 }),
        ("tensor", Engine::Tensor { chunk: 100 }),
    ] {
        let objective = |mode| Objective::new(0.1, Clipping::paper(mode)).unwrap();
        let plain = objective(JacobianClip::Rows);
        group.bench_function(format!("{name}/plain"), |b| {
            b.iter(|| {
                let step = plain_gradient(&model, &batch, &matching, &plain, engine, &device);
                black_box(step.unwrap().0.to_host())
            });
        });
        for mode in [JacobianClip::Rows, JacobianClip::Spectral] {
            let objective = objective(mode);
            group.bench_function(format!("{name}/{mode:?}").to_lowercase(), |b| {
                b.iter(|| {
                    let step =
                        bounded_gradient(&model, &batch, &matching, &objective, engine, &device);
                    black_box(step.unwrap().0.before_noise())
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, steps);
criterion_main!(benches);

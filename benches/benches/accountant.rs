//! What the accountant costs: `just bench accountant`.
//!
//! Floor: one composition is two Fourier transforms of the lattice of a step's privacy loss in each of two
//! directions, `5 m log2 m` operations each for `m` points (at most 2^22); a calibration repeats it about 18
//! times.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use dp_core::accounting::{Accountant, Event, FdpAccountant, Sampler, noise_multiplier_for};

/// Steps, rate and noise of the autoencoder of paper 004 at epsilon 10.
fn event(sampler: Sampler, noise_multiplier: f64) -> Event {
    Event::Gaussian { noise_multiplier }
        .sampled(sampler)
        .repeated(5_000)
}

fn accountant(criterion: &mut Criterion) {
    let fdp = FdpAccountant::default();
    let fixed = Sampler::WithoutReplacementRate { rate: 0.01 };
    let mut group = criterion.benchmark_group("accountant");
    group.sample_size(20);
    for (name, sampler) in [
        ("epsilon, without replacement", fixed.clone()),
        ("epsilon, poisson", Sampler::Poisson { rate: 0.01 }),
    ] {
        let event = event(sampler, 0.76);
        group.bench_function(name, |b| {
            b.iter(|| fdp.epsilon(black_box(&event), 1e-5).unwrap())
        });
    }
    group.bench_function("noise for epsilon 10, without replacement", |b| {
        b.iter(|| {
            noise_multiplier_for(&fdp, black_box(10.0), 1e-5, |z| event(fixed.clone(), z)).unwrap()
        })
    });
    group.finish();
}

criterion_group!(benches, accountant);
criterion_main!(benches);

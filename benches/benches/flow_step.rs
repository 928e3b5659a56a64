//! What one step of a flow costs on the host (paper 000, algorithm 1): 30000 particles, 70 slices in 8
//! dimensions, towards 250 and 30000 private rows.
//!
//! Floor: a step projects, sorts and moves 2.1 million numbers. The two products are 67 million
//! multiplications and additions, under 5 ms of one core; a radix sort of 64-bit entries in three
//! passes reads and writes 100 MB, under 10 ms at 10 GB/s; with smoothing, 2.1 million normal draws
//! come on top. `python/flow_step.py` is the same step in PyTorch.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::flow::StepSize;
use swd::smoothed::{NoisyProjections, project};
use swd::{Particles, Region, Slices};

const PARTICLES: usize = 30_000;
const DIM: usize = 8;
const SLICES: usize = 70;

fn step(criterion: &mut Criterion) {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let sphere = Region::sphere(1.0).unwrap();
    let size = StepSize {
        step: 1.0,
        diffusion: 1e-3,
    };
    let all: Vec<usize> = (0..SLICES).collect();
    let mut group = criterion.benchmark_group("flow step");
    group.sample_size(10);
    for rows in [250, 30_000] {
        for sigma in [1.0, 0.0] {
            let slices = Slices::tight(DIM, SLICES, &mut rng).unwrap();
            let private = Particles::gaussian(rows, DIM, 1.0, &mut rng)
                .unwrap()
                .rows();
            let released = project(&private, &slices, sphere).unwrap();
            let values = released.before_noise().to_vec();
            let target = NoisyProjections::from_released(values, slices, sigma).unwrap();
            let mut particles = Particles::gaussian(PARTICLES, DIM, 1.0, &mut rng).unwrap();
            let id = BenchmarkId::new(format!("sigma {sigma}"), format!("{rows} rows"));
            group.bench_function(id, |b| {
                b.iter(|| {
                    let moved = particles.step(black_box(&target), &all, size, &mut rng);
                    moved.unwrap()
                })
            });
        }
    }
    group.finish();
}

criterion_group!(benches, step);
criterion_main!(benches);

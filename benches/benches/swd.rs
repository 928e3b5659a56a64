//! What the sliced distance and the transport of one private step cost on the host: `just bench --bench swd`.
//!
//! Floor of the distance with its gradient, for `n` points on both sides, `k` slices, `d = 6`: `2 n k` keys
//! are projected (`d` multiply-adds each), sorted, and `n k` residuals weighted (`d` more each). A radix
//! sort of entries of 8 bytes in three passes reads and writes 48 bytes a key. For (100000, 50) that is
//! 90 million multiply-adds, 10 ms of two cores, and 480 MB of traffic, 48 ms at 10 GB/s; for (600, 100)
//! a row of keys stays in the nearest cache and comparisons bound it, `2 n k log2(n)` of them, 1 ms.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::sensitivity::prior_matching_bound;
use swd::transport::host::{sliced_cotangents, sliced_cotangents_and_distance};
use swd::{Cells, Slices, UniformBall};

/// Records and slices: the autoencoder of paper 004, and two larger batches.
const SIZES: [(usize, usize); 3] = [(600, 100), (10_000, 50), (100_000, 50)];

fn step(criterion: &mut Criterion) {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let ball = UniformBall::new(6).unwrap();
    let mut group = criterion.benchmark_group("step");
    group.sample_size(10);
    for (n, k) in SIZES {
        let slices = Slices::tight(6, k, &mut rng).unwrap();
        let prior = ball.sample(n, &mut rng);
        let u = ball.sample(n, &mut rng);
        let cells = Cells::of_sample(&prior, &slices, n).unwrap();
        let shared = ball.cells(n).unwrap();
        let id = |name: &str| BenchmarkId::new(name, format!("{n}x{k}"));
        group.bench_function(id("distance with its gradient"), |b| {
            b.iter(|| {
                let cells = Cells::of_sample(black_box(&prior), &slices, n).unwrap();
                sliced_cotangents_and_distance(black_box(&u), &slices, &cells).unwrap()
            })
        });
        group.bench_function(id("cells of a sample"), |b| {
            b.iter(|| Cells::of_sample(black_box(&prior), &slices, n).unwrap())
        });
        group.bench_function(id("cells of the ball"), |b| {
            b.iter(|| ball.cells(black_box(n)).unwrap())
        });
        group.bench_function(id("cotangents"), |b| {
            b.iter(|| sliced_cotangents(black_box(&u), &slices, &cells).unwrap())
        });
        group.bench_function(id("bound, cells per slice"), |b| {
            b.iter(|| prior_matching_bound(1.5, 1.0, 0.0, black_box(&slices), &cells).unwrap())
        });
        group.bench_function(id("bound, shared cells"), |b| {
            b.iter(|| prior_matching_bound(1.5, 1.0, 0.0, black_box(&slices), &shared).unwrap())
        });
    }
    group.finish();
}

criterion_group!(benches, step);
criterion_main!(benches);

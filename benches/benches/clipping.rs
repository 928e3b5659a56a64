//! What inner clipping costs by the width of a network (paper 004, table 5): `n = 4096`, `d = 2`, 30 slices, one
//! hidden layer of `h` rectified units. `cost --only clipping` prints the table.
//!
//! Floor, in multiply-adds a record: forward `4 h`, plain backward `8 h`, clipped backward `8 h` for each of two
//! rows and `4 h` for the Gram matrix, so a ratio of 2; the transport, which sorts `2 n k` keys in both, brings
//! it down for narrow networks.

use std::hint::black_box;

use burn::tensor::Device;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dp_core::per_sample::JacobianClip;
use model::fairness::{
    Clipping, Engine, GroupedBatch, Objective, Parity, Stages, TaskLoss, bounded_gradient,
    plain_gradient,
};
use model::layers::{LeakyRelu, Linear};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::Slices;

const RECORDS: usize = 4096;

fn widths(criterion: &mut Criterion) {
    let device = Device::flex();
    let engine = Engine::Host { chunk: 32 };
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut group = criterion.benchmark_group("inner clipping");
    group.sample_size(10);
    for width in [8, 16, 32, 128, 512, 2048, 8192] {
        let first = Linear::new(2, width, 2.0, &mut rng, &device);
        let act = LeakyRelu::new(width, 0.0);
        let last = Linear::new(width, 2, 1.0, &mut rng, &device);
        let rows = (0..2 * RECORDS)
            .map(|_| rng.random_range(-1.0..1.0))
            .collect();
        let halves = [RECORDS / 2; 2];
        let batch = GroupedBatch::new(rows, 2, vec![0.0; 2 * RECORDS], 2, &halves).unwrap();
        let parity = Parity::statistical(halves, Slices::tight(2, 30, &mut rng).unwrap()).unwrap();
        let terms = (TaskLoss::Squared, &parity);
        let stages = || Stages::of(vec![&first, &act, &last]);
        // The transport alone, as in the paper.
        let objective = |mode| Objective::new(1.0, Clipping::paper(mode)).unwrap();
        let plain = objective(JacobianClip::Rows);
        group.bench_function(BenchmarkId::new("plain", width), |b| {
            b.iter(|| {
                let step = plain_gradient(&stages(), &batch, terms, &plain, engine, &device);
                black_box(step.unwrap().0.to_host())
            })
        });
        for mode in [JacobianClip::Rows, JacobianClip::Spectral] {
            let objective = objective(mode);
            let id = BenchmarkId::new(format!("{mode:?}").to_lowercase(), width);
            group.bench_function(id, |b| {
                b.iter(|| {
                    let step =
                        bounded_gradient(&stages(), &batch, terms, &objective, engine, &device);
                    black_box(step.unwrap().0.before_noise())
                })
            });
        }
    }
    group.finish();
}

criterion_group!(benches, widths);
criterion_main!(benches);

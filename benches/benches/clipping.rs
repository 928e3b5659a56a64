//! What inner clipping costs by the width of a network (paper 004, table 5): `n = 4096`, `d = 2`, 30 slices, one
//! hidden layer of `h` rectified units. `cost --only clipping` prints the table.
//!
//! Floor, in multiply-adds a record: forward `4 h`, plain backward `8 h`, clipped backward `8 h` for each of two
//! rows and `4 h` for the Gram matrix, so a ratio of 2; the transport, which sorts `2 n k` keys in both, brings
//! it down for narrow networks.

use std::hint::black_box;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dp_core::DpError;
use dp_core::per_sample::{JacobianClip, Stack};
use model::layers::{LeakyRelu, Linear};
use private_training::{
    Batch, Clipping, Engine, Forward, GroupSizes, Layers, Network, Objective, Penalty,
    StepObjective,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

const RECORDS: usize = 4096;

/// Two features to two outputs by one hidden layer.
#[derive(Module, Debug)]
struct Hidden {
    first: Linear,
    act: LeakyRelu,
    last: Linear,
}

impl Hidden {
    fn new(width: usize, rng: &mut ChaCha20Rng, device: &Device) -> Self {
        Self {
            first: Linear::new(2, width, 2.0, rng, device),
            act: LeakyRelu::new(width, 0.0),
            last: Linear::new(width, 2, 1.0, rng, device),
        }
    }

    fn stack(&self) -> Stack<'_> {
        Stack::new(vec![&self.first, &self.act, &self.last])
    }
}

impl Network<2> for Hidden {
    fn forward(&self, rows: Tensor<2>) -> Forward {
        Forward::penalised(self.stack().output(rows))
    }

    fn layers(&self) -> Result<Option<Layers<'_>>, DpError> {
        Ok(Some(Layers::of(self.stack())))
    }
}

/// The transport alone, as in the paper, with the same slices for every mode.
fn objective(mode: JacobianClip) -> StepObjective {
    let penalty = Penalty::between_groups().slices(30);
    Objective::default()
        .penalty(penalty.clip(Clipping::published(mode)))
        .draw(
            &[2],
            GroupSizes::Fixed(vec![RECORDS / 2; 2]),
            &mut ChaCha20Rng::seed_from_u64(2),
        )
        .unwrap()
}

fn widths(criterion: &mut Criterion) {
    let device = Device::flex();
    let engine = Engine::Host { chunk: 32 };
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut group = criterion.benchmark_group("inner clipping");
    group.sample_size(10);
    for width in [8, 16, 32, 128, 512, 2048, 8192] {
        let network = Hidden::new(width, &mut rng, &device);
        let rows: Vec<f32> = (0..2 * RECORDS)
            .map(|_| rng.random_range(-1.0..1.0))
            .collect();
        let rows = Tensor::<2>::from_data(TensorData::new(rows, [RECORDS, 2]), &device);
        let targets = Tensor::zeros([RECORDS, 2], &device);
        let batch = Batch::new(rows, targets, &[RECORDS / 2; 2]).unwrap();
        let plain = objective(JacobianClip::Rows);
        group.bench_function(BenchmarkId::new("plain", width), |b| {
            b.iter(|| {
                let step = plain.gradient_without_privacy(&network, &batch, engine, &device);
                black_box(step.unwrap().0.to_host())
            })
        });
        for mode in [JacobianClip::Rows, JacobianClip::Spectral] {
            let objective = objective(mode);
            let id = BenchmarkId::new(format!("{mode:?}").to_lowercase(), width);
            group.bench_function(id, |b| {
                b.iter(|| {
                    let step = objective.clipped_gradient(&network, &batch, engine, &device);
                    black_box(step.unwrap().0.before_noise())
                })
            });
        }
    }
    group.finish();
}

criterion_group!(benches, widths);
criterion_main!(benches);

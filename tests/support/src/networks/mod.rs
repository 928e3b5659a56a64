//! Networks of burn's layers, records for them, and trainings whose noise is known.

mod layers;
mod neighbours;

use burn::module::{Module, ModuleMapper, Param};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};
use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::per_sample::nn::Chain;
use dp_core::plan::TrainingPlan;
use dp_core::sampling::Sampler;
use private_training::{Layers, Network, Training, TrainingConfig};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use tempfile::TempDir;

pub use layers::{Signal, Text, Vision};
pub use neighbours::Neighbours;

/// Public randomness of a seed.
pub fn generator(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Numbers between -1 and 1 of a seed, the same on every device.
pub fn uniform<const D: usize>(shape: [usize; D], seed: u64, device: &Device) -> Tensor<D> {
    let mut rng = generator(seed);
    let count = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|_| rng.random_range(-1.0..1.0)).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

struct Drawn {
    rng: ChaCha20Rng,
    reach: f32,
}

impl ModuleMapper for Drawn {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|old| {
            let shape = old.dims();
            let count: usize = shape.iter().product();
            // Linear layers of burn are [d_in, d_out], convolutions [c_out, c_in, k]; a bias follows its weight.
            match D {
                1 => {}
                2 => self.reach = (shape[0] as f32).sqrt().recip(),
                _ => self.reach = ((count / shape[0]) as f32).sqrt().recip(),
            }
            let values: Vec<f32> = (0..count)
                .map(|_| self.rng.random_range(-self.reach..self.reach))
                .collect();
            Tensor::from_data(TensorData::new(values, shape), &old.device())
        })
    }
}

/// `module` with weights of `seed`, the same on every device: burn draws them from one generator of the process,
/// which tests that run beside each other share.
fn sampled<M: Module>(module: M, seed: u64) -> M {
    let rng = generator(seed);
    module.map(&mut Drawn { rng, reach: 1.0 })
}

/// Class numbers of records.
pub fn labels(n: usize, classes: usize, device: &Device) -> Tensor<1, Int> {
    Tensor::arange(0..n as i64, device).remainder_scalar(classes as i64)
}

/// A network of burn's own layers, with an inner activation that can be penalised.
#[derive(Module, Debug)]
pub struct Small {
    /// To two channels.
    pub conv: Conv2d,
    /// Behind a rectifier.
    pub pool: MaxPool2d,
    /// To the activation that can be penalised.
    pub inner: Linear,
    /// To the outputs.
    pub last: Linear,
}

impl Small {
    /// The shape of a record.
    pub const IMAGE: [usize; 3] = [1, 6, 6];

    /// With the same weights on every device.
    pub fn new(latent: usize, outputs: usize, device: &Device) -> Self {
        let network = Self {
            conv: Conv2dConfig::new([1, 2], [3, 3]).init(device),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            inner: LinearConfig::new(8, latent).init(device),
            last: LinearConfig::new(latent, outputs).init(device),
        };
        sampled(network, 7)
    }

    /// Its layers.
    pub fn chain(&self) -> Chain<'_> {
        Chain::image(Self::IMAGE)
            .conv2d(&self.conv)
            .relu()
            .max_pool2d(&self.pool)
            .flatten()
            .linear(&self.inner)
            .mark_latent()
            .relu()
            .linear(&self.last)
    }
}

impl Network<4> for Small {
    fn layers(&self) -> Layers<'_, 4> {
        Layers::chain(self.chain())
    }
}

/// A ledger that is empty, in a folder of its own.
pub fn ledger() -> (TempDir, Ledger) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::create(&folder.path().join("ledger.jsonl")).unwrap();
    (folder, ledger)
}

/// Images for [`Small`], and their classes.
pub fn classified(records: usize) -> (Tensor<4>, Tensor<1, Int>) {
    let device = Device::flex();
    (
        uniform([records, 1, 6, 6], 0, &device),
        labels(records, 4, &device),
    )
}

/// A training with noise that is known, in a folder of its own.
///
/// # Panics
///
/// If the folder or the plan does not do.
pub fn training<M: Module>(
    config: TrainingConfig,
    network: &M,
    plan: TrainingPlan,
    folder: &tempfile::TempDir,
) -> (Training<M>, Ledger) {
    let ledger = Ledger::create(&folder.path().join("ledger.jsonl")).unwrap();
    let releaser = plan.check().unwrap().releaser(NoiseSource::insecure(3));
    let training = config.start_with_noise(network.clone(), releaser);
    (training.unwrap(), ledger)
}

/// Batches of all records, with these numbers of them in each group.
///
/// # Panics
///
/// If a group is empty.
pub fn fixed_batches(sizes: &[usize]) -> Sampler {
    if let &[all] = sizes {
        return Sampler::all(all).unwrap();
    }
    let mut from = 0;
    let group = |&size: &usize| {
        from += size;
        (from - size..from).collect()
    };
    Sampler::stratified(sizes.iter().map(group).collect(), sizes).unwrap()
}

/// A plan of ten steps.
pub fn plan(sampler: Sampler) -> TrainingPlan {
    TrainingPlan::for_epsilon(2.0, 1e-4, 10, sampler)
}

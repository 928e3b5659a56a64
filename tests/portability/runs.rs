//! Ten private steps of each experiment with the same seed: how the weights have changed.

use burn::module::Module;
use burn::nn::{LeakyRelu, LeakyReluConfig, Linear};
use burn::optim::AdamConfig;
use burn::tensor::{Device, Tensor, TensorData};
use data::Glyphs;
use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::per_sample::JacobianClip;
use dp_core::per_sample::nn::Chain;
use dp_core::plan::{Noise, TrainingPlan};
use dp_core::sampling::{Draw, Sampler};
use model::layers::linear;
use model::swae::SwaeConfig;
use private_training::{
    Batch, Clipping, Engine, Layers, Loss, Network, Objective, Optimizer, Penalty, Prior, Training,
    TrainingConfig, weights,
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use test_support::networks::{Small, labels};

use super::reference::Step;
use super::{Case, TestDevice, Tolerance, reference, wave, wide};

pub(super) const STEPS: usize = 10;

/// A small network whose output is penalised.
#[derive(Module, Debug)]
pub(super) struct Scorer {
    first: Linear,
    bend: LeakyRelu,
    last: Linear,
}

impl Scorer {
    pub(super) const FEATURES: usize = 5;

    pub(super) fn new(rng: &mut ChaCha20Rng, device: &Device) -> Self {
        Self {
            first: linear(Self::FEATURES, 6, 2.0, rng, device),
            bend: LeakyReluConfig::new().with_negative_slope(0.1).init(),
            last: linear(6, 1, 2.0, rng, device),
        }
    }

    /// The same in `f64`.
    pub(super) fn reference(&self) -> reference::ReferenceNetwork {
        let weights = wide(weights::to_host(self));
        let rest = &mut &weights[..];
        let linear = |inputs, outputs| Step::Linear { inputs, outputs };
        reference::ReferenceNetwork::default()
            .then_step(linear(Self::FEATURES, 6), rest)
            .then_step(Step::LeakyRelu { slope: 0.1 }, rest)
            .then_step(linear(6, 1), rest)
            .then_step(Step::Sigmoid, rest)
    }
}

impl Network<2> for Scorer {
    fn layers(&self) -> Layers<'_, 2> {
        let hidden = Chain::features(Self::FEATURES)
            .linear(&self.first)
            .leaky_relu(&self.bend);
        Layers::chain(hidden.linear(&self.last).sigmoid())
    }
}

/// Ten steps with known noise, and a ledger in a folder that goes with it.
fn start<M: Module>(
    config: TrainingConfig,
    network: M,
    sampler: Sampler,
) -> (Training<M>, Ledger, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::create(&folder.path().join("ledger.jsonl")).expect("a ledger");
    // So little that the gradient is what the weights follow.
    let plan = TrainingPlan {
        noise: Noise::Multiplier(1e-3),
        ..TrainingPlan::for_epsilon(1.0, 1e-3, STEPS as u64, sampler)
    };
    let releaser = plan.check().expect("a plan");
    let releaser = releaser.releaser(NoiseSource::insecure(3));
    let training = config.start_with_noise(network, releaser);
    (training.expect("a training"), ledger, folder)
}

fn objective(alpha: f64, loss: Loss, penalty: Penalty) -> Objective {
    let clipping = Clipping::published(JacobianClip::Spectral);
    Objective::new([loss.weight(1.0 - alpha)]).penalty(penalty.weight(alpha).clipping(clipping))
}

fn upload(values: Vec<f32>, width: usize, device: &Device) -> Tensor<2> {
    let n = values.len() / width;
    Tensor::from_data(TensorData::new(values, [n, width]), device)
}

/// What training added to the weights.
fn change<M: Module>(before: &[f32], model: &M) -> Vec<f64> {
    let after = weights::to_host(model);
    let pairs = after.iter().zip(before);
    pairs.map(|(&a, &b)| f64::from(a) - f64::from(b)).collect()
}

/// Ten private steps of an autoencoder by Adam, averaged; `after` hears when each is done. What they added
/// to the averaged weights.
pub(super) fn autoencoder(
    alpha: f64,
    device: &Device,
    engine: Engine,
    after: &mut dyn FnMut(),
) -> Vec<f64> {
    let glyphs = Glyphs::generate(50, 1).expect("glyphs");
    let mut public = ChaCha20Rng::seed_from_u64(2);
    let config = SwaeConfig {
        latent: 3,
        classes: 0,
    };
    let model = config.init(&mut public, device);
    let before = weights::to_host(&model);
    let loss = Loss::binary_cross_entropy_with_logits();
    let objective = objective(alpha, loss, Penalty::to(Prior::UniformBall).slices(9));
    let config = TrainingConfig::new(objective).engine(engine).public(public);
    let sampler = Sampler::fixed_size(glyphs.len(), 6).expect("a sampler");
    let (mut training, mut ledger, _folder) = start(config.average(0.5), model, sampler);
    while let Some(step) = training.next_step().expect("a step") {
        let pixels = glyphs.gather(&step.records()).expect("pixels");
        let images = upload(pixels, glyphs.image_size(), device);
        let batch = Batch::new(images.clone(), images, &[6]).expect("a batch");
        step.update(&batch, &mut ledger).expect("an update");
        after();
    }
    assert_eq!(ledger.releases(), STEPS as u64);
    change(&before, &training.averaged().expect("weights"))
}

/// The same for a fair scorer by plain descent.
pub(super) fn fair(
    alpha: f64,
    device: &Device,
    engine: Engine,
    after: &mut dyn FnMut(),
) -> Vec<f64> {
    let mut public = ChaCha20Rng::seed_from_u64(4);
    let scorer = Scorer::new(&mut public, device);
    let before = weights::to_host(&scorer);
    let penalty = Penalty::between_strata().slices(1);
    let objective = objective(alpha, Loss::binary_cross_entropy(), penalty);
    let config = TrainingConfig::new(objective)
        .optimizer(Optimizer::sgd())
        .learning_rate(0.5)
        .engine(engine)
        .public(public);
    // All records at each step.
    let sampler = Sampler::stratified(vec![(0..5).collect(), (5..14).collect()], &[5, 9]);
    let (mut training, mut ledger, _folder) = start(config, scorer, sampler.expect("a sampler"));
    while let Some(step) = training.next_step().expect("a step") {
        let at = step.draw().map(Draw::step).expect("a planned draw") as usize;
        let inputs = wave((14 + at) * Scorer::FEATURES)[at * Scorer::FEATURES..].to_vec();
        let inputs = upload(inputs, Scorer::FEATURES, device);
        let targets = upload((0..14).map(|i| (i % 2) as f32).collect(), 1, device);
        let batch = Batch::new(inputs, targets, &[5, 9]).expect("a batch");
        step.update(&batch, &mut ledger).expect("an update");
        after();
    }
    assert_eq!(ledger.releases(), STEPS as u64);
    change(&before, &training.network)
}

/// The same for a classifier of burn's own layers by burn's Adam.
fn classifier(alpha: f64, device: &Device, engine: Engine) -> Vec<f64> {
    let network = Small::new(3, 4, device);
    let before = weights::to_host(&network);
    let penalty = Penalty::to(Prior::StandardGaussian).slices(6);
    let objective = objective(alpha, Loss::cross_entropy(), penalty);
    let config = TrainingConfig::new(objective)
        .engine(engine)
        .optimizer(AdamConfig::new().init())
        .learning_rate(1e-2);
    let sampler = Sampler::fixed_size(20, 6).expect("a sampler");
    let (mut training, mut ledger, _folder) = start(config, network, sampler);
    let [c, h, w] = Small::IMAGE;
    let images = upload(wave(20 * c * h * w), c * h * w, device).reshape([20, c, h, w]);
    let labels = labels(20, 4, device);
    while let Some(step) = training.next_step().expect("a step") {
        let moved = step.update_from(&images, &labels, &mut ledger);
        moved.expect("an update");
    }
    assert_eq!(ledger.releases(), STEPS as u64);
    change(&before, &training.network)
}

const ALPHA: f64 = 0.1;

/// The runs, and the same beside references whose gradients are a little different: every test device has to be beyond
/// the tolerance there, or the comparison would not see a gradient that is a little wrong.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = compared_with(ALPHA);
    let sabotaged = |case| Case {
        sabotaged: true,
        ..case
    };
    cases.extend(compared_with(1.1 * ALPHA).into_iter().map(sabotaged));
    cases
}

fn compared_with(alpha: f64) -> Vec<Case> {
    type Run = fn(f64, &Device, Engine) -> Vec<f64>;
    let case = |name, reference: Engine, run: Run| {
        Case::new(
            "ten steps",
            name,
            Tolerance::Run,
            move |test_device: &TestDevice| run(ALPHA, &test_device.device, test_device.engine),
            move || run(alpha, &Device::flex(), reference),
        )
        .private()
    };
    let host = Engine::Host { chunk: 4 };
    vec![
        case("fairness", host, |alpha, device, engine| {
            fair(alpha, device, engine, &mut || ())
        }),
        case("autoencoder", host, |alpha, device, engine| {
            autoencoder(alpha, device, engine, &mut || ())
        }),
        case("burn's layers", Engine::Autodiff, classifier),
    ]
}

//! Ten private steps of each experiment with the same seed: how the weights have changed.

use burn::module::Module;
use burn::tensor::Device;
use data::Glyphs;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoiseSource, Releaser};
use dp_core::per_sample::{JacobianClip, Layer};
use dp_core::plan::{Noise, TrainingPlan};
use dp_core::sampling::{BatchSampler, FixedSizeSampler, GroupSampler};
use model::adam::ModuleAdam;
use model::descent::descend;
use model::ema::Ema;
use model::fairness::{self, GroupedBatch, Parity, Stages, TaskLoss};
use model::layers::{LeakyRelu, Linear, Sigmoid};
use model::penalised::{Clipping, Engine, Objective};
use model::swae::{self, Batch, ExactCells, Matching, Prior, SwaeConfig};
use model::weights;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::Slices;

use super::reference::Network;
use super::{Case, Place, Tolerance, wave};

const STEPS: usize = 10;

/// A small network whose output is penalised.
#[derive(Module, Debug)]
pub(super) struct Scorer {
    first: Linear,
    bend: LeakyRelu,
    last: Linear,
    squash: Sigmoid,
}

impl Scorer {
    pub(super) const FEATURES: usize = 5;

    pub(super) fn new(rng: &mut ChaCha20Rng, device: &Device) -> Self {
        Self {
            first: Linear::new(Self::FEATURES, 6, 2.0, rng, device),
            bend: LeakyRelu::new(6, 0.1),
            last: Linear::new(6, 1, 2.0, rng, device),
            squash: Sigmoid::new(1, 0.0),
        }
    }

    /// The same in `f64`.
    pub(super) fn reference(&self) -> Network {
        Network::default()
            .then(&self.first)
            .then(&self.bend)
            .then(&self.last)
            .then(&self.squash)
    }

    pub(super) fn layers(&self) -> Vec<&dyn Layer> {
        vec![&self.first, &self.bend, &self.last, &self.squash]
    }
}

/// A releaser of ten steps with known noise, and a ledger in a folder that goes with it.
fn releaser(sampler: impl Into<BatchSampler>) -> (Releaser, Ledger, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = Ledger::create(&folder.path().join("ledger.jsonl")).expect("a ledger");
    // So little that the gradient is what the weights follow.
    let plan = TrainingPlan {
        noise: Noise::Multiplier(1e-3),
        ..TrainingPlan::within(1.0, 1e-3, STEPS as u64, sampler)
    };
    let plan = plan.check().expect("a plan");
    (plan.releaser(NoiseSource::insecure(3)), ledger, folder)
}

fn objective(alpha: f64) -> Objective {
    Objective::new(alpha, Clipping::paper(JacobianClip::Spectral)).expect("an objective")
}

/// What training added to the weights.
fn change<M: Module>(before: &[f32], model: &M) -> Vec<f64> {
    let after = weights::to_host(model);
    let pairs = after.iter().zip(before);
    pairs.map(|(&a, &b)| f64::from(a) - f64::from(b)).collect()
}

/// Ten private steps of an autoencoder by Adam, averaged; `after` hears when each is done. What they added
/// to the averaged weights.
pub fn autoencoder(
    alpha: f64,
    device: &Device,
    engine: Engine,
    mut after: impl FnMut(),
) -> Vec<f64> {
    let glyphs = Glyphs::generate(50, 1).expect("glyphs");
    let sampler = FixedSizeSampler::new(glyphs.len(), 6).expect("a sampler");
    let (mut releaser, mut ledger, _folder) = releaser(sampler);
    let mut public = ChaCha20Rng::seed_from_u64(2);
    let config = SwaeConfig {
        latent: 3,
        classes: 0,
    };
    let mut model = config.init(&mut public, device);
    let before = weights::to_host(&model);
    let mut adam = ModuleAdam::default();
    let mut average = Ema::new(0.5).expect("an average");
    let mut exact = ExactCells::default();
    for _ in 0..STEPS {
        let slices = Slices::tight(3, 9, &mut public).expect("slices");
        let matching = Matching::draw(Prior::Exact, &[6], slices, &mut exact, &mut public);
        let draw = releaser.draw().expect("a draw");
        let pixels = glyphs.gather(&draw.indices()).expect("pixels");
        let records = Batch::single(pixels, glyphs.image_size()).expect("a batch");
        let matching = matching.expect("a matching");
        let (clipped, _) = swae::bounded_gradient(
            &model,
            &records,
            &matching,
            &objective(alpha),
            engine,
            device,
        )
        .expect("a gradient");
        let bounded = clipped.of(draw).expect("of the draw");
        let released = releaser.release(bounded, &mut ledger).expect("a release");
        model = adam.step(1e-3, model, released.into_params());
        average.update(&model);
        after();
    }
    assert_eq!(ledger.releases(), STEPS as u64);
    change(&before, &average.apply(model).expect("weights"))
}

/// The same for a fair scorer by plain descent.
pub fn fair(alpha: f64, device: &Device, engine: Engine, mut after: impl FnMut()) -> Vec<f64> {
    // All records at each step.
    let sampler = GroupSampler::new(vec![(0..5).collect(), (5..14).collect()], &[5, 9]);
    let (mut releaser, mut ledger, _folder) = releaser(sampler.expect("a sampler"));
    let mut public = ChaCha20Rng::seed_from_u64(4);
    let mut scorer = Scorer::new(&mut public, device);
    let before = weights::to_host(&scorer);
    let sizes = [5, 9];
    for step in 0..STEPS {
        let inputs = wave((14 + step) * Scorer::FEATURES)[step * Scorer::FEATURES..].to_vec();
        let targets = (0..14).map(|i| (i % 2) as f32).collect();
        let batch = GroupedBatch::new(inputs, Scorer::FEATURES, targets, 1, &sizes);
        let slices = Slices::tight(1, 1, &mut public).expect("slices");
        let parity = Parity::statistical(sizes, slices).expect("a parity");
        let stages = Stages::of(scorer.layers());
        let terms = (TaskLoss::Bernoulli, &parity);
        let batch = batch.expect("a batch");
        let draw = releaser.draw().expect("a draw");
        let (clipped, _) =
            fairness::bounded_gradient(&stages, &batch, terms, &objective(alpha), engine, device)
                .expect("a gradient");
        let bounded = clipped.of(draw).expect("of the draw");
        let released = releaser.release(bounded, &mut ledger).expect("a release");
        scorer = descend(0.5, scorer, released.into_params());
        after();
    }
    change(&before, &scorer)
}

const ALPHA: f64 = 0.1;

pub(super) fn cases() -> Vec<Case> {
    compared_with(ALPHA)
}

/// The runs of [`super::cases`] beside ones whose gradients are a little different: every place has to be
/// beyond the tolerance, or the comparison would not see a gradient that is a little wrong.
pub fn sabotaged_runs() -> Vec<Case> {
    compared_with(1.1 * ALPHA)
}

fn compared_with(alpha: f64) -> Vec<Case> {
    let host = || (Device::flex(), Engine::Host { chunk: 4 });
    let case = |name, run: fn(f64, &Device, Engine) -> Vec<f64>| {
        Case::new(
            "ten steps",
            name,
            Tolerance::Run,
            move |place: &Place| run(ALPHA, &place.device, place.engine),
            move || {
                let (device, engine) = host();
                run(alpha, &device, engine)
            },
        )
        .private()
    };
    vec![
        case("fairness", |alpha, device, engine| {
            fair(alpha, device, engine, || ())
        }),
        case("autoencoder", |alpha, device, engine| {
            autoencoder(alpha, device, engine, || ())
        }),
    ]
}

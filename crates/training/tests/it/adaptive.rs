//! Clipping norms that follow a quantile: what one record moves in a step's gradient and count together, and where they go.

use burn::tensor::{Device, Tensor};
use dp_core::mechanism::NoiseSource;
use dp_core::plan::TrainingPlan;
use dp_core::sampling::Sampler;
use private_training::{
    Batch, Checkpoint, Engine, Gradients, Loss, Objective, Optimizer, Training, TrainingConfig,
};

use test_support::networks::{Small, ledger, uniform};

const RECORDS: usize = 12;
const QUANTILE: f64 = 0.5;
const RATE: f64 = 0.2;
const HOST: Engine = Engine::Host { chunk: 8 };

/// How far the count moves against the gradient.
const COUNT_MOVES: f64 = 0.1;

/// Targets so far apart that the norms of gradients are.
fn rising() -> Vec<f32> {
    (1..=RECORDS).map(|i| 10.0 * i as f32).collect()
}

fn network() -> Small {
    Small::new(3, 1, &Device::flex())
}

fn images(records: usize) -> Tensor<4> {
    uniform([records, 1, 6, 6], 5, &Device::flex())
}

fn targets(values: &[f32]) -> Tensor<2> {
    Tensor::<1>::from_floats(values, &Device::flex()).reshape([values.len(), 1])
}

/// Norms of the records' gradients, by gradients of one record that nothing clips.
fn norms(images: &Tensor<4>, values: &[f32]) -> Vec<f64> {
    let mut plain = Gradients::new(Objective::new([Loss::squared_error()]));
    let alone = |(i, &value): (usize, &f32)| {
        let batch = Batch::new(images.clone().narrow(0, i, 1), targets(&[value]), &[1]).unwrap();
        let (gradient, _) = plain.without_privacy(&network(), &batch).unwrap();
        let squares = gradient.to_host().into_iter().map(|x| f64::from(x).powi(2));
        squares.sum::<f64>().sqrt()
    };
    values.iter().enumerate().map(alone).collect()
}

fn started(
    engine: Engine,
    norm: f64,
    z: f64,
    steps: u64,
    sampler: Sampler,
    noise: NoiseSource,
) -> Training<Small> {
    let loss = Loss::squared_error().max_grad_norm(norm);
    let objective = Objective::new([loss.adaptive_clipping(QUANTILE, RATE)]);
    let config = TrainingConfig::new(objective).engine(engine);
    let config = config.optimizer(Optimizer::sgd()).learning_rate(1e-3);
    let plan = TrainingPlan::with_noise_multiplier(z, 1e-3, steps, sampler);
    let releaser = plan.check().unwrap().releaser(noise);
    config.start_with_noise(network(), releaser).unwrap()
}

/// The count of a step by how it moved the norm, in records.
fn count(before: f64, after: f64) -> f64 {
    let share = QUANTILE - (after / before).ln() / RATE;
    assert!(share > 1e-3 && share < 1.0 - 1e-3, "{share}");
    RECORDS as f64 * share
}

/// From the state of one training in each step, so that what was released before is the same for both, norms included: the
/// gradient and the count of a neighbour, by the same noise, differ by what the ledger declares at most, all in its units.
/// A record that is just within the norm and becomes one that is far beyond it on the other side moves all of it.
#[test]
fn a_record_moves_gradient_and_count_by_what_is_declared() {
    let engines = [Engine::Autodiff, HOST, Engine::Tensor { chunk: 5 }];
    let all = Sampler::fixed_size(RECORDS, RECORDS).unwrap();
    let samplers = [
        (all, Some(-1e4), 1.0),
        (Sampler::poisson_zero_out(RECORDS, 1.0).unwrap(), None, 0.5),
    ];
    let (place, steps) = (6, 5);
    let values = rising();
    let one = images(RECORDS);
    let norm = 1.0001 * norms(&one, &values)[place];
    for (sampler, replaced, moves) in &samplers {
        let (mut other, mut changed) = (one.clone(), values.clone());
        match replaced {
            Some(value) => changed[place] = *value,
            None => {
                // A record whose gradient is not finite adds nothing.
                let blank = Tensor::full([1, 1, 6, 6], f32::NAN, &Device::flex());
                other = other.slice_assign([place..place + 1, 0..1, 0..6, 0..6], blank);
            }
        }
        for engine in engines {
            let (_folder, mut ledger) = ledger();
            let start = |noise| started(engine, norm, 0.05, steps, sampler.clone(), noise);
            let mut training = start(NoiseSource::insecure(3));
            for step in 1..=steps {
                let before = training.max_grad_norms()[0];
                let checkpoint = training.checkpoint(&ledger).to_bytes().unwrap();
                let checkpoint = Checkpoint::from_bytes(&checkpoint).unwrap();
                let state = training.releaser().unwrap().noise().state();
                let mut made = |images: &Tensor<4>, values: &[f32]| {
                    let mut next = start(NoiseSource::resume(&state));
                    next.restore(&checkpoint, &ledger).unwrap();
                    assert_eq!(next.max_grad_norms(), [before]);
                    let network = next.network.clone();
                    let sampled = next.next_step().unwrap().unwrap();
                    let batch = sampled.select(images, targets(values)).unwrap();
                    let (released, _) = sampled.release(&network, &batch, &mut ledger).unwrap();
                    let gradient = released.gradient().to_host();
                    next.apply(1e-3, released.into_params());
                    (gradient, count(before, next.max_grad_norms()[0]), next)
                };
                let (here, counted, next) = made(&one, &values);
                let (there, counted_there, _) = made(&other, &changed);
                training = next;
                let entries = ledger.entries().unwrap().entries;
                // The norm is public: the ledger says it.
                let declared = entries.last().unwrap().sensitivity.unwrap();
                let alone = declared / (1.0 + COUNT_MOVES * COUNT_MOVES).sqrt();
                let expected = 2.0 * moves * before / RECORDS as f64;
                // What sums in `f32` may be off by is a part of it.
                let off = alone / expected;
                assert!((1.0..1.003).contains(&off), "{engine:?}: {off}");
                let pairs = here.iter().zip(&there);
                let gradient = pairs.map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
                let gradient = gradient.sum::<f64>().sqrt();
                let counts = (counted - counted_there).abs();
                let of_count = COUNT_MOVES * alone * counts / moves;
                let ratio = gradient.hypot(of_count) / declared;
                assert!(ratio <= 1.0, "{engine:?} {step}: {ratio}");
                if step == 1 {
                    assert!(ratio > 0.997, "{engine:?}: {ratio}");
                    assert!((counts / moves - 1.0).abs() < 1e-2, "{counts}");
                    // Were the count not declared, or counted once too little, this would be too much.
                    assert!(gradient.hypot(of_count) > 1.002 * alone, "{ratio}");
                }
            }
        }
    }
}

/// Of 400 steps on the same records, each with noise of its own: the count has noise of `10.05 z` records, as the gradient's
/// multiplier and its own make up the plan's. The deviation of 400 normal values is off by 20 % for one seed in 10^8.
#[test]
fn the_count_has_the_noise_that_its_share_of_the_release_asks_for() {
    let (z, seeds) = (0.05, 400);
    let values = rising();
    let one = images(RECORDS);
    let norm = 1.0001 * norms(&one, &values)[6];
    let (_folder, mut ledger) = ledger();
    let sampler = Sampler::all(RECORDS).unwrap();
    let started = |seed| {
        started(
            HOST,
            norm,
            z,
            1,
            sampler.clone(),
            NoiseSource::insecure(seed),
        )
    };
    let checkpoint = started(0).checkpoint(&ledger);
    let counts = (0..seeds).map(|seed| {
        let mut training = started(seed);
        training.restore(&checkpoint, &ledger).unwrap();
        let step = training.next_step().unwrap().unwrap();
        let made = step.update_from(&one, targets(&values), &mut ledger);
        made.unwrap();
        count(norm, training.max_grad_norms()[0])
    });
    let counts: Vec<f64> = counts.collect();
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / counts.len() as f64;
    let expected = (1.0 + COUNT_MOVES * COUNT_MOVES).sqrt() / COUNT_MOVES * z;
    let ratio = variance.sqrt() / expected;
    assert!((ratio - 1.0).abs() < 0.2, "{ratio}");
    let within = norms(&one, &values).into_iter().filter(|n| *n <= norm);
    let off = mean - within.count() as f64;
    assert!(off.abs() < 5.0 * expected / (seeds as f64).sqrt(), "{mean}");
}

/// From far below and far above, the norm comes to the median of the norms of gradients, within the noise of its count.
#[test]
fn the_norm_comes_to_the_quantile() {
    let records = 200;
    let images = images(records);
    let values: Vec<f32> = (0..records).map(|i| 1.0 + 0.5 * i as f32).collect();
    let mut sorted = norms(&images, &values);
    sorted.sort_by(f64::total_cmp);
    for first in [1e-2 * sorted[records / 2], 1e2 * sorted[records / 2]] {
        let loss = Loss::squared_error().max_grad_norm(first);
        let objective = Objective::new([loss.adaptive_clipping(QUANTILE, RATE)]);
        // Weights stay, and with them the norms.
        let config = TrainingConfig::new(objective).optimizer(Optimizer::sgd());
        let sampler = Sampler::poisson_zero_out(records, 0.5).unwrap();
        let plan = TrainingPlan::with_noise_multiplier(0.5, 1e-3, 150, sampler);
        let releaser = plan.check().unwrap().releaser(NoiseSource::insecure(4));
        let config = config.learning_rate(1e-30);
        let mut training = config.start_with_noise(network(), releaser).unwrap();
        let (_folder, mut ledger) = ledger();
        while let Some(step) = training.next_step().unwrap() {
            let made = step.update_from(&images, targets(&values), &mut ledger);
            made.unwrap();
        }
        let last = training.max_grad_norms()[0];
        let within = sorted.partition_point(|norm| *norm <= last) as f64 / records as f64;
        assert!((0.4..0.6).contains(&within), "{first}: {within}");
        let plan = training.plan().unwrap();
        let entries = ledger.entries().unwrap();
        assert_eq!(plan.epsilon_spent(&entries).unwrap(), plan.epsilon_upper());
    }
}

#[test]
fn what_cannot_follow_a_quantile_is_refused() {
    let refused = |quantile: f64, rate: f64, words: &str| {
        let loss = Loss::squared_error().adaptive_clipping(quantile, rate);
        let plan = TrainingPlan::for_epsilon(1.0, 1e-3, 5, Sampler::fixed_size(12, 3).unwrap());
        let config = TrainingConfig::new(loss);
        let refused = config
            .start(network(), plan.check().unwrap())
            .err()
            .unwrap();
        assert!(refused.to_string().contains(words), "{refused}");
    };
    for quantile in [0.0, 1.0, -0.1, f64::NAN] {
        refused(quantile, 0.2, "quantile");
    }
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(0.5, rate, "rate");
    }
    // A checkpoint of another training.
    let (_folder, ledger) = ledger();
    let sampler = || Sampler::all(RECORDS).unwrap();
    let noise = NoiseSource::insecure(1);
    let mut training = started(Engine::Autodiff, 1.0, 1.0, 5, sampler(), noise);
    let own = training.checkpoint(&ledger);
    for norms in [vec![], vec![0.0], vec![1.0, 2.0]] {
        let mut other = own.clone();
        other.max_grad_norms = norms;
        assert!(training.restore(&other, &ledger).is_err());
        assert_eq!(training.checkpoint(&ledger), own);
    }
}

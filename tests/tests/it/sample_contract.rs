//! The privacy contract of a step towards a private sample: the map's inputs and the sample are both private.
//!
//! Two batches that differ in one record of one side go through the same step; what reaches the mechanism must
//! differ by at most the declared sensitivity, and by at most its share where the record is one of the sample.
//! Without clipping the same measurement exceeds it, and an instance attains the bound of each side.

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};
use dp_core::DpError;
use dp_core::accounting::Neighbours;
use dp_core::per_sample::JacobianClip;
use dp_core::per_sample::nn::Chain;
use model::layers::linear;
use private_training::penalty::ToSample;
use private_training::{
    Batch, Clipping, Engine, Forward, GroupSizes, Layers, Network, Objective, Penalty,
    StepObjective,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::Cost;
use system_tests::portability::{CHUNK, available_devices};
use test_support::distance;

use crate::upload;

const FEATURES: usize = 3;

#[derive(Module, Debug)]
struct Map {
    first: Linear,
    last: Linear,
}

impl Network<2> for Map {
    fn forward(&self, rows: Tensor<2>) -> Forward {
        let hidden = burn::tensor::activation::relu(self.first.forward(rows));
        Forward::penalised(self.last.forward(hidden))
    }

    fn layers(&self) -> Result<Option<Layers<'_>>, DpError> {
        let chain = Chain::features(self.first.weight.dims()[0]);
        Layers::chain(chain.linear(&self.first).relu().linear(&self.last))
    }
}

struct Trial {
    network: Map,
    step: StepObjective,
    batches: [Batch<2>; 2],
    /// Whether the replaced record is one of the sample.
    of_sample: bool,
    share: f64,
}

impl Trial {
    fn new(index: u64, device: &Device) -> Self {
        Self::of(Cost::Square, index, device)
    }

    fn of(cost: Cost, index: u64, device: &Device) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(index);
        let d = [1, 2, 7][rng.random_range(0..3)];
        let scale = [0.5, 4.0, 100.0][rng.random_range(0..3)];
        let network = Map {
            first: linear(FEATURES, 6, scale, &mut rng, device),
            last: linear(6, d, scale, &mut rng, device),
        };
        let of_sample = index.is_multiple_of(2);
        let [n, m] = [0, 1].map(|_| rng.random_range(1..9_usize));
        let size = [0.1, 1.0, 50.0][rng.random_range(0..3)];
        let mut values = |count: usize, size: f32| -> Vec<f32> {
            (0..count).map(|_| rng.random_range(-size..size)).collect()
        };
        let (mut inputs, sample) = (values(n * FEATURES, size), values(m * d, 2.0));
        // Ties.
        if n > 2 {
            inputs.copy_within(0..FEATURES, FEATURES);
        }
        let (mut other_inputs, mut other_sample) = (inputs.clone(), sample.clone());
        if of_sample {
            let row = rng.random_range(0..m) * d;
            for x in &mut other_sample[row..row + d] {
                *x = [f32::NAN, -*x, 1e4][rng.random_range(0..3)];
            }
        } else {
            let row = rng.random_range(0..n) * FEATURES;
            for x in &mut other_inputs[row..row + FEATURES] {
                *x = [f32::NAN, -*x, 1e4][rng.random_range(0..3)];
            }
        }
        let batches = [(inputs, sample), (other_inputs, other_sample)].map(|(inputs, sample)| {
            let (rows, targets) = (
                upload(&inputs, FEATURES, device),
                Tensor::<2>::zeros([n, 1], device),
            );
            let batch = Batch::new(rows, targets, &[n]).unwrap();
            batch.with_private_sample(sample, m).unwrap()
        });
        let clipping = Clipping {
            activation: rng.random_range(0.1..2.0),
            jacobian: rng.random_range(0.1..3.0),
            mode: [JacobianClip::Rows, JacobianClip::Spectral][rng.random_range(0..2)],
        };
        let share = ToSample::share(cost, clipping.activation, d, n, m).unwrap();
        let penalty = Penalty::to_private_sample(share).slices(3 * d).cost(cost);
        let step = Objective::default()
            .penalty(penalty.weight(0.7).clipping(clipping))
            .draw(&[d], GroupSizes::Fixed(vec![n, m]), &mut rng)
            .unwrap();
        Self {
            network,
            step,
            batches,
            of_sample,
            share,
        }
    }

    /// How far the gradients are apart, against what is declared for a record of that side.
    fn ratio(&self, engine: Engine, device: &Device) -> f64 {
        let [first, second] = self.batches.each_ref().map(|batch| {
            let bounded = self
                .step
                .clipped_gradient(&self.network, batch, engine, device);
            bounded.unwrap().0
        });
        assert_eq!(first.sensitivity(), second.sensitivity());
        let moved = distance(&first.before_noise(), &second.before_noise());
        moved / (first.sensitivity().l2_upper() * if self.of_sample { self.share } else { 1.0 })
    }

    fn ratio_without_clipping(&self, engine: Engine, device: &Device) -> f64 {
        let [first, second] = self.batches.each_ref().map(|batch| {
            let step = &self.step;
            let plain = step.gradient_without_privacy(&self.network, batch, engine, device);
            plain.map_or_else(|_| vec![f32::INFINITY], |(gradient, _)| gradient.to_host())
        });
        if first.len() != second.len() {
            return f64::INFINITY;
        }
        distance(&first, &second) / self.step.sensitivity(engine).unwrap().l2_upper()
    }
}

#[test]
fn neighbours_of_either_side_stay_within_what_is_declared_for_it() {
    let device = Device::flex();
    let mut largest = [0.0f64; 2];
    for index in 0..600 {
        let trial = Trial::new(index, &device);
        assert_eq!(trial.step.neighbours(), Neighbours::KEnd);
        let ratio = trial.ratio(Engine::Host { chunk: 4 }, &device);
        assert!(ratio <= 1.0, "trial {index}: {ratio} times the sensitivity");
        let side = usize::from(trial.of_sample);
        largest[side] = largest[side].max(ratio);
        if index % 15 == 0 {
            for engine in [Engine::Tensor { chunk: 3 }, Engine::Autodiff] {
                let ratio = trial.ratio(engine, &device);
                assert!(ratio <= 1.0, "trial {index}, {engine:?}: {ratio}");
            }
        }
    }
    let [inputs, sample] = largest;
    assert!(
        inputs > 0.6 && sample > 0.99,
        "the worst used only {largest:?}"
    );
}

/// Costs other than the square. The bound for the sample is attained where all residuals stay within the width, which random
/// ones do the less the smaller it is.
#[test]
fn neighbours_of_either_side_stay_within_the_sensitivity_of_any_cost() {
    let device = Device::flex();
    for (number, (cost, least)) in [
        (Cost::Huber(0.05), 0.2),
        (Cost::Huber(1.0), 0.99),
        (Cost::LogCosh(0.2), 0.4),
        (Cost::PseudoHuber(0.2), 0.4),
        (Cost::Power(3.0), 0.4),
    ]
    .into_iter()
    .enumerate()
    {
        let mut largest = [0.0f64; 2];
        for index in 0..200 {
            let trial = Trial::of(cost, 8000 + 200 * number as u64 + index, &device);
            let engine = match index % 20 {
                0 => Engine::Tensor { chunk: 3 },
                1 => Engine::Autodiff,
                _ => Engine::Host { chunk: 4 },
            };
            let ratio = trial.ratio(engine, &device);
            assert!(
                ratio <= 1.0,
                "{cost}, trial {index}: {ratio} times the sensitivity"
            );
            let side = usize::from(trial.of_sample);
            largest[side] = largest[side].max(ratio);
        }
        let [inputs, sample] = largest;
        assert!(
            inputs > 0.4 && sample > least,
            "{cost}: the worst used only {largest:?}"
        );
    }
}

#[test]
fn neighbours_stay_within_the_sensitivity_on_every_device() {
    for test_device in available_devices().iter().filter(|d| d.private()) {
        let trials = (700..).map(|index| Trial::new(index, &test_device.device));
        let inputs = |trial: &Trial| trial.batches[0].inputs().dims()[0];
        let whole = trials.filter(|trial| inputs(trial).is_multiple_of(CHUNK));
        for trial in whole.take(4) {
            let ratio = trial.ratio(Engine::Tensor { chunk: CHUNK }, &test_device.device);
            assert!(ratio <= 1.0, "{}: {ratio}", test_device.name);
        }
    }
}

#[test]
fn sabotage_without_clipping_is_caught() {
    let device = Device::flex();
    let caught = (0..60)
        .filter(|&index| {
            let trial = Trial::new(index, &device);
            let ratio = trial.ratio_without_clipping(Engine::Host { chunk: 4 }, &device);
            ratio.is_nan() || ratio > 1.0
        })
        .count();
    assert!(caught >= 20, "only {caught} of 60 trials exceed the bound");
}

/// On the line, one slice: all inputs at `M` with equal gradients, a record of the sample from `-M` to `M`.
#[test]
fn the_bound_for_the_sample_is_attained_on_the_line() {
    let device = Device::flex();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut network = Map {
        first: linear(1, 1, 1.0, &mut rng, &device),
        last: linear(1, 1, 1.0, &mut rng, &device),
    };
    network.first.weight = Param::from_data([[1.0]], &device);
    network.last.weight = Param::from_data([[1e3]], &device);
    let (n, m, bound) = (4, 5, 1.5);
    let penalty = Penalty::to_private_sample(1.0).slices(1);
    let step = Objective::default()
        .penalty(penalty.clipping(Clipping::new(bound, 2.0)))
        .draw(&[1], GroupSizes::Fixed(vec![n, m]), &mut rng)
        .unwrap();
    let engine = Engine::Host { chunk: 8 };
    let [first, second] = [-9.0, 9.0].map(|end| {
        let inputs = Tensor::full([n, 1], 1e3, &device);
        let batch = Batch::new(inputs, Tensor::<2>::zeros([n, 1], &device), &[n]).unwrap();
        let batch = batch.with_private_sample([vec![0.3; m - 1], vec![end]].concat(), m);
        let step = step.clipped_gradient(&network, &batch.unwrap(), engine, &device);
        step.unwrap().0
    });
    let moved = distance(&first.before_noise(), &second.before_noise());
    let theorem = 4.0 * bound * 2.0 / m as f64;
    assert!((moved / theorem - 1.0).abs() < 1e-3, "{moved} of {theorem}");
}

/// A record of the sample moves all cotangents and so all roundings, and is promised a share of what is declared.
#[test]
fn what_sums_may_be_off_by_is_declared_over_the_share() {
    let (d, n) = (2, 10_000);
    let share = ToSample::share(Cost::Square, 1.0, d, n, n).unwrap();
    let declared = |share: f64, engine: Engine| {
        let penalty = Penalty::to_private_sample(share).slices(3 * d);
        let mut objective = Objective::default().penalty(penalty.clipping(Clipping::new(1.0, 1.0)));
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let step = objective.draw(&[d], GroupSizes::Fixed(vec![n, n]), &mut rng);
        step.unwrap().sensitivity(engine).unwrap().l2_upper()
    };
    let sums = |share: f64| {
        declared(share, Engine::Tensor { chunk: 100 }) - declared(share, Engine::Autodiff)
    };
    assert!(share < 0.5, "{share}");
    assert!(sums(1.0) > 0.0);
    assert!(sums(share) >= sums(1.0) / share * (1.0 - 1e-9));
}

#[test]
fn batches_without_their_sample_are_refused() {
    let device = Device::flex();
    let trial = Trial::new(0, &device);
    let rows = trial.batches[0].inputs().clone();
    let n = rows.dims()[0];
    let bare = Batch::new(rows, Tensor::<2>::zeros([n, 1], &device), &[n]).unwrap();
    let engine = Engine::Host { chunk: 4 };
    let refuse = |batch: &Batch<2>| {
        trial
            .step
            .clipped_gradient(&trial.network, batch, engine, &device)
    };
    assert!(refuse(&bare).is_err());
    let short = bare.clone().with_private_sample(vec![0.0], 1).unwrap();
    assert!(trial.batches[0].sizes() == [n, 1] || refuse(&short).is_err());
    assert!(bare.with_private_sample(vec![0.0; 3], 2).is_err());
    // With a power below 2 towards a sample no bound is known.
    let refused = |penalty: Penalty, cost: Cost| {
        let mut objective = Objective::default().penalty(penalty.cost(cost));
        let rng = &mut ChaCha20Rng::seed_from_u64(0);
        let step = objective.draw(&[2], GroupSizes::Fixed(vec![3, 3]), rng);
        step.is_err() || step.is_ok_and(|step| step.sensitivity(engine).is_err())
    };
    assert!(refused(Penalty::to_private_sample(1.0), Cost::Power(1.5)));
    assert!(refused(Penalty::to_private_sample(1.0), Cost::Huber(-1.0)));
    assert!(refused(Penalty::between_groups(), Cost::Huber(-1.0)));
    for cost in [Cost::Square, Cost::Huber(0.5), Cost::Power(1.5)] {
        assert!(!refused(Penalty::between_groups(), cost));
    }
    assert!(
        Objective::default()
            .penalty(Penalty::to_private_sample(0.0))
            .draw(
                &[2],
                GroupSizes::Fixed(vec![3, 3]),
                &mut ChaCha20Rng::seed_from_u64(0)
            )
            .is_err()
    );
}

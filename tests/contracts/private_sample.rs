//! The contract of a step towards a private sample: the map's inputs and the sample are both private. Replacing a record of the
//! sample moves what reaches the mechanism by a share of what is declared.

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};
use dp_core::accounting::Neighbours as Neighbouring;
use dp_core::per_sample::JacobianClip;
use dp_core::per_sample::nn::Chain;
use model::layers::linear;
use private_training::penalty::ToSample;
use private_training::{Batch, Clipping, Engine, Layers, Network, Objective, Penalty};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::Cost;
use test_support::contract::Contract;
use test_support::networks::{Neighbours, fixed_batches};

use super::steps;
use crate::upload;

const FEATURES: usize = 3;

#[derive(Module, Debug)]
struct Map {
    first: Linear,
    last: Linear,
}

impl Network<2> for Map {
    fn layers(&self) -> Layers<'_, 2> {
        let chain = Chain::features(self.first.weight.dims()[0]);
        Layers::chain(chain.linear(&self.first).relu().linear(&self.last))
    }
}

/// An adversarial pair of neighbours: a record of the sample is replaced if the seed is even, else one of the inputs.
fn trial_of(cost: Cost, index: u64, device: &Device) -> Neighbours<Map, 2> {
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
        .draw(&[d], &fixed_batches(&[n, m]), &mut rng)
        .unwrap();
    let share = if of_sample { share } else { 1.0 };
    Neighbours::new(network, step, batches).of_share(share)
}

fn trial(index: u64, device: &Device) -> Neighbours<Map, 2> {
    trial_of(Cost::Square, index, device)
}

/// Whichever the engine, the records of each side stay within their share of the bound, and attain this much of it.
fn hold(cost: Cost, (first, count): (u64, u64), [inputs, sample]: [f64; 2]) {
    let device = Device::flex();
    for (side, attained) in [sample, inputs].into_iter().enumerate() {
        let apart = |seed| {
            let trial = trial_of(cost, seed, &device);
            assert_eq!(trial.step.neighbours(), Neighbouring::KEnd);
            let engine = match seed % 30 {
                0 | 1 => Engine::Tensor { chunk: 3 },
                14 | 15 => Engine::Autodiff,
                _ => Engine::Host { chunk: 4 },
            };
            trial.apart(engine)
        };
        let seeds = (first + side as u64..first + count).step_by(2);
        let contract = Contract::of(format!("{cost}, side {side}"));
        contract.attained(attained).holds(seeds.map(apart));
    }
}

#[test]
fn neighbours_of_either_side_stay_within_what_is_declared_for_it() {
    hold(Cost::Square, (0, 600), [0.6, 0.99]);
}

/// Costs other than the square. The bound for the sample is attained where all residuals stay within the width, which random
/// ones do the less the smaller it is.
#[test]
fn neighbours_of_either_side_stay_within_the_sensitivity_of_any_cost() {
    let costs = [
        (Cost::Huber(0.05), 0.2),
        (Cost::Huber(1.0), 0.99),
        (Cost::Power(3.0), 0.4),
    ];
    for (first, (cost, attained)) in (8000..).step_by(200).zip(costs) {
        hold(cost, (first, 200), [0.4, attained]);
    }
}

#[test]
fn neighbours_stay_within_the_sensitivity_on_every_device() {
    steps::hold_on_every_device(0.0, (700, 4), trial);
}

#[test]
fn sabotage_without_clipping_is_caught() {
    steps::need_clipping(trial);
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
        .draw(&[1], &fixed_batches(&[n, m]), &mut rng)
        .unwrap();
    let batches = [-9.0, 9.0].map(|end| {
        let inputs = Tensor::full([n, 1], 1e3, &device);
        let batch = Batch::new(inputs, Tensor::<2>::zeros([n, 1], &device), &[n]).unwrap();
        let batch = batch.with_private_sample([vec![0.3; m - 1], vec![end]].concat(), m);
        batch.unwrap()
    });
    let engine = Engine::Host { chunk: 8 };
    let declared = step.sensitivity(engine).unwrap().l2_upper();
    let trial = Neighbours::new(network, step, batches);
    let theorem = 4.0 * bound * 2.0 / m as f64;
    let apart = trial.apart(engine) * declared / theorem;
    let contract = Contract::of("the sample").attained(0.999).rounded(1e-3);
    contract.holds([apart]);
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
        let step = objective.draw(&[d], &fixed_batches(&[n, n]), &mut rng);
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
    let trial = trial(0, &device);
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
        let step = objective.draw(&[2], &fixed_batches(&[3, 3]), rng);
        step.is_err() || step.is_ok_and(|step| step.sensitivity(engine).is_err())
    };
    assert!(refused(Penalty::to_private_sample(1.0), Cost::Power(1.5)));
    assert!(refused(Penalty::to_private_sample(1.0), Cost::Huber(-1.0)));
    assert!(refused(Penalty::between_strata(), Cost::Huber(-1.0)));
    for cost in [Cost::Square, Cost::Huber(0.5), Cost::Power(1.5)] {
        assert!(!refused(Penalty::between_strata(), cost));
    }
    assert!(
        Objective::default()
            .penalty(Penalty::to_private_sample(0.0))
            .draw(
                &[2],
                &fixed_batches(&[3, 3]),
                &mut ChaCha20Rng::seed_from_u64(0)
            )
            .is_err()
    );
}

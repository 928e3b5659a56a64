//! Penalties between a group that one map takes and a group that another one takes, both trained, within what is declared.

use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::per_sample::nn::Chain;
use private_training::{
    Batch, Clipping, Engine, Forward, Layers, Network, Objective, Penalty, Prior,
};
use swd::Cost;
use swd::sensitivity::Norms;

use crate::contract::{ENGINES, adversaries, furthest, groups, of_class, replaced};
use test_support::contract::Contract;
use test_support::networks::{Neighbours, fixed_batches, generator, labels, uniform};
use test_support::relative_error;

const FAR: f32 = 1e3;
const M: f64 = 0.5;

/// A layer that sees so many values of a record, several times over, and not the two that are in its Jacobian alone.
fn layer(seen: usize, times: usize, device: &Device) -> Linear {
    let outputs = seen * times;
    let mut layer = LinearConfig::new(seen + 2, outputs)
        .with_bias(false)
        .init(device);
    let values =
        (0..(seen + 2) * outputs).map(|i| f32::from(u8::from(i / outputs == i % outputs % seen)));
    let values = TensorData::new(values.collect::<Vec<f32>>(), [seen + 2, outputs]);
    layer.weight = Param::from_data(values, device);
    layer
}

/// `[g(x), h(x)]`, two maps without a common parameter: the two halves of one layer.
#[derive(Module, Debug)]
struct Two {
    both: Linear,
}

impl Two {
    fn new(seen: usize, device: &Device) -> Self {
        Self {
            both: layer(seen, 2, device),
        }
    }
}

impl Network<2> for Two {
    fn layers(&self) -> Layers<'_, 2> {
        Layers::chain(Chain::features(self.both.weight.dims()[0]).linear(&self.both))
    }
}

/// The same map on both sides.
#[derive(Module, Debug)]
struct Shared {
    map: Linear,
}

impl Network<2> for Shared {
    fn layers(&self) -> Layers<'_, 2> {
        Layers::any(|rows| {
            let side = self.map.forward(rows);
            Forward::penalised(Tensor::cat(vec![side.clone(), side], 1))
        })
    }
}

fn objective(cost: Cost, [l1, l2]: [f64; 2], slices: usize) -> Objective {
    let penalty = Penalty::between_strata().slices(slices).cost(cost);
    Objective::default().penalty(penalty.clipping(Clipping::new(M, l1)).two_maps(l2))
}

/// Rows on a line: what is seen of each, and what is not.
fn rows(values: &[(f32, f32)], device: &Device) -> Tensor<2> {
    let rows = values
        .iter()
        .flat_map(|&(seen, unseen)| [seen, unseen, 0.0]);
    Tensor::from_data(
        TensorData::new(rows.collect::<Vec<_>>(), [values.len(), 3]),
        device,
    )
}

/// Whichever side a record is on, and whatever it is replaced by, for any cost; and both bounds are nearly attained where the slope
/// of the cost rises over the whole ball, each by a record of its own side: near one end with all others beyond it, the other
/// side's at the other end, and its Jacobian changes its sign.
#[test]
fn a_record_of_either_side_stays_within_the_bound() {
    let device = Device::flex();
    let n = 12;
    let targets = labels(n, 4, &device);
    let network = Two::new(2, &device);
    let plain = uniform([n, 4], 5, &device);
    let random =
        (0..20_u64).map(|i| uniform([1, 4], 50 + i, &device) * [0.3, 1.0, 5.0][i as usize % 3]);
    let bad = adversaries(&plain).into_iter().chain(random);
    let by = of_class(bad.collect(), &targets);
    let rising = [Cost::Square, Cost::Power(3.0), Cost::Huber(2.0 * M)];
    let bent = [Cost::Huber(0.1), Cost::Power(1.3)];
    // 4 M max { 2 L1 / n, 2 L2 / m } for the square: the first side's, then the second's.
    let sides = [([0.3, 0.2], [5, 7], 0), ([0.2, 0.3], [7, 5], 1)];
    let cases = rising.into_iter().chain(bent);
    let cases = cases.flat_map(|cost| sides.map(|side| (cost, side)));
    for (cost, (bounds, sizes, side)) in cases {
        let sampler = groups(&sizes);
        for engine in ENGINES {
            let contract = Contract::of(format!("{cost}, {bounds:?}, {engine:?}"));
            contract.holds([1, 9].map(|place| {
                let (objective, all) = (objective(cost, bounds, 4), (&plain, &targets));
                furthest(&objective, &sampler, engine, &network, all, (place, &by))
            }));
            let line = Two::new(1, &device);
            let values: Vec<(f32, f32)> = (0..n)
                .map(|i| match (i >= sizes[0]) == (side == 1) {
                    true => (10.0, 0.0),
                    false => (-10.0, 0.0),
                })
                .collect();
            let rows_of = rows(&values, &device);
            let by = [(0.49, FAR), (0.49, -FAR)].map(|row| rows(&[row], &device));
            let by = of_class(by.to_vec(), &targets);
            let (all, place) = ((&rows_of, &targets), [1, 9][side]);
            let objective = objective(cost, bounds, 1);
            let apart = furthest(&objective, &sampler, engine, &line, all, (place, &by));
            let least = if rising.contains(&cost) { 0.96 } else { 0.1 };
            contract.attained(least).holds([apart]);
        }
    }
}

/// Where the slope of the cost is bounded, a record does most as it jumps over all others: each of them is half a gap from the
/// point beyond it, and then from the one before it. The bound of Huber's cost is attained but for what the record itself adds.
#[test]
fn a_record_that_jumps_over_all_others_moves_each_of_them() {
    let device = Device::flex();
    let network = Two::new(1, &device);
    let cost = Cost::Huber(0.1);
    // Gaps of twice the width of Huber's cost, M / 0.1 + 1 points on each side. The first side's Jacobians are as large as they
    // may be, the second's next to nothing.
    let own = [-0.4, -0.2, 0.0, 0.2, 0.4].map(|value| (value, FAR));
    let other = [-0.5, -0.3, -0.1, 0.1, 0.3, 0.5].map(|value| (value, 0.0));
    let values = [&[(0.0, FAR)], &own[..], &other[..]].concat();
    let (records, targets) = (rows(&values, &device), labels(12, 4, &device));
    let by = [(0.49, FAR), (-0.49, FAR)].map(|row| rows(&[row], &device));
    let by = of_class(by.to_vec(), &targets);
    let objective = objective(cost, [0.3, 1e-4], 1);
    let (all, sampler) = ((&records, &targets), groups(&[6, 6]));
    for engine in ENGINES {
        let apart = furthest(&objective, &sampler, engine, &network, all, (0, &by));
        let contract = Contract::of(format!("{engine:?}")).attained(0.8);
        contract.holds([apart]);
    }
}

/// Maps that share a parameter attain `4 M (L1 + L2) / n`, more than the bound of either map on both sides, or of disjoint ones.
#[test]
fn shared_parameters_attain_the_sum_of_both_bounds() {
    let device = Device::flex();
    let network = Shared {
        map: layer(1, 1, &device),
    };
    let ([l1, l2], [n, m]) = ([0.2, 0.5], [3, 21]);
    let mut values = vec![(-10.0, 0.0); n];
    values.resize(n + m, (-10.0, -FAR));
    let (records, targets) = (rows(&values, &device), labels(n + m, 4, &device));
    let by = [(0.49, FAR), (-0.49, FAR)].map(|row| rows(&[row], &device));
    let by = of_class(by.to_vec(), &targets);
    let (all, sampler) = ((&records, &targets), groups(&[n, m]));
    let objective = objective(Cost::Square, [l1, l2], 1);
    let engine = Engine::Autodiff;
    let apart = furthest(&objective, &sampler, engine, &network, all, (1, &by));
    Contract::of("shared").attained(0.97).holds([apart]);
    let bound = |l1, l2| {
        Norms::new(M, l1)
            .other_jacobian(l2)
            .both_private_bound(Cost::Square, [n, m], 1.0)
            .unwrap()
    };
    assert!(apart * bound(l1, l2) > bound(l1, l1));
    assert!(apart * bound(l1, l2) > 4.0 * M / n as f64 * (2.0 * l1).max(f64::hypot(l1, l2)));
}

/// The power of these tests: without clipping either side breaks the bound. Whatever engine, the gradients are the same.
#[test]
fn without_clipping_either_side_breaks_the_bound() {
    let device = Device::flex();
    let network = Two::new(2, &device);
    let (records, targets) = (uniform([12, 4], 5, &device), labels(12, 4, &device));
    let sizes = [5, 7];
    let mut objective = objective(Cost::Square, [0.3, 0.2], 4);
    let fixed = &fixed_batches(&sizes);
    let step = objective.draw(&[4], fixed, &mut generator(0)).unwrap();
    let batch = |records| Batch::new(records, targets.clone(), &sizes).unwrap();
    let trials = [0, 8].map(|place| {
        let far = records.clone().narrow(0, place, 1) * FAR;
        let batches = [records.clone(), replaced(place, &records, &far)].map(batch);
        Neighbours::new(network.clone(), step.clone(), batches)
    });
    let all = |engine| {
        let batch = batch(records.clone());
        let plain = step.gradient_without_privacy(&network, &batch, engine, &device);
        let clipped = step.clipped_gradient(&network, &batch, engine, &device);
        [
            plain.unwrap().0.to_host(),
            clipped.unwrap().0.before_noise(),
        ]
    };
    let [slow, slow_clipped] = all(Engine::Autodiff);
    for engine in ENGINES {
        let [plain, clipped] = all(engine);
        assert!(relative_error(&plain, &slow) < 1e-5);
        assert!(relative_error(&clipped, &slow_clipped) < 1e-4);
        let apart = trials
            .each_ref()
            .map(|trial| trial.apart_without_clipping(engine));
        let contract = Contract::of(format!("{engine:?}"));
        contract.is_broken_by("no clipping", 2, apart);
    }
}

#[test]
fn what_has_no_two_maps_is_refused() {
    let draw = |penalty: Penalty, width| {
        let mut objective = Objective::default().penalty(penalty);
        let sizes = &fixed_batches(&[5, 7]);
        let step = objective.draw(&[width], sizes, &mut generator(0));
        step.map(drop).map_err(|error| error.to_string())
    };
    let between = || Penalty::between_strata().slices(4);
    assert_eq!(draw(between().two_maps(0.3), 4), Ok(()));
    let odd = draw(between().two_maps(0.3), 5).unwrap_err();
    assert!(odd.contains("two maps") && odd.contains('5'), "{odd}");
    for bound in [0.0, -1.0, f64::NAN] {
        let bad = draw(between().two_maps(bound), 4).unwrap_err();
        assert!(bad.contains("L2"), "{bad}");
    }
    let prior = draw(Penalty::to(Prior::UniformBall).two_maps(0.3), 4).unwrap_err();
    assert!(prior.contains("two maps"), "{prior}");
}

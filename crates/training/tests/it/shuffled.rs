//! Trainings on shuffled batches: what one record moves in all steps together, and how they resume.

use burn::tensor::Device;
use dp_core::plan::{Noise, TrainingPlan};
use dp_core::sampling::CyclicSampler;
use private_training::{Engine, Objective, Penalty, Prior, TrainingConfig};

use super::correlated::{STEPS, differences_of, goes_on_or_pays, loss, steps};
use test_support::networks::{Small, generator, ledger};

// Four batches of an epoch, with a record left over; of ten steps the last two are a part of an epoch.
const RECORDS: usize = 13;
const BATCH: usize = 3;
const PERIOD: usize = 4;
const EPOCHS: f64 = 3.0;

fn plan(sampler: CyclicSampler) -> TrainingPlan {
    // Little noise: what it hides of a difference by its rounding is little too.
    TrainingPlan::of(Noise::Multiplier(0.05), 1e-3, STEPS, sampler)
}

fn sampler() -> CyclicSampler {
    CyclicSampler::shuffled(RECORDS, BATCH).unwrap()
}

/// Neighbours move all steps together by what so many epochs declare and no more, each epoch in one step at most: for a
/// record in as many batches as there are epochs it is attained, on every engine.
#[test]
fn a_record_moves_an_epoch_by_what_is_declared() {
    let penalty = Penalty::to(Prior::UniformBall).slices(5).weight(1e-3);
    let host = Engine::Host { chunk: 8 };
    let moved = |sampler, other, objective: &Objective, engine, place| {
        let differences = differences_of(objective, engine, &plan(sampler), place, other);
        let squares = differences
            .iter()
            .map(|row| row.iter().map(|x| x * x).sum());
        let squares: Vec<f64> = squares.collect();
        let ratio = (squares.iter().sum::<f64>() / EPOCHS).sqrt();
        assert!(ratio <= 1.0, "{engine:?} {place}: {ratio}");
        for epoch in squares.chunks(PERIOD) {
            let moved = epoch.iter().filter(|square| **square > 0.0).count();
            assert!(moved <= 1, "{engine:?} {place}: {squares:?}");
        }
        ratio
    };
    for (sampler, other, objective, attained) in [
        (sampler(), -1.0, loss(), 0.98),
        (sampler().zero_out(), 0.0, loss(), 0.98),
        (sampler(), -1.0, loss().penalty(penalty), 0.3),
    ] {
        let ratios = (0..RECORDS).map(|place| moved(sampler, other, &objective, host, place));
        let ratios: Vec<f64> = ratios.collect();
        let worst = (0..RECORDS).max_by(|a, b| ratios[*a].total_cmp(&ratios[*b]));
        let worst = worst.unwrap();
        assert!(ratios[worst] > attained, "{ratios:?}");
        for engine in [Engine::Autodiff, Engine::Tensor { chunk: 2 }] {
            let ratio = moved(sampler, other, &objective, engine, worst);
            assert!(ratio > attained, "{engine:?}: {ratio}");
        }
    }
    // Were the epoch that ends early not counted, the first two cases would move more than is declared.
    assert!(0.98 * EPOCHS.sqrt() > 1.1 * (EPOCHS - 1.0).sqrt());
}

#[test]
fn an_epoch_goes_on_in_its_order_or_costs_another() {
    goes_on_or_pays(|| plan(sampler()).check().unwrap(), [2, 3, 4]);
}

/// Without privacy the batches of an epoch are of one order too, also after a resume.
#[test]
fn a_training_without_privacy_has_an_order_for_each_epoch() {
    let plain = || {
        let network = Small::new(3, 1, &Device::flex());
        let plain =
            TrainingConfig::new(loss()).start_without_privacy(network, sampler(), generator(1));
        plain.unwrap()
    };
    let (_folder, mut ledger) = ledger();
    let (mut training, mut seen) = (plain(), Vec::new());
    for step in 0..2 * PERIOD {
        if step == 2 {
            let checkpoint = training.checkpoint(&ledger);
            training = plain();
            training.restore(&checkpoint, &ledger).unwrap();
        }
        seen.push(training.next_step().unwrap().unwrap().records());
        steps(&mut training, 1, &mut ledger);
    }
    for epoch in seen.chunks(PERIOD) {
        let mut records = epoch.concat();
        records.sort_unstable();
        records.dedup();
        assert_eq!(records.len(), PERIOD * BATCH);
    }
    assert_ne!(seen[..PERIOD], seen[PERIOD..]);
}

//! Trainings with noise that is correlated over steps: what one record moves in all steps together, and how they resume.

use burn::tensor::{Device, Tensor};
use dp_core::accounting::BandedInverse;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoiseSource, NoiseState};
use dp_core::plan::{CheckedPlan, TrainingPlan};
use dp_core::sampling::Sampler;
use private_training::{
    Checkpoint, Engine, Loss, Objective, Penalty, Prior, Training, TrainingConfig, weights,
};

use test_support::networks::{Small, ledger, training, uniform};

// A cycle of four batches, so that the records of the first two are in three of ten steps.
const RECORDS: usize = 12;
const BATCH: usize = 3;
const PERIOD: u64 = 4;
pub(super) const STEPS: u64 = 10;

fn plan(bandwidth: u64) -> TrainingPlan {
    let sampler = Sampler::cyclic(RECORDS, BATCH).unwrap();
    // Little noise: what it hides of a difference by its rounding is little too.
    TrainingPlan::with_noise_multiplier(0.05, 1e-3, STEPS, sampler).correlated(bandwidth)
}

/// What each step releases where the record at `place` pulls one way, the other way (-1) or is blank (0), and all others one
/// way, the network being the same in each, with the sensitivity of a step.
pub(super) fn released(
    objective: &Objective,
    engine: Engine,
    plan: TrainingPlan,
    (place, pull): (usize, f32),
) -> (Vec<Vec<f32>>, f64) {
    let device = Device::flex();
    let records = plan.sampler.records().unwrap();
    let mut targets = vec![50.0; records];
    targets[place] *= pull;
    let mut images = uniform([records, 1, 6, 6], 5, &device);
    if pull == 0.0 {
        // A record whose gradient is not finite adds nothing.
        let blank = Tensor::full([1, 1, 6, 6], f32::NAN, &device);
        images = images.slice_assign([place..place + 1, 0..1, 0..6, 0..6], blank);
    }
    let targets = Tensor::<1>::from_floats(&targets[..], &device).reshape([records, 1]);
    let network = Small::new(3, 1, &device);
    let folder = tempfile::tempdir().unwrap();
    let with = TrainingConfig::new(objective.clone()).engine(engine);
    let (mut training, mut ledger) = training(with, &network, plan, &folder);
    let plan = training.plan().unwrap();
    let (neighbours, lines) = (plan.neighbours(), plan.releases_in_all());
    let mut released = Vec::new();
    while let Some(step) = training.next_step().unwrap() {
        let batch = step.select(&images, &targets).unwrap();
        let (gradient, _) = step.release(&network, &batch, &mut ledger).unwrap();
        released.push(gradient.gradient().to_host());
    }
    let entries = ledger.entries().unwrap().entries;
    let made = (released.len() as u64, entries.len() as u64);
    assert_eq!(made, (STEPS, lines));
    assert_eq!(entries[0].neighbours, neighbours);
    (released, entries[0].sensitivity.unwrap())
}

/// The differences of what two neighbours release in each step, in units of the sensitivity of a step.
pub(super) fn differences_of(
    objective: &Objective,
    engine: Engine,
    plan: &TrainingPlan,
    place: usize,
    other: f32,
) -> Vec<Vec<f64>> {
    let [(one, declared), (other, same)] =
        [1.0, other].map(|pull| released(objective, engine, plan.clone(), (place, pull)));
    assert_eq!(declared, same);
    let apart = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)) / declared;
    let steps = one.iter().zip(&other);
    steps
        .map(|(a, b)| a.iter().zip(b).map(apart).collect())
        .collect()
}

/// Those of a record that is replaced by one which pulls the other way.
fn differences(
    objective: &Objective,
    engine: Engine,
    bandwidth: u64,
    place: usize,
) -> Vec<Vec<f64>> {
    differences_of(objective, engine, &plan(bandwidth), place, -1.0)
}

/// `||C U||_F`: what reaches the one Gaussian mechanism of all steps, solved out of `D (C U) = U`.
fn moved(bandwidth: u64, differences: &[Vec<f64>]) -> f64 {
    let noise = BandedInverse::new(bandwidth, STEPS).unwrap();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for difference in differences {
        let mut row = difference.clone();
        for (d, before) in noise.inverse()[1..].iter().zip(rows.iter().rev()) {
            row.iter_mut().zip(before).for_each(|(x, b)| *x -= d * b);
        }
        rows.push(row);
    }
    rows.iter().flatten().map(|x| x * x).sum::<f64>().sqrt()
}

fn bound(bandwidth: u64, separation: u64, participations: u64) -> f64 {
    let noise = BandedInverse::new(bandwidth, STEPS).unwrap();
    noise.sensitivity_upper(separation, participations).unwrap()
}

pub(super) fn loss() -> Objective {
    Objective::new([Loss::squared_error().max_grad_norm(0.01)])
}

/// At its worst steps a record moves all of what is declared, on every engine, and any other no more. Where a step is
/// counted too little, or steps come closer than the cycle has them, the same comparison fails.
#[test]
fn a_record_moves_all_steps_together_by_what_is_declared() {
    let engine = Engine::Host { chunk: 8 };
    let engines = [Engine::Autodiff, engine, Engine::Tensor { chunk: 2 }];
    for bandwidth in [1, 2, 5, 10] {
        let declared = bound(bandwidth, PERIOD, 3);
        for engine in engines {
            let worst = differences(&loss(), engine, bandwidth, 0);
            let ratio = moved(bandwidth, &worst) / declared;
            let all = (0.98..=1.0).contains(&ratio);
            assert!(all, "{bandwidth} {engine:?}: {ratio}");
        }
        for place in 1..RECORDS {
            let differences = differences(&loss(), engine, bandwidth, place);
            let ratio = moved(bandwidth, &differences) / declared;
            assert!((0.5..=1.0).contains(&ratio), "{bandwidth} {place}: {ratio}");
            // In its own steps alone.
            for (step, row) in differences.iter().enumerate() {
                let moves = row.iter().any(|x| *x != 0.0);
                assert_eq!(moves, step % 4 == place % 4, "{place} {step}");
            }
        }
        let worst = differences(&loss(), engine, bandwidth, 0);
        assert!(moved(bandwidth, &worst) > 1.05 * bound(bandwidth, PERIOD, 2));
        if bandwidth > 1 {
            // As if noise were independent.
            assert!(moved(bandwidth, &worst) > 1.1 * bound(1, PERIOD, 3));
            let mut closer = worst.clone();
            closer.swap(1, 4);
            assert!(moved(bandwidth, &closer) > 1.01 * declared);
        }
    }
}

/// With a penalty too, which looks at all records of a batch at once: none but those of the record's own steps move.
#[test]
fn a_penalty_moves_the_steps_of_its_batches_alone() {
    let penalty = Penalty::to(Prior::UniformBall).slices(5).weight(1e-3);
    let objective = loss().penalty(penalty);
    let differences = differences(&objective, Engine::Host { chunk: 8 }, 5, 0);
    let ratio = moved(5, &differences) / bound(5, PERIOD, 3);
    assert!((0.3..=1.0).contains(&ratio), "{ratio}");
    for (step, row) in differences.iter().enumerate() {
        assert_eq!(row.iter().any(|x| *x != 0.0), step % 4 == 0, "{step}");
    }
}

/// Of neighbours one of which has a blank record a step declares half as much, and all of them together move by it; a
/// replaced record moves twice as far.
#[test]
fn a_blank_record_moves_all_steps_half_as_far() {
    let mut plan = plan(5);
    plan.sampler = Sampler::cyclic_zero_out(RECORDS, BATCH).unwrap();
    for engine in [Engine::Autodiff, Engine::Host { chunk: 8 }] {
        let of = |other| {
            let differences = differences_of(&loss(), engine, &plan, 0, other);
            moved(5, &differences) / bound(5, PERIOD, 3)
        };
        let (blank, replaced) = (of(0.0), of(-1.0));
        assert!((0.98..=1.0).contains(&blank), "{engine:?}: {blank}");
        assert!(replaced > 1.9, "{engine:?}: {replaced}");
    }
    // A penalty is bounded for a record that is replaced.
    let objective = loss().penalty(Penalty::to(Prior::UniformBall));
    let checked = plan.check().unwrap().releaser(NoiseSource::insecure(1));
    let network = Small::new(3, 1, &Device::flex());
    let refused = TrainingConfig::new(objective).start_with_noise(network, checked);
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains("blank"), "{refused}");
}

pub(super) fn steps(training: &mut Training<Small>, count: usize, ledger: &mut Ledger) {
    let device = Device::flex();
    let records = training.sampler().records().unwrap();
    let images = uniform([records, 1, 6, 6], 5, &device);
    let targets = Tensor::<2>::ones([records, 1], &device);
    for _ in 0..count {
        let Some(step) = training.next_step().unwrap() else {
            break;
        };
        step.update_from(&images, &targets, ledger).unwrap();
    }
}

pub(super) fn started(plan: CheckedPlan, seed: u64) -> Training<Small> {
    let network = Small::new(3, 1, &Device::flex());
    let releaser = plan.releaser(NoiseSource::insecure(seed));
    let config = TrainingConfig::new(loss());
    config.start_with_noise(network, releaser).unwrap()
}

/// With the noise that was kept, the steps after a checkpoint are those of a training that never stopped, to the bit, and
/// cost nothing more; with new noise they are others, and cost another line. Lines of the ledger after eight steps, of all
/// steps with the noise, and without.
pub(super) fn goes_on_or_pays(checked: impl Fn() -> CheckedPlan, lines: [u64; 3]) {
    let (folder, mut ledger) = ledger();
    let mut stopped = started(checked(), 7);
    steps(&mut stopped, 6, &mut ledger);
    let bytes = stopped.checkpoint(&ledger).to_bytes().unwrap();
    let noise = serde_json::to_string(&stopped.releaser().unwrap().noise().state()).unwrap();
    // Two more steps, which nobody remembers, and which are made again.
    steps(&mut stopped, 2, &mut ledger);
    assert_eq!(ledger.releases(), lines[0]);
    let text = std::fs::read_to_string(ledger.path()).unwrap();

    let of = |training: &Training<Small>| weights::to_host(&training.network);
    let checkpoint = Checkpoint::from_bytes(&bytes).unwrap();
    for (keeps, lines) in [(true, lines[1]), (false, lines[2])] {
        let path = folder.path().join(format!("{keeps}.jsonl"));
        std::fs::write(&path, &text).unwrap();
        let mut ledger = Ledger::open(&path).unwrap();
        let mut next = started(checked(), 8);
        next.restore(&checkpoint, &ledger).unwrap();
        if keeps {
            let state: NoiseState = serde_json::from_str(&noise).unwrap();
            *next.releaser().unwrap().noise() = NoiseSource::resume(&state);
        }
        steps(&mut next, 2, &mut ledger);
        assert_eq!(of(&next) == of(&stopped), keeps);
        steps(&mut next, usize::MAX, &mut ledger);
        assert_eq!((next.step(), ledger.releases()), (STEPS, lines));
        let spent = next.epsilon_spent(&ledger).unwrap() / checked().epsilon_upper();
        assert!(if keeps { spent == 1.0 } else { spent > 1.1 }, "{spent}");
    }
    // A ledger without the lines is not gone on from.
    let empty = Ledger::create(&folder.path().join("other.jsonl")).unwrap();
    assert!(started(checked(), 8).restore(&checkpoint, &empty).is_err());
}

#[test]
fn a_training_goes_on_with_its_noise_or_pays_for_another() {
    goes_on_or_pays(|| plan(4).check().unwrap(), [1, 1, 2]);
}

/// Without privacy the batches come in the same order.
#[test]
fn a_training_without_privacy_has_the_same_batches() {
    let sampler = Sampler::cyclic(RECORDS, BATCH).unwrap();
    let config = || TrainingConfig::new(loss());
    let network = || Small::new(3, 1, &Device::flex());
    let plain =
        config().start_without_privacy(network(), sampler, test_support::networks::generator(1));
    let (mut plain, mut private) = (plain.unwrap(), started(plan(4).check().unwrap(), 1));
    let (_folder, mut ledger) = ledger();
    for step in 0..STEPS {
        for training in [&mut plain, &mut private] {
            let batch = training.next_step().unwrap().unwrap().records();
            let first = (step % PERIOD) as usize;
            assert_eq!(batch, [first, first + 4, first + 8]);
            steps(training, 1, &mut ledger);
        }
    }
}

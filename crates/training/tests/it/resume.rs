//! A training that was stopped resumes, and its ledger never shows less than was released.

use burn::optim::SgdConfig;
use burn::tensor::Device;
use dp_core::sampling::{FixedSizeSampler, PoissonSampler};
use private_training::{
    Engine, Loss, Objective, Penalty, PrivateTraining, Training, TrainingError,
};

use crate::common::{Small, labels, plan, uniform};

fn settings() -> Training {
    let loss = Loss::cross_entropy().clip(1.0);
    let penalty = Penalty::to(private_training::Prior::UniformBall).slices(5);
    Training::new(Objective::of([loss]).penalty(penalty)).optimizer(SgdConfig::new().init())
}

/// Makes steps until the plan, or `count`, is done.
fn steps(training: &mut PrivateTraining, mut network: Small, count: usize) -> Small {
    let device = Device::flex();
    let (images, targets) = (uniform([100, 1, 6, 6], 0, &device), labels(100, 4, &device));
    for _ in 0..count {
        let Some(step) = training.next_step().unwrap() else {
            break;
        };
        network = step.update_from(&network, &images, &targets).unwrap();
    }
    network
}

#[test]
fn a_stopped_training_goes_on_and_counts_what_it_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("ledger.jsonl");
    let checked = || {
        plan(FixedSizeSampler::new(100, 10).unwrap())
            .check()
            .unwrap()
    };
    let planned = checked().epsilon_upper();
    let mut first = settings().start(checked(), &ledger).unwrap();
    let network = steps(&mut first, Small::new(3, 4, &Device::flex()), 4);
    let checkpoint = first.checkpoint();
    let text = serde_json::to_string(&checkpoint).unwrap();
    // Two more steps, which nobody remembers.
    steps(&mut first, network.clone(), 2);
    let before = first.epsilon_spent().unwrap();
    drop(first);

    let checkpoint = serde_json::from_str(&text).unwrap();
    let mut second = settings().resume(checked(), &ledger, &checkpoint).unwrap();
    assert_eq!((second.step(), second.ledger().releases()), (4, 6));
    assert_eq!(second.epsilon_spent().unwrap(), before);
    steps(&mut second, network, usize::MAX);
    assert_eq!((second.step(), second.ledger().releases()), (10, 12));
    // Twelve releases, and not the ten of the plan.
    assert!(second.epsilon_spent().unwrap() > planned);
    assert!(second.next_step().unwrap().is_none());

    // A ledger that has lost lines is not gone on from, and a new training does not take an old one.
    let lines = std::fs::read_to_string(&ledger).unwrap();
    let fewer: String = lines
        .lines()
        .take(3)
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(&ledger, fewer).unwrap();
    let refused = settings()
        .resume(checked(), &ledger, &checkpoint)
        .err()
        .unwrap();
    assert!(matches!(
        refused,
        TrainingError::LostReleases {
            found: 3,
            expected: 4,
            ..
        }
    ));
    assert!(settings().start(checked(), &ledger).is_err());
}

/// Poisson sampling draws no record now and then: that step is released as any other.
#[test]
fn a_step_without_a_record_is_a_step() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("ledger.jsonl");
    let device = Device::flex();
    let sampler = PoissonSampler::new(100, 0.001).unwrap();
    let plan = plan(sampler).check().unwrap();
    let (images, targets) = (uniform([100, 1, 6, 6], 0, &device), labels(100, 4, &device));
    // A cap on memory is taken from a record, of which there may be none at first.
    let training = Training::new(Objective::of([Loss::cross_entropy()])).memory(1 << 20);
    let mut training = training
        .optimizer(SgdConfig::new().init())
        .start(plan, &ledger)
        .unwrap();
    let mut network = Small::new(3, 4, &device);
    let mut empty = 0;
    while let Some(step) = training.next_step().unwrap() {
        empty += usize::from(step.draw().is_empty());
        network = step.update_from(&network, &images, &targets).unwrap();
    }
    // Ten steps all of which draw a record have probability (1 - 0.999^100)^10 < 1e-10.
    assert!(empty > 0);
    assert_eq!(training.ledger().releases(), 10);
}

/// A cap on memory makes chunks of records, and changes no gradient by more than rounding and what is paid for it.
#[test]
fn a_cap_on_memory_is_kept_or_refused() {
    let device = Device::flex();
    let (images, targets) = (uniform([100, 1, 6, 6], 0, &device), labels(100, 4, &device));
    let gradient = |bytes: usize| {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(FixedSizeSampler::new(100, 50).unwrap());
        let mut training = crate::common::training(settings().memory(bytes), plan, &folder);
        let step = training.next_step().unwrap().unwrap();
        let drawn = step.indices(&device);
        let (x, y) = (
            images.clone().select(0, drawn.clone()),
            targets.clone().select(0, drawn),
        );
        let released = step.gradient(&Small::new(3, 4, &device), x, y)?;
        Ok::<_, TrainingError>((released.gradient().to_host(), training.engine().unwrap()))
    };
    let (whole, _) = gradient(usize::MAX).unwrap();
    let threads = rayon::current_num_threads();
    for (bytes, host) in [(5_000, false), (9_000 * threads, true)] {
        let (parts, engine) = gradient(bytes).unwrap();
        match engine {
            Engine::Tensor { chunk } if !host => assert!((1..50).contains(&chunk), "{chunk}"),
            Engine::Host { chunk } if host => assert_eq!(chunk, 8),
            other => panic!("{other:?} within {bytes} bytes"),
        }
        // The engines tighten their bounds by parts of 2^-16, and each pays for sums of its own in the noise.
        for (a, b) in whole.iter().zip(&parts) {
            assert!((a - b).abs() < 1e-2 * a.abs().max(1.0), "{a} {b}");
        }
    }
    let refused = gradient(10).err().unwrap().to_string();
    assert!(
        refused.contains("the cap on memory, in bytes = 10"),
        "{refused}"
    );
}

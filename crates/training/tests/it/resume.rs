//! A training that was stopped resumes, and its ledger never shows less than was released.

use burn::optim::AdamConfig;
use burn::tensor::Device;
use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::CheckedPlan;
use dp_core::sampling::Sampler;
use private_training::{
    Checkpoint, Engine, Loss, Objective, Optimizer, Penalty, Schedule, Training, TrainingConfig,
    TrainingError, weights,
};

use test_support::networks::{Small, classified, generator, ledger, plan};

fn settings() -> TrainingConfig {
    let loss = Loss::cross_entropy().max_grad_norm(1.0);
    let penalty = Penalty::to(private_training::Prior::UniformBall).slices(5);
    TrainingConfig::new(Objective::new([loss]).penalty(penalty)).average(0.5)
}

fn checked() -> CheckedPlan {
    let sampler = Sampler::fixed_size(100, 10).unwrap();
    plan(sampler).check().unwrap()
}

/// Makes steps until the plan, or `count`, is done.
fn steps(training: &mut Training<Small>, count: usize, ledger: &mut Ledger) {
    let (images, targets) = classified(100);
    for _ in 0..count {
        let Some(step) = training.next_step().unwrap() else {
            break;
        };
        step.update_from(&images, &targets, ledger).unwrap();
    }
}

#[test]
fn a_stopped_training_goes_on_and_counts_what_it_repeats() {
    let (_folder, mut ledger) = ledger();
    let path = ledger.path().to_path_buf();
    let network = || Small::new(3, 4, &Device::flex());
    let planned = checked().epsilon_upper();
    let mut first = settings().start(network(), checked()).unwrap();
    steps(&mut first, 4, &mut ledger);
    let bytes = first.checkpoint(&ledger).to_bytes().unwrap();
    // Two more steps, which nobody remembers.
    steps(&mut first, 2, &mut ledger);
    let before = first.epsilon_spent(&ledger).unwrap();
    drop((first, ledger));

    let checkpoint = Checkpoint::from_bytes(&bytes).unwrap();
    let mut ledger = Ledger::open(&path).unwrap();
    let mut second = settings().start(network(), checked()).unwrap();
    second.restore(&checkpoint, &ledger).unwrap();
    assert_eq!((second.step(), ledger.releases()), (4, 6));
    assert_eq!(second.epsilon_spent(&ledger).unwrap(), before);
    steps(&mut second, usize::MAX, &mut ledger);
    assert_eq!((second.step(), ledger.releases()), (10, 12));
    // Twelve releases, and not the ten of the plan.
    assert!(second.epsilon_spent(&ledger).unwrap() > planned);
    assert!(second.next_step().unwrap().is_none());
    drop(ledger);

    // A ledger that has lost lines is not gone on from, and a new training does not take an old one.
    let lines = std::fs::read_to_string(&path).unwrap();
    let fewer: Vec<&str> = lines.lines().take(3).collect();
    std::fs::write(&path, fewer.join("\n") + "\n").unwrap();
    let ledger = Ledger::open(&path).unwrap();
    let mut third = settings().start(network(), checked()).unwrap();
    let refused = third.restore(&checkpoint, &ledger).unwrap_err();
    let TrainingError::LostReleases {
        found, expected, ..
    } = refused
    else {
        panic!("{refused}");
    };
    assert_eq!((found, expected), (3, 4));
    assert!(Ledger::create(&path).is_err());
}

/// From the same noise, the steps after a checkpoint are those of a training that never stopped, to the bit.
#[test]
fn a_restored_training_takes_the_steps_of_one_that_never_stopped() {
    let (_folder, mut ledger) = ledger();
    let started = |seed| {
        let network = Small::new(3, 4, &Device::flex());
        let releaser = checked().releaser(NoiseSource::insecure(7));
        let config = settings().public(generator(seed));
        config.start_with_noise(network, releaser).unwrap()
    };
    let mut stopped = started(2);
    steps(&mut stopped, 3, &mut ledger);
    let checkpoint = stopped.checkpoint(&ledger);
    let noise = stopped.releaser().unwrap().noise().state();
    let mut next = started(5);
    next.restore(&checkpoint, &ledger).unwrap();
    *next.releaser().unwrap().noise() = NoiseSource::resume(&noise);
    steps(&mut stopped, 1, &mut ledger);
    steps(&mut next, 1, &mut ledger);
    let of = |training: &Training<Small>| weights::to_host(&training.averaged().unwrap());
    assert_eq!(of(&next), of(&stopped));
    let networks = [&next, &stopped].map(|training| weights::to_host(&training.network));
    assert_eq!(networks[0], networks[1]);
    // Of a training without privacy, or of another network, it is refused.
    let sampler = Sampler::fixed_size(100, 10).unwrap();
    let network = Small::new(3, 4, &Device::flex());
    let plain = settings().start_without_privacy(network, sampler, generator(1));
    assert!(plain.unwrap().restore(&checkpoint, &ledger).is_err());
    let other = settings().start(Small::new(3, 9, &Device::flex()), checked());
    assert!(other.unwrap().restore(&checkpoint, &ledger).is_err());
}

/// Without privacy too, with a rate that falls, and on a device that autodiff tracks; the batches go on.
#[test]
fn a_training_without_privacy_goes_on_where_it_stopped() {
    let (_folder, mut ledger) = ledger();
    let device = Device::flex().autodiff();
    let started = |seed| {
        let config = settings().learning_rate(Schedule::new(|step| 0.1 / (step + 1) as f64));
        let sampler = Sampler::fixed_size(100, 10).unwrap();
        let network = Small::new(3, 4, &device);
        let training = config.start_without_privacy(network, sampler, generator(seed));
        training.unwrap()
    };
    let (mut stopped, mut next) = (started(1), started(2));
    steps(&mut stopped, 3, &mut ledger);
    let checkpoint = stopped.checkpoint(&ledger);
    next.restore(&checkpoint, &ledger).unwrap();
    assert_eq!(next.checkpoint(&ledger), checkpoint);
    steps(&mut stopped, 3, &mut ledger);
    steps(&mut next, 3, &mut ledger);
    assert_eq!(next.checkpoint(&ledger), stopped.checkpoint(&ledger));
    assert_eq!((next.step(), ledger.releases()), (6, 0));
    // Nothing changes where a checkpoint is of another optimizer, or has an average that is not asked for.
    let sampler = || Sampler::fixed_size(100, 10).unwrap();
    let others = [
        settings().optimizer(Optimizer::sgd()),
        settings().average(None),
    ];
    for config in others {
        let network = Small::new(3, 4, &device);
        let training = config.start_without_privacy(network, sampler(), generator(1));
        let mut training = training.unwrap();
        let before = training.checkpoint(&ledger);
        assert!(training.restore(&checkpoint, &ledger).is_err());
        assert_eq!(training.checkpoint(&ledger), before);
    }
}

/// Poisson sampling draws no record now and then: that step is released as any other.
#[test]
fn a_step_without_a_record_is_a_step() {
    let (_folder, mut ledger) = ledger();
    let device = Device::flex();
    let sampler = Sampler::poisson_zero_out(100, 0.001).unwrap();
    let plan = plan(sampler).check().unwrap();
    let (images, targets) = classified(100);
    // A cap on memory is taken from a record, of which there may be none at first.
    let config = TrainingConfig::new(Loss::cross_entropy()).memory(1 << 20);
    let config = config.optimizer(AdamConfig::new().init());
    let mut training = config.start(Small::new(3, 4, &device), plan).unwrap();
    let mut empty = 0;
    while let Some(step) = training.next_step().unwrap() {
        empty += usize::from(step.records().is_empty());
        step.update_from(&images, &targets, &mut ledger).unwrap();
    }
    // Ten steps all of which sample a record have probability (1 - 0.999^100)^10 < 1e-10.
    assert!(empty > 0);
    assert_eq!(ledger.releases(), 10);
}

/// A cap on memory makes chunks of records, and changes no gradient by more than rounding and what is paid for it.
#[test]
fn a_cap_on_memory_is_kept_or_refused() {
    let device = Device::flex();
    let (images, targets) = classified(100);
    let gradient = |bytes: usize| {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(Sampler::fixed_size(100, 50).unwrap());
        let (config, network) = (settings().memory(bytes), Small::new(3, 4, &device));
        let (mut training, mut ledger) =
            test_support::networks::training(config, &network, plan, &folder);
        let step = training.next_step()?.unwrap();
        let batch = step.select(&images, &targets)?;
        let (released, _) = step.release(&network, &batch, &mut ledger)?;
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
    let words = "the cap on memory, in bytes = 10";
    assert!(refused.contains(words), "{refused}");
}

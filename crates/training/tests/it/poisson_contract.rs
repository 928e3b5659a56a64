//! The two relations of Poisson sampling: a record that counts or is blank, of a public number of records; and a record
//! more, where the number of records must show in nothing that is declared, written or scaled.

use burn::tensor::{Device, Tensor};
use dp_core::accounting::Neighbours;
use dp_core::plan::TrainingPlan;
use dp_core::sampling::Sampler;
use private_training::{Engine, Loss, TrainingConfig};
use test_support::contract::{Contract, Measured, furthest};
use test_support::networks::{Small, training, uniform};

const CLIP: f64 = 0.01;

const ENGINES: [Engine; 3] = [
    Engine::Autodiff,
    Engine::Host { chunk: 8 },
    Engine::Tensor { chunk: 3 },
];

/// All that a training shows: what it released at each step, and every word and number beside that.
struct Shown {
    released: Vec<Vec<f32>>,
    /// Of the first step.
    sensitivity: f64,
    /// The ledger's text, what is declared, spent and kept, to the bit.
    rest: String,
}

/// `steps` steps on records with targets that all pull one way.
fn shown(sampler: Sampler, engine: Engine, images: &Tensor<4>, steps: u64) -> Shown {
    let device = Device::flex();
    let network = Small::new(3, 1, &device);
    let records = images.dims()[0];
    let targets = Tensor::<2>::ones([records, 1], &device) * 50.0;
    let folder = tempfile::tempdir().unwrap();
    let plan = TrainingPlan::for_epsilon(1.0, 1e-4, steps, sampler);
    let loss = Loss::squared_error().max_grad_norm(CLIP);
    let with = TrainingConfig::new(loss).engine(engine);
    let (mut training, mut ledger) = training(with, &network, plan, &folder);
    let (mut released, mut deviations) = (Vec::new(), Vec::new());
    while let Some(step) = training.next_step().unwrap() {
        let batch = step.select(images, &targets).unwrap();
        let divided = format!("{:?}", step.draw().unwrap().expected_sizes());
        let (gradient, _) = step.release(&network, &batch, &mut ledger).unwrap();
        released.push(gradient.gradient().to_host());
        deviations.push(divided);
    }
    // Data of another size than the sampler's is refused in words that tell neither.
    let refused = {
        let plan = TrainingPlan::for_epsilon(1.0, 1e-4, steps, training.sampler().clone());
        let folder = tempfile::tempdir().unwrap();
        let with = TrainingConfig::new(Loss::squared_error());
        let (mut again, mut ledger) =
            test_support::networks::training(with, &network, plan, &folder);
        let step = again.next_step().unwrap().unwrap();
        let (rows, targets) = (
            Tensor::zeros([3, 1, 6, 6], &device),
            Tensor::<2>::zeros([3, 1], &device),
        );
        step.update_from(&rows, &targets, &mut ledger)
            .err()
            .unwrap()
            .to_string()
    };
    let entries = ledger.entries().unwrap().entries;
    let sensitivity = entries[0].sensitivity.unwrap();
    let checkpoint = serde_json::to_string(&training.checkpoint(&ledger)).unwrap();
    let rest = format!(
        "{}\n{:?}\n{:?} {deviations:?} {:?} {:?}\n{refused}",
        std::fs::read_to_string(ledger.path()).unwrap(),
        training.plan(),
        training.epsilon_spent(&ledger).unwrap().to_bits(),
        checkpoint,
        training.notes(),
    );
    Shown {
        released,
        sensitivity,
        rest,
    }
}

/// The sums of the first step differ by one clipped gradient, and nothing else differs at all.
fn only_the_sums_differ(all: [Shown; 2]) {
    assert_eq!(all[0].rest, all[1].rest);
    let sums = all.map(|shown| Measured::new(shown.released[0].clone(), shown.sensitivity));
    Contract::of("the sum")
        .attained(0.99)
        .holds([furthest(&sums)]);
}

/// Data sets of 9 and of 8 records, all of them in the batch, of which 90 were presumed.
#[test]
fn one_record_more_moves_the_sum_alone() {
    let nine = uniform([9, 1, 6, 6], 5, &Device::flex());
    let eight = nine.clone().narrow(0, 0, 8);
    for engine in ENGINES {
        for divisor in [9.0, 90.0] {
            let of = |images: &Tensor<4>| {
                let sampler = Sampler::poisson_add_remove(images.dims()[0], 1.0, divisor).unwrap();
                shown(sampler.clone(), engine, images, 1)
            };
            let both = [of(&nine), of(&eight)];
            let declared = both[0].sensitivity;
            assert!(
                (CLIP..CLIP * 1.006).contains(&(declared * divisor)),
                "{declared}"
            );
            only_the_sums_differ(both);
        }
    }
}

/// The same over steps whose batches differ, empty ones among them: the records are in none of the words and numbers
/// beside the sums. Of a sampler that takes its rate and divisor from the number of records the same comparison fails.
#[test]
fn the_number_of_records_is_in_nothing_that_is_declared_written_or_scaled() {
    let nine = uniform([9, 1, 6, 6], 5, &Device::flex());
    let eight = nine.clone().narrow(0, 0, 8);
    let engine = Engine::Host { chunk: 8 };
    let private = |images: &Tensor<4>| {
        let sampler = Sampler::poisson_add_remove(images.dims()[0], 0.25, 2.25).unwrap();
        shown(sampler, engine, images, 12)
    };
    let (with, without) = (private(&nine), private(&eight));
    assert_eq!(with.rest, without.rest);
    assert!(with.rest.contains("add_remove"), "{}", with.rest);
    assert_ne!(with.released, without.released);
    for rate in [|_| 0.25, |records: usize| 2.25 / records as f64] {
        let public = |images: &Tensor<4>| {
            let records = images.dims()[0];
            let sampler = Sampler::poisson_zero_out(records, rate(records)).unwrap();
            shown(sampler, engine, images, 12)
        };
        let (with, without) = (public(&nine), public(&eight));
        assert_ne!(with.rest, without.rest);
        assert!(with.rest.contains("zero_out"), "{}", with.rest);
    }
}

/// Of a public number of records one counts or is blank: rate, divisor and noise are those of both.
#[test]
fn a_blank_record_moves_the_sum_alone() {
    let images = uniform([9, 1, 6, 6], 5, &Device::flex());
    // A record whose gradient is not finite adds nothing.
    let blank = Tensor::full([1, 1, 6, 6], f32::NAN, &Device::flex());
    let other = Tensor::cat(vec![images.clone().narrow(0, 0, 8), blank], 0);
    let sampler = Sampler::poisson_zero_out(9, 1.0).unwrap();
    assert_eq!(sampler.neighbours(), Neighbours::ZeroOut);
    for engine in ENGINES {
        only_the_sums_differ(
            [&images, &other].map(|images| shown(sampler.clone(), engine, images, 1)),
        );
    }
}

/// What sums may be off by is declared for as many records as the divisor allows for: a batch of more is refused, in
/// words that tell no number.
#[test]
fn a_batch_beyond_the_divisor_is_refused() {
    let device = Device::flex();
    let images = uniform([90, 1, 6, 6], 5, &device);
    let folder = tempfile::tempdir().unwrap();
    let sampler = Sampler::poisson_add_remove(90, 1.0, 1.0).unwrap();
    let plan = TrainingPlan::for_epsilon(1.0, 1e-4, 1, sampler);
    let with = TrainingConfig::new(Loss::squared_error());
    let network = Small::new(3, 1, &device);
    let (mut training, mut ledger) = training(with, &network, plan, &folder);
    let step = training.next_step().unwrap().unwrap();
    let refused = step.update_from(&images, Tensor::<2>::ones([90, 1], &device), &mut ledger);
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains("larger divisor"), "{refused}");
    assert!(!refused.contains(|c: char| c.is_ascii_digit()), "{refused}");
    assert_eq!(ledger.releases(), 0);
}

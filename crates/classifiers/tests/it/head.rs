//! A head learns, and its gradient is that of the loss.

use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::TrainingPlan;
use dp_core::sampling::Sampler;
use private_classifiers::{ClassWeights, Descent, Examples, Head, HeadConfig, ValueLoss, largest};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::rows;

const CONFIG: HeadConfig = HeadConfig {
    max_grad_norm: 0.25,
    rate: 20.0,
    steps: 40,
    most_per_unit: 1,
};

fn accuracy(head: &Head, rows: &[f32], labels: &[u16]) -> f64 {
    let found = head.predict(rows).expect("classes");
    let right = found
        .iter()
        .zip(labels)
        .filter(|(a, b)| **a == usize::from(**b));
    right.count() as f64 / labels.len() as f64
}

/// One in three is what chance gives.
#[test]
fn a_private_head_learns() {
    let (rows, labels) = rows(3000, 12, 3);
    let examples = Examples::new(rows.clone(), labels.clone(), 3).expect("examples");
    let folder = tempfile::tempdir().expect("a folder");
    let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).expect("a ledger");
    let sampler = Sampler::all(3000).expect("records");
    let plan = TrainingPlan::for_epsilon(1.0, 1e-5, CONFIG.steps, sampler);
    let plan = plan.check().expect("a plan");
    let mut releaser = plan.releaser(NoiseSource::insecure(4));
    let head = CONFIG
        .fit(&examples, &mut releaser, &mut ledger)
        .expect("a head");
    assert_eq!(ledger.releases(), CONFIG.steps);
    assert!(accuracy(&head, &rows, &labels) > 0.95);
    let ceiling = CONFIG.fit_without_privacy(&examples).expect("a head");
    assert!(accuracy(&ceiling, &rows, &labels) > 0.99);
    let again = Head::new(12, 3, head.weights().to_vec()).expect("weights");
    assert_eq!(again, head);
}

/// One step of weights that start at zero is what was released times a known factor: its noise is that of the ledger's line. A sum of
/// 360 squares within 5 deviations of its mean, 134 (false alarm below 1e-5, fixed seed).
#[test]
fn a_step_has_the_noise_of_its_line() {
    let (rows, labels) = rows(300, 120, 3);
    let examples = Examples::new(rows, labels, 3).expect("examples");
    let config = HeadConfig {
        rate: 300.0,
        steps: 1,
        ..CONFIG
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).expect("a ledger");
    let plan = TrainingPlan::for_epsilon(1.0, 1e-5, 1, Sampler::all(300).expect("records"));
    let mut releaser = plan
        .check()
        .expect("a plan")
        .releaser(NoiseSource::insecure(4));
    let head = config
        .fit(&examples, &mut releaser, &mut ledger)
        .expect("a head");
    let exact = config.fit_without_privacy(&examples).expect("a head");
    let line = &ledger.entries().expect("entries").entries[0];
    let deviation = line.deviation.expect("a deviation");
    assert!((line.sensitivity.expect("a sensitivity") / 0.5 - 1.0).abs() < 1e-3);
    let pairs = head.weights().iter().zip(exact.weights());
    let squares: f64 = pairs.map(|(a, b)| ((a - b) / deviation).powi(2)).sum();
    assert!(
        (squares - 360.0).abs() < 5.0 * 720.0_f64.sqrt(),
        "{squares}"
    );
}

/// The ledger would have the event of a sampled batch, and the step would be of all records.
#[test]
fn a_plan_of_batches_is_refused() {
    let (rows, labels) = rows(300, 12, 3);
    let examples = Examples::new(rows, labels, 3).expect("examples");
    let folder = tempfile::tempdir().expect("a folder");
    let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).expect("a ledger");
    let samplers = [
        (
            Sampler::fixed_size(300, 30),
            "another one than that of all records",
        ),
        (
            Sampler::poisson_zero_out(300, 0.1),
            "another one than that of all records",
        ),
        // Of fewer records than there are rows: the sensitivity would be that of a mean of fewer.
        (Sampler::all(299), "the number of records or units is 299"),
    ];
    for (sampler, why) in samplers {
        let plan = TrainingPlan::for_epsilon(1.0, 1e-5, CONFIG.steps, sampler.expect("a sampler"));
        let plan = plan.check().expect("a plan");
        let mut releaser = plan.releaser(NoiseSource::insecure(4));
        let refused = CONFIG.fit(&examples, &mut releaser, &mut ledger);
        let refused = refused.map(drop).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    assert_eq!(ledger.releases(), 0);
}

/// A descent that is cut off and goes on is the one that was not cut off.
#[test]
fn a_descent_goes_on() {
    let (rows, labels) = rows(90, 6, 3);
    let examples = Examples::new(rows, labels, 3).expect("examples");
    let step = |descent: &mut Descent| {
        let sum = descent.measure(&examples, 90).expect("a sum");
        let sum = dp_core::mechanism::NoisyVector::without_privacy(sum);
        descent.update(&sum, 90);
    };
    let mut whole = Descent::new(CONFIG, 6, 3).expect("a descent");
    (0..30).for_each(|_| step(&mut whole));
    let values = whole.values().map(<[f64]>::to_vec);
    let mut resumed = Descent::new(CONFIG, 6, 3).expect("a descent");
    resumed = resumed.resumed(whole.step(), values).expect("the same");
    for descent in [&mut whole, &mut resumed] {
        (0..10).for_each(|_| step(descent));
    }
    assert_eq!(whole.head(), resumed.head());
}

/// Values that are a sum of two numbers of each row, and noise of its own.
fn valued(count: usize) -> (Vec<f32>, Vec<f32>) {
    let (rows, _) = rows(count, 6, 3);
    let each = rows.chunks_exact(6).enumerate();
    let values = each.map(|(place, row)| row[0] - row[1] + ((place * 5) % 11) as f32 / 110.0);
    let values = values.collect();
    (rows, values)
}

/// The mean of the values leaves 0.53 of root mean square.
#[test]
fn a_private_head_of_values_learns() {
    let (rows, values) = valued(3000);
    for (loss, most) in [(ValueLoss::Squared, 0.12), (ValueLoss::Absolute, 0.12)] {
        let examples = Examples::of_values(rows.clone(), values.clone(), loss).expect("examples");
        let config = HeadConfig::suited_to_values(3000, Some(3.0), loss);
        let folder = tempfile::tempdir().expect("a folder");
        let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).expect("a ledger");
        let sampler = Sampler::all(3000).expect("records");
        let plan = TrainingPlan::for_epsilon(3.0, 1e-5, config.steps, sampler);
        let plan = plan.check().expect("a plan");
        let mut releaser = plan.releaser(NoiseSource::insecure(4));
        let head = config.fit(&examples, &mut releaser, &mut ledger);
        let head = head.expect("a head");
        let found = head.values(&rows).expect("values");
        let squares = found.iter().zip(examples.values());
        let squares: f64 = squares.map(|(a, &b)| (a - f64::from(b)).powi(2)).sum();
        let off = (squares / 3000.0).sqrt();
        assert!(off < most, "{loss:?}: {off}");
    }
}

/// One record in twenty is of the second class, and what is seen of it lies on the way to the first: only a head that is balanced finds it.
#[test]
fn a_balanced_head_finds_the_rare_class() {
    let rows: Vec<f32> = (0..4000)
        .flat_map(|i| {
            let rare = i % 20 == 0;
            let tilt = if rare { 0.5 } else { 0.0 } + ((i * 37) % 101) as f32 / 101.0 - 0.5;
            [(1.0 - tilt * tilt).sqrt(), tilt]
        })
        .collect();
    let labels: Vec<u16> = (0..4000).map(|i| u16::from(i % 20 == 0)).collect();
    let examples = Examples::new(rows.clone(), labels.clone(), 2).expect("examples");
    let weights = ClassWeights::of_counts(&[3800.0, 200.0], 0.0).expect("weights");
    assert_eq!(weights.weights(), [200.0 / 3800.0, 1.0]);
    assert!((weights.mean() - 0.1).abs() < 1e-12);
    // A class that is absent, as far as noise lets see, takes nothing from others.
    let absent = ClassWeights::of_counts(&[3800.0, 200.0, -4.0], 5.0).expect("weights");
    assert_eq!(absent.weights(), [200.0 / 3800.0, 1.0, 1.0]);
    let config = HeadConfig::suited(4000, None);
    let shares = [None, Some(weights)].map(|weights| {
        let mut descent = Descent::new(config, 2, 2).expect("a descent");
        if let Some(weights) = weights {
            descent = descent.balanced(weights).expect("two classes");
        }
        for _ in 0..config.steps {
            let sum = descent.measure(&examples, 4000).expect("a sum");
            let sum = dp_core::mechanism::NoisyVector::without_privacy(sum);
            descent.update(&sum, 4000);
        }
        let found = descent.head().predict(&rows).expect("classes");
        let right = found
            .iter()
            .zip(&labels)
            .filter(|(a, b)| **b == 1 && **a == 1);
        right.count() as f64 / 200.0
    });
    assert!(shares[0] < 0.45 && shares[1] > 0.65, "{shares:?}");
}

/// What is simulated is what private heads reach on such rows: one is a share of thousands of records, the other the mean over 60 fits of
/// the share of 8 classes, so that they agree within 0.1 but for one seed in ten thousand.
#[test]
fn the_best_case_is_that_of_alike_rows() {
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let config = HeadConfig {
        steps: 5,
        rate: 100.0,
        ..CONFIG
    };
    assert_eq!(config.check_classes(10, 1000, 0.0, rng).unwrap(), 1.0);
    let (classes, count) = (8, 80);
    let labels: Vec<u16> = (0..count).map(|i| (i % classes) as u16).collect();
    let row = |&label: &u16| (0..8).map(move |place| f32::from(place == label));
    let rows: Vec<f32> = labels.iter().flat_map(row).collect();
    let examples = Examples::new(rows.clone(), labels.clone(), classes).expect("examples");
    let folder = tempfile::tempdir().expect("a folder");
    let sampler = Sampler::all(count).expect("records");
    let plan = TrainingPlan::for_epsilon(2.0, 1e-5, config.steps, sampler);
    let checked = || plan.clone().check().expect("a plan");
    let noise = checked().noise_multiplier();
    let mut right = 0.0;
    for seed in 0..60 {
        let path = folder.path().join(format!("{seed}.jsonl"));
        let mut ledger = Ledger::create(&path).expect("a ledger");
        let mut releaser = checked().releaser(NoiseSource::insecure(seed));
        let head = config.fit(&examples, &mut releaser, &mut ledger);
        right += accuracy(&head.expect("a head"), &rows, &labels) / 60.0;
    }
    let simulated = config.check_classes(classes, count, noise, rng).unwrap();
    let refused = config
        .check_classes(60, 300, 20.0, rng)
        .unwrap_err()
        .to_string();
    let said = "the number of classes is 60, expected fewer, or more records or a larger epsilon: of 300 records, equally many of each, noise leaves";
    assert!(refused.starts_with(said), "{refused}");
    assert!((0.2..0.9).contains(&right), "{right}");
    assert!((simulated - right).abs() < 0.1, "{simulated}, not {right}");
}

proptest! {
    /// The sum of gradients is the derivative of the sum of losses, where no gradient is clipped.
    #[test]
    fn the_gradient_is_that_of_the_loss(
        count in 1usize..300, weights in prop::collection::vec(-2.0f64..2.0, 12), place in 0usize..12,
    ) {
        let (rows, labels) = rows(count, 4, 3);
        let examples = Examples::new(rows.clone(), labels.clone(), 3).unwrap();
        let config = HeadConfig { max_grad_norm: 10.0, ..CONFIG };
        let zeros = vec![0.0; 12];
        let descent = Descent::new(config, 4, 3).unwrap();
        let descent = descent.resumed(0, [weights.clone(), zeros.clone(), zeros]).unwrap();
        let sum = descent.measure(&examples, count).unwrap();
        let loss = |by: f64| {
            let mut moved = weights.clone();
            moved[place] += by;
            let head = Head::new(4, 3, moved).unwrap();
            let all = head.probabilities(&rows).unwrap();
            let own = all.chunks_exact(3).zip(&labels).map(|(p, &label)| -p[usize::from(label)].ln());
            own.sum::<f64>()
        };
        let slope = (loss(1e-4) - loss(-1e-4)) / 2e-4;
        let off = (sum.before_noise()[place] - slope).abs();
        prop_assert!(off < 1e-4 * count as f64, "{off}");
    }

    #[test]
    fn the_gradient_of_values_is_that_of_the_loss(
        count in 1usize..300, weights in prop::collection::vec(-2.0f64..2.0, 6), place in 0usize..6,
    ) {
        let (rows, values) = valued(count);
        let config = HeadConfig { max_grad_norm: 10.0, ..CONFIG };
        let zeros = vec![0.0; 6];
        for kind in [ValueLoss::Squared, ValueLoss::Absolute] {
            let examples = Examples::of_values(rows.clone(), values.clone(), kind).unwrap();
            let descent = Descent::new(config, 6, 1).unwrap();
            let descent = descent.resumed(0, [weights.clone(), zeros.clone(), zeros.clone()]);
            let sum = descent.unwrap().measure(&examples, count).unwrap();
            let loss = |by: f64| {
                let mut moved = weights.clone();
                moved[place] += by;
                let found = Head::new(6, 1, moved).unwrap().values(&rows).unwrap();
                let off = found.iter().zip(examples.values()).map(|(a, &b)| a - f64::from(b));
                match kind {
                    ValueLoss::Squared => off.map(|r| r * r / 2.0).sum::<f64>(),
                    ValueLoss::Absolute => off.map(f64::abs).sum(),
                }
            };
            let slope = (loss(1e-6) - loss(-1e-6)) / 2e-6;
            let off = (sum.before_noise()[place] - slope).abs();
            // A residual may change its sign between both: the absolute loss has no slope there.
            let turns = match kind {
                ValueLoss::Squared => 0.0,
                ValueLoss::Absolute if count > 20 => 1.0,
                ValueLoss::Absolute => continue,
            };
            prop_assert!(off < turns + 1e-4 * count as f64, "{off}");
        }
    }

    /// A weight is at most 1, so that a sum of weighted gradients keeps its sensitivity.
    #[test]
    fn class_weights_are_at_most_one(
        counts in prop::collection::vec(-1e6f64..1e6, 2..20), deviation in 0.0f64..1e5,
    ) {
        let weights = ClassWeights::of_counts(&counts, deviation).unwrap();
        prop_assert!(weights.weights().iter().all(|&weight| weight > 0.0 && weight <= 1.0));
        prop_assert!(weights.weights().contains(&1.0));
        prop_assert!(weights.mean() > 0.04 && weights.mean() <= 1.0);
    }

    #[test]
    fn probabilities_add_up(weights in prop::collection::vec(-1e3f64..1e3, 15)) {
        let (rows, _) = rows(7, 5, 3);
        let head = Head::new(5, 3, weights).unwrap();
        for row in head.probabilities(&rows).unwrap().chunks_exact(3) {
            prop_assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(row[largest(row)] > 0.333);
        }
    }
}

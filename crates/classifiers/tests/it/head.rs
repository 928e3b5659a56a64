//! A head learns, and its gradient is that of the loss.

use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::TrainingPlan;
use dp_core::sampling::Sampler;
use private_classifiers::{Descent, Examples, Head, HeadConfig, largest};
use proptest::prelude::*;

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
    fn probabilities_add_up(weights in prop::collection::vec(-1e3f64..1e3, 15)) {
        let (rows, _) = rows(7, 5, 3);
        let head = Head::new(5, 3, weights).unwrap();
        for row in head.probabilities(&rows).unwrap().chunks_exact(3) {
            prop_assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(row[largest(row)] > 0.333);
        }
    }
}

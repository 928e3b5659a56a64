//! The contract of a step: a record replaced with its label moves the sum of gradients by no more than is declared, and some
//! replacement by nearly all of it; with units, all records of one.

use private_classifiers::{ClassWeights, Descent, Examples, HeadConfig, ValueLoss};
use test_support::contract::{Contract, Measured, furthest};

use crate::rows;

const WIDTH: usize = 5;
const CLASSES: usize = 3;
const COUNT: usize = 200;

/// What a step at some weights measures of records whose first ones are `own`, each with this label.
fn sum(own: &[(&[f32], u16)], most: usize, norm: f64) -> (Vec<f64>, f64) {
    let (mut rows, mut labels) = rows(COUNT, WIDTH, CLASSES);
    for (place, (row, label)) in own.iter().enumerate() {
        rows[place * WIDTH..][..WIDTH].copy_from_slice(row);
        labels[place] = *label;
    }
    let examples = Examples::new(rows, labels, CLASSES).expect("examples");
    step(&examples, most, norm, None)
}

/// What a step at some weights measures of examples, and what it declares.
fn step(
    examples: &Examples,
    most: usize,
    norm: f64,
    balance: Option<ClassWeights>,
) -> (Vec<f64>, f64) {
    let config = HeadConfig {
        max_grad_norm: norm,
        rate: 1.0,
        steps: 1,
        most_per_unit: most,
    };
    let count = WIDTH * examples.outputs();
    let weights = (0..count).map(|i| (i as f64 * 0.37).sin() * 3.0);
    let zeros = vec![0.0; count];
    let descent = Descent::new(config, WIDTH, examples.outputs()).expect("a descent");
    let descent = descent.resumed(0, [weights.collect(), zeros.clone(), zeros]);
    let mut descent = descent.expect("weights");
    if let Some(balance) = balance {
        descent = descent.balanced(balance).expect("as many classes");
    }
    let sum = descent.measure(examples, COUNT / most + 1).expect("a sum");
    (sum.before_noise().to_vec(), sum.sensitivity_upper())
}

fn measured(own: &[(&[f32], u16)], most: usize, norm: f64) -> Measured {
    let (values, declared) = sum(own, most, norm);
    Measured::new(values, declared)
}

/// Records that are as bad as records get: along each axis, far and near, of each class.
fn adversaries() -> Vec<([f32; WIDTH], u16)> {
    let mut all = vec![([0.0; WIDTH], 0)];
    for place in 0..WIDTH {
        for size in [1.0, -1.0, 1e-3, 1e6, -1e6, 1e30] {
            let mut row = [0.0; WIDTH];
            row[place] = size;
            all.extend((0..CLASSES as u16).map(|label| (row, label)));
        }
    }
    all
}

/// The share of the bound that neighbours are apart; of units of `most` equal records.
fn apart(most: usize, declared: usize, norm: f64) -> f64 {
    let all = adversaries();
    let releases = all.iter().map(|(row, label)| {
        let own = vec![(&row[..], *label); most];
        measured(&own, declared, norm)
    });
    furthest(&releases.collect::<Vec<_>>())
}

#[test]
fn a_record_moves_a_step_no_more_than_is_declared() {
    let contract = Contract::of("a step of a head").attained(0.9);
    contract.holds([0.01, 0.25, 1.0, 3.0].map(|norm| apart(1, 1, norm)));
    let units = Contract::of("a unit of three records").attained(0.9);
    units.holds([apart(3, 3, 0.25)]);
    // Without the factor of units, and without a bound that binds: far records are beyond any.
    units.is_broken_by("a unit that counts as a record", 1, [apart(3, 1, 0.25)]);
    contract.is_broken_by("no clipping", 1, [unclipped()]);
}

/// What a bound that binds nothing lets through, as a share of what is declared for one that does.
fn unclipped() -> f64 {
    let all = adversaries();
    let releases = all.iter().map(|(row, label)| {
        let own = [(&row[..], *label)];
        Measured::new(sum(&own, 1, 1e20).0, sum(&own, 1, 1.0).1)
    });
    furthest(&releases.collect::<Vec<_>>())
}

/// A label alone is protected too: both records are the same but for it.
#[test]
fn a_label_moves_a_step_by_most_of_what_is_declared() {
    let row = [0.0, 0.0, 0.5, 0.0, 0.0];
    let labels = (0..CLASSES as u16).map(|label| measured(&[(&row[..], label)], 1, 0.25));
    let share = furthest(&labels.collect::<Vec<_>>());
    assert!((0.7..=1.0).contains(&share), "{share}");
}

/// A record whose value is replaced with it, however far beyond what is said of values it lies.
#[test]
fn a_record_with_a_value_moves_a_step_no_more_than_is_declared() {
    let apart = |loss, norm| {
        let releases = adversaries().into_iter().flat_map(|(row, _)| {
            [-1e9, -1.0, 0.0, 1.0, 1e9].map(|value| {
                let (mut rows, labels) = rows(COUNT, WIDTH, CLASSES);
                rows[..WIDTH].copy_from_slice(&row);
                let mut values: Vec<f32> = labels.iter().map(|&label| f32::from(label)).collect();
                values[0] = value;
                let examples = Examples::of_values(rows, values, loss).expect("examples");
                let (values, declared) = step(&examples, 1, norm, None);
                Measured::new(values, declared)
            })
        });
        furthest(&releases.collect::<Vec<_>>())
    };
    let contract = Contract::of("a step of a head of values").attained(0.9);
    contract.holds([0.01, 0.5, 3.0].map(|norm| apart(ValueLoss::Squared, norm)));
    contract.holds([0.01, 0.5, 1.0].map(|norm| apart(ValueLoss::Absolute, norm)));
}

/// Weights make no gradient longer: those of the rarest class are as long as they were.
#[test]
fn a_record_moves_a_balanced_step_no_more_than_is_declared() {
    let apart = |counts: [f64; CLASSES]| {
        let releases = adversaries().into_iter().map(|(row, label)| {
            let (mut rows, mut labels) = rows(COUNT, WIDTH, CLASSES);
            rows[..WIDTH].copy_from_slice(&row);
            labels[0] = label;
            let examples = Examples::new(rows, labels, CLASSES).expect("examples");
            let balance = ClassWeights::of_counts(&counts, 1.0).expect("weights");
            let (values, declared) = step(&examples, 1, 0.25, Some(balance));
            Measured::new(values, declared)
        });
        furthest(&releases.collect::<Vec<_>>())
    };
    let contract = Contract::of("a step of a balanced head").attained(0.9);
    contract.holds([[100.0, 5.0, 50.0], [-3.0, 1e6, 0.0], [10.0; 3]].map(apart));
}

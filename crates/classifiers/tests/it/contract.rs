//! The contract of a step: a record replaced with its label moves the sum of gradients by no more than is declared, and some
//! replacement by nearly all of it; with units, all records of one.

use private_classifiers::{Descent, Examples, HeadConfig};
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
    let config = HeadConfig {
        max_grad_norm: norm,
        rate: 1.0,
        steps: 1,
        most_per_unit: most,
    };
    let weights = (0..WIDTH * CLASSES).map(|i| (i as f64 * 0.37).sin() * 3.0);
    let weights: Vec<f64> = weights.collect();
    let zeros = vec![0.0; WIDTH * CLASSES];
    let descent = Descent::new(config, WIDTH, CLASSES).expect("a descent");
    let descent = descent.resumed(0, [weights, zeros.clone(), zeros]);
    let examples = Examples::new(rows, labels, CLASSES).expect("examples");
    let sum = descent
        .expect("weights")
        .measure(&examples, COUNT / most + 1);
    let sum = sum.expect("a sum");
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

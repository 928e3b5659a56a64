//! The contract of records that are privatised by themselves: any two records are neighbours, of any size, with any label.
//!
//! They go through the whole path with the same noise: transform, label, ball, noise. What then differs is what reached the
//! mechanism; it must be within the diameter that the noise is calibrated to.

use data::Records;
use data::privatised::{Calibration, Header};
use data::transform::Dct;
use dp_core::local::{LocalMechanism, LocalNoise};
use dp_core::mechanism::NoiseSource;
use experiments::privatise::{Counts, Form, Preprocessing, mechanism_of, privatise};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use test_support::contract::Contract;
use test_support::noise::Law;

const RADIUS: f64 = 2.0;
const SIDE: usize = 4;
const CLASSES: usize = 3;

fn form(width: usize, classes: Option<usize>) -> Form {
    Form {
        width,
        shape: (width == SIDE * SIDE).then_some([1, SIDE, SIDE]),
        classes,
    }
}

fn mechanisms() -> [LocalMechanism; 3] {
    [
        LocalMechanism::laplace(4.0, RADIUS).unwrap(),
        LocalMechanism::gaussian(4.0, 1e-5, RADIUS).unwrap(),
        LocalMechanism::gaussian_published(4.0, 1e-5, RADIUS).unwrap(),
    ]
}

fn calibration(mechanism: &LocalMechanism) -> Calibration {
    match *mechanism == mechanisms()[2] {
        true => Calibration::Paper,
        false => Calibration::Exact,
    }
}

/// Without and with the transform, without and with labels.
fn preprocessings() -> Vec<Preprocessing> {
    let mut all = Vec::new();
    for mechanism in mechanisms() {
        let calibration = calibration(&mechanism);
        for dct in [None, Some(Dct::new(1, SIDE, 5).unwrap())] {
            for weight in [None, Some(0.3), Some(50.0)] {
                let dct = dct.clone();
                all.push(Preprocessing::new(mechanism, calibration, dct, weight));
            }
        }
    }
    all
}

/// All that leaves, with the noise of one seed.
fn leaves(
    preprocessing: &Preprocessing,
    values: Vec<f32>,
    labels: Vec<usize>,
) -> (Vec<f32>, Counts) {
    let width = values.len() / labels.len();
    let labels = labels.iter().map(|&label| label as u8).collect();
    let records = Records::rows("records", width, values);
    let records = records.and_then(|rows| rows.labelled(labels, CLASSES));
    let (records, form) = (records.unwrap(), form(width, Some(CLASSES)));
    let mut noisy = Vec::new();
    let mut push = |record: &[f32]| {
        noisy.extend_from_slice(record);
        Ok(())
    };
    let noise = &mut NoiseSource::insecure(11);
    let done = &mut |_| Ok(());
    let counts = privatise(&records, &form, preprocessing, noise, &mut push, done);
    (noisy, counts.unwrap())
}

fn norm(noise: LocalNoise, values: impl Iterator<Item = f64>) -> f64 {
    match noise {
        LocalNoise::Laplace => values.map(f64::abs).sum(),
        LocalNoise::Gaussian => values.map(|x| x * x).sum::<f64>().sqrt(),
    }
}

/// Two records as unlike each other as they come: opposite, beyond all bounds, not finite, with other labels.
fn pair(rng: &mut ChaCha20Rng, trial: usize) -> [(Vec<f32>, usize); 2] {
    let far = [1e-3, 1.0, 30.0, 1e30][rng.random_range(0..4)];
    let mut first: Vec<f32> = (0..SIDE * SIDE)
        .map(|_| far * rng.random_range(-1.0..1.0_f32))
        .collect();
    if trial.is_multiple_of(2) {
        // On one axis: there the corners of the l1 ball lie.
        let value = if far < 1e29 { 100.0 * far } else { f32::MAX };
        first.fill(0.0);
        first[rng.random_range(0..SIDE * SIDE)] = value;
    }
    let second: Vec<f32> = match trial % 5 {
        4 => vec![[f32::NAN, f32::INFINITY][trial % 2]; SIDE * SIDE],
        3 => first.iter().map(|x| x * 0.5).collect(),
        _ => first.iter().map(|x| -x).collect(),
    };
    let labels = [rng.random_range(0..CLASSES), rng.random_range(0..CLASSES)];
    [(first, labels[0]), (second, labels[1])]
}

/// The contract of what `path` makes of adversarial pairs, and how far apart they are, as a share of the diameter.
fn contract(
    preprocessing: &Preprocessing,
    path: impl Fn(Vec<f32>, usize) -> Vec<f32>,
) -> (Contract, Vec<f64>) {
    let noise = preprocessing.mechanism().noise();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let apart = (0..300).map(|trial| {
        let [one, other] = pair(&mut rng, trial).map(|(values, label)| path(values, label));
        let apart = one.iter().zip(&other);
        let apart = apart.map(|(&a, &b)| f64::from(a) - f64::from(b));
        norm(noise, apart) / (2.0 * RADIUS)
    });
    let apart = apart.collect();
    // The same noise is on both, and falls away but for its rounding to 32 bits.
    let contract = Contract::of(format!("{preprocessing:?}")).rounded(1e-5);
    (contract, apart)
}

/// For both norms, with transform and label.
#[test]
fn any_two_records_are_within_the_diameter() {
    for preprocessing in preprocessings() {
        let path = |values, label| leaves(&preprocessing, values, vec![label]).0;
        let (contract, apart) = contract(&preprocessing, path);
        contract.attained(0.95).holds(apart);
    }
}

/// A path that leaves the ball out, and one that adds the label behind it.
#[test]
fn sabotage_of_the_projection_is_caught() {
    for preprocessing in preprocessings() {
        let form = form(SIDE * SIDE, Some(CLASSES));
        let without = |values: Vec<f32>, label| {
            let finite = |x: f32| if x.is_finite() { x } else { 0.0 };
            let values: Vec<f32> = values.into_iter().map(finite).collect();
            preprocessing.record(&form, &values, Some(label)).unwrap()
        };
        let (of_values, apart) = contract(&preprocessing, without);
        of_values.is_broken_by("no ball", 100, apart);
        let label_behind = |values: Vec<f32>, label| {
            let inside = preprocessing.mechanism().before_noise(&values).unwrap();
            let mut record: Vec<f32> = inside.values.iter().map(|&x| x as f32).collect();
            record.extend((0..CLASSES).map(|class| if class == label { 50.0 } else { 0.0 }));
            record
        };
        let (of_labels, apart) = contract(&preprocessing, label_behind);
        of_labels.is_broken_by("a label behind the ball", 100, apart);
    }
}

/// A draw has the scale that its promise needs, by the header, and the noise of two records is independent.
#[test]
fn noise_is_of_the_size_that_the_promise_needs_and_new_for_each_record() {
    const RECORDS: usize = 2500;
    for mechanism in mechanisms() {
        let preprocessing = Preprocessing::new(mechanism, calibration(&mechanism), None, None);
        let values = vec![0.0; RECORDS * SIDE * SIDE];
        let (noisy, counts) = leaves(&preprocessing, values, vec![0; RECORDS]);
        assert_eq!((counts.records, counts.projected), (RECORDS as u64, 0));
        let form = form(SIDE * SIDE, None);
        let header: Header = preprocessing.header(&form, true).unwrap();
        // The scale by formulas, and not by what the mechanism says of itself.
        let declared = mechanism_of("f", &header).unwrap();
        let declared = declared.scale(SIDE * SIDE).unwrap();
        let law = match mechanism.noise() {
            LocalNoise::Laplace => {
                assert!((declared * 4.0 / (2.0 * RADIUS) - 1.0).abs() < 1e-4);
                Law::Laplace
            }
            LocalNoise::Gaussian => Law::Gaussian,
        };
        let standard = noisy.iter().map(|&x| f64::from(x) / declared);
        let standard: Vec<f64> = standard.collect();
        law.is_that_of(&standard);
        let (first, second) = standard.split_at(standard.len() / 2);
        law.is_new(first, second);
    }
}

/// Others change nothing of what leaves of a record: it has its own noise, and no count or mean of others.
#[test]
fn a_record_leaves_the_same_whatever_the_others_hold() {
    for preprocessing in preprocessings() {
        let size = SIDE * SIDE;
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let values: Vec<f32> = (0..5 * size).map(|_| rng.random_range(-1.0..1.0)).collect();
        let labels = vec![0, 1, 2, 0, 1];
        let (noisy, _) = leaves(&preprocessing, values.clone(), labels.clone());
        let width = noisy.len() / 5;
        let mut others = values;
        others[..2 * size].fill(f32::NAN);
        others[3 * size..].fill(1e30);
        let (again, counts) = leaves(&preprocessing, others, vec![2, 2, 2, 2, 2]);
        assert_eq!(again[2 * width..3 * width], noisy[2 * width..3 * width]);
        assert_eq!(counts.not_finite, 2);
    }
}

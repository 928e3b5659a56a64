//! The privacy contract of records that are privatised by themselves.
//!
//! Any two records, of any size, with any label, go through the whole path with the same noise: transform, label, ball,
//! noise. What then differs is what reached the mechanism; it must be within the diameter that the noise is calibrated
//! to, and nearly attain it. A path without the ball is caught. The noise must be of the size that the promise needs, and
//! new for each record.

use data::DataError;
use data::privatised::{Calibration, Header};
use data::stream::{Chunk, Form, RecordStream};
use data::transform::Dct;
use dp_core::local::{LocalMechanism, LocalNoise};
use dp_core::mechanism::NoiseSource;
use experiments::privatise::{Counts, Preprocessing, mechanism_of, privatise};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

const RADIUS: f64 = 2.0;
const SIDE: usize = 4;
const CLASSES: usize = 3;

/// Records of `width` values with labels; no chunk is larger than asked for.
struct Records {
    width: usize,
    values: Vec<f32>,
    labels: Vec<usize>,
}

fn form(width: usize, classes: Option<usize>) -> Form {
    Form {
        width,
        shape: (width == SIDE * SIDE).then_some([1, SIDE, SIDE]),
        classes,
        count: None,
    }
}

impl RecordStream for Records {
    fn form(&self) -> Form {
        form(self.width, Some(CLASSES))
    }

    fn next(&mut self, most: usize) -> Result<Chunk, DataError> {
        let count = most.min(self.labels.len());
        Ok(Chunk {
            values: self.values.drain(..count * self.width).collect(),
            labels: self.labels.drain(..count).collect(),
        })
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
    let mut records = Records {
        width,
        values,
        labels,
    };
    let mut noisy = Vec::new();
    let mut push = |record: &[f32]| {
        noisy.extend_from_slice(record);
        Ok(())
    };
    let noise = &mut NoiseSource::insecure(11);
    let counts = privatise(&mut records, preprocessing, noise, &mut push, &mut |_| {
        Ok(())
    });
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

/// The largest distance between what two records become, over adversarial pairs.
fn largest(noise: LocalNoise, mut path: impl FnMut(Vec<f32>, usize) -> Vec<f32>) -> f64 {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let mut largest = 0.0_f64;
    for trial in 0..300 {
        let [one, other] = pair(&mut rng, trial).map(|(values, label)| path(values, label));
        let apart = one.iter().zip(&other);
        let apart = apart.map(|(&a, &b)| f64::from(a) - f64::from(b));
        largest = largest.max(norm(noise, apart));
    }
    largest
}

/// What reaches the mechanism of any two records is within the diameter of the ball, for both norms, with transform and
/// label: the same noise is on both, and falls away but for its rounding to 32 bits.
#[test]
fn any_two_records_are_within_the_diameter() {
    for preprocessing in preprocessings() {
        let mechanism = *preprocessing.mechanism();
        let path = |values, label| leaves(&preprocessing, values, vec![label]).0;
        let apart = largest(mechanism.noise(), path);
        let bound = 2.0 * RADIUS;
        assert!(apart <= bound * (1.0 + 1e-5), "{preprocessing:?}: {apart}");
        assert!(
            apart >= 0.95 * bound,
            "{preprocessing:?}: only {apart} was tried"
        );
    }
}

/// The same test sees a path that leaves the ball out, and one that adds the label behind it.
#[test]
fn sabotage_of_the_projection_is_caught() {
    for preprocessing in preprocessings() {
        let mechanism = *preprocessing.mechanism();
        let form = form(SIDE * SIDE, Some(CLASSES));
        let without = |values: Vec<f32>, label| {
            let finite = |x: f32| if x.is_finite() { x } else { 0.0 };
            let values: Vec<f32> = values.into_iter().map(finite).collect();
            preprocessing.record(&form, &values, Some(label)).unwrap()
        };
        assert!(largest(mechanism.noise(), without) > 10.0 * RADIUS);
        let label_behind = |values: Vec<f32>, label| {
            let inside = mechanism.before_noise(&values).unwrap().values;
            let mut record: Vec<f32> = inside.iter().map(|&x| x as f32).collect();
            record.extend((0..CLASSES).map(|class| if class == label { 50.0 } else { 0.0 }));
            record
        };
        assert!(largest(mechanism.noise(), label_behind) > 10.0 * RADIUS);
    }
}

/// A draw has the scale that its promise needs, by the header: the mean of `|noise|` of 40000 Laplace draws, and the root
/// of the mean square of Gaussian ones, within 5 standard deviations of their own; the seed is fixed, and over seeds each
/// of the six comparisons has a false-alarm rate below 1e-6. So has that of two records' noise, which is independent.
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
        let n = noisy.len() as f64;
        let noise: Vec<f64> = noisy.iter().map(|&x| f64::from(x)).collect();
        let (found, deviation) = match mechanism.noise() {
            // E|x| = b, with variance b^2.
            LocalNoise::Laplace => {
                assert!((declared * 4.0 / (2.0 * RADIUS) - 1.0).abs() < 1e-4);
                (
                    noise.iter().map(|x| x.abs()).sum::<f64>() / n,
                    1.0 / n.sqrt(),
                )
            }
            // The mean square is sigma^2 with variance 2 sigma^4 / n: half of that, relatively, for its root.
            LocalNoise::Gaussian => {
                let square = noise.iter().map(|x| x * x).sum::<f64>() / n;
                (square.sqrt(), (0.5 / n).sqrt())
            }
        };
        assert!(
            (found / declared - 1.0).abs() < 5.0 * deviation,
            "{found} {declared}"
        );
        let (first, second) = noise.split_at(noise.len() / 2);
        let variance = noise.iter().map(|x| x * x).sum::<f64>() / n;
        let product = first.iter().zip(second).map(|(a, b)| a * b).sum::<f64>();
        let correlation = product / (n / 2.0) / variance;
        assert!(correlation.abs() < 5.0 / (n / 2.0).sqrt(), "{correlation}");
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

/// What is read at once is bounded, whatever there is.
#[test]
fn no_more_than_a_chunk_is_asked_for() {
    struct Endless {
        width: usize,
        left: usize,
        largest: usize,
    }
    impl RecordStream for Endless {
        fn form(&self) -> Form {
            form(self.width, None)
        }

        fn next(&mut self, most: usize) -> Result<Chunk, DataError> {
            self.largest = self.largest.max(most * self.width);
            let count = most.min(self.left);
            self.left -= count;
            Ok(Chunk {
                values: vec![0.0; count * self.width],
                labels: Vec::new(),
            })
        }
    }
    for (width, left) in [(1, 100_000), (784, 5_000), (3_000_000, 2)] {
        let mut stream = Endless {
            width,
            left,
            largest: 0,
        };
        let preprocessing = Preprocessing::new(mechanisms()[0], Calibration::Exact, None, None);
        let noise = &mut NoiseSource::insecure(1);
        let mut push = |_: &[f32]| Ok(());
        let counts = privatise(&mut stream, &preprocessing, noise, &mut push, &mut |_| {
            Ok(())
        });
        assert_eq!(counts.unwrap().records, left as u64);
        assert!(stream.largest <= width.max(1 << 20), "{}", stream.largest);
    }
}

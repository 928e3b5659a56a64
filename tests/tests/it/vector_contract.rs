//! The privacy contract of releases that are vectors: noisy projections, sliced marginals, moments.
//!
//! Two sets of rows that differ in one row, of any size and direction, go through the same public
//! side; what reaches the mechanism must differ by at most the declared sensitivity. Each bound is
//! also nearly attained, so that a bound that is too small cannot hide behind tame rows. The mechanism
//! must then add noise of the declared size, new noise each time, and a ledger line before it.

use dp_core::accounting::Event;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoiseSource, Releaser, SensitiveVector};
use dp_core::plan::{Noise, ReleaseNoise, TrainingPlan};
use dp_core::sampling::AllRecords;
use private_queries::marginals::{Basis, Bins};
use private_queries::{
    GroupMarginals, LabelledMarginals, MarginalQuery, Moments, PointsGradient, Projections, Query,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::{Region, Slices};

const DIM: usize = 4;
const ROWS: usize = 12;

/// Rows of which some lie far outside the unit ball, one on each axis, and some are not finite.
fn rows(rng: &mut ChaCha20Rng) -> Vec<f32> {
    let scale = [1e-3, 0.5, 1.0, 30.0][rng.random_range(0..4)];
    (0..ROWS * DIM)
        .map(|_| rng.random_range(-scale..scale))
        .collect()
}

/// Two sets of rows that differ in one: the opposite row, which is the worst for everything that is linear, one that is
/// not finite, or any other. Last, all rows at one end of an axis, and one of them at the other.
fn neighbours() -> Vec<[Vec<f32>; 2]> {
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let pair = |trial| {
        let mut first = rows(&mut rng);
        let mut second = first.clone();
        let place = rng.random_range(0..ROWS) * DIM;
        for j in 0..DIM {
            let far: f32 = [1.0, -1.0, 100.0][rng.random_range(0..3)];
            first[place + j] = far * rng.random_range(0.1..1.0_f32);
            second[place + j] = match trial % 3 {
                0 => -first[place + j],
                1 => f32::NAN,
                _ => far * rng.random_range(-1.0..1.0_f32),
            };
        }
        [first, second]
    };
    let ends = |first: f32| {
        let mut rows = [-1.0, 0.0, 0.0, 0.0].repeat(ROWS);
        rows[0] = first;
        rows
    };
    let last = [ends(-1.0), ends(1.0)];
    (0..400).map(pair).chain([last]).collect()
}

/// The rows of three groups: the label goes with the row, so the opposite row has another one.
fn by_label(rows: &[f32]) -> Vec<Vec<f32>> {
    let mut groups = vec![Vec::new(); 3];
    for row in rows.chunks_exact(DIM) {
        let label = usize::from(row[0] > 0.0) + usize::from(row[1] > 0.0);
        groups[label].extend_from_slice(row);
    }
    groups
}

/// The largest change that replacing one row makes is within what `query` declares, and attains a share of it.
fn holds(
    what: &str,
    query: &impl Query<Records = [Vec<f32>]>,
    attained: f64,
    records: impl Fn(&[f32]) -> Vec<Vec<f32>>,
) {
    let mut largest = 0.0_f64;
    for pair in neighbours() {
        let [a, b] = pair.map(|rows| query.measure(&records(&rows)).unwrap());
        let declared = a.sensitivity_upper();
        assert_eq!(
            (declared, query.len()),
            (b.sensitivity_upper(), b.before_noise().len())
        );
        let pairs = a.before_noise().iter().zip(b.before_noise());
        let moved = pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt() / declared;
        // Moments have no room of their own for what f32 rounds: the releaser adds it to every bound.
        let room = if what.starts_with("moments") {
            1e-6
        } else {
            0.0
        };
        assert!(moved <= 1.0 + room, "{what}: {moved} of what is declared");
        largest = largest.max(moved);
    }
    assert!(largest >= attained, "{what}: only {largest} was tried");
}

#[test]
fn neighbours_stay_within_the_declared_sensitivity() {
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let signs = Slices::signs(DIM, 16, &mut rng).unwrap();
    let slices = Slices::tight(DIM, 16, &mut rng).unwrap();
    let whole = |rows: &[f32]| vec![rows.to_vec()];
    for region in [Region::sphere(1.0).unwrap(), Region::ball(1.0).unwrap()] {
        for slices in [&slices, &signs] {
            let query = Projections::new(slices.clone(), region, vec![ROWS]);
            holds("projections", &query, 0.99, whole);
        }
        let bins = || Bins::uniform(1.0, 8).unwrap();
        let query = LabelledMarginals::new(slices.clone(), region, bins(), 3).unwrap();
        holds("marginals of classes", &query, 0.99, by_label);
        for basis in [Basis::Counts, Basis::Haar] {
            let query = MarginalQuery::new(slices.clone(), region, bins(), basis).unwrap();
            let query = GroupMarginals::new(vec![query], vec![ROWS]).unwrap();
            holds("marginals", &query, 0.8, whole);
        }
    }
    // Fewer and more points than records, in two groups of which one has three quarters of the weight.
    let halves = |rows: &[f32]| -> Vec<Vec<f32>> {
        let halves = rows.chunks_exact(ROWS / 2 * DIM);
        halves.map(<[f32]>::to_vec).collect()
    };
    for (count, along_an_axis, attained) in [(3, 1.0, 0.99), (30, 1.0, 0.99), (3, 0.0, 0.3)] {
        let points = (0..count).flat_map(|i| {
            let axis = [i as f32, 0.0, 0.0, 0.0];
            axis.map(|x| along_an_axis * x + (1.0 - along_an_axis) * rng.random_range(-1.0..1.0))
        });
        let points = points.collect();
        let ball = Region::ball(1.0).unwrap();
        let query = PointsGradient::new(points, slices.clone(), ball, &[ROWS / 2; 2], &[3.0, 1.0]);
        holds("points", &query.unwrap(), attained, halves);
    }
    for radius in [0.5, 1.0, 1.5] {
        holds(
            "moments",
            &Moments::of_groups(vec![ROWS], DIM, radius),
            0.9,
            whole,
        );
        holds(
            "moments of classes",
            &Moments::labelled(3, DIM, radius),
            0.95,
            by_label,
        );
    }
}

/// A releaser of two vectors with this noise on each.
fn releaser(noise: ReleaseNoise, seed: u64) -> Releaser {
    let plan = TrainingPlan {
        noise: Noise::Multiplier(1.0),
        ..TrainingPlan::within(1.0, 1e-3, 0, AllRecords::new(100).unwrap())
    };
    let plan = plan.and("1", noise).and("2", noise).check().unwrap();
    plan.releaser(NoiseSource::insecure(seed))
}

/// With `n = 10^6` coordinates the mean of the squared standardised noise has standard deviation `sqrt(2 / n) = 0.0014`,
/// that of the mean and of a correlation `1 / sqrt(n)`; the seed is fixed, and over seeds the false-alarm rate of all
/// 5-deviation bounds below together is under 1e-5. Noise of 2 % less variance is fourteen deviations off.
#[test]
fn the_noise_on_a_vector_has_the_declared_size_and_is_new_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).unwrap();
    let noise = ReleaseNoise::Gaussian {
        noise_multiplier: 2.0,
    };
    let mut releaser = releaser(noise, 17);
    let values = SensitiveVector::l2(vec![0.25; 1_000_000], 0.5);
    let mut release = |line: u64| {
        let released = releaser
            .release_vector(&line.to_string(), &values, &mut ledger)
            .unwrap();
        assert_eq!(ledger.releases(), line);
        released
            .values
            .iter()
            .map(|x| x - 0.25)
            .collect::<Vec<f64>>()
    };
    let (first, second) = (release(1), release(2));
    let n = first.len() as f64;
    for noise in [&first, &second] {
        let mean = noise.iter().sum::<f64>() / n;
        let square = noise.iter().map(|x| x * x).sum::<f64>() / n;
        assert!(mean.abs() < 5.0 / n.sqrt(), "mean {mean}");
        let off = (square - 1.0).abs() / (2.0 / n).sqrt();
        assert!(off < 5.0, "mean square {square}");
    }
    let product = first.iter().zip(&second).map(|(a, b)| a * b).sum::<f64>() / n;
    assert!(product.abs() < 5.0 / n.sqrt(), "correlation {product}");
}

/// The mean of 20000 absolute values of Laplace noise of scale 4 has standard deviation
/// `4 / sqrt(20000)`; as above, the false-alarm rate over seeds is under 1e-5.
#[test]
fn laplace_noise_has_the_declared_scale_and_is_new_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).unwrap();
    let mut releaser = releaser(ReleaseNoise::Laplace { epsilon: 0.5 }, 18);
    let values = SensitiveVector::l1(vec![3.0; 20_000], 2.0);
    let mut release = |line: u64| {
        let released = releaser
            .release_vector(&line.to_string(), &values, &mut ledger)
            .unwrap();
        assert_eq!(ledger.releases(), line);
        released
            .values
            .iter()
            .map(|x| x - 3.0)
            .collect::<Vec<f64>>()
    };
    let (first, second) = (release(1), release(2));
    let n = first.len() as f64;
    for noise in [&first, &second] {
        let mean = noise.iter().map(|x| x.abs()).sum::<f64>() / n;
        assert!((mean - 4.0).abs() < 5.0 * 4.0 / n.sqrt(), "mean {mean}");
    }
    let product = first.iter().zip(&second).map(|(a, b)| a * b).sum::<f64>() / n;
    // Each product has variance (2 * 16)^2.
    assert!(
        product.abs() < 5.0 * 32.0 / n.sqrt(),
        "correlation {product}"
    );
    for entry in ledger.entries().unwrap().entries {
        let noise_multiplier = 2.0;
        assert_eq!(entry.event, Event::Laplace { noise_multiplier });
    }
}

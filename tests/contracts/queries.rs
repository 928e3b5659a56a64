//! The contract of queries: noisy projections, sliced marginals, moments. A row of any size and direction is replaced.

use dp_core::accounting::Event;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoiseSource, SensitiveVector};
use dp_core::plan::{Noise, ReleaseNoise, TrainingPlan};
use dp_core::sampling::Sampler;
use private_queries::marginals::Bins;
use private_queries::{
    GroupMarginals, LabelledMarginals, MarginalQuery, Moments, Projections, Query,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::{NormBound, Slices};
use test_support::contract::{Contract, Measured, furthest};
use test_support::noise::Law;

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

/// The contract of `query`, of records that are made of rows.
fn holds(
    contract: Contract,
    query: &impl Query<Records = [Vec<f32>]>,
    records: impl Fn(&[f32]) -> Vec<Vec<f32>>,
) {
    contract.holds(neighbours().into_iter().map(|pair| {
        furthest(&pair.map(|rows| {
            let measured = query.measure(&records(&rows)).unwrap();
            assert_eq!(query.len(), measured.before_noise().len());
            let values = measured.before_noise().iter().copied();
            Measured::new(values, measured.sensitivity_upper())
        }))
    }));
}

#[test]
fn neighbours_stay_within_the_declared_sensitivity() {
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let signs = Slices::signs(DIM, 16, &mut rng).unwrap();
    let slices = Slices::tight(DIM, 16, &mut rng).unwrap();
    let whole = |rows: &[f32]| vec![rows.to_vec()];
    let contract = |what: &str, attained| Contract::of(what).attained(attained);
    for region in [
        NormBound::sphere(1.0).unwrap(),
        NormBound::ball(1.0).unwrap(),
    ] {
        for slices in [&slices, &signs] {
            let query = Projections::new(slices.clone(), region, vec![ROWS]);
            holds(contract("projections", 0.99), &query, whole);
        }
        let bins = || Bins::uniform(1.0, 8).unwrap();
        let query = LabelledMarginals::new(slices.clone(), region, bins(), 3).unwrap();
        holds(contract("marginals of classes", 0.99), &query, by_label);
        let query = MarginalQuery::new(slices.clone(), region, bins()).unwrap();
        let query = GroupMarginals::new(vec![query], vec![ROWS]).unwrap();
        holds(contract("marginals", 0.8), &query, whole);
    }
    // Moments have no room of their own for what f32 rounds: the releaser adds it to every bound.
    for radius in [0.5, 1.0, 1.5] {
        let moments = Moments::of_groups(vec![ROWS], DIM, radius);
        holds(contract("moments", 0.9).rounded(1e-6), &moments, whole);
        let moments = Moments::labelled(3, DIM, radius);
        let of_classes = contract("moments of classes", 0.95).rounded(1e-6);
        holds(of_classes, &moments, by_label);
    }
}

/// The noise that is added to `value`, of `deviation`, in two releases that leave two lines in the ledger: over its deviation.
fn standard_noise(
    noise: ReleaseNoise,
    (values, value): (&SensitiveVector, f64),
    deviation: f64,
) -> ([Vec<f64>; 2], Vec<Event>) {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).unwrap();
    let plan = TrainingPlan {
        noise: Noise::Multiplier(1.0),
        ..TrainingPlan::for_epsilon(1.0, 1e-3, 0, Sampler::all(100).unwrap())
    };
    let plan = plan
        .with_release("1", noise)
        .with_release("2", noise)
        .check()
        .unwrap();
    let mut releaser = plan.releaser(NoiseSource::insecure(17));
    let releases = [1, 2].map(|line: u64| {
        let released = releaser.release_vector(&line.to_string(), values, &mut ledger);
        assert_eq!(ledger.releases(), line);
        let released = released.unwrap().values.into_iter();
        released.map(|x| (x - value) / deviation).collect()
    });
    let entries = ledger.entries().unwrap().entries.into_iter();
    (releases, entries.map(|entry| entry.event).collect())
}

/// Of 10^6 coordinates: noise of 2 % less variance is fourteen deviations off.
#[test]
fn the_noise_on_a_vector_has_the_declared_size_and_is_new_each_time() {
    let noise = ReleaseNoise::Gaussian {
        noise_multiplier: 2.0,
    };
    let values = SensitiveVector::l2(vec![0.25; 1_000_000], 0.5);
    let ([first, second], _) = standard_noise(noise, (&values, 0.25), 1.0);
    Law::Gaussian.is_that_of(&first);
    Law::Gaussian.is_that_of(&second);
    Law::Gaussian.is_new(&first, &second);
    let smaller: Vec<f64> = first.iter().map(|x| 0.99 * x).collect();
    assert!(Law::Gaussian.size_off(&smaller) < -5.0);
}

#[test]
fn laplace_noise_has_the_declared_scale_and_is_new_each_time() {
    let noise = ReleaseNoise::Laplace { epsilon: 0.5 };
    let values = SensitiveVector::l1(vec![3.0; 20_000], 2.0);
    let ([first, second], events) = standard_noise(noise, (&values, 3.0), 4.0);
    Law::Laplace.is_that_of(&first);
    Law::Laplace.is_that_of(&second);
    Law::Laplace.is_new(&first, &second);
    let noise_multiplier = 2.0;
    let laplace = || Event::Laplace { noise_multiplier };
    assert_eq!(events, [laplace(), laplace()]);
}

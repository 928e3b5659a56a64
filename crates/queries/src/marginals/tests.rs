use super::*;
use crate::Query;
use crate::tests::{apart, seeded};
use dp_core::mechanism::NoisyVector;
use proptest::prelude::*;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use swd::{FlowTarget, TargetQuantiles};

fn hard_row(d: usize, rng: &mut ChaCha20Rng) -> Vec<f32> {
    let length = [0.0, 0.1, 1.0, 1e3, f32::INFINITY][rng.random_range(0..5)];
    (0..d)
        .map(|_| length * rng.random_range(-1.0..1.0_f32))
        .collect()
}

fn query(d: usize, k: usize, levels: u32, rng: &mut ChaCha20Rng) -> MarginalQuery {
    let slices = Slices::iid(d, k, rng).unwrap();
    let bins = Bins::uniform(1.0, 1 << levels).unwrap();
    MarginalQuery::new(slices, NormBound::ball(1.0).unwrap(), bins).unwrap()
}

proptest! {
    /// Brute force over neighbours: rows on and far outside the ball, not finite, opposite.
    #[test]
    fn neighbours_are_no_further_apart_than_the_sensitivity(
        seed in any::<u64>(),
        d in 1_usize..5,
        k in 1_usize..80,
        levels in 1_u32..7,
    ) {
        let mut rng = seeded(seed);
        let query = if rng.random() {
            query(d, k, levels, &mut rng)
        } else {
            let slices = Slices::iid(d, k, &mut rng).unwrap();
            let mut draw = |n: usize| -> Vec<f64> {
                (0..n).map(|_| rng.random_range(-0.5..0.5)).collect()
            };
            let (mean, factor) = (draw(d), draw(d * d));
            let region = NormBound::sphere(1.0).unwrap();
            MarginalQuery::around_gaussian(slices, region, &mean, &factor, 1 << levels).unwrap()
        };
        let n = rng.random_range(1..6_usize);
        let rows: Vec<f32> = (0..n).flat_map(|_| hard_row(d, &mut rng)).collect();
        let first = query.counts(&rows).unwrap();
        prop_assert_eq!(first.len(), query.len());
        for _ in 0..10 {
            let mut other = rows.clone();
            let i = rng.random_range(0..n);
            let row = &mut other[i * d..(i + 1) * d];
            if rng.random() {
                row.iter_mut().for_each(|x| *x = -*x);
            } else {
                row.copy_from_slice(&hard_row(d, &mut rng));
            }
            let second = query.counts(&other).unwrap();
            prop_assert!(apart(&first, &second) <= query.l2_sensitivity_upper());
        }
    }

    /// Without noise the distributions are the histograms, and their cells those of the records up to the
    /// width of a bin.
    #[test]
    fn without_noise_the_marginals_are_those_of_the_records(
        seed in any::<u64>(),
        d in 1_usize..5,
        k in 1_usize..70,
        n in 1_usize..200,
    ) {
        let mut rng = seeded(seed);
        let query = query(d, k, 6, &mut rng);
        let rows: Vec<f32> = (0..n * d).map(|_| rng.random_range(-0.4..0.4)).collect();
        let measured = query.counts(&rows).unwrap();
        let marginals = query.clean(&measured, n, 0.0).unwrap();
        let expected = TargetQuantiles::of_sample(&rows, query.slices(), n).unwrap();
        let mut cells = vec![0.0; n];
        for l in 0..k {
            marginals.write_cells(l, &mut cells);
            for (q, expected) in cells.iter().zip(expected.row(l)) {
                prop_assert!((f64::from(*q) - expected).abs() < 2.0 / 64.0 + 1e-6);
            }
        }
    }
}

#[test]
fn the_sensitivity_is_attained_by_an_opposite_record() {
    let mut rng = seeded(1);
    let few = query(3, 4, 5, &mut rng);
    // A row that no slice sees near 0.
    let mut row = || [(); 3].map(|()| rng.random_range(-1.0..1.0_f32));
    let far = |row: &[f32; 3]| {
        let projected = few.region.project(row, &few.slices).unwrap();
        projected.iter().all(|u| u.abs() > 0.1)
    };
    let row = (0..1000).map(|_| row()).find(far).unwrap();
    let [first, second] = [row, row.map(|x| -x)].map(|row| few.counts(&row).unwrap());
    let sensitivity = few.l2_sensitivity_upper();
    assert!(apart(&first, &second) > sensitivity * (1.0 - 1e-8));
    let many = query(3, 1000, 5, &mut rng);
    assert!((many.l2_sensitivity_upper() / 12000.0_f64.sqrt() - 1.0).abs() < 1e-8);
}

/// What is measured, with noise.
fn released(measured: &[f64], deviation: f64, rng: &mut ChaCha20Rng) -> Vec<f64> {
    let mut noise = || -> f64 { StandardNormal.sample(rng) };
    measured
        .iter()
        .map(|value| value + deviation * noise())
        .collect()
}

/// How far the cells of `n` records with this noise are from the exact ones.
fn squared_error(
    query: &MarginalQuery,
    released: &[f64],
    (n, deviation): (usize, f64),
    exact: &TargetQuantiles,
) -> f64 {
    let marginals = query.clean(released, n, deviation).unwrap();
    let cells = marginals.cells(100).unwrap();
    apart(cells.values(), exact.values()).powi(2) / cells.values().len() as f64
}

/// Cleaning brings noisy marginals nearer to the records. Fixed seed.
#[test]
fn cleaning_helps() {
    let mut rng = seeded(3);
    let query = query(3, 40, 5, &mut rng);
    let n = 2000;
    let rows: Vec<f32> = (0..3 * n).map(|_| rng.random_range(-0.3..0.3)).collect();
    let deviation = 3.0 * query.l2_sensitivity_upper();
    let released = released(&query.counts(&rows).unwrap(), deviation, &mut rng);
    let exact = TargetQuantiles::of_sample(&rows, query.slices(), 100).unwrap();
    let errors = [0.0, 1.0].map(|tail_deviations| {
        let cleaning = Cleaning {
            tail_deviations,
            shrink: false,
        };
        let query = MarginalQuery {
            cleaning,
            ..query.clone()
        };
        squared_error(&query, &released, (n, deviation), &exact)
    });
    assert!(errors[1] < 0.5 * errors[0], "{errors:?}");
}

/// Records of a Gaussian distribution, seen through far too much noise, come back as that distribution; without noise
/// they come back as they are. Fixed seed.
#[test]
fn marginals_around_a_gaussian_fall_back_on_it() {
    let mut rng = seeded(5);
    let slices = Slices::tight(3, 60, &mut rng).unwrap();
    let mean = [0.2, -0.1, 0.0];
    let factor = [0.1, 0.05, 0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 0.15];
    let n = 3000;
    let mut rows = Vec::with_capacity(3 * n);
    for _ in 0..n {
        let z: Vec<f64> = (0..3).map(|_| StandardNormal.sample(&mut rng)).collect();
        let entry = |a: usize| (0..3).map(|c| factor[c * 3 + a] * z[c]).sum::<f64>();
        rows.extend((0..3).map(|a| (mean[a] + entry(a)) as f32));
    }
    let region = NormBound::ball(1.0).unwrap();
    let query = MarginalQuery::around_gaussian(slices.clone(), region, &mean, &factor, 32).unwrap();
    let measured = query.counts(&rows).unwrap();
    let exact = TargetQuantiles::of_sample(&rows, &slices, 100).unwrap();
    let error = |multiplier: f64, cleaning: Cleaning, rng: &mut ChaCha20Rng| {
        let deviation = multiplier * query.l2_sensitivity_upper();
        let released = released(&measured, deviation, rng);
        let query = MarginalQuery {
            cleaning,
            ..query.clone()
        };
        squared_error(&query, &released, (n, deviation), &exact).sqrt()
    };
    let shrunk = Cleaning::towards_expected();
    let errors = [(0.0, shrunk), (10.0, shrunk), (10.0, Cleaning::default())]
        .map(|(multiplier, cleaning)| error(multiplier, cleaning, &mut rng));
    assert!(errors[0] < 0.005 && errors[1] < 0.02, "{errors:?}");
    assert!(errors[2] > 4.0 * errors[1], "{errors:?}");
    let bad = |mean: &[f64], factor: &[f64], count| {
        MarginalQuery::around_gaussian(slices.clone(), region, mean, factor, count).is_err()
    };
    assert!(bad(&mean[..2], &factor, 32));
    assert!(bad(&mean, &factor[..8], 32));
    assert!(bad(&mean, &factor, 31));
    assert!(bad(&[f64::NAN; 3], &factor, 32));
    assert!(bad(&mean, &[f64::INFINITY; 9], 32));
}

#[test]
fn bad_input_is_refused() {
    let mut rng = seeded(4);
    let slices = Slices::iid(2, 3, &mut rng).unwrap();
    let bins = |count| Bins::uniform(1.0, count).unwrap();
    let build =
        |count| MarginalQuery::new(slices.clone(), NormBound::ball(1.0).unwrap(), bins(count));
    assert!(build(6).is_err());
    let query = build(8).unwrap();
    assert!(!query.is_empty());
    assert_eq!((query.len(), query.bin_count()), (21, 8));
    assert!(query.counts(&[0.0; 3]).is_err());
    let clean =
        |released: &[f64], records, deviation| query.clean(released, records, deviation).is_err();
    assert!(!clean(&[1.0; 21], 6, 0.0));
    assert!(clean(&[1.0; 20], 6, 0.0));
    assert!(clean(&[1.0; 21], 0, 0.0));
    assert!(clean(&[1.0; 21], 6, f64::NAN));
    assert!(clean(&[f64::NAN; 21], 6, 0.0));
}

/// Bins of each slice's own: the same bound, and a distribution function that is the counts' at the edges.
#[test]
fn slices_may_have_bins_of_their_own() {
    let mut rng = seeded(9);
    let (d, k, n) = (3, 4, 500);
    let slices = Slices::iid(d, k, &mut rng).unwrap();
    let between = |l| Bins::between(-1.0 - l as f64, 0.5 + l as f64, 8).unwrap();
    let bins: Vec<Bins> = (0..k).map(between).collect();
    let region = NormBound::ball(2.0).unwrap();
    let made = |bins: &[Bins]| MarginalQuery::by_slice(slices.clone(), region, bins.to_vec());
    let query = made(&bins).unwrap();
    let one = MarginalQuery::new(slices.clone(), region, bins[0].clone());
    assert_eq!(
        query.l2_sensitivity_upper(),
        one.unwrap().l2_sensitivity_upper()
    );
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let rows: Vec<f32> = (0..n * d).map(|_| normal() as f32).collect();
    let projected = region.project(&rows, &slices).unwrap();
    let whole = GroupMarginals::new(vec![query], vec![n]).unwrap();
    let measured = whole.measure(&[rows]).unwrap();
    let read = whole
        .read(&NoisyVector::without_privacy(measured))
        .unwrap()
        .remove(0);
    for (l, bins) in bins.iter().enumerate() {
        let values = &projected[l * n..(l + 1) * n];
        for &edge in &bins.edges()[1..8] {
            let share = values.iter().filter(|&&u| u < edge).count() as f64 / n as f64;
            assert!((read.below(l, edge) - share).abs() < 1e-9, "{l} {edge}");
        }
        assert_eq!([read.below(l, -50.0), read.below(l, 50.0)], [0.0, 1.0]);
    }
    let mut other = bins.clone();
    other[2] = Bins::uniform(1.0, 4).unwrap();
    for refused in [&bins[..3], &other] {
        assert!(matches!(made(refused), Err(SwdError::Length { .. })));
    }
}

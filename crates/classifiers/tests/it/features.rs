//! Features are those of an independent computation, and depend on one record alone.

use private_classifiers::{Embedding, Features, Scattering, Whitening};
use proptest::prelude::*;
use serde_json::Value;

const GOLDEN: &str = include_str!("../data/scattering.json");

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Values of the reference, which is a program in JAX in 32 bits.
#[test]
fn scattering_is_that_of_the_reference() {
    let golden: Value = serde_json::from_str(GOLDEN).expect("JSON");
    for case in golden["cases"].as_array().expect("cases") {
        let (side, k) = (case["side"].as_u64(), case["k"].as_u64());
        let (side, k) = (
            side.expect("a side") as usize,
            k.expect("a number") as usize,
        );
        let pixel = |place: usize| (7 * (place / side) + 13 * (place % side) + 5 * k) % 29;
        let image: Vec<f32> = (0..side * side)
            .map(|place| pixel(place) as f32 / 28.0)
            .collect();
        let scattering = Scattering::new(1, side, 2).expect("a scattering");
        let values = scattering.values(&image);
        let places = side / 4;
        let paths: Vec<&[f32]> = values.chunks_exact(places * places).collect();
        assert_eq!(paths.len(), 1 + 16 + 64);
        let near = |found: f64, expected: &Value, what: &str| {
            let expected = number(expected);
            let off = (found - expected).abs();
            assert!(
                off < 2e-5 * expected.abs().max(1.0),
                "{what}: {found}, not {expected}"
            );
        };
        for (y, row) in case["order0"].as_array().expect("rows").iter().enumerate() {
            for (x, value) in row.as_array().expect("values").iter().enumerate() {
                near(paths[0][y * places + x].into(), value, "order 0");
            }
        }
        for (order, first) in [("order1_at_2_3", 1), ("order2_at_2_3", 17)] {
            let expected = case[order].as_array().expect("values");
            for (path, value) in paths[first..].iter().zip(expected) {
                near(path[2 * places + 3].into(), value, order);
            }
        }
        let sums = case["sum_of_each_order"].as_array().expect("sums");
        for (range, sum) in [0..1, 1..17, 17..81].into_iter().zip(sums) {
            let found: f64 = paths[range]
                .iter()
                .flat_map(|path| path.iter())
                .map(|&x| f64::from(x))
                .sum();
            near(found, sum, "a sum");
        }
    }
}

/// Values in [0, 1] without much order.
fn images(count: usize, seed: u64) -> Vec<f32> {
    let value = |i: u64| {
        let mixed = (i ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 40) as f32 / (1 << 24) as f32
    };
    (0..count as u64).map(value).collect()
}

/// The smallest and the largest numbers that there are: no record makes a value that is not finite.
#[test]
fn records_of_any_size_have_finite_rows() {
    let features = Features::from(Embedding::new(3).expect("features"));
    for size in [
        f32::from_bits(1),
        1e-40,
        f32::MIN_POSITIVE,
        1e30,
        f32::MAX,
        0.0,
    ] {
        let rows = features.rows(&[size, 0.0, -size]).expect("rows");
        let squared: f64 = rows.iter().map(|&x| f64::from(x).powi(2)).sum();
        assert!((squared - 1.0).abs() < 1e-5, "{size:e}: {rows:?}");
    }
}

fn grey(side: usize, order: usize) -> Features {
    Scattering::new(1, side, order)
        .expect("a scattering")
        .into()
}

proptest! {
    /// The features of a record are the same beside any others, and have norm 1.
    #[test]
    fn features_are_of_one_record(seed: u64, order in 1usize..=2, colour: bool) {
        let channels = if colour { 3 } else { 1 };
        let images = images(3 * channels * 144, seed);
        let features = Features::from(Scattering::new(channels, 12, order).unwrap());
        let all = features.rows(&images).unwrap();
        for (image, row) in images.chunks_exact(channels * 144).zip(all.chunks_exact(features.width())) {
            prop_assert_eq!(&features.rows(image).unwrap()[..], row);
            let squared: f64 = row.iter().map(|&x| f64::from(x).powi(2)).sum();
            prop_assert!((squared - 1.0).abs() < 1e-5);
        }
    }

    /// A picture that is brighter by a factor keeps its row of an embedding.
    #[test]
    fn an_embedding_has_norm_one(row in prop::collection::vec(-1e3f32..1e3, 1..40), factor in 0.5f32..100.0) {
        let features = Features::from(Embedding::new(row.len()).unwrap());
        let scaled: Vec<f32> = row.iter().map(|x| x * factor).collect();
        let (one, other) = (features.rows(&row).unwrap(), features.rows(&scaled).unwrap());
        prop_assert_eq!(one.len(), row.len() + 1);
        let squared: f64 = one.iter().map(|&x| f64::from(x).powi(2)).sum();
        prop_assert!((squared - 1.0).abs() < 1e-5);
        let off = one.iter().zip(&other).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        prop_assert!(off < 1e-5);
    }
}

/// Whitened rows of the public records have no correlations left, up to the ridge and their last division by norms.
#[test]
fn whitening_takes_correlations_away() {
    let width = 6;
    let value = |record: usize, place: usize| {
        let common = ((record * 7) % 31) as f32 / 31.0;
        common + 0.3 * ((record * (place + 3) * 11) % 23) as f32 / 23.0
    };
    let rows: Vec<f32> = (0..4000 * width)
        .map(|i| value(i / width, i % width))
        .collect();
    let correlation = |rows: &[f32]| {
        let column = |j: usize| rows.iter().skip(j).step_by(width).map(|&x| f64::from(x));
        let n = (rows.len() / width) as f64;
        let mean = |j: usize| column(j).sum::<f64>() / n;
        let moment = |i: usize, j: usize| {
            let (a, b) = (mean(i), mean(j));
            column(i)
                .zip(column(j))
                .map(|(x, y)| (x - a) * (y - b))
                .sum::<f64>()
                / n
        };
        let pairs = (0..width).flat_map(|i| (0..i).map(move |j| (i, j)));
        pairs
            .map(|(i, j)| moment(i, j).abs() / (moment(i, i) * moment(j, j)).sqrt())
            .fold(0.0, f64::max)
    };
    let whitening = Whitening::of_public(&rows, width).expect("a whitening");
    assert!(correlation(&rows) > 0.8);
    let whitened = whitening.rows(&rows).expect("rows");
    assert!(correlation(&whitened) < 0.25, "{}", correlation(&whitened));
    let again = Whitening::new(whitening.mean().to_vec(), whitening.map().to_vec());
    assert_eq!(
        again.expect("the same").rows(&rows).expect("rows"),
        whitened
    );
}

/// The inverse by halves is the inverse: rows wider than the block that is solved at once.
#[test]
fn wide_rows_are_whitened() {
    let features = grey(28, 1);
    let public = images(900 * 28 * 28, 1);
    let features = features.whitened_by(&public).expect("a whitening");
    let rows = features.rows(&public).expect("rows");
    let (width, n) = (features.width(), 900.0);
    // The trace of the covariance is 1 minus the norm of the mean; no direction holds much of it.
    let mut largest: f64 = 0.0;
    for place in (0..width).step_by(50) {
        let column = rows.iter().skip(place).step_by(width);
        largest = largest.max(column.map(|&x| f64::from(x).powi(2)).sum::<f64>() / n);
    }
    assert!(largest < 10.0 / width as f64, "{largest}");
}

//! The simulated bias follows the distributions that Rodriguez-Vitores et al. (2025, arXiv 2502.01701) state in
//! appendix C.2 and C.4.
//!
//! One data set of the published size, seed fixed. Each comparison is at 5 standard deviations of the
//! normal approximation, false alarm 6e-7; there are fewer than 120 of them, and two chi-square tests
//! at 1e-6: together below 1e-4.

use std::sync::LazyLock;

use data::biased::simulate;
use data::{Biased, BiasedConfig, DataError, Labels};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::says;

const N: f64 = 30_000.0;
const P: f64 = 0.7;

static TABLE: LazyLock<Biased> = LazyLock::new(|| draw(&BiasedConfig::default(), 7).unwrap());

fn draw(config: &BiasedConfig, seed: u64) -> Result<Biased, DataError> {
    simulate(config, &mut ChaCha20Rng::seed_from_u64(seed))
}

/// |mean - expected| below 5 standard errors, for values of a known deviation.
fn mean_is(values: impl Iterator<Item = f64>, expected: f64, deviation: f64) {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    let (mean, bound) = (sum / count, 5.0 * deviation / f64::sqrt(count));
    assert!(
        (mean - expected).abs() < bound,
        "{mean}, expected {expected} +- {bound}"
    );
}

/// Indices of the records with this A.
fn group(sensitive: u8) -> impl Iterator<Item = usize> {
    (0..TABLE.sensitive.len()).filter(move |&i| TABLE.sensitive[i] == sensitive)
}

fn response(index: usize) -> [f64; 2] {
    [0, 1].map(|axis| f64::from(TABLE.responses[2 * index + axis]))
}

#[test]
fn shapes_and_labels_are_as_stated() {
    let sampled = &*TABLE;
    assert_eq!(sampled.widths, [8, 8]);
    assert_eq!(sampled.features.len(), 30_000 * 16);
    assert_eq!(
        (sampled.sensitive.len(), sampled.labels.len()),
        (30_000, 30_000)
    );
    for index in 0..30_000 {
        let [first, second] = response(index);
        assert!((0.0..=1.0).contains(&first) && (0.0..=1.0).contains(&second));
        // Single precision may round a point on the diagonal.
        if (first + second - 1.0).abs() > 1e-6 {
            assert_eq!(sampled.labels[index] == 1, second > 1.0 - first);
        }
    }
}

/// E n_{j,j} = p n / 2, E n_{j,1-j} = (1 - p) n / 2, E n_j = n / 2; and table 4, another draw of the
/// same distribution, so at sqrt(2) of the deviation.
#[test]
fn group_sizes_are_near_table_4() {
    let table = TABLE.classification().unwrap();
    let cells = table.indices_by_group_and_class().unwrap();
    let paper = [10_608.0, 4_564.0, 4_446.0, 10_382.0];
    for (cell, (indices, paper)) in cells.iter().zip(paper).enumerate() {
        let rate = if cell == 0 || cell == 3 {
            P / 2.0
        } else {
            (1.0 - P) / 2.0
        };
        let deviation = (N * rate * (1.0 - rate)).sqrt();
        let found = indices.len() as f64;
        assert!(
            (found - N * rate).abs() < 5.0 * deviation,
            "cell {cell}: {found}"
        );
        assert!(
            (found - paper).abs() < 5.0 * 2.0_f64.sqrt() * deviation,
            "cell {cell}: {found}"
        );
    }
    let deviation = (N / 4.0).sqrt();
    for (found, paper) in table.group_sizes().into_iter().zip([15_172.0, 14_828.0]) {
        let found = found as f64;
        assert!((found - N / 2.0).abs() < 5.0 * deviation, "{found}");
        assert!(
            (found - paper).abs() < 5.0 * 2.0_f64.sqrt() * deviation,
            "{found}"
        );
    }
}

/// P(A = Y) = p, in each class; and A tells nothing more of Y^C than Y does.
#[test]
fn the_sensitive_attribute_agrees_with_the_label() {
    let sampled = &*TABLE;
    let agrees = |i: usize| f64::from(u8::from(sampled.sensitive[i] == sampled.labels[i]));
    let deviation = (P * (1.0 - P)).sqrt();
    for label in [0, 1] {
        let class = || (0..sampled.labels.len()).filter(move |&i| sampled.labels[i] == label);
        mean_is(class().map(agrees), P, deviation);
        let low = class().filter(|&i| response(i)[0] < 0.5);
        mean_is(low.map(agrees), P, deviation);
    }
}

/// Y^C is uniform; given A it is uniform on the triangles T_0 and T_1, of weights p and 1 - p. A
/// triangle T_0 has mean 1/3 and variance 1/18 along each axis, T_1 mean 2/3.
#[test]
fn responses_are_mixtures_of_triangles() {
    let sampled = &*TABLE;
    let all = 0..sampled.labels.len();
    for axis in [0, 1] {
        let y = move |i: usize| response(i)[axis];
        mean_is(all.clone().map(y), 0.5, (1.0_f64 / 12.0).sqrt());
        // Var (y - 1/2)^2 = 1/80 - 1/144 = 1/180.
        let square = all.clone().map(|i| (y(i) - 0.5).powi(2));
        mean_is(square, 1.0 / 12.0, (1.0_f64 / 180.0).sqrt());
        for sensitive in [0, 1] {
            for label in [0, 1] {
                let cell = group(sensitive).filter(|&i| sampled.labels[i] == label);
                let mean = if label == 0 { 1.0 / 3.0 } else { 2.0 / 3.0 };
                mean_is(cell.map(y), mean, (1.0_f64 / 18.0).sqrt());
            }
            let above = group(sensitive).map(|i| f64::from(sampled.labels[i]));
            let rate = if sensitive == 1 { P } else { 1.0 - P };
            mean_is(above, rate, (P * (1.0 - P)).sqrt());
        }
    }
    // Independent axes: the covariance of uniforms is 0, of deviation 1/12.
    let product = all.map(|i| (response(i)[0] - 0.5) * (response(i)[1] - 0.5));
    mean_is(product, 0.0, 1.0 / 12.0);
}

/// The density of the line's response given A (remark C.4), in 20 bins: chi-square with 19 degrees of
/// freedom exceeds 63.68 with probability 1e-6 (scipy.stats.chi2.isf).
#[test]
fn the_line_response_has_the_stated_density() {
    let table = TABLE.line_regression().unwrap();
    let Labels::Values { width: 1, values } = table.labels() else {
        panic!("not one number")
    };
    // The integral of the density from -1 to x; `below` is the weight of the part below 0.
    let distribution = |x: f64, below: f64| {
        if x < 0.0 {
            below * (1.0 + x).powi(2)
        } else {
            1.0 - (1.0 - below) * (1.0 - x).powi(2)
        }
    };
    for sensitive in [0, 1] {
        let below = if sensitive == 0 { P } else { 1.0 - P };
        let mut bins = [0.0; 20];
        let mut count = 0.0;
        for index in group(sensitive) {
            let bin = ((f64::from(values[index]) + 1.0) * 10.0) as usize;
            bins[bin.min(19)] += 1.0;
            count += 1.0;
        }
        let mut chi_square = 0.0;
        for (bin, found) in (0_u8..).zip(bins) {
            let edge = f64::from(bin) / 10.0 - 1.0;
            let mass = distribution(edge + 0.1, below) - distribution(edge, below);
            chi_square += (found - count * mass) * (found - count * mass) / (count * mass);
        }
        assert!(chi_square < 63.68, "A = {sensitive}: {chi_square}");
    }
}

/// X_core - [Y^C, ...] and X_sp - A: mean 0, the stated variances, independent of one another, and of
/// response and sensitive attribute.
#[test]
fn features_are_noisy_copies() {
    let sampled = &*TABLE;
    let noise = |i: usize, place: usize| {
        let mean = if place < 8 {
            response(i)[place % 2]
        } else {
            f64::from(sampled.sensitive[i])
        };
        f64::from(sampled.features[16 * i + place]) - mean
    };
    let variance = |place: usize| if place < 8 { 0.2 } else { 0.4 };
    let all = 0..sampled.labels.len();
    for place in 0..16 {
        let v = variance(place);
        mean_is(all.clone().map(|i| noise(i, place)), 0.0, f64::sqrt(v));
        mean_is(
            all.clone().map(|i| noise(i, place).powi(2)),
            v,
            v * f64::sqrt(2.0),
        );
        let next = (place + 1) % 16;
        let product = all.clone().map(|i| noise(i, place) * noise(i, next));
        mean_is(product, 0.0, (v * variance(next)).sqrt());
        let with_response = all
            .clone()
            .map(|i| noise(i, place) * (response(i)[0] - 0.5));
        mean_is(with_response, 0.0, (v / 12.0).sqrt());
        let with_group = group(1).map(|i| noise(i, place));
        mean_is(with_group, 0.0, f64::sqrt(v));
    }
}

#[test]
fn the_three_tasks_share_features_and_groups() {
    let sampled = &*TABLE;
    let classes = sampled.classification().unwrap();
    let (plane, line) = (
        sampled.plane_regression().unwrap(),
        sampled.line_regression().unwrap(),
    );
    for table in [&classes, &plane, &line] {
        assert_eq!(table.features(), sampled.features);
        assert_eq!(table.groups(), sampled.sensitive);
        assert_eq!((table.len(), table.width()), (30_000, 16));
    }
    assert_eq!(
        (&*classes.names()[7], &*classes.names()[8]),
        ("core 7", "spurious 0")
    );
    for index in 0..30_000 {
        let [first, second] = [0, 1].map(|axis| sampled.responses[2 * index + axis]);
        let values = |values: Vec<f32>| Labels::Values {
            width: values.len(),
            values,
        };
        let class = Labels::Classes {
            count: 2,
            values: vec![sampled.labels[index].into()],
        };
        for (table, expected) in [
            (&plane, values(vec![first - 0.5, second - 0.5])),
            (&line, values(vec![first + second - 1.0])),
            (&classes, class),
        ] {
            assert_eq!(table.gather_labels(&[index]), Some(expected));
        }
    }
}

#[test]
fn the_parameters_do_what_they_say() {
    let small = |records| BiasedConfig {
        records,
        ..Default::default()
    };
    let (long, short) = (draw(&small(100), 1).unwrap(), draw(&small(10), 1).unwrap());
    assert_eq!(short.features, long.features[..160]);
    assert_eq!(short.sensitive, long.sensitive[..10]);
    let plain = BiasedConfig {
        records: 50,
        agreement: 1.0,
        core: 2,
        spurious: 1,
        core_variance: 0.0,
        spurious_variance: 0.0,
    };
    let sampled = draw(&plain, 2).unwrap();
    assert_eq!(sampled.sensitive, sampled.labels);
    for (x, (y, &a)) in sampled
        .features
        .chunks(3)
        .zip(sampled.responses.chunks(2).zip(&sampled.sensitive))
    {
        assert_eq!(x, [y[0], y[1], f32::from(a)]);
    }
    let against = draw(
        &BiasedConfig {
            agreement: 0.0,
            ..plain
        },
        2,
    )
    .unwrap();
    assert!(
        against
            .sensitive
            .iter()
            .zip(&against.labels)
            .all(|(a, y)| a != y)
    );
}

#[test]
fn parameters_out_of_range_are_refused() {
    type Change = fn(&mut BiasedConfig);
    let cases: [(Change, &str); 10] = [
        (|c| c.records = 0, "simulated records: 0"),
        (|c| c.records = usize::MAX, "simulated records"),
        (|c| c.agreement = 1.1, "1.1"),
        (|c| c.agreement = f64::NAN, "NaN"),
        (|c| c.core = 0, "core features: 0"),
        (|c| c.core = 7, "core features: 7"),
        (|c| c.core = 5000, "4096"),
        (|c| c.spurious = 0, "spurious features: 0"),
        (|c| c.core_variance = -0.1, "-0.1"),
        (|c| c.spurious_variance = f64::INFINITY, "inf"),
    ];
    for (change, word) in cases {
        let mut config = BiasedConfig::default();
        change(&mut config);
        says(&draw(&config, 0).unwrap_err(), &[word]);
    }
    // One record leaves a group without any.
    let one = BiasedConfig {
        records: 1,
        ..BiasedConfig::default()
    };
    let one = draw(&one, 0).unwrap();
    assert!(matches!(
        one.classification().unwrap_err(),
        DataError::Request(_)
    ));
}

//! What of the target reaches the releases, and what does not reach the weights.

use std::io::Write;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use clap::Parser;
use dp_core::ledger::Ledger;
use lab::backend::Backend;
use lab::session::{Arguments, Experiment, Settings as _};
use private_queries::Projections;
use private_training::GroupSizes;
use private_training::weights::to_host;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::{Region, Slices};

use super::adversary::Dann;
use super::matching::{Sliced, projections};
use super::network::{Model, Sizes};
use super::public::Sampled;
use super::settings::{Flags, Method, Settings};
use super::train::Adapt;

const WIDTH: usize = 12;

const SLICED: &[&str] = &["--steps-per-release", "3", "--slices", "4"];

/// Rows of three classes around their means, as CSV.
fn file(place: &Path, name: &str, shift: f32, first: Option<f32>) -> PathBuf {
    let path = place.join(name);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let mut text = Vec::new();
    for row in 0..150 {
        let class = row % 3;
        for column in 0..WIDTH {
            let mean = if column % 3 == class { 1.0 } else { 0.0 };
            let value = mean + shift + rng.random_range(-0.3..0.3f32);
            // Row 0 is no test row.
            let value = first.filter(|_| row == 0).unwrap_or(value);
            write!(text, "{value},").unwrap();
        }
        writeln!(text, "{class}").unwrap();
    }
    std::fs::write(&path, text).unwrap();
    path
}

/// An experiment of which row 0 of the target may be replaced.
fn adapt<M: Method>(place: &Path, first: Option<f32>, more: &[&str]) -> Adapt<M> {
    let source = file(place, "source.csv", 0.0, None);
    let target = file(
        place,
        if first.is_some() {
            "other.csv"
        } else {
            "target.csv"
        },
        0.4,
        first,
    );
    let (source, target) = (source.to_string_lossy(), target.to_string_lossy());
    let cache = place.to_string_lossy();
    let mut line = vec!["adapt"];
    let own = [
        ["--source", &source],
        ["--target", &target],
        ["--cache-dir", &cache],
        ["--features", "12"],
        ["--classes", "3"],
        ["--batch", "40"],
        ["--delta", "1e-3"],
        ["--insecure-noise-seed", "5"],
        ["--steps", "2"],
        ["--bottleneck", "4"],
        ["--epsilon", "3"],
    ];
    line.extend(own.iter().filter(|pair| !more.contains(&pair[0])).flatten());
    line.extend(more);
    let arguments: Arguments<Flags<M>> = Arguments::parse_from(line);
    let settings = Settings::resolve(&arguments).unwrap();
    Adapt::load(&settings, &arguments, &Backend::Flex.choose().unwrap()).unwrap()
}

fn apart(a: impl IntoIterator<Item = f64>, b: impl IntoIterator<Item = f64>) -> f64 {
    let squares = a.into_iter().zip(b).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>().sqrt()
}

/// Extractors of images and of features, with and without a bottleneck.
fn extractors(rng: &mut ChaCha20Rng, device: &Device) -> Vec<(Model, Sizes)> {
    let mut found = Vec::new();
    for side in [None, Some(16)] {
        for bottleneck in [None, Some(3)] {
            let sizes = Sizes {
                width: side.map_or(WIDTH, |side| side * side),
                side,
                classes: 3,
                bottleneck,
                mapped: true,
                adversary: true,
            };
            found.push((Model::new(&sizes, rng, device), sizes));
        }
    }
    found
}

/// A record that is hard on a bound.
fn hard(width: usize, rng: &mut ChaCha20Rng) -> Vec<f32> {
    let size = [1.0, -1e4, 1e30, f32::NAN][rng.random_range(0..4)];
    (0..width)
        .map(|_| size * rng.random_range(-0.2..1.0f32))
        .collect()
}

/// Replacing a record moves what meets the noise by at most what is declared, and by nearly as much; without the ball it
/// moves by more.
#[test]
fn projections_of_neighbours_are_within_the_sensitivity() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let device = Device::flex();
    let (mut broken, mut largest) = (false, 0.0_f64);
    for (model, sizes) in extractors(&mut rng, &device) {
        let d = sizes.compared();
        let slices = match d > 8 {
            true => Slices::orthonormal(d, 8, &mut rng).unwrap(),
            false => Slices::tight(d, 8, &mut rng).unwrap(),
        };
        let width = sizes.width;
        let rows: Vec<f32> = (0..5 * width).map(|_| rng.random()).collect();
        for _ in 0..40 {
            let i = rng.random_range(0..5);
            let [rows, other] = [0; 2].map(|_| {
                let mut rows = rows.clone();
                rows[i * width..(i + 1) * width].copy_from_slice(&hard(width, &mut rng));
                rows
            });
            let of = |rows: &[f32], radius| {
                let region = Region::ball(radius).unwrap();
                let query = Projections::new(slices.clone(), region, vec![5]);
                projections(&model.extractor, (rows, width), &query, &device).unwrap()
            };
            let (a, b) = (of(&rows, 0.5), of(&other, 0.5));
            let bound = a.sensitivity_upper();
            assert_eq!(bound, b.sensitivity_upper());
            let values = |v: &dp_core::mechanism::SensitiveVector| v.before_noise().to_vec();
            let moved = apart(values(&a), values(&b));
            assert!(moved <= bound);
            largest = largest.max(moved / bound);
            let (a, b) = (of(&rows, 1e9), of(&other, 1e9));
            broken |= apart(values(&a), values(&b)) > bound;
        }
    }
    assert!(broken, "without the ball the bound must break");
    assert!(largest > 0.99, "{largest}");
}

/// The same of the discriminator's gradients, which move by more than half of what is declared.
#[test]
fn gradients_of_neighbours_are_within_the_sensitivity() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let device = Device::flex();
    let place = tempfile::tempdir().unwrap();
    let mut run = adapt::<Dann>(place.path(), None, &["--max-grad-norm", "0.05"]);
    let network = run.training.network.adversary().unwrap();
    let rows = run.domains.target.gather(&[0, 1, 2, 3]);
    let mut largest = 0.0_f64;
    for _ in 0..40 {
        let [rows, other] = [0; 2].map(|_| {
            let mut rows = rows.clone();
            rows[..WIDTH].copy_from_slice(&hard(WIDTH, &mut rng));
            rows
        });
        let mut clipped = |rows: &[f32]| {
            let sampled = Sampled {
                rows: rows.to_vec(),
                labels: vec![0; 4],
            };
            let batch = sampled.batch(&device).unwrap();
            let sizes = GroupSizes::Fixed(vec![4]);
            let (clipped, _) = run
                .training
                .gradients()
                .clipped(&network, &batch, sizes)
                .unwrap();
            let values = clipped.before_noise();
            (
                clipped.sensitivity().l2_upper(),
                values.into_iter().map(f64::from),
            )
        };
        let ((bound, a), (_, b)) = (clipped(&rows), clipped(&other));
        let moved = apart(a, b);
        assert!(moved <= bound);
        largest = largest.max(moved / bound);
        assert!((bound / (2.0 * 0.05 / 4.0) - 1.0).abs() < 1e-3, "{bound}");
    }
    assert!(largest > 0.6, "{largest}");
}

/// With the same release, another target record leaves the weights as they are, to the last bit.
#[test]
fn nothing_but_the_release_reaches_the_weights() {
    let place = tempfile::tempdir().unwrap();
    let mut ends = Vec::new();
    let mut release = None;
    for (number, first) in [None, Some(7.5)].into_iter().enumerate() {
        let flags = [&["--batch", "110", "--records", "110"], SLICED].concat();
        let mut run = adapt::<Sliced>(place.path(), first, &flags);
        let ledger = place.path().join(format!("ledger-{number}.jsonl"));
        let mut ledger = Ledger::create(&ledger).unwrap();
        let own = run.release(&mut ledger).unwrap();
        assert_eq!(ledger.releases(), 1);
        let shared = release.get_or_insert_with(|| own.clone());
        // The replaced record is in the batch and changes what leaves: the test would see it.
        assert_eq!(format!("{own:?}") == format!("{shared:?}"), number == 0);
        let shared = shared.clone();
        run.towards(&shared, 1e-3).unwrap();
        ends.push(to_host(&run.training.network));
    }
    assert_eq!(ends[0], ends[1]);
}

/// Labels of the target are for evaluation alone.
#[test]
fn labels_of_the_target_change_nothing() {
    let place = tempfile::tempdir().unwrap();
    let mut ends = Vec::new();
    for number in 0..2 {
        let mut run = adapt::<Sliced>(place.path(), None, SLICED);
        let labels = &mut run.domains.target.labels;
        labels
            .iter_mut()
            .for_each(|label| *label = (*label + number) % 3);
        let ledger = place.path().join(format!("labels-{number}.jsonl"));
        let mut ledger = Ledger::create(&ledger).unwrap();
        for _ in 0..2 {
            let release = run.release(&mut ledger).unwrap();
            run.towards(&release, 1e-3).unwrap();
        }
        assert_eq!(ledger.releases(), 2);
        ends.push(to_host(&run.training.network));
    }
    assert_eq!(ends[0], ends[1]);
}

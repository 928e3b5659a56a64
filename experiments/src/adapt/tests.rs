//! What of the target reaches the releases, and what does not reach the weights.

use std::io::Write;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use clap::Parser;
use dp_core::ledger::Ledger;
use dp_core::mechanism::Noisy;
use lab::backend::Backend;
use lab::session::{Arguments, Experiment, Settings as _};
use private_queries::marginals::SlicedMarginals;
use private_queries::{GroupMarginals, MarginalQuery, Query};
use private_training::weights::to_host;
use private_training::{GroupSizes, Network};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::matching::Sliced;
use super::settings::{Flags, Method, Settings};
use super::train::Adapt;
use super::warped::{Warped, warps_of};

const WIDTH: usize = 12;

/// Rows of three classes around their means, as CSV.
fn file(place: &Path, name: &str, shift: f32) -> PathBuf {
    let path = place.join(name);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let mut text = Vec::new();
    for row in 0..150 {
        let class = row % 3;
        for column in 0..WIDTH {
            let mean = if column % 3 == class { 1.0 } else { 0.0 };
            let value = mean + shift + rng.random_range(-0.3..0.3f32);
            write!(text, "{value},").unwrap();
        }
        writeln!(text, "{class}").unwrap();
    }
    std::fs::write(&path, text).unwrap();
    path
}

/// An experiment on features.
fn adapt<M: Method>(place: &Path, more: &[&str]) -> Adapt<M> {
    let source = file(place, "source.csv", 0.0);
    let target = file(place, "target.csv", 0.4);
    let (source, target) = (source.to_string_lossy(), target.to_string_lossy());
    let mut line = vec!["--source", &source, "--target", &target];
    line.extend([
        "--features",
        "12",
        "--classes",
        "3",
        "--batch",
        "40",
        "--steps",
        "2",
    ]);
    line.extend(["--latent", "4", "--epsilon", "3", "--test-share", "0.2"]);
    line.extend(more);
    loaded(place, &line)
}

fn loaded<M: Method>(place: &Path, flags: &[&str]) -> Adapt<M> {
    let cache = place.to_string_lossy();
    let mut line = vec!["adapt", "--cache-dir", &cache, "--delta", "1e-3"];
    line.extend(["--insecure-noise-seed", "5"]);
    line.extend(flags);
    let arguments: Arguments<Flags<M>> = Arguments::parse_from(line);
    let settings = Settings::resolve(&arguments).unwrap();
    Adapt::load(&settings, &arguments, &Backend::Flex.choose().unwrap()).unwrap()
}

fn apart(a: impl IntoIterator<Item = f64>, b: impl IntoIterator<Item = f64>) -> f64 {
    let squares = a.into_iter().zip(b).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>().sqrt()
}

/// A record that is hard on a bound.
fn hard(width: usize, rng: &mut ChaCha20Rng) -> Vec<f32> {
    let size = [1.0, -1e4, 1e30, f32::NAN][rng.random_range(0..4)];
    (0..width)
        .map(|_| size * rng.random_range(-0.2..1.0f32))
        .collect()
}

/// Gradients of neighbours, of which record 0 differs, against what is declared: the largest share of it, and the bound.
fn attacked<M: Method, N: Network<2>>(
    run: &mut Adapt<M>,
    network: &N,
    sizes: &[usize],
    seed: u64,
) -> (f64, f64) {
    let (mut rng, device) = (ChaCha20Rng::seed_from_u64(seed), Device::flex());
    let rows = run
        .domains
        .target
        .gather(&(0..sizes.iter().sum()).collect::<Vec<_>>());
    let (mut largest, mut declared) = (0.0_f64, 0.0);
    for _ in 0..40 {
        let [rows, other] = [0; 2].map(|_| {
            let mut rows = rows.clone();
            rows[..WIDTH].copy_from_slice(&hard(WIDTH, &mut rng));
            rows
        });
        // Both see the same slices.
        let slices = run.training.gradients().public_rng().clone();
        let mut clipped = |rows: &[f32]| {
            *run.training.gradients().public_rng() = slices.clone();
            let batch = lab::session::batch_without_targets(rows.to_vec(), sizes, &device);
            let (clipped, _) = run
                .training
                .gradients()
                .clipped(network, &batch.unwrap(), GroupSizes::Fixed(sizes.to_vec()))
                .unwrap();
            let values = clipped.before_noise();
            (
                clipped.sensitivity().l2_upper(),
                values.into_iter().map(f64::from),
            )
        };
        let ((bound, a), (_, b)) = (clipped(&rows), clipped(&other));
        let moved = apart(a, b);
        assert!(moved <= bound, "{moved} of {bound}");
        largest = largest.max(moved / bound);
        declared = bound;
    }
    (largest, declared)
}

/// Replacing a target record moves the clipped gradient of the distance, which runs through both domains, by at most `8 M L / n`.
/// Records that are not made for it reach a twentieth; those that attain it are in `tests/tests/it/fairness_contract.rs`.
#[test]
fn gradients_of_a_distance_of_neighbours_are_within_the_sensitivity() {
    let place = tempfile::tempdir().unwrap();
    let flags = [
        "--slices",
        "4",
        "--clip-activation",
        "0.3",
        "--clip-jacobian",
        "0.1",
    ];
    let mut run = adapt::<Sliced>(place.path(), &flags);
    let network = run.training.network.extractor.clone();
    let (largest, bound) = attacked(&mut run, &network, &[4, 4], 3);
    assert!(
        (bound / (8.0 * 0.3 * 0.1 / 4.0) - 1.0).abs() < 1e-2,
        "{bound}"
    );
    assert!(largest > 0.05, "{largest}");
}

/// With the same release, other target records leave the weights as they are, to the last bit.
fn follows_the_release_alone<M: Method>(flags: &[&str]) {
    let place = tempfile::tempdir().unwrap();
    let mut ends = Vec::new();
    for number in 0..2 {
        let mut run = adapt::<M>(place.path(), flags);
        let path = place.path().join(format!("ledger-{number}.jsonl"));
        let mut ledger = Ledger::create(&path).unwrap();
        let before = to_host(&run.training.network);
        let released = M::released(&mut run, &mut ledger).unwrap();
        assert_eq!(ledger.releases(), 1);
        if number == 1 {
            run.domains.target.rows.fill(7.5);
            run.domains.target.labels.fill(0);
        }
        M::follow(&mut run, 1e-3, released).unwrap();
        let after = to_host(&run.training.network);
        assert_ne!(before, after);
        ends.push(after);
    }
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn nothing_but_the_release_reaches_the_weights() {
    follows_the_release_alone::<Sliced>(&["--slices", "4"]);
}

/// An experiment on images, where USPS is at hand.
fn warped(place: &Path) -> Option<Adapt<Warped>> {
    test_support::data_folder()?;
    let flags = "--source glyphs --target usps --records 300 --epsilon 3 --slices 16";
    Some(loaded(place, &flags.split(' ').collect::<Vec<_>>()))
}

fn query_of(query: &MarginalQuery, records: usize) -> GroupMarginals {
    GroupMarginals::new(vec![query.clone()], vec![records]).unwrap()
}

/// Replacing a target image moves the histograms by at most what is declared, and by nearly as much.
#[test]
fn histograms_of_neighbours_are_within_the_sensitivity() {
    let place = tempfile::tempdir().unwrap();
    let Some(run) = warped(place.path()) else {
        return;
    };
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (query, _) = run.query(&mut rng).unwrap();
    let query = query_of(&query, 5);
    let width = run.domains.target.width;
    let rows = run.domains.target.gather(&[0, 1, 2, 3, 4]);
    let mut largest = 0.0_f64;
    for _ in 0..200 {
        let [a, b] = [1.0, -1.0].map(|sign| {
            let mut rows = rows.clone();
            let mut other = hard(width, &mut rng);
            other.iter_mut().for_each(|x| *x *= sign);
            rows[..width].copy_from_slice(&other);
            query.measure(&[rows]).unwrap()
        });
        let bound = a.sensitivity_upper();
        let values = |v: &dp_core::mechanism::SensitiveVector| v.before_noise().to_vec();
        let moved = apart(values(&a), values(&b));
        assert!(moved <= bound, "{moved} of {bound}");
        largest = largest.max(moved / bound);
    }
    assert!(largest > 0.9, "{largest}");
}

/// With the same release, other target images give the same warps, to the last bit; with another release they differ.
#[test]
fn nothing_but_the_release_reaches_the_warps() {
    let place = tempfile::tempdir().unwrap();
    let Some(mut run) = warped(place.path()) else {
        return;
    };
    let mut release: Option<SlicedMarginals> = None;
    let mut found = Vec::new();
    for _ in 0..2 {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let (query, images) = run.query(&mut rng).unwrap();
        let whole = query_of(&query, run.domains.target.len());
        let measured = whole
            .measure(std::slice::from_ref(&run.domains.target.rows))
            .unwrap();
        let own = whole
            .read(&Noisy::without_privacy(measured))
            .unwrap()
            .remove(0);
        let shared = release.get_or_insert_with(|| own.clone());
        let of = |released: &SlicedMarginals| {
            warps_of(&query, released, &images[..60 * 784], &mut rng.clone()).unwrap()
        };
        found.push([of(shared), of(&own)]);
        run.domains.target.rows.reverse();
    }
    assert_eq!(found[0][0], found[1][0]);
    assert_ne!(found[0][1], found[1][1]);
}

//! What of the target reaches the releases, what does not reach the network, and what a run leaves behind.

use std::path::Path;

use burn::tensor::Device;
use clap::Parser;
use data::{Dataset, DatasetKind, Glyphs, LoadOptions, Records};
use dp_core::mechanism::{NoiseSource, SensitiveVector};
use private_queries::{GroupMarginals, Query};
use private_training::prelude::*;
use private_training::weights::to_host;
use private_training::{Gradients, HostTargets};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use test_support::networks::fixed_batches;

use super::domains::Domains;
use super::fit::{Fit, Warps};
use super::images::Warp;
use super::network::Classifier;
use super::run::{Run, Settings};
use super::{Arguments, made, sliced, source, warped};

fn settings(words: &str) -> Settings {
    let words = ["adapt"].into_iter().chain(words.split_whitespace());
    Arguments::parse_from(words).runs().remove(0)
}

/// Glyphs of two seeds, those of the target half as large again.
fn domains(source: usize, target: usize) -> Domains {
    let draw = |seed, count| Glyphs::train(seed).draw(count, &|_| {}).unwrap();
    let (plain, mut larger) = (draw(1, target), Warp::default());
    larger.0[..2].fill(-0.4);
    let all: Vec<usize> = (0..target).collect();
    let grey = plain.gather(&all).unwrap();
    let images = grey.chunks(28 * 28).flat_map(|image| larger.of(image, 28));
    let pixels = images.map(|value| (255.0 * value) as u8).collect();
    let images = Records::new(pixels, plain.labels().to_vec(), 28, 28, 10).unwrap();
    let target = Dataset {
        kind: DatasetKind::Glyphs,
        name: "larger glyphs".into(),
        train: images.whole().unwrap(),
        test: images,
    };
    Domains::of(&draw(0, source), &target, false).unwrap()
}

fn run(settings: &Settings, domains: &Domains, folder: &Path, seed: u64) -> (Run, Ledger) {
    let file = format!("{:?}-{seed}.jsonl", settings.method);
    let mut ledger = Ledger::create(&folder.join(file)).unwrap();
    let run = settings.run(domains, NoiseSource::insecure(seed), &mut ledger);
    (run.unwrap(), ledger)
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>().sqrt()
}

/// Images of any values, of which the first is hard on a bound, and the same with another first one.
fn neighbours(rows: &[f32], width: usize, rng: &mut ChaCha20Rng) -> [Vec<f32>; 2] {
    [1.0, -1.0].map(|sign| {
        let size = sign * [1.0, -1e4, 1e30, f32::NAN][rng.random_range(0..4)];
        let mut rows = rows.to_vec();
        let first = rows[..width].iter_mut();
        first.for_each(|x| *x = size * rng.random_range(-0.2..1.0f32));
        rows
    })
}

/// Replacing a target record moves the clipped gradient of the distance, which runs through both domains, by at most `8 M L / n`.
/// Records that are not made for it reach a hundredth of that; those that attain it are in `tests/contracts/fairness.rs`.
#[test]
fn gradients_of_a_distance_of_neighbours_are_within_the_sensitivity() {
    let (domains, device) = (domains(4, 4), Device::flex());
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let network = Classifier::new(28, 10, Some(sliced::COMPARED), &mut rng, &device).extractor;
    let both = [&domains.target[..], &domains.source.rows].concat();
    let mut largest = 0.0_f64;
    for _ in 0..20 {
        // Both see the same slices.
        let clipped = neighbours(&both, domains.width(), &mut rng).map(|rows| {
            let batch = source::batch(rows, HostTargets::Values(&[0.0; 8]), &[4, 4], &device);
            let mut gradients = Gradients::new(sliced::objective());
            let sizes = &fixed_batches(&[4, 4]);
            let clipped = gradients.clipped(&network, &batch.unwrap(), sizes);
            clipped.unwrap().0
        });
        let bound = clipped[0].sensitivity().l2_upper();
        // Slices that are no basis share their directions, so that it is less.
        let share = bound / (8.0 * sliced::CLIPPING[0] * sliced::CLIPPING[1] / 4.0);
        assert!(share > 0.7 && share < 1.01, "{bound}");
        let [a, b] = clipped.map(|clipped| clipped.before_noise());
        let [a, b] = [a, b].map(|values| values.into_iter().map(f64::from).collect::<Vec<_>>());
        let moved = apart(&a, &b);
        assert!(moved <= bound, "{moved} of {bound}");
        largest = largest.max(moved / bound);
    }
    assert!(largest > 0.01, "{largest}");
}

/// With the same release, other target records leave the weights as they are, to the last bit.
#[test]
fn nothing_but_the_release_reaches_the_weights() {
    let place = tempfile::tempdir().unwrap();
    let of = settings("--method sliced --epsilon 3 --steps 2 --batch 20");
    let mut ends = Vec::new();
    for number in 0..2 {
        let mut domains = domains(60, 60);
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let network = Classifier::new(28, 10, Some(sliced::COMPARED), &mut rng, &Device::flex());
        let before = to_host(&network);
        let plan = of.plan(&domains).unwrap();
        assert!(plan.is_some());
        let noise = NoiseSource::insecure(5);
        let mut training = sliced::training(&of, network, &domains, plan, noise, rng).unwrap();
        let mut ledger = Ledger::create(&place.path().join(format!("{number}.jsonl"))).unwrap();
        let released = sliced::released(&mut training, &domains, &mut ledger).unwrap();
        assert_eq!(ledger.releases(), 1);
        if number == 1 {
            domains.target.fill(7.5);
        }
        sliced::follow(&mut training, &of, &domains, released).unwrap();
        ends.push(to_host(&training.network));
        assert_ne!(before, ends[number]);
    }
    assert_eq!(ends[0], ends[1]);
}

/// Replacing a target image moves the histograms by at most what is declared, and by nearly as much.
#[test]
fn histograms_of_neighbours_are_within_the_sensitivity() {
    let domains = domains(300, 5);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (query, _) = warped::query(&domains, &mut rng).unwrap();
    let query = GroupMarginals::new(vec![query], vec![5]).unwrap();
    let mut largest = 0.0_f64;
    for _ in 0..200 {
        let both = neighbours(&domains.target, domains.width(), &mut rng);
        let [a, b] = both.map(|rows| query.measure(&[rows]).unwrap());
        let bound = a.sensitivity_upper();
        let values = |v: &SensitiveVector| v.before_noise().to_vec();
        let moved = apart(&values(&a), &values(&b));
        assert!(moved <= bound, "{moved} of {bound}");
        largest = largest.max(moved / bound);
    }
    assert!(largest > 0.9, "{largest}");
}

/// With the same release, other target images give the same warps, to the last bit; with another release they differ.
#[test]
fn nothing_but_the_release_reaches_the_warps() {
    let place = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::create(&place.path().join("ledger.jsonl")).unwrap();
    let (mut domains, mut first) = (domains(300, 60), None);
    let mut found = Vec::new();
    for _ in 0..2 {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let (query, images) = warped::query(&domains, &mut rng).unwrap();
        let noise = NoiseSource::insecure(1);
        let own = warped::release(&query, &domains, None, noise, &mut ledger).unwrap();
        let shared = first.get_or_insert_with(|| own.clone());
        found.push([&*shared, &own].map(|released| -> Warps {
            let fit = Fit::new(&query, released, &images[..60 * 784]).unwrap();
            fit.search(&mut rng.clone()).unwrap()
        }));
        domains.target.reverse();
    }
    assert_eq!(found[0][0], found[1][0]);
    assert_ne!(found[0][1], found[1][1]);
}

/// One release, whose noise decides the warp, within the budget.
#[test]
fn a_warp_is_learned_from_one_release() {
    let (place, domains) = (tempfile::tempdir().unwrap(), domains(500, 500));
    let of = settings("--epsilon 2 --delta 1e-4 --public-steps 2");
    let (first, ledger) = run(&of, &domains, place.path(), 3);
    assert_eq!(ledger.releases(), 1);
    let (epsilon, delta) = first.epsilon_delta.unwrap();
    assert!(
        delta == 1e-4 && (1.99..=2.0).contains(&epsilon),
        "{epsilon}"
    );
    let size = first.warps.0[0] + first.warps.0[1];
    assert!(size < -0.3, "{:?}", first.warps);
    let (other, _) = run(&of, &domains, place.path(), 4);
    assert_ne!(first.warps, other.warps);
}

/// The steps' budget, and without privacy or private records no release at all.
#[test]
fn every_method_spends_what_it_says() {
    let (place, domains) = (tempfile::tempdir().unwrap(), domains(80, 60));
    let cases = [
        ("--method sliced --epsilon 2", 3),
        ("--method sliced --no-privacy", 0),
        ("--method source", 0),
        ("--no-privacy", 0),
    ];
    for (seed, (words, releases)) in cases.into_iter().enumerate() {
        let of = settings(&format!("{words} --public-steps 2 --steps 3 --batch 30"));
        let (run, ledger) = run(&of, &domains, place.path(), seed as u64);
        assert_eq!(ledger.releases(), releases, "{words}");
        let epsilon = run.epsilon_delta.map(|(epsilon, _)| epsilon);
        assert_eq!(epsilon.is_some(), releases > 0, "{words}");
        assert!(epsilon.is_none_or(|e| e <= 2.0 && e > 1.9), "{epsilon:?}");
        assert!((0.0..=1.0).contains(&run.accuracy));
        assert_eq!(run.accuracy_before.is_some(), words.contains("sliced"));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let (place, few) = (tempfile::tempdir().unwrap(), domains(60, 50));
    let same = Domains::load(&settings("glyphs glyphs"));
    let said = same.err().unwrap().to_string();
    assert!(said.contains("must be different"), "{said}");
    let sliced = ["--method sliced --batch 51", "--method sliced --batch 0"];
    for words in ["--epsilon 0", "--delta 0.5"].into_iter().chain(sliced) {
        assert!(settings(words).plan(&few).is_err(), "{words}");
    }
    // A run that was cut off has spent what its ledger says: another does not begin in its place.
    let of = settings("glyphs usps --method sliced");
    let folder = place.path().join(of.name());
    std::fs::create_dir_all(&folder).unwrap();
    let short = settings("--method sliced --public-steps 1 --steps 1 --batch 9");
    let (_, ledger) = run(&short, &few, place.path(), 0);
    std::fs::copy(ledger.path(), folder.join("ledger.jsonl")).unwrap();
    let said = made(&of, place.path()).unwrap_err().to_string();
    assert!(said.contains("was cut off"), "{said}");
    assert!(!folder.join("run.json").exists());
}

/// What runs on USPS came to when these methods were subcommands of the program: the same flags, seeds and noise.
#[test]
fn runs_come_to_what_they_came_to() {
    if test_support::data_folder().is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let load = |kind, train| {
        let train = Some(train);
        let options = LoadOptions {
            train,
            ..LoadOptions::default()
        };
        Dataset::load(kind, &options).unwrap()
    };
    let glyphs = load(DatasetKind::Glyphs, 2000).train;
    let target = load(DatasetKind::Usps, 500);
    let domains = Domains::of(&glyphs, &target, false).unwrap();
    let usual = "--epsilon 2 --delta 1e-4 --public-steps 20 --steps 3 --batch 60";
    let of = |words: &str| settings(&format!("{words} {usual}"));
    let (warp, _) = run(&of(""), &domains, place.path(), 5);
    let (sliced, ledger) = run(&of("--method sliced"), &domains, place.path(), 5);
    let near = |found: f64, then: f64| (found - then).abs() <= 1e-4 * then.abs();
    let [tall, .., turning, _, stroke] = warp.warps.0;
    for (found, then) in [
        (tall, -0.34072007576048385),
        (turning, 0.15313358108294398),
        (stroke, 0.132512515699533),
    ] {
        assert!(near(found, then), "{found} for {then}");
    }
    // A test record or two may be near the boundary of two classes.
    let accuracies = [
        warp.accuracy,
        sliced.accuracy_before.unwrap(),
        sliced.accuracy,
    ];
    let then = [0.6387643248629796, 0.5037369207772795, 0.5067264573991032];
    for (found, then) in accuracies.into_iter().zip(then) {
        assert!((found - then).abs() < 1.5e-3, "{found} for {then}");
    }
    let entries = Ledger::read(ledger.path()).unwrap().entries;
    let deviations = entries.iter().map(|entry| entry.deviation.unwrap());
    let then = [
        0.19087057896405113,
        0.19087057900777202,
        0.19087057872255314,
    ];
    assert!(deviations.zip(then).all(|(found, then)| near(found, then)));
    assert_eq!(entries.len(), 3);
}

//! The scores on digits: synthetic ones everywhere, MNIST where `SLIVER_DATA` names its folder.

use std::time::Instant;

use data::{Dataset, DatasetKind, LoadOptions, Records};
use evaluating::classifier::{Classifier, Settings};
use evaluating::downstream::{self, Learner};
use evaluating::field;
use evaluating::memorisation::memorisation;
use evaluating::{
    EvaluateError, GeneratedImages, ImageOptions, ImageScores, RealImages, evaluate_images,
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use reporting::interrupt::Interrupt;

fn glyphs(train: usize, test: usize) -> Dataset {
    let options = LoadOptions {
        train: Some(train),
        test: Some(test),
        ..LoadOptions::default()
    };
    Dataset::load(DatasetKind::Glyphs, &options).unwrap()
}

fn pixels(images: &Records) -> Vec<f32> {
    let all: Vec<usize> = (0..images.len()).collect();
    images.gather(&all).unwrap()
}

fn quick() -> Settings {
    let epochs = 3;
    Settings {
        epochs,
        ..Settings::default()
    }
}

fn unasked() -> Interrupt {
    Interrupt::default()
}

/// The options as they are but for a change.
fn options(change: impl Fn(&mut ImageOptions)) -> ImageOptions {
    let mut options = ImageOptions::default();
    change(&mut options);
    options
}

fn samples(pixels: &[f32]) -> GeneratedImages<'_> {
    GeneratedImages {
        pixels,
        labels: None,
    }
}

fn threads(count: usize) -> rayon::ThreadPool {
    let threads = rayon::ThreadPoolBuilder::new().num_threads(count);
    threads.build().unwrap()
}

#[test]
fn a_classifier_learns_is_kept_and_does_not_depend_on_threads() {
    let data = glyphs(1500, 400);
    let folder = tempfile::tempdir().unwrap();
    let mut notes = Vec::new();
    let load = |notes: &mut Vec<String>| {
        let mut note = |line: &str| notes.push(line.to_string());
        let (place, settings) = (folder.path(), quick());
        Classifier::load_or_train(place, &data.train, &settings, &mut note, &unasked()).unwrap()
    };
    let images = pixels(&data.test);
    let first = threads(1).install(|| load(&mut notes));
    assert_eq!(notes.len(), 1, "{notes:?}");
    let accuracy = first.accuracy(&images, data.test.labels()).unwrap();
    assert!(accuracy > 0.8, "{accuracy}");
    let features = first.features(&images).unwrap();
    assert_eq!(features.len(), 400 * Classifier::FEATURES);

    let path = Classifier::path(folder.path(), &data.train, &quick()).unwrap();
    let written = std::fs::read(&path).unwrap();
    let kept = load(&mut notes);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(kept.features(&images).unwrap(), features);

    // A damaged file is named and replaced; training on other threads gives the same bytes.
    let mut damaged = written.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    std::fs::write(&path, &damaged).unwrap();
    threads(3).install(|| load(&mut notes));
    assert!(notes[1].contains("checksum"), "{notes:?}");
    assert!(notes[1].contains(&path.display().to_string()));
    assert_eq!(std::fs::read(&path).unwrap(), written);
    for bytes in [&written[..written.len() / 2], b"", b"something else"] {
        std::fs::write(&path, bytes).unwrap();
        let before = notes.len();
        load(&mut notes);
        assert_eq!(notes.len(), before + 2, "{notes:?}");
    }
}

#[test]
fn the_name_of_a_kept_classifier_depends_on_all_that_made_it() {
    let data = glyphs(20, 10);
    let folder = std::path::Path::new("cache");
    let mut other = data.train.whole().unwrap();
    other.truncate(19).unwrap();
    let seeded = Settings { seed: 1, ..quick() };
    let path = |data, settings: &Settings| Classifier::path(folder, data, settings).unwrap();
    let names = [
        path(&data.train, &quick()),
        path(&data.test, &quick()),
        path(&other, &quick()),
        path(&data.train, &seeded),
        path(&data.train, &Settings::default()),
    ];
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
    assert_eq!(names[0], path(&data.train, &quick()));
}

#[test]
fn accuracies_of_the_field_do_not_depend_on_threads_and_follow_their_seeds() {
    let data = glyphs(600, 200);
    let protocol = field::Protocol {
        seeds: vec![0, 1],
        convolutional_epochs: 3,
        epochs: 5,
        batch: 50,
        neighbours: 3,
    };
    let of = |protocol: &field::Protocol| {
        let samples = pixels(&data.train);
        let (labels, mut quiet) = (data.train.labels(), |_: &str| {});
        let found = field::accuracies(
            &samples,
            labels,
            &data.test,
            protocol,
            &mut quiet,
            &unasked(),
        );
        found.unwrap()
    };
    let found = threads(1).install(|| of(&protocol));
    assert_eq!(found, threads(3).install(|| of(&protocol)));
    assert_eq!((found.training_records, found.test_records), (600, 200));
    for spread in [&found.convolutional, &found.mlp, &found.logistic] {
        assert!(spread.mean > 0.5 && spread.values.len() == 2, "{found:?}");
    }
    assert!(found.nearest_neighbours > 0.5, "{found:?}");
    let seeds = vec![1, 2];
    let other = of(&field::Protocol { seeds, ..protocol });
    assert_eq!(found.convolutional.values[1], other.convolutional.values[0]);
    assert_eq!(found.nearest_neighbours, other.nearest_neighbours);
}

#[test]
fn what_a_classifier_refuses() {
    let images =
        |h: usize, w: usize| Records::new(vec![0; 2 * h * w], vec![0, 1], h, w, 2).unwrap();
    for (h, w) in [(8, 12), (10, 10)] {
        let refused = Classifier::train(&images(h, w), &quick());
        assert!(matches!(refused, Err(EvaluateError::Shape { .. })));
    }
    let changes: [fn(&mut Settings); 4] = [
        |settings| settings.epochs = 0,
        |settings| settings.batch = 0,
        |settings| settings.rate = f64::NAN,
        |settings| settings.shift = 8,
    ];
    for change in changes {
        let mut settings = quick();
        change(&mut settings);
        let refused = Classifier::train(&images(8, 8), &settings);
        assert!(matches!(refused, Err(EvaluateError::Setting { .. })));
    }
    // Another size than 28 works, and wrong images are refused.
    let small = Classifier::train(&images(8, 8), &quick()).unwrap();
    assert_eq!(small.features(&[0.5; 64]).unwrap().len(), 84);
    assert!(small.features(&[0.5; 63]).is_err());
    assert!(small.features(&[f32::NAN; 64]).is_err());
    assert!(small.accuracy(&[0.5; 64], &[2]).is_err());
    assert!(small.accuracy(&[], &[]).is_err());
}

#[test]
fn samples_teach_as_much_as_they_know() {
    let data = glyphs(2000, 500);
    let samples = pixels(&data.train);
    let epochs = 5;
    let settings = downstream::Settings {
        epochs,
        ..downstream::Settings::default()
    };
    let taught = |learner: Learner, samples: &[f32], labels: &[u8]| {
        learner.accuracy(samples, labels, &data.test, &settings, &unasked())
    };
    for learner in [Learner::Mlp, Learner::Logistic] {
        let run = || taught(learner, &samples, data.train.labels()).unwrap();
        let good = threads(1).install(run);
        assert!(good.accuracy > 0.6, "{learner:?}: {good:?}");
        assert_eq!((good.test_records, good.training_records), (500, 2000));
        assert_eq!(threads(3).install(run), good);
        // Labels moved by one teach the wrong thing.
        let wrong: Vec<u8> = data.train.labels().iter().map(|l| (l + 1) % 10).collect();
        let bad = taught(learner, &samples, &wrong).unwrap();
        assert!(bad.accuracy < 0.25, "{learner:?}: {bad:?}");
    }
    let refused = taught(Learner::Mlp, &samples[..784], &[10]);
    assert!(matches!(
        refused,
        Err(EvaluateError::Label { classes: 10, .. })
    ));
    assert!(taught(Learner::Mlp, &[], &[]).is_err());
}

#[test]
fn all_scores_of_a_generator() {
    let data = glyphs(1200, 600);
    let classifier = Classifier::train(&data.test, &quick()).unwrap();
    let real = RealImages {
        test: &data.test,
        classifier: Some(&classifier),
        private: Some(&data.train),
    };
    let options = options(|options| {
        options.slices = 20;
        options.exact_points = 200;
        options.memorisation_points = 150;
    });
    let copies = pixels(&data.train);
    let generated = GeneratedImages {
        pixels: &copies,
        labels: Some(data.train.labels()),
    };
    let scored = |real: &RealImages, generated: &GeneratedImages, options: &ImageOptions| {
        evaluate_images(real, generated, options, &unasked()).unwrap()
    };
    let good = scored(&real, &generated, &options);
    assert_eq!((good.generated_records, good.test_records), (1200, 600));
    assert_eq!(good.exact_points, 200);
    let memory = good.memorisation.unwrap();
    assert!(memory.generated_median == 0.0 && memory.found, "{memory:?}");
    assert!(good.downstream_mlp.unwrap().accuracy > 0.6);
    assert_eq!(scored(&real, &generated, &options), good);
    let text = serde_json::to_string(&good).unwrap();
    let parsed: ImageScores = serde_json::from_str(&text).unwrap();
    assert_eq!(parsed.downstream_mlp, good.downstream_mlp);
    assert_eq!(parsed.exact_points, good.exact_points);

    // Grey images are worse by every distance.
    let grey = vec![0.5; copies.len()];
    let bad = scored(&real, &samples(&grey), &options);
    assert!(bad.frechet.unwrap() > 10.0 * good.frechet.unwrap());
    assert!(bad.sliced_w2_squared > 10.0 * good.sliced_w2_squared);
    assert!(bad.exact_w2_squared.unwrap() > good.exact_w2_squared.unwrap());
    assert_eq!((bad.downstream_mlp, bad.downstream_logistic), (None, None));

    // Leaving scores out changes no other.
    let least = ImageOptions {
        exact_points: 0,
        memorisation_points: 0,
        downstream: None,
        ..options
    };
    let public = RealImages {
        classifier: None,
        ..real
    };
    let few = scored(&public, &generated, &least);
    assert_eq!(few.sliced_w2_squared, good.sliced_w2_squared);
    assert_eq!((few.exact_points, few.exact_w2_squared), (0, None));
    assert_eq!((few.frechet, few.memorisation), (None, None));
}

#[test]
fn what_the_scores_refuse() {
    let data = glyphs(20, 20);
    let real = RealImages {
        test: &data.test,
        classifier: None,
        private: None,
    };
    let images = pixels(&data.train);
    let refused = |pixels: &[f32], labels: Option<&[u8]>, options: &ImageOptions| {
        let generated = GeneratedImages { pixels, labels };
        assert!(evaluate_images(&real, &generated, options, &unasked()).is_err());
    };
    let usual = ImageOptions::default();
    refused(&images[1..], None, &usual);
    refused(&images[..784], None, &usual);
    refused(&[f32::NAN; 1568], None, &usual);
    refused(&images, Some(&[0; 19]), &usual);
    refused(&images, Some(&[10; 20]), &usual);
    refused(&images, None, &options(|options| options.slices = 0));
    refused(
        &images,
        None,
        &options(|options| options.exact_points = 10_001),
    );
}

#[test]
fn a_score_stops_when_it_is_asked() {
    let data = glyphs(20, 20);
    let images = pixels(&data.train);
    let asked = Interrupt::default();
    asked.ask();
    let settings = downstream::Settings::default();
    let taught = Learner::Mlp.accuracy(&images, data.train.labels(), &data.test, &settings, &asked);
    assert!(matches!(taught, Err(EvaluateError::Interrupted)));
    let folder = tempfile::tempdir().unwrap();
    let mut quiet = |_: &str| {};
    let trained =
        Classifier::load_or_train(folder.path(), &data.test, &quick(), &mut quiet, &asked);
    assert!(matches!(trained, Err(EvaluateError::Interrupted)));
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
    let real = RealImages {
        test: &data.test,
        classifier: None,
        private: Some(&data.train),
    };
    let scored = evaluate_images(&real, &samples(&images), &ImageOptions::default(), &asked);
    assert!(matches!(scored, Err(EvaluateError::Interrupted)));
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    let near = memorisation(&images, &images, &data.test, &data.train, &mut rng, &asked);
    assert!(matches!(near, Err(EvaluateError::Interrupted)));
}

fn mnist() -> Option<Dataset> {
    let options = LoadOptions {
        data_dir: Some(test_support::data_folder()?),
        mirrors: Some(Vec::new()),
        ..LoadOptions::default()
    };
    Some(Dataset::load(DatasetKind::Mnist, &options).unwrap())
}

#[test]
fn a_short_training_on_mnist() {
    let Some(data) = mnist() else { return };
    let mut small = data.test;
    small.truncate(2000).unwrap();
    let classifier = Classifier::train(&small, &quick()).unwrap();
    let held_out: Vec<usize> = (0..2000).collect();
    let images = data.train.gather(&held_out).unwrap();
    let accuracy = classifier
        .accuracy(&images, &data.train.labels()[..2000])
        .unwrap();
    assert!(accuracy > 0.75, "{accuracy}");
}

/// Prints what the documentation quotes: `cargo test --release --locked -p evaluating --test it
/// -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes"]
fn mnist_at_full_size() {
    let Some(data) = mnist() else { return };
    let start = Instant::now();
    let classifier = Classifier::train(&data.test, &Settings::default()).unwrap();
    eprintln!("trained on {} in {:?}", data.test.len(), start.elapsed());
    let train = pixels(&data.train);
    let accuracy = classifier.accuracy(&train, data.train.labels()).unwrap();
    eprintln!("held-out accuracy {accuracy:.4}");
    assert!(accuracy >= 0.98, "{accuracy}");
    let start = Instant::now();
    let generated = GeneratedImages {
        pixels: &train[..20_000 * 784],
        labels: Some(&data.train.labels()[..20_000]),
    };
    let real = RealImages {
        test: &data.test,
        classifier: Some(&classifier),
        private: Some(&data.train),
    };
    let options = ImageOptions::default();
    let scores = evaluate_images(&real, &generated, &options, &unasked()).unwrap();
    eprintln!("{scores:#?} in {:?}", start.elapsed());
}

//! The scores on digits: synthetic ones everywhere, MNIST where `SLIVER_DATA` names its folder.

use std::time::Instant;

use data::{Dataset, DatasetKind, LabelledImages, LoadOptions};
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

fn pixels(images: &LabelledImages) -> Vec<f32> {
    let all: Vec<usize> = (0..images.len()).collect();
    images.gather(&all).unwrap()
}

fn quick() -> Settings {
    Settings {
        epochs: 3,
        ..Settings::default()
    }
}

fn threads(count: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .build()
        .unwrap()
}

#[test]
fn a_classifier_learns_is_kept_and_does_not_depend_on_threads() {
    let data = glyphs(1500, 400);
    let folder = tempfile::tempdir().unwrap();
    let mut notes = Vec::new();
    let load = |notes: &mut Vec<String>| {
        Classifier::load_or_train(
            folder.path(),
            &data.train,
            &quick(),
            &mut |line| {
                notes.push(line.to_string());
            },
            &Interrupt::default(),
        )
        .unwrap()
    };
    let images = pixels(&data.test);
    let first = threads(1).install(|| load(&mut notes));
    assert_eq!(notes.len(), 1, "{notes:?}");
    let accuracy = first.accuracy(&images, data.test.labels()).unwrap();
    assert!(accuracy > 0.8, "{accuracy}");
    let features = first.features(&images).unwrap();
    assert_eq!(features.len(), 400 * Classifier::FEATURES);

    let path = Classifier::path(folder.path(), &data.train, &quick());
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
    let mut other = data.train.clone();
    other.truncate(19).unwrap();
    let seeded = Settings { seed: 1, ..quick() };
    let names = [
        Classifier::path(folder, &data.train, &quick()),
        Classifier::path(folder, &data.test, &quick()),
        Classifier::path(folder, &other, &quick()),
        Classifier::path(folder, &data.train, &seeded),
        Classifier::path(folder, &data.train, &Settings::default()),
    ];
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
    assert_eq!(names[0], Classifier::path(folder, &data.train, &quick()));
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
        let interrupt = Interrupt::default();
        field::accuracies(
            &samples, labels, &data.test, protocol, &mut quiet, &interrupt,
        )
        .unwrap()
    };
    let found = threads(1).install(|| of(&protocol));
    assert_eq!(found, threads(3).install(|| of(&protocol)));
    assert_eq!((found.training_records, found.test_records), (600, 200));
    for spread in [&found.convolutional, &found.mlp, &found.logistic] {
        assert!(spread.mean > 0.5 && spread.values.len() == 2, "{found:?}");
    }
    assert!(found.nearest_neighbours > 0.5, "{found:?}");
    let other = of(&field::Protocol {
        seeds: vec![1, 2],
        ..protocol
    });
    assert_eq!(found.convolutional.values[1], other.convolutional.values[0]);
    assert_eq!(found.nearest_neighbours, other.nearest_neighbours);
}

#[test]
fn what_a_classifier_refuses() {
    let images =
        |h: usize, w: usize| LabelledImages::new(vec![0; 2 * h * w], vec![0, 1], h, w, 2).unwrap();
    for (h, w) in [(8, 12), (10, 10)] {
        let refused = Classifier::train(&images(h, w), &quick());
        assert!(matches!(refused, Err(EvaluateError::Shape { .. })));
    }
    for settings in [
        Settings {
            epochs: 0,
            ..quick()
        },
        Settings {
            batch: 0,
            ..quick()
        },
        Settings {
            rate: f64::NAN,
            ..quick()
        },
        Settings {
            shift: 8,
            ..quick()
        },
    ] {
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
    let settings = downstream::Settings {
        epochs: 5,
        ..downstream::Settings::default()
    };
    for learner in [Learner::Mlp, Learner::Logistic] {
        let run = || {
            learner
                .accuracy(
                    &samples,
                    data.train.labels(),
                    &data.test,
                    &settings,
                    &Interrupt::default(),
                )
                .unwrap()
        };
        let good = threads(1).install(run);
        assert!(good.accuracy > 0.6, "{learner:?}: {good:?}");
        assert_eq!((good.test_records, good.training_records), (500, 2000));
        assert_eq!(threads(3).install(run), good);
        // Labels moved by one teach the wrong thing.
        let wrong: Vec<u8> = data.train.labels().iter().map(|l| (l + 1) % 10).collect();
        let bad = learner
            .accuracy(
                &samples,
                &wrong,
                &data.test,
                &settings,
                &Interrupt::default(),
            )
            .unwrap();
        assert!(bad.accuracy < 0.25, "{learner:?}: {bad:?}");
    }
    let refused = Learner::Mlp.accuracy(
        &samples[..784],
        &[10],
        &data.test,
        &settings,
        &Interrupt::default(),
    );
    assert!(matches!(
        refused,
        Err(EvaluateError::Label { classes: 10, .. })
    ));
    assert!(
        Learner::Mlp
            .accuracy(&[], &[], &data.test, &settings, &Interrupt::default())
            .is_err()
    );
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
    let options = ImageOptions {
        slices: 20,
        exact_points: 200,
        memorisation_points: 150,
        ..ImageOptions::default()
    };
    let copies = pixels(&data.train);
    let generated = GeneratedImages {
        pixels: &copies,
        labels: Some(data.train.labels()),
    };
    let good = evaluate_images(&real, &generated, &options, &Interrupt::default()).unwrap();
    assert_eq!((good.generated_records, good.test_records), (1200, 600));
    assert_eq!(good.exact_points, 200);
    let memory = good.memorisation.unwrap();
    assert!(memory.generated_median == 0.0 && memory.found, "{memory:?}");
    assert!(good.downstream_mlp.unwrap().accuracy > 0.6);
    assert_eq!(
        good,
        evaluate_images(&real, &generated, &options, &Interrupt::default()).unwrap()
    );
    let text = serde_json::to_string(&good).unwrap();
    let parsed: ImageScores = serde_json::from_str(&text).unwrap();
    assert_eq!(parsed.downstream_mlp, good.downstream_mlp);
    assert_eq!(parsed.exact_points, good.exact_points);

    // Grey images are worse by every distance.
    let grey = vec![0.5; copies.len()];
    let poor = GeneratedImages {
        pixels: &grey,
        labels: None,
    };
    let bad = evaluate_images(&real, &poor, &options, &Interrupt::default()).unwrap();
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
    let few = evaluate_images(&public, &generated, &least, &Interrupt::default()).unwrap();
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
    let options = ImageOptions::default();
    let images = pixels(&data.train);
    let refused = |pixels: &[f32], labels: Option<&[u8]>, options: &ImageOptions| {
        evaluate_images(
            &real,
            &GeneratedImages { pixels, labels },
            options,
            &Interrupt::default(),
        )
        .unwrap_err()
    };
    refused(&images[1..], None, &options);
    refused(&images[..784], None, &options);
    refused(&[f32::NAN; 1568], None, &options);
    refused(&images, Some(&[0; 19]), &options);
    refused(&images, Some(&[10; 20]), &options);
    for options in [
        ImageOptions {
            slices: 0,
            ..options
        },
        ImageOptions {
            exact_points: 10_001,
            ..options
        },
    ] {
        refused(&images, None, &options);
    }
}

#[test]
fn a_score_stops_when_it_is_asked() {
    let data = glyphs(20, 20);
    let samples = pixels(&data.train);
    let asked = Interrupt::default();
    asked.ask();
    let settings = downstream::Settings::default();
    let taught =
        Learner::Mlp.accuracy(&samples, data.train.labels(), &data.test, &settings, &asked);
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
    let generated = GeneratedImages {
        pixels: &samples,
        labels: None,
    };
    let scored = evaluate_images(&real, &generated, &ImageOptions::default(), &asked);
    assert!(matches!(scored, Err(EvaluateError::Interrupted)));
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    let near = memorisation(
        &samples,
        &samples,
        &data.test,
        &data.train,
        &mut rng,
        &asked,
    );
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
    let scores = evaluate_images(
        &real,
        &generated,
        &ImageOptions::default(),
        &Interrupt::default(),
    )
    .unwrap();
    eprintln!("{scores:#?} in {:?}", start.elapsed());
}

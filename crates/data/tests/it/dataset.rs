//! Data sets by name; the published ones where `SLIVER_DATA` names a folder that holds them.

use std::sync::{Arc, Mutex};

use data::{DataError, Dataset, DatasetKind, Glyphs, LoadOptions, Progress};
use test_support::data_folder;

use crate::published::offline;

#[test]
fn names_are_read_back() {
    for kind in DatasetKind::ALL {
        assert_eq!(kind.to_string().parse::<DatasetKind>().unwrap(), kind);
    }
    let error = "emnist".parse::<DatasetKind>().unwrap_err();
    assert!(matches!(error, DataError::Request(_)));
    let message = error.to_string();
    assert!(message.contains("'emnist'") && message.contains("glyphs, mnist, fashion-mnist"));
}

#[test]
fn glyphs_need_no_file_and_say_how_far_they_are() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&seen);
    let options = LoadOptions {
        seed: 4,
        train: Some(50),
        test: Some(20),
        progress: Some(Arc::new(move |event: &Progress| {
            listener.lock().unwrap().push(event.clone());
        })),
        ..offline()
    };
    let set = Dataset::load(DatasetKind::Glyphs, &options).unwrap();
    assert_eq!(
        (set.name.as_str(), set.train.len(), set.test.len()),
        ("glyphs", 50, 20)
    );
    assert_eq!(set.train, Glyphs::generate(50, 4).unwrap());
    assert_ne!(
        *pixels(&set.test),
        pixels(&set.train)[..pixels(&set.test).len()]
    );
    let last = seen.lock().unwrap().last().cloned();
    assert_eq!(
        last,
        Some(Progress::Drawing {
            done: 70,
            total: 70
        })
    );
}

#[test]
fn published_sets_are_what_they_are_known_to_be() {
    if data_folder().is_none() {
        return;
    }
    let mnist = Dataset::load(DatasetKind::Mnist, &offline()).unwrap();
    let train = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949];
    let test = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009];
    assert_eq!(mnist.train.class_sizes(), train);
    assert_eq!(mnist.test.class_sizes(), test);
    assert_eq!((mnist.train.height(), mnist.train.width()), (28, 28));
    assert!((mean(&mnist.train) - 0.1307).abs() < 5e-5);

    let fashion = Dataset::load(DatasetKind::FashionMnist, &offline()).unwrap();
    assert_eq!(fashion.train.class_sizes(), [6000; 10]);
    assert_eq!(fashion.test.class_sizes(), [1000; 10]);
    assert!((mean(&fashion.test) - 0.2868).abs() < 5e-5);
}

#[test]
fn the_first_records_can_be_asked_for() {
    if data_folder().is_none() {
        return;
    }
    let options = |train, test| LoadOptions {
        train: Some(train),
        test: Some(test),
        ..offline()
    };
    let set = Dataset::load(DatasetKind::Mnist, &options(100, 7)).unwrap();
    assert_eq!((set.train.len(), set.test.len()), (100, 7));
    let error = Dataset::load(DatasetKind::Mnist, &options(60_001, 7)).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("60001") && message.contains("1 to 60000"),
        "{message}"
    );
}

/// A folder with MNIST's files and no subfolders serves MNIST, and is not mistaken for Fashion-MNIST.
#[test]
fn a_flat_folder_is_read_by_its_sums() {
    let Some(source) = data_folder() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(source.join("mnist")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let options = LoadOptions {
        data_dir: Some(folder.path().into()),
        ..offline()
    };
    let mnist = Dataset::load(DatasetKind::Mnist, &options).unwrap();
    assert_eq!(mnist.train.class_sizes()[0], 5923);
    let fashion = Dataset::load(DatasetKind::FashionMnist, &options).unwrap();
    assert_eq!(fashion.train.class_sizes(), [6000; 10]);
}

#[test]
fn a_damaged_local_file_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mnist/train-images-idx3-ubyte.gz");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, b"damaged").unwrap();
    let options = LoadOptions {
        data_dir: Some(folder.path().into()),
        ..Default::default()
    };
    let error = Dataset::load(DatasetKind::Mnist, &options).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("mnist/train-images-idx3-ubyte.gz"),
        "{message}"
    );
    assert!(
        message.contains("9912422") && message.contains("found 7"),
        "{message}"
    );
}

fn pixels(images: &data::Records) -> std::borrow::Cow<'_, [u8]> {
    images.pixels().unwrap()
}

fn mean(images: &data::Records) -> f64 {
    let sum: u64 = pixels(images).iter().map(|&pixel| u64::from(pixel)).sum();
    sum as f64 / 255.0 / pixels(images).len() as f64
}

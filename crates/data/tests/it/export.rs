//! Images written and read back with the readers of this crate.

use std::path::Path;

use data::export::{Format, ImageWriter, Layout, MAX_NPZ_BYTES};
use data::idx::{read_images, read_labels};
use data::{Arrays, Asked, Classes, DataError, Records, npy};

const ALL: [Format; 3] = [Format::Idx, Format::Npz, Format::Png];

fn grey(count: usize, labels: bool) -> Layout {
    Layout {
        count,
        sides: [4, 3],
        channels: 1,
        labels,
        classes: Vec::new(),
        formats: ALL.to_vec(),
        arrays: Arrays::default(),
    }
}

fn pixels(layout: &Layout) -> Vec<u8> {
    let bytes = layout.count * layout.image_bytes();
    (0..bytes).map(|i| (i * 37 % 251) as u8).collect()
}

/// Writes all images in parts of two.
fn written(folder: &Path, layout: &Layout, labels: &[u8]) -> Vec<&'static str> {
    let pixels = pixels(layout);
    let mut writer = ImageWriter::create(folder, layout).unwrap();
    let mut labels = labels.chunks(2);
    for part in pixels.chunks(2 * layout.image_bytes()) {
        let labels = labels.next().unwrap_or_default();
        writer.append(part, labels).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn grey_images_are_read_back_from_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let (layout, labels) = (grey(5, true), [3, 0, 3, 9, 1]);
    let files = written(folder.path(), &layout, &labels);
    assert!(files.iter().all(|file| place(file).is_file()), "{files:?}");
    let pixels = pixels(&layout);

    let images = "MNIST/raw/train-images-idx3-ubyte";
    let asked = Asked {
        classes: Classes::Unread,
        ..Asked::default()
    };
    let plain = data::read(&place(images), &asked, &|_| {}).unwrap().records;
    let gzip = read_images(&place(&format!("{images}.gz"))).unwrap();
    assert_eq!((gzip.count, gzip.height, gzip.width), (5, 4, 3));
    assert_eq!((plain.len(), plain.shape()), (5, [1, 4, 3]));
    assert_eq!(
        (&*plain.pixels().unwrap(), &gzip.pixels),
        (&pixels[..], &pixels)
    );
    let names = "MNIST/raw/train-labels-idx1-ubyte";
    assert_eq!(read_labels(&place(&format!("{names}.gz"))).unwrap(), labels);
    assert_eq!(std::fs::read(place(names)).unwrap()[8..], labels);
    let pair = [images, names].map(|name| place(&format!("{name}.gz")));
    let set = Records::read_idx(&pair[0], &pair[1]).unwrap();
    assert_eq!(set.class_sizes()[3], 2);

    for (i, label) in labels.iter().enumerate() {
        let picture = image::open(place(&format!("png/{label}/{i:06}.png"))).unwrap();
        assert_eq!(picture.to_luma8().as_raw(), &pixels[i * 12..(i + 1) * 12]);
    }

    let archive = std::fs::read(place("images.npz")).unwrap();
    let member = |name: &str, shape: &str, bytes: &[u8]| {
        let shape = format!("'descr': '|u1', 'fortran_order': False, 'shape': {shape}, ");
        let find = |part: &[u8]| archive.windows(part.len()).position(|w| w == part);
        assert!(find(name.as_bytes()) < find(shape.as_bytes()), "{name}");
        assert!(find(bytes).is_some(), "{name}");
    };
    member("images.npy", "(5, 4, 3)", &pixels);
    member("labels.npy", "(5,)", &labels);
    // The reader of this crate takes the member of one dimension.
    let start = archive
        .windows(10)
        .rposition(|w| w == b"\x93NUMPY\x01\x00\x76\x00");
    let start = start.expect("a member");
    let read = npy::decode("labels", &archive[start..start + 128 + 5]).unwrap();
    assert_eq!(read.values, labels.map(f32::from));
}

#[test]
fn colour_images_and_images_without_labels_have_their_forms() {
    let folder = tempfile::tempdir().unwrap();
    let colour = Layout {
        channels: 3,
        formats: vec![Format::Npz, Format::Png],
        ..grey(3, false)
    };
    assert_eq!(written(folder.path(), &colour, &[]), ["images.npz"]);
    let picture = image::open(folder.path().join("png/000002.png")).unwrap();
    assert_eq!(picture.to_rgb8().as_raw(), &pixels(&colour)[72..]);

    // PNG files alone need no folder around them, unless a class would take the place of the card.
    let alone = |classes: [&str; 2]| Layout {
        classes: classes.map(String::from).to_vec(),
        formats: vec![Format::Png],
        ..grey(2, true)
    };
    for (classes, place) in [
        (["cat", "dog"], "dog"),
        (["cat", "Card.json"], "png/Card.json"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), &alone(classes), &[0, 1]);
        assert!(folder.path().join(place).join("000001.png").is_file());
    }

    let unlabelled = grey(3, false);
    let folder = tempfile::tempdir().unwrap();
    let files = written(folder.path(), &unlabelled, &[]);
    assert!(!files.iter().any(|file| file.contains("labels")));
}

#[test]
fn equal_images_make_equal_files() {
    let [a, b] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (layout, labels) = (grey(4, true), [0, 1, 2, 3]);
    for file in written(a.path(), &layout, &labels) {
        written(b.path(), &layout, &labels);
        let read = |folder: &Path| std::fs::read(folder.join(file)).unwrap();
        assert_eq!(read(a.path()), read(b.path()), "{file}");
    }
}

#[test]
fn what_a_format_cannot_hold_is_refused_before_anything_is_written() {
    let most = (MAX_NPZ_BYTES / 12) as usize;
    let cases = [
        (grey(0, true), "0"),
        (grey(100_000_000, true), "100000000"),
        (grey(1_000_001, true), "1000000"),
        (
            Layout {
                formats: vec![Format::Npz],
                ..grey(most + 1, true)
            },
            "images in npz",
        ),
        (
            Layout {
                channels: 3,
                ..grey(2, true)
            },
            "grey",
        ),
        (
            Layout {
                channels: 2,
                ..grey(2, true)
            },
            "2 channels",
        ),
        (
            Layout {
                sides: [0, 3],
                ..grey(2, true)
            },
            "sides",
        ),
        (
            Layout {
                formats: vec![],
                ..grey(2, true)
            },
            "no format",
        ),
        (
            Layout {
                formats: vec![Format::Png, Format::Png],
                ..grey(2, true)
            },
            "twice",
        ),
    ];
    for (layout, words) in cases {
        let folder = tempfile::tempdir().unwrap();
        let refusal = ImageWriter::create(folder.path(), &layout).err().unwrap();
        assert!(refusal.to_string().contains(words), "{refusal}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn images_that_do_not_fit_the_layout_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = ImageWriter::create(folder.path(), &grey(2, true)).unwrap();
    for (pixels, labels) in [(13, 1), (12, 0), (12, 2), (36, 3)] {
        let refusal = writer.append(&vec![0; pixels], &vec![0; labels]);
        assert!(matches!(refusal, Err(DataError::Request(_))), "{pixels}");
    }
    writer.append(&[0; 12], &[0]).unwrap();
    let refusal = writer.finish().unwrap_err().to_string();
    assert!(refusal.contains("1 images of 2"), "{refusal}");
}

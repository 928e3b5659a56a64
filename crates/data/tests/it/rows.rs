//! Rows of numbers from every kind of file, and what is wrong with them.

use std::fs::{self, File, write};
use std::path::{Path, PathBuf};

use data::npy::{self, NpyArray};
use data::{Asked, Classes, Glyphs, Records, idx, read};

use crate::published::gzip;
use crate::{says, told};

fn unread() -> Asked {
    Asked {
        classes: Classes::Unread,
        ..Asked::default()
    }
}

/// What a file holds, or what its owner is told.
fn rows(path: &Path, asked: &Asked) -> Result<Records, String> {
    let found = read(path, asked, &|_| {}).map_err(|e| told(&e))?;
    Ok(found.records)
}

#[test]
fn every_kind_of_file_gives_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let values = vec![1.0, 2.5, -3.0, 0.125];
    save(&place("a.npy"), 2, &values);
    write(place("a.csv"), "x;y\r\n1;2.5\r\n\r\n-3;0.125\r\n").unwrap();
    write(place("a.txt"), "1 2.5\n -3\t1.25e-1").unwrap();
    let expected = Records::rows("x", 2, values).unwrap();
    // Golden, from Python's hashlib: notes of what is public hold it.
    let sum = "2a47cb43b42f20434b0531ac0d0595259a707d30ca3542a5340b1f1b8f201a9e";
    assert_eq!(expected.sha256().unwrap(), sum);
    for name in ["a.npy", "a.csv", "a.txt"] {
        assert!(rows(&place(name), &unread()).unwrap() == expected, "{name}");
        let first = Asked {
            first: Some(1),
            ..unread()
        };
        let first = rows(&place(name), &first).unwrap();
        assert_eq!(first.values().unwrap(), [1.0, 2.5], "{name}");
        for count in [0, 3] {
            let asked = Asked {
                first: Some(count),
                ..unread()
            };
            says(&rows(&place(name), &asked).unwrap_err(), &["1 to 2;"]);
        }
    }
    let skipped = read(&place("a.csv"), &unread(), &|_| {}).unwrap().skipped;
    assert_eq!((skipped.len(), skipped[0].count), (1, 1));
    let images = Records::new(vec![0, 51, 102, 255], vec![0], 2, 2, 10).unwrap();
    idx::write_images(File::create(place("i.gz")).unwrap(), &images).unwrap();
    let mut plain = vec![0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2];
    plain.extend([0, 51, 102, 255]);
    write(place("i-idx3-ubyte"), &plain).unwrap();
    for name in ["i.gz", "i-idx3-ubyte"] {
        let rows = rows(&place(name), &unread()).unwrap();
        assert_eq!((rows.len(), rows.shape()), (1, [1, 2, 2]), "{name}");
        assert_eq!(rows.values().unwrap(), [0.0, 0.2, 0.4, 1.0], "{name}");
        assert_eq!(rows.norm_upper(), Some(2.0), "{name}");
        let same = Records::rows("x", 4, rows.values().unwrap()).unwrap();
        assert_eq!(
            rows.sha256_of_rows().unwrap(),
            same.sha256().unwrap(),
            "{name}"
        );
        assert!(same.pixels().is_err() && same.norm_upper().is_none());
    }
    write(place("nothing"), "hello").unwrap();
    assert!(rows(&place("nothing"), &unread()).is_err());
    assert!(rows(&place("absent"), &unread()).is_err());
}

#[test]
fn a_bad_line_is_named_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.csv");
    for (text, needle) in [
        ("1,2\n3\n", "line 2: 1 fields, expected 2"),
        ("a,b\n1,2\n3,4,5\n", "line 3: 3 fields, expected 2"),
        ("1,2\n3,x7\n", "line 2, column 2: expected a finite number"),
        ("1,inf\n", "line 1, column 2: expected a finite number"),
        ("1,\n", "line 1, column 2: expected a finite number"),
        ("a,b\n", "is empty"),
        ("", "is empty"),
    ] {
        write(&path, text).unwrap();
        let error = read(&path, &unread(), &|_| {}).unwrap_err();
        says(&error, &[needle]);
        assert!(!format!("{error} {error:?}").contains("x7"), "{error}");
    }
}

fn unpacked(gzip: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(gzip);
    std::io::Read::read_to_end(&mut reader, &mut bytes).unwrap();
    bytes
}

fn labelled(labels: &Path, classes: usize) -> Asked {
    Asked {
        classes: Classes::Counted(classes),
        labels: Some(labels.to_path_buf()),
        ..Asked::default()
    }
}

#[test]
fn idx_files_are_whole_and_have_a_label_an_image() {
    let folder = tempfile::tempdir().unwrap();
    let [i, l] = ["images", "labels"].map(|name| folder.path().join(name));
    let (images, mut image_bytes) = (Glyphs::generate(7, 3).unwrap(), Vec::new());
    idx::write_images(&mut image_bytes, &images).unwrap();
    idx::write_labels(File::create(&l).unwrap(), &images).unwrap();
    let plain = unpacked(&image_bytes);
    for bytes in [&image_bytes, &plain] {
        write(&i, bytes).unwrap();
        assert!(rows(&i, &labelled(&l, 10)).unwrap() == images);
        let alone = rows(&i, &unread()).unwrap();
        assert!(alone.pixels().unwrap() == images.pixels().unwrap());
        let first = Asked {
            first: Some(3),
            ..labelled(&l, 10)
        };
        let first = rows(&i, &first).unwrap();
        assert!(first == images.select(&[0, 1, 2]).unwrap());
    }
    assert_eq!(plain.len(), 16 + 7 * 784);
    let error = || rows(&i, &unread()).unwrap_err();
    for length in [15, 16, 17, 16 + 784, plain.len() - 1] {
        let whole = if length < 16 { 16 } else { plain.len() };
        let [expected, found] =
            [("expected", whole), ("found", length)].map(|(word, bytes)| format!("{word} {bytes}"));
        for bytes in [plain[..length].to_vec(), gzip(&plain[..length])] {
            write(&i, bytes).unwrap();
            says(&error(), &[&expected, &found]);
        }
    }
    write(&i, &image_bytes[..image_bytes.len() / 2]).unwrap();
    says(&error(), &["truncated: expected 5504"]);
    write(&i, [&plain[..], &[0]].concat()).unwrap();
    says(&error(), &["expected 5504", "found more"]);
    write(&i, &plain).unwrap();
    for (count, labels, words) in [
        (6, &[0; 6][..], &["holds 6 labels, expected 7"][..]),
        (7, &[1, 2, 3, 4, 10, 6, 7], &["index 4", "0 to 9"]),
        (
            7,
            &[1, 2, 3],
            &["labels: truncated: expected 15", "found 11"],
        ),
    ] {
        write(&l, [&[0, 0, 8, 1, 0, 0, 0, count][..], labels].concat()).unwrap();
        says(&rows(&i, &labelled(&l, 10)).unwrap_err(), words);
    }
}

fn save(path: &PathBuf, width: usize, values: &[f32]) {
    let array = NpyArray {
        rows: values.len() / width,
        width: Some(width),
        values: values.to_vec(),
    };
    npy::write(File::create(path).unwrap(), &array).unwrap();
}

#[test]
fn arrays_are_whole_and_finite_unless_they_need_not_be() {
    let folder = tempfile::tempdir().unwrap();
    let [path, labels] = ["rows.npy", "labels.npy"].map(|name| folder.path().join(name));
    let values = [1.0, f32::INFINITY, 3.0, -4.0, 5.0, 6.0];
    save(&path, 2, &values);
    says(&rows(&path, &unread()).unwrap_err(), &["row 0, column 1"]);
    let any = Asked {
        not_finite: true,
        ..unread()
    };
    assert_eq!(rows(&path, &any).unwrap().values().unwrap(), values);
    let whole = fs::read(&path).unwrap();
    write(&path, &whole[..whole.len() - 1]).unwrap();
    says(
        &rows(&path, &any).unwrap_err(),
        &["expected 152 bytes", "found 151"],
    );
    write(&path, [&whole[..], &[0]].concat()).unwrap();
    says(
        &rows(&path, &any).unwrap_err(),
        &["expected 152 bytes", "found more"],
    );
    save(&path, 2, &[1.0, 2.0, 3.0, -4.0, 5.0, 6.0]);
    let with = |of: &[f32], width| {
        save(&labels, width, of);
        rows(&path, &labelled(&labels, 3))
    };
    assert_eq!(with(&[2.0, 0.0, 1.0], 1).unwrap().labels(), [2, 0, 1]);
    for (of, width, words) in [
        (&[2.0, 0.0][..], 1, &["holds 2 labels, expected 3"][..]),
        (&[2.0, 0.0, 3.0], 1, &["labels.npy", "row 2", "0 to 2"]),
        (&[2.0, 0.0, 0.5], 1, &["row 2"]),
        (&[2.0, 0.0, 0.0, 1.0, 0.0, 1.0], 2, &["2 columns"]),
    ] {
        says(&with(of, width).unwrap_err(), words);
    }
}

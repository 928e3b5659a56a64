//! Files of privatised records: what is written is read, and nothing else is.

use std::fs;
use std::path::{Path, PathBuf};

use data::privatised::{
    Calibration, Header, LabelEncoding, NoiseKind, NoiseSeed, Privatised, Transform, Wanted,
    Writer, header_path,
};
use data::transform::Dct;
use data::{DataError, NpyArray, npy};
use proptest::prelude::*;
use test_support::says;

/// 3 of 4 coefficients of each of two channels, and two classes.
fn header() -> Header {
    Header {
        mechanism: NoiseKind::Gaussian,
        calibration: Calibration::Paper,
        epsilon: 0.1 + 0.2,
        delta: 1e-5,
        radius: 2.5,
        noise_scale: 17.125,
        transform: Transform::Dct {
            side: 2,
            channels: 2,
            kept: Dct::new(2, 2, 3).unwrap().kept().to_vec(),
        },
        labels: LabelEncoding::OneHot {
            weight: 0.5,
            classes: 2,
        },
        source_shape: Some([2, 2, 2]),
        noise_seed: NoiseSeed::Secret,
        width: 8,
        records: 0,
    }
}

fn plain(width: usize) -> Header {
    Header {
        mechanism: NoiseKind::Laplace,
        calibration: Calibration::Exact,
        delta: 0.0,
        transform: Transform::None,
        labels: LabelEncoding::Dropped,
        source_shape: None,
        width,
        ..header()
    }
}

fn write(path: &Path, header: &Header, values: &[f32], replace: bool) -> Header {
    let mut writer = Writer::create(path, header, replace).unwrap();
    for record in values.chunks_exact(header.width) {
        writer.push(record).unwrap();
    }
    writer.finish().unwrap()
}

/// A whole file.
pub(crate) fn good() -> (tempfile::TempDir, PathBuf) {
    let (keep, path) = folder();
    write(&path, &header(), &[0.5; 16], false);
    (keep, path)
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noisy.safetensors");
    (folder, path)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn refused(path: &Path) -> DataError {
    Privatised::load(path).unwrap_err()
}

#[test]
fn what_is_written_is_read_in_either_format() {
    let (keep, path) = folder();
    let values: Vec<f32> = (0_i16..24).map(|i| f32::from(i) * 1.1e-3 - 7.0).collect();
    for header in [header(), plain(8)] {
        for path in [path.clone(), keep.path().join("noisy.npy")] {
            let written = write(&path, &header, &values, true);
            assert_eq!(written.records, 3);
            let read = Privatised::load(&path).unwrap();
            assert_eq!((read.header.clone(), &read.values), (written, &values));
            assert_eq!(Header::read(&path).unwrap(), Some(read.header));
        }
    }
    assert_eq!(
        names(keep.path()),
        ["noisy.npy", "noisy.npy.json", "noisy.safetensors"]
    );
    let array = npy::read(&keep.path().join("noisy.npy")).unwrap();
    assert_eq!(
        (array.rows, array.width, array.values),
        (3, Some(8), values)
    );
}

/// What a reader in another language relies on: aligned values, entries that are texts.
#[test]
fn the_file_is_a_safetensors_file() {
    let (_keep, path) = folder();
    write(&path, &plain(2), &[1.0, 2.0, 3.0, 4.0], false);
    let bytes = fs::read(&path).unwrap();
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    assert_eq!((length % 8, bytes[8]), (0, b'{'));
    let json: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let tensor = &json["records"];
    assert_eq!(tensor["dtype"], "F32");
    assert_eq!(tensor["shape"], serde_json::json!([2, 2]));
    assert_eq!(tensor["data_offsets"], serde_json::json!([0, 16]));
    let metadata = json["__metadata__"].as_object().unwrap();
    assert!(metadata.values().all(serde_json::Value::is_string));
    assert_eq!(metadata["mechanism"], "laplace");
    assert_eq!(metadata["norm"], "l1");
    assert_eq!(bytes[8 + length..8 + length + 4], 1.0_f32.to_le_bytes());
}

/// Cut anywhere, or with something behind it, a file is refused with what was expected and found.
#[test]
fn a_file_of_any_other_length_is_refused() {
    let (keep, path) = folder();
    write(&path, &plain(2), &[1.0, 2.0, 3.0, 4.0], false);
    let whole = fs::read(&path).unwrap();
    let cut = keep.path().join("cut");
    for length in 0..whole.len() {
        fs::write(&cut, &whole[..length]).unwrap();
        let error = refused(&cut);
        if length >= 8 {
            says(&error, &["cut: expected", &format!("found {length};")]);
        }
    }
    fs::write(&cut, [&whole[..], &[0]].concat()).unwrap();
    let expected = format!("expected {} bytes", whole.len());
    says(
        &refused(&cut),
        &[&expected, &format!("found {}", whole.len() + 1)],
    );
    // A header that was never written.
    let mut zeroed = whole.clone();
    zeroed[..100].fill(0);
    fs::write(&cut, zeroed).unwrap();
    says(&refused(&cut), &["its header is empty"]);
}

#[test]
fn nothing_appears_before_a_writer_is_done() {
    let (keep, path) = folder();
    for path in [path.clone(), path.with_extension("npy")] {
        let mut writer = Writer::create(&path, &plain(2), false).unwrap();
        writer.push(&[1.0, 2.0]).unwrap();
        // As after a kill at this moment: a part, and it is no file of records.
        let part = names(keep.path());
        assert_eq!(part.len(), 1, "{part:?}");
        assert!(part[0].ends_with(".part"), "{part:?}");
        assert!(Privatised::load(&keep.path().join(&part[0])).is_err());
        drop(writer);
        assert_eq!(names(keep.path()), [""; 0]);
        let empty = Writer::create(&path, &plain(2), false).unwrap();
        says(&empty.finish().unwrap_err(), &["is empty"]);
        assert_eq!(names(keep.path()), [""; 0]);
    }
}

#[test]
fn files_are_replaced_only_where_that_is_asked_for() {
    let (keep, path) = folder();
    let npy_path = keep.path().join("noisy.npy");
    for (path, late) in [(&path, path.clone()), (&npy_path, header_path(&npy_path))] {
        write(path, &plain(2), &[1.0, 2.0], false);
        let error = Writer::create(path, &plain(2), false).err().unwrap();
        says(&error, &["exists already", "--force"]);
        write(path, &plain(1), &[5.0, 6.0, 7.0], true);
        let read = Privatised::load(path).unwrap();
        assert_eq!(read.values, [5.0, 6.0, 7.0]);
        fs::remove_file(path).unwrap();
        // One that comes while another is written.
        let _ = fs::remove_file(&late);
        let mut writer = Writer::create(path, &plain(2), false).unwrap();
        writer.push(&[1.0, 2.0]).unwrap();
        fs::write(&late, "somebody else's").unwrap();
        says(&writer.finish().unwrap_err(), &["exists already"]);
        assert_eq!(fs::read_to_string(&late).unwrap(), "somebody else's");
    }
    assert_eq!(names(keep.path()), ["noisy.npy.json", "noisy.safetensors"]);
}

/// A file with entries of the header replaced.
pub(crate) fn altered(path: &Path, from: &str, to: &str) -> PathBuf {
    let bytes = fs::read(path).unwrap();
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let text = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
    assert!(text.contains(from), "{from}: {text}");
    let text = text.replace(from, to);
    let altered = path.with_extension("altered");
    let length = (text.len() as u64).to_le_bytes();
    let body = &bytes[bytes.len() - 64..];
    fs::write(&altered, [&length[..], text.as_bytes(), body].concat()).unwrap();
    altered
}

/// A gzip file without a time, whose first bytes are a small number, and somebody's safetensors: no errors.
#[test]
fn files_of_others_have_no_header() {
    let (_keep, path) = good();
    let zipped = path.with_extension("gz");
    fs::write(&zipped, [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2]).unwrap();
    for other in [zipped, altered(&path, "sliver-privatised", "pt")] {
        assert_eq!(Header::read(&other).unwrap(), None);
        says(&refused(&other), &["no privatised records"]);
    }
}

#[test]
fn records_and_names_that_do_not_fit_are_refused() {
    let (keep, path) = folder();
    let mut writer = Writer::create(&path, &plain(2), false).unwrap();
    for (record, words) in [
        (&[1.0][..], "expected 2 finite values, found 1"),
        (&[1.0, f32::NAN], "finite"),
        (&[1.0, f32::INFINITY], "finite"),
    ] {
        says(&writer.push(record).unwrap_err(), &["record 0", words]);
    }
    let nowhere = Writer::create(&keep.path().join("none/a"), &plain(2), false);
    says(&nowhere.err().unwrap(), &["cannot write in the folder"]);
}

/// A header of a few bytes that claims a terabyte is known by the size of its file, before memory is asked for.
#[test]
fn what_a_header_claims_is_held_against_the_file_first() {
    let (_keep, path) = folder();
    write(&path, &plain(4), &[0.5; 16], false);
    let claims = |records: u64| {
        let path = altered(
            &path,
            "\"records\":\"4\"",
            &format!("\"records\":\"{records}\""),
        );
        let shape = format!("\"shape\":[{records},4]");
        let path = altered(&path, "\"shape\":[4,4]", &shape);
        let offsets = format!("\"data_offsets\":[0,{}]", u128::from(records) * 16);
        altered(&path, "\"data_offsets\":[0,64]", &offsets)
    };
    says(&refused(&claims(1 << 36)), &["expected 10995116", "bytes"]);
    assert!(Privatised::load(&claims(u64::MAX / 2)).is_err());
    let mut bytes = fs::read(&path).unwrap();
    bytes[..8].copy_from_slice(&(1_u64 << 23).to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    says(&refused(&path), &["expected 8388616 bytes"]);
}

#[test]
fn values_that_are_not_finite_are_refused_by_their_place() {
    let (_keep, path) = folder();
    write(&path, &plain(2), &[1.0, 2.0, 3.0, 4.0], false);
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    says(&refused(&path), &["record 1, value 1", "finite"]);
}

#[test]
fn an_array_alone_or_of_another_size_is_no_privatised_file() {
    let (keep, _) = folder();
    let path = keep.path().join("noisy.npy");
    write(&path, &plain(2), &[1.0, 2.0, 3.0, 4.0], false);
    let array = NpyArray {
        rows: 1,
        width: Some(2),
        values: vec![1.0, 2.0],
    };
    let whole = fs::read(&path).unwrap();
    npy::write(fs::File::create(&path).unwrap(), &array).unwrap();
    says(
        &refused(&path),
        &["noisy.npy.json", "records", "expected 1", "found 2"],
    );
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    says(
        &refused(&path),
        &["noisy.npy: expected 144 bytes", "found 143"],
    );
    fs::write(&path, &whole).unwrap();
    fs::write(header_path(&path), "{\"somebody\": \"else\"}").unwrap();
    assert_eq!(Header::read(&path).unwrap(), None);
    says(&refused(&path), &["there is no header in"]);
    fs::remove_file(header_path(&path)).unwrap();
    assert_eq!(Header::read(&path).unwrap(), None);
}

#[test]
fn a_request_that_differs_is_refused_with_both_values() {
    let header = header();
    assert!(header.check_request("f", &Wanted::default()).is_ok());
    let same = Wanted {
        mechanism: Some(NoiseKind::Gaussian),
        epsilon: Some(header.epsilon),
        keep: Some(3),
        label_weight: Some(0.5),
        ..Wanted::default()
    };
    assert!(header.check_request("f", &same).is_ok());
    type Change = fn(&mut Wanted);
    let cases: [(Change, [&str; 2]); 5] = [
        (
            |w| w.epsilon = Some(3.0),
            ["noisy: epsilon: 0.3", "3.0 is asked for"],
        ),
        (
            |w| w.mechanism = Some(NoiseKind::Laplace),
            ["\"gaussian\"", "\"laplace\" is asked for"],
        ),
        (|w| w.keep = Some(2), ["coefficients kept: 3", "but 2"]),
        (
            |w| w.label_weight = Some(2.0),
            ["label weight: 0.5", "but 2.0"],
        ),
        (
            |w| w.source_shape = Some([1, 28, 28]),
            ["source_shape: [2,2,2]", "[1,28,28]"],
        ),
    ];
    for (change, words) in cases {
        let mut wanted = Wanted::default();
        change(&mut wanted);
        says(&header.check_request("noisy", &wanted).unwrap_err(), &words);
    }
}

proptest! {
    // Each case writes to the disk.
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Numbers come back to the last bit.
    #[test]
    fn headers_come_back(
        numbers in prop::array::uniform4(1e-300_f64..1e300), delta in 1e-300_f64..1.0,
        classes in 0_usize..4, known in any::<bool>(),
    ) {
        let (_keep, path) = folder();
        let [epsilon, radius, noise_scale, weight] = numbers;
        let given = Header {
            epsilon,
            delta,
            radius,
            noise_scale,
            labels: match classes {
                0 => LabelEncoding::Dropped,
                classes => LabelEncoding::OneHot { weight, classes },
            },
            noise_seed: if known { NoiseSeed::Insecure } else { NoiseSeed::Secret },
            width: 6 + classes,
            ..header()
        };
        let written = write(&path, &given, &vec![0.25; 6 + classes], false);
        prop_assert_eq!(Header { records: 1, ..given }, written.clone());
        prop_assert_eq!(Privatised::load(&path).unwrap().header, written);
    }
}

//! NPY files against bytes that NumPy 2 wrote, and one case for each thing that can be wrong.

use data::DataError;
use data::npy::{self, NpyArray};
use proptest::prelude::*;

use crate::told;

/// A file of the version with this header, padded as NumPy pads it.
fn file(version: u8, header: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    let fixed = if version == 1 { 10 } else { 12 };
    let padding = (64 - (fixed + header.len() + 1) % 64) % 64;
    let header = format!("{header}{}\n", " ".repeat(padding));
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes.extend(body);
    bytes
}

fn header(descr: &str, order: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}")
}

fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn array(rows: usize, width: Option<usize>, values: &[f32]) -> NpyArray {
    let values = values.to_vec();
    NpyArray {
        rows,
        width,
        values,
    }
}

/// `numpy.save` of `[[1, 2.5], [-3, 0.125]]` as `<f4`, byte for byte.
#[test]
fn what_numpy_writes_is_what_is_written() {
    let expected = array(2, Some(2), &[1.0, 2.5, -3.0, 0.125]);
    let mut written = Vec::new();
    npy::write(&mut written, &expected).unwrap();
    let mut numpy =
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
            .to_vec();
    numpy.extend([b' '; 58]);
    numpy.push(b'\n');
    numpy.extend(b"\x00\x00\x80?\x00\x00 @\x00\x00@\xc0\x00\x00\x00>");
    assert_eq!(written, numpy);
    assert_eq!(npy::decode("x.npy", numpy.as_slice()).unwrap(), expected);
}

#[test]
fn versions_types_and_dimensions() {
    let bytes = [0, 7, 255];
    for version in [1, 2, 3] {
        let one = file(
            version,
            &header("<f8", "False", "(3,)"),
            &doubles(&[1.0, 2.0, 3.0]),
        );
        let found = npy::decode("x", one.as_slice()).unwrap();
        assert_eq!(found, array(3, None, &[1.0, 2.0, 3.0]));
        let two = file(version, &header("|u1", "False", "(1, 3)"), &bytes);
        let found = npy::decode("x", two.as_slice()).unwrap();
        assert_eq!(found, array(1, Some(3), &[0.0, 7.0, 255.0]));
    }
    // Whole numbers of any length.
    let whole = |descr, body: &[u8]| {
        let found = npy::decode(
            "x",
            file(1, &header(descr, "False", "(2,)"), body).as_slice(),
        );
        found.unwrap().values
    };
    for (descr, body) in [
        ("|i1", [-7_i8, 9].map(i8::to_le_bytes).concat()),
        ("<i2", [-7_i16, 9].map(i16::to_le_bytes).concat()),
        ("<i4", [-7_i32, 9].map(i32::to_le_bytes).concat()),
        ("<i8", [-7_i64, 9].map(i64::to_le_bytes).concat()),
    ] {
        assert_eq!(whole(descr, &body), [-7.0, 9.0], "{descr}");
    }
    // Keys in another order, as other programs write them.
    let text = "{'shape': (1,3), 'fortran_order': False, 'descr': '<f4'}";
    let found = npy::decode("x", file(1, text, &floats(&[1.0, 2.0, 3.0])).as_slice());
    assert_eq!(found.unwrap(), array(1, Some(3), &[1.0, 2.0, 3.0]));
}

fn refusal(bytes: &[u8]) -> String {
    told(&npy::decode("x.npy", bytes).unwrap_err())
}

#[test]
fn what_is_wrong_is_named_with_its_place_and_bound() {
    let body = floats(&[1.0, 2.0, 3.0, 4.0]);
    let good = file(1, &header("<f4", "False", "(2, 2)"), &body);
    let with = |descr: &str, order: &str, shape: &str| file(1, &header(descr, order, shape), &body);
    for (bytes, needles) in [
        (vec![], vec!["expected 6 bytes", "found 0"]),
        (
            b"PK\x03\x04 some".to_vec(),
            vec!["byte 0", "93 4e", "found others"],
        ),
        (b"\x93NUMPY\x04\x00".to_vec(), vec!["byte 6", "version 4.0"]),
        (good[..70].to_vec(), vec!["expected 128 bytes", "found 70"]),
        (
            good[..143].to_vec(),
            vec!["expected 144 bytes", "found 143"],
        ),
        (
            [good.as_slice(), &[0]].concat(),
            vec!["expected 144 bytes", "found more"],
        ),
        (
            with("<f4", "True", "(2, 2)"),
            vec!["byte 44", "C order", "True"],
        ),
        (
            with(">f4", "False", "(2, 2)"),
            vec!["byte 20", "<f8", ">f4"],
        ),
        (
            with("|O", "False", "(2,)"),
            vec!["text or of objects", "numpy.unique"],
        ),
        (with("<f4", "False", "()"), vec!["one or two dimensions"]),
        (
            with("<f4", "False", "(1, 2, 2)"),
            vec!["one or two dimensions"],
        ),
        (
            with("<f4", "False", "(-2, 2)"),
            vec!["one or two dimensions"],
        ),
        (
            with("<f4", "False", "(0, 2)"),
            vec!["1 to 17179869184 bytes"],
        ),
        (
            with("<f4", "False", "(2, 0)"),
            vec!["1 to 17179869184 bytes"],
        ),
        (
            with(
                "<f4",
                "False",
                "(18446744073709551615, 18446744073709551615)",
            ),
            vec!["1 to 17179869184 bytes"],
        ),
        (
            with("<f4", "False", "(1000000000,)"),
            vec!["expected 4000000128 bytes", "found 144"],
        ),
        (
            file(1, "{'descr': '<f4'}", &body),
            vec!["the key 'fortran_order'"],
        ),
        (
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
            vec!["at most 65536 bytes", "4294967295"],
        ),
    ] {
        let message = refusal(&bytes);
        for needle in needles {
            assert!(message.contains(needle), "'{needle}' is not in: {message}");
        }
        assert!(message.starts_with("x.npy"), "{message}");
    }
}

#[test]
fn values_that_are_not_finite_are_named_and_not_shown() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let bytes = file(
            1,
            &header("<f4", "False", "(2, 2)"),
            &floats(&[1.0, 2.0, 3.0, bad]),
        );
        let error = npy::decode("x.npy", bytes.as_slice()).unwrap_err();
        let place = "x.npy, row 1, column 1 (byte 140)";
        assert!(told(&error).contains(place), "{error}");
    }
    // Finite, but not for 32 bits.
    let bytes = file(1, &header("<f8", "False", "(2,)"), &doubles(&[1.0, 1e300]));
    assert!(refusal(&bytes).contains("row 1, column 0 (byte 136)"));
}

#[test]
fn a_file_that_is_not_there() {
    let error = npy::read(std::path::Path::new("/no/such/file.npy")).unwrap_err();
    assert!(matches!(error, DataError::Io { .. }));
}

#[test]
fn what_does_not_fit_is_not_written() {
    assert!(npy::write(Vec::new(), &array(2, Some(2), &[1.0])).is_err());
}

proptest! {
    #[test]
    fn what_was_written_is_read(rows in 1_usize..9, width in prop::option::of(1_usize..9), seed in any::<u32>()) {
        let count = rows * width.unwrap_or(1);
        let values: Vec<f32> = (0..count).map(|i| (seed as f32).mul_add(1e-3, i as f32)).collect();
        let expected = array(rows, width, &values);
        let mut written = Vec::new();
        npy::write(&mut written, &expected).unwrap();
        prop_assert_eq!(written.len() % 4, 0);
        prop_assert_eq!(npy::decode("x", written.as_slice()).unwrap(), expected);
        // No shorter file is read, and no byte of garbage ends the program.
        let cut = seed as usize % written.len();
        prop_assert!(npy::decode("x", &written[..cut]).is_err());
        written[cut] ^= 0x55;
        let _ = npy::decode("x", written.as_slice());
    }
}

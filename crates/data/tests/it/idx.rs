//! Gzip idx files: what is read, and each way in which a file is refused.

use data::{DataError, Records, idx};
use proptest::prelude::*;

use crate::published::gzip;

use crate::says;

fn header(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn images(words: &[u32], body: usize) -> Vec<u8> {
    let mut bytes = header(words);
    bytes.resize(bytes.len() + body, 7);
    gzip(&bytes)
}

fn labels(count: u32, labels: &[u8]) -> Vec<u8> {
    gzip(&[&header(&[0x801, count]), labels].concat())
}

fn image_error(bytes: &[u8]) -> DataError {
    idx::decode_images("pictures.gz", bytes).unwrap_err()
}

#[test]
fn a_good_file_is_read() {
    let read = idx::decode_images("f", &images(&[0x803, 2, 3, 4], 24)[..]).unwrap();
    assert_eq!((read.count, read.height, read.width), (2, 3, 4));
    assert_eq!(read.pixels, [7; 24]);
    let read = idx::decode_labels("f", &labels(3, &[0, 9, 4])[..]).unwrap();
    assert_eq!(read, [0, 9, 4]);
}

#[test]
fn a_wrong_magic_number_is_refused() {
    let error = image_error(&labels(30, &[1; 30]));
    assert!(matches!(error, DataError::File(_)));
    says(&error, &["pictures.gz", "0x00000803", "0x00000801"]);
    let error = idx::decode_labels("l", &images(&[0x803, 1, 1, 1], 1)[..]).unwrap_err();
    says(&error, &["found 0x00000803"]);
}

#[test]
fn a_short_file_is_refused() {
    let error = image_error(&images(&[0x803, 2, 3, 4], 23));
    assert!(matches!(error, DataError::File(_)));
    says(&error, &["pictures.gz", "40", "39"]);
    // The header itself is cut.
    let error = image_error(&images(&[0x803, 2], 0));
    says(&error, &["truncated: expected 16", "found 8"]);
}

#[test]
fn a_cut_gzip_stream_is_refused_wherever_it_is_cut() {
    let mut bytes = header(&[0x803, 3, 20, 20]);
    bytes.extend((0..1200_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8));
    let whole = gzip(&bytes);
    assert!(idx::decode_images("f", &whole[..]).is_ok());
    for length in 0..whole.len() {
        let error = image_error(&whole[..length]);
        assert!(
            matches!(error, DataError::File(_)),
            "cut at {length}: {error}"
        );
    }
}

#[test]
fn a_long_file_is_refused() {
    let error = image_error(&images(&[0x803, 2, 3, 4], 25));
    says(&error, &["oversized: expected 40 "]);
    says(&error, &["pictures.gz", "40"]);
    let error = idx::decode_labels("l", &labels(2, &[1, 2, 3])[..]).unwrap_err();
    says(&error, &["oversized: expected 10 "]);
}

#[test]
fn bytes_after_the_gzip_stream_are_refused() {
    let mut bytes = images(&[0x803, 1, 2, 2], 4);
    bytes.extend(b"more");
    assert!(matches!(image_error(&bytes), DataError::File(_)));
    // A second gzip member is more data.
    let mut bytes = images(&[0x803, 1, 2, 2], 4);
    bytes.extend(gzip(b"more"));
    assert!(matches!(image_error(&bytes), DataError::File(_)));
}

#[test]
fn a_bomb_is_not_unpacked() {
    // 64 MiB of zeros behind a header that promises 4 bytes: only one byte more is looked at.
    let mut bytes = header(&[0x803, 1, 2, 2]);
    bytes.resize(64 << 20, 0);
    says(
        &image_error(&gzip(&bytes)),
        &["oversized: expected 20 bytes"],
    );
}

#[test]
fn an_absurd_header_is_refused_before_anything_is_allocated() {
    for words in [
        [0x803, 0, 28, 28],
        [0x803, 1, 0, 28],
        [0x803, 1, 28, 0],
        [0x803, 1, 28, idx::MAX_SIDE + 1],
        [0x803, u32::MAX, u32::MAX, u32::MAX],
        [0x803, u32::MAX, 1, 1],
        [0x803, 1 << 20, 1 << 10, 1 << 10],
    ] {
        let error = image_error(&images(&words, 0));
        assert!(matches!(error, DataError::File(_)), "{words:?}: {error}");
        says(&error, &["pictures.gz", "promises", "expected"]);
    }
    // As many bytes as are allowed, but not there: nothing near a GiB may be set aside.
    let error = image_error(&images(&[0x803, 1 << 10, 1 << 10, 1 << 10], 5));
    says(&error, &["truncated", "found 21;"]);
    for count in [0, u32::MAX] {
        let error = idx::decode_labels("l", &labels(count, &[])[..]).unwrap_err();
        says(&error, &["promises", "expected 1 to"]);
    }
}

#[test]
fn what_is_not_gzip_is_refused() {
    let error = image_error(&header(&[0x803, 1, 1, 1]));
    assert!(matches!(error, DataError::File(_)));
    says(&error, &["pictures.gz", "1f 8b", "found others"]);
    says(&image_error(b""), &["an empty file"]);
    says(&image_error(b"\x1f"), &["found others"]);
}

#[test]
fn a_changed_byte_is_refused() {
    let good = images(&[0x803, 1, 2, 2], 4);
    let mut sum = good.clone();
    let crc = good.len() - 8;
    sum[crc] ^= 1;
    assert!(matches!(image_error(&sum), DataError::File(_)));
}

#[test]
fn a_label_that_is_no_digit_is_refused() {
    let error = idx::decode_labels("labels.gz", &labels(3, &[1, 10, 200])[..]).unwrap_err();
    assert!(matches!(error, DataError::Record(_)));
    says(&error, &["labels.gz", "label at index 1", "0 to 9"]);
}

#[test]
fn images_and_labels_must_be_as_many() {
    let folder = tempfile::tempdir().unwrap();
    let (pictures, names) = (folder.path().join("x.gz"), folder.path().join("y.gz"));
    std::fs::write(&pictures, images(&[0x803, 2, 1, 1], 2)).unwrap();
    std::fs::write(&names, labels(3, &[1, 2, 3])).unwrap();
    let error = Records::read_idx(&pictures, &names).unwrap_err();
    assert!(matches!(error, DataError::File(_)));
    says(&error, &["x.gz", "y.gz", "3 labels", "expected 2"]);
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nowhere.gz");
    let error = idx::read_images(&path).unwrap_err();
    assert!(matches!(error, DataError::Io { .. }));
    says(&error, &["nowhere.gz"]);
    says(&idx::read_labels(&path).unwrap_err(), &["nowhere.gz"]);
}

proptest! {
    /// What is written is read back.
    #[test]
    fn written_files_are_read_back(
        (height, width, labels) in (1_usize..6, 1_usize..6, prop::collection::vec(0_u8..10, 1..20)),
        fill in any::<u8>(),
    ) {
        let pixels = (0..labels.len() * height * width).map(|i| fill.wrapping_add(i as u8)).collect();
        let set = Records::new(pixels, labels, height, width, 10).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (x, y) = (folder.path().join("x.gz"), folder.path().join("y.gz"));
        idx::write_images(std::fs::File::create(&x).unwrap(), &set).unwrap();
        idx::write_labels(std::fs::File::create(&y).unwrap(), &set).unwrap();
        prop_assert_eq!(Records::read_idx(&x, &y).unwrap(), set);
    }

    /// No input makes the reader panic.
    #[test]
    fn any_bytes_are_read_or_refused(body in prop::collection::vec(any::<u8>(), 0..64), packed in any::<bool>()) {
        let bytes = if packed { gzip(&body) } else { body };
        let _ = idx::decode_images("f", &bytes[..]);
        let _ = idx::decode_labels("f", &bytes[..]);
    }
}

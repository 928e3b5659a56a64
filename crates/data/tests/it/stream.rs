//! Records in chunks are those that the readers of whole files give, and a source that was cut off is refused.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use data::idx::IdxStream;
use data::npy::NpyStream;
use data::stream::{First, InMemory, Labelled, Photographs, RecordStream, SyntheticGlyphs};
use data::table::CsvStream;
use data::{DataError, Glyphs, ImageFolder, LabelledImages, NpyArray, Schema, idx, npy};

use crate::published::gzip;

use crate::says;

/// All records, by chunks of at most `most`: none is larger, and behind the last there is nothing.
fn all(mut stream: impl RecordStream, most: usize) -> Result<(Vec<f32>, Vec<usize>), DataError> {
    let form = stream.form();
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    loop {
        let chunk = stream.next(most)?;
        if chunk.values.is_empty() {
            assert!(stream.next(most)?.values.is_empty());
            break;
        }
        let records = chunk.values.len() / form.width;
        assert!(records <= most && chunk.values.len() == records * form.width);
        assert_eq!(chunk.labels.len(), form.classes.map_or(0, |_| records));
        values.extend(chunk.values);
        labels.extend(chunk.labels);
    }
    if let Some(count) = form.count {
        assert_eq!(values.len() as u64, count * form.width as u64);
    }
    Ok((values, labels))
}

fn error(stream: Result<impl RecordStream, DataError>) -> DataError {
    stream.and_then(|stream| all(stream, 2)).unwrap_err()
}

fn glyphs() -> LabelledImages {
    Glyphs::generate(7, 3).unwrap()
}

fn values(images: &LabelledImages) -> Vec<f32> {
    let places: Vec<usize> = (0..images.len()).collect();
    images.gather(&places).unwrap()
}

fn labels(images: &LabelledImages) -> Vec<usize> {
    images.labels().iter().map(|&label| label.into()).collect()
}

fn unpacked(gzip: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(gzip);
    std::io::Read::read_to_end(&mut reader, &mut bytes).unwrap();
    bytes
}

#[test]
fn images_in_memory_drawn_and_on_disk_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let images = glyphs();
    let (mut image_bytes, mut label_bytes) = (Vec::new(), Vec::new());
    idx::write_images(&mut image_bytes, &images).unwrap();
    idx::write_labels(&mut label_bytes, &images).unwrap();
    let [i, l] = ["images", "labels"].map(|name| folder.path().join(name));
    let expected = (values(&images), labels(&images));
    for most in [1, 3, 7, 100] {
        fs::write(&l, &label_bytes).unwrap();
        for bytes in [image_bytes.clone(), unpacked(&image_bytes)] {
            fs::write(&i, bytes).unwrap();
            let stream = IdxStream::open(&i, Some(&l)).unwrap();
            assert_eq!(stream.form().shape, Some([1, 28, 28]));
            assert_eq!(all(stream, most).unwrap(), expected);
            let alone = IdxStream::open(&i, None).unwrap();
            assert_eq!(all(alone, most).unwrap(), (expected.0.clone(), Vec::new()));
        }
        assert_eq!(
            all(InMemory::images(Arc::new(images.clone())), most).unwrap(),
            expected
        );
        assert_eq!(all(SyntheticGlyphs::train(3, 7), most).unwrap(), expected);
        let first = First::new(SyntheticGlyphs::train(3, 1000), "glyphs", 7).unwrap();
        assert_eq!(all(first, most).unwrap(), expected);
    }
    let colour = LabelledImages::planes(vec![0; 6], vec![0], [3, 1, 2], 1).unwrap();
    let form = InMemory::images(Arc::new(colour)).form();
    assert_eq!((form.shape, form.width), (Some([3, 1, 2]), 6));
    let rows = InMemory::rows(2, vec![1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(all(rows, 1).unwrap().0, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn idx_files_that_were_cut_off_or_disagree_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [i, l] = ["images", "labels"].map(|name| folder.path().join(name));
    let (images, mut image_bytes) = (glyphs(), Vec::new());
    idx::write_images(&mut image_bytes, &images).unwrap();
    let plain = unpacked(&image_bytes);
    assert_eq!(plain.len(), 16 + 7 * 784);
    for length in [15, 16, 17, 16 + 784, plain.len() - 1] {
        let (expected, found) = (if length < 16 { 16 } else { plain.len() }, length);
        let words = [
            format!("expected {expected} bytes"),
            format!("found {found}"),
        ];
        for bytes in [plain[..length].to_vec(), gzip(&plain[..length])] {
            fs::write(&i, bytes).unwrap();
            says(
                &error(IdxStream::open(&i, None)),
                &words.each_ref().map(String::as_str),
            );
        }
    }
    fs::write(&i, &image_bytes[..image_bytes.len() / 2]).unwrap();
    says(
        &error(IdxStream::open(&i, None)),
        &["truncated: expected 5504"],
    );
    fs::write(&i, [&plain[..], &[0]].concat()).unwrap();
    says(
        &error(IdxStream::open(&i, None)),
        &["expected 5504", "found more"],
    );
    fs::write(&i, &plain).unwrap();
    fs::write(&l, [&[0, 0, 8, 1, 0, 0, 0, 6][..], &[0; 6]].concat()).unwrap();
    says(
        &error(IdxStream::open(&i, Some(&l))),
        &["holds 6 labels, expected 7"],
    );
    fs::write(
        &l,
        [&[0, 0, 8, 1, 0, 0, 0, 7][..], &[1, 2, 3, 4, 10, 6, 7]].concat(),
    )
    .unwrap();
    says(
        &error(IdxStream::open(&i, Some(&l))),
        &["index 4", "0 to 9"],
    );
    fs::write(&l, [&[0, 0, 8, 1, 0, 0, 0, 7][..], &[1, 2, 3]].concat()).unwrap();
    says(
        &error(IdxStream::open(&i, Some(&l))),
        &["labels: truncated: expected 15", "found 11"],
    );
}

fn save(path: &Path, width: usize, values: &[f32]) {
    let array = NpyArray {
        rows: values.len() / width,
        width: Some(width),
        values: values.to_vec(),
    };
    npy::write(fs::File::create(path).unwrap(), &array).unwrap();
}

#[test]
fn arrays_come_row_by_row_with_whatever_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.npy");
    let rows = [1.0, f32::INFINITY, 3.0, -4.0, 5.0, 6.0];
    save(&path, 2, &rows);
    for most in [1, 2, 9] {
        let read = all(NpyStream::open(&path).unwrap(), most).unwrap();
        assert_eq!(read.0, rows);
    }
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    says(
        &error(NpyStream::open(&path)),
        &["expected 152 bytes", "found 151"],
    );
    fs::write(&path, [&whole[..], &[0]].concat()).unwrap();
    says(
        &error(NpyStream::open(&path)),
        &["expected 152 bytes", "found more"],
    );
    fs::write(&path, &whole).unwrap();

    let open = || NpyStream::open(&path).unwrap();
    let label_path = folder.path().join("labels.npy");
    let labelled = |values: &[f32], width| {
        save(&label_path, width, values);
        let labels = NpyStream::open(&label_path)?;
        Labelled::new(open(), "rows.npy", labels, 3)
    };
    let read = all(labelled(&[2.0, 0.0, 1.0], 1).unwrap(), 2).unwrap();
    assert_eq!(read, (rows.to_vec(), vec![2, 0, 1]));
    says(
        &error(labelled(&[2.0, 0.0], 1)),
        &["holds 2 labels, expected 3"],
    );
    says(
        &error(labelled(&[2.0, 0.0, 3.0], 1)),
        &["labels.npy", "row 2", "0 to 2"],
    );
    says(&error(labelled(&[2.0, 0.0, 0.5], 1)), &["row 2"]);
    says(&error(labelled(&[2.0, 0.0, 0.0, 1.0], 2)), &["2 columns"]);
}

const SCHEMA: &str = r#"
missing = ["?"]
[[column]]
name = "x"
kind = "numeric"
min = 0
max = 10
missing = "drop"
[[column]]
name = "sex"
kind = "sensitive"
zero = ["F"]
one = ["M"]
[[column]]
name = "y"
kind = "label"
classes = [["no"], ["yes"]]
"#;

#[test]
fn tables_come_line_by_line_as_a_schema_encodes_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let schema = Schema::parse("schema", SCHEMA).unwrap();
    let open = || CsvStream::open(schema.clone(), &path);
    let text = "y,x,sex\nno,5,F\n\n\"yes\",?,M\r\n\"yes\",10,M\nno,0,F\n";
    fs::write(&path, text).unwrap();
    for most in [1, 2, 9] {
        let mut stream = open().unwrap();
        let form = stream.form();
        assert_eq!((form.width, form.classes, form.count), (1, Some(2), None));
        assert_eq!(
            all(open().unwrap(), most).unwrap(),
            (vec![0.5, 1.0, 0.0], vec![0, 1, 0])
        );
        while !stream.next(most).unwrap().values.is_empty() {}
        assert_eq!(stream.dropped(), 1);
    }
    // A sensitive column is none of the features, and need not be there.
    let (start, end) = (
        SCHEMA.find("[[column]]\nname = \"sex\"").unwrap(),
        SCHEMA.rfind("[[column]]").unwrap(),
    );
    let without = Schema::parse("schema", &[&SCHEMA[..start], &SCHEMA[end..]].concat()).unwrap();
    fs::write(&path, "y,x\nno,5\nyes,10\nno,0\n").unwrap();
    let found = all(CsvStream::open(without, &path).unwrap(), 2).unwrap();
    assert_eq!(found, (vec![0.5, 1.0, 0.0], vec![0, 1, 0]));
    fs::write(&path, text).unwrap();
    let whole = schema.decode("table.csv", text.as_bytes()).unwrap();
    assert_eq!(all(open().unwrap(), 2).unwrap().0, whole.table.features());
    // Cut off within the last number, within a line, and behind the names alone.
    fs::write(&path, text.trim_end_matches(",F\n")).unwrap();
    says(&error(open()), &["line 6", "no line break"]);
    fs::write(&path, text.trim_end()).unwrap();
    says(&error(open()), &["line 6", "no line break", "cut off"]);
    fs::write(&path, "y,x,sex\nno,5\n").unwrap();
    says(&error(open()), &["line 2", "2 fields, expected 3"]);
    fs::write(&path, "y,x,sex\n").unwrap();
    says(&error(open()), &["is empty"]);
    let first = open().and_then(|stream| First::new(stream, "table.csv", 3));
    says(&error(first), &["table.csv"]);
}

/// A lone carriage return ends a line too, however far the end of the text is.
#[test]
fn carriage_returns_end_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let schema = Schema::parse("schema", SCHEMA).unwrap();
    let text = String::from("y,x,sex\r") + &"no,5,F\ryes,10,M\r".repeat(2000);
    for text in [&text[..], text.trim_end()] {
        fs::write(&path, text).unwrap();
        let read = CsvStream::open(schema.clone(), &path).and_then(|stream| all(stream, 100));
        match text.ends_with('\r') {
            true => assert_eq!(read.unwrap().1, [0, 1].repeat(2000)),
            false => says(&read.unwrap_err(), &["cut off"]),
        }
    }
}

/// A quote that is never closed would take the rest of the file for one field.
#[test]
fn a_quote_that_is_not_closed_takes_no_more_than_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let mut text = b"y,x,sex\nno,5,F\nno,\"5".to_vec();
    text.resize(70 << 20, b'5');
    fs::write(&path, text).unwrap();
    let schema = Schema::parse("schema", SCHEMA).unwrap();
    says(
        &error(CsvStream::open(schema, &path)),
        &["line 3", "67108864 bytes"],
    );
}

#[test]
fn the_first_records_of_too_few_are_refused() {
    let name = "glyphs";
    for count in [0, 8] {
        let refused = First::new(SyntheticGlyphs::train(1, 7), name, count).err();
        says(&refused.unwrap(), &["glyphs", "1 to 7"]);
    }
}

#[test]
fn photographs_are_decoded_in_the_order_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    for (name, grey) in [("b.png", 255), ("a.png", 0), ("c.png", 51)] {
        let picture = image::RgbImage::from_pixel(5, 4, image::Rgb([grey; 3]));
        picture.save(folder.path().join(name)).unwrap();
    }
    let open = || Photographs::new(ImageFolder::scan(folder.path(), 2).unwrap());
    assert_eq!(open().form().shape, Some([3, 2, 2]));
    let expected = [[0.0; 12], [1.0; 12], [0.2; 12]].concat();
    assert_eq!(all(open(), 2).unwrap().0, expected);
    let cut = fs::read(folder.path().join("b.png")).unwrap();
    fs::write(folder.path().join("b.png"), &cut[..cut.len() / 2]).unwrap();
    says(&all(open(), 1).unwrap_err(), &["b.png", "cannot be read"]);
}

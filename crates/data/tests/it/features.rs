//! Tables as features, by a schema: what is read, what is dropped, and a file that was cut off is refused.

use std::fs;
use std::path::Path;

use data::{DataError, Found, Schema};

use crate::says;

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

fn features(path: &Path, first: Option<usize>) -> Result<Found, DataError> {
    let schema = Schema::parse("schema", SCHEMA).unwrap();
    schema.read_features(path, true, first)
}

#[test]
fn tables_are_read_as_a_schema_encodes_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("table.csv");
    let text = "y,x,sex\nno,5,F\n\n\"yes\",?,M\r\n\"yes\",10,M\nno,0,F\n";
    fs::write(path, text).unwrap();
    let found = features(path, None).unwrap();
    assert_eq!(found.records.values().unwrap(), [0.5, 1.0, 0.0]);
    assert_eq!(
        (found.records.labels(), found.classes.len()),
        (&[0, 1, 0][..], 2)
    );
    assert_eq!((found.skipped.len(), found.skipped[0].count), (1, 1));
    let schema = Schema::parse("schema", SCHEMA).unwrap();
    let whole = schema.decode("table.csv", text.as_bytes()).unwrap();
    assert_eq!(found.records.values().unwrap(), whole.table.features());
    let first = features(path, Some(2)).unwrap().records;
    assert_eq!(
        (first.values().unwrap(), first.labels()),
        (vec![0.5, 1.0], &[0, 1][..])
    );
    for count in [0, 4] {
        says(
            &features(path, Some(count)).unwrap_err(),
            &["table.csv", &count.to_string()],
        );
    }
    let unread = schema.read_features(path, false, None).unwrap();
    assert_eq!(
        (unread.records.labels(), unread.classes.len()),
        (&[0; 3][..], 0)
    );
    // A sensitive column is none of the features, and need not be there.
    let (start, end) = (
        SCHEMA.find("[[column]]\nname = \"sex\"").unwrap(),
        SCHEMA.rfind("[[column]]").unwrap(),
    );
    let without = Schema::parse("schema", &[&SCHEMA[..start], &SCHEMA[end..]].concat()).unwrap();
    fs::write(path, "y,x\nno,5\nyes,10\nno,0\n").unwrap();
    let found = without.read_features(path, true, None).unwrap().records;
    assert_eq!(
        (found.values().unwrap(), found.labels()),
        (vec![0.5, 1.0, 0.0], &[0, 1, 0][..])
    );
    // Cut off within the last number, within a line, and behind the names alone.
    for (text, words) in [
        (
            text.trim_end_matches(",F\n"),
            &["line 6", "no line break"][..],
        ),
        (text.trim_end(), &["line 6", "no line break", "cut off"]),
        ("y,x,sex\nno,5\n", &["line 2", "2 fields, expected 3"]),
        ("y,x,sex\n", &["is empty"]),
    ] {
        fs::write(path, text).unwrap();
        says(&features(path, None).unwrap_err(), words);
    }
}

/// A lone carriage return ends a line too, however far the end of the text is.
#[test]
fn carriage_returns_end_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let text = String::from("y,x,sex\r") + &"no,5,F\ryes,10,M\r".repeat(2000);
    for text in [&text[..], text.trim_end()] {
        fs::write(&path, text).unwrap();
        let found = features(&path, None);
        match text.ends_with('\r') {
            true => assert_eq!(found.unwrap().records.labels(), [0, 1].repeat(2000)),
            false => says(&found.err().unwrap(), &["cut off"]),
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
    let words = ["line 3", "67108864 bytes"];
    says(&features(&path, None).unwrap_err(), &words);
}

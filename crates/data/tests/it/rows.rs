//! Rows of numbers from every kind of file, and what is wrong with them.

use std::fs::{File, write};

use data::npy::{self, NpyArray};
use data::{LabelledImages, Rows, idx};

use crate::told;

#[test]
fn every_kind_of_file_gives_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let expected = Rows::new("x", 2, vec![1.0, 2.5, -3.0, 0.125]).unwrap();
    let array = NpyArray {
        rows: 2,
        width: Some(2),
        values: expected.values().to_vec(),
    };
    npy::write(File::create(place("a.npy")).unwrap(), &array).unwrap();
    write(place("a.csv"), "x;y\r\n1;2.5\r\n\r\n-3;0.125\r\n").unwrap();
    write(place("a.txt"), "1 2.5\n -3\t1.25e-1").unwrap();
    for name in ["a.npy", "a.csv", "a.txt"] {
        assert_eq!(Rows::read(&place(name), 8).unwrap(), expected, "{name}");
    }
    let images = LabelledImages::new(vec![0, 51, 102, 255], vec![0], 2, 2, 10).unwrap();
    idx::write_images(File::create(place("i.gz")).unwrap(), &images).unwrap();
    let mut plain = vec![0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2];
    plain.extend([0, 51, 102, 255]);
    write(place("i-idx3-ubyte"), &plain).unwrap();
    for name in ["i.gz", "i-idx3-ubyte"] {
        let rows = Rows::read(&place(name), 8).unwrap();
        assert_eq!((rows.count(), rows.width()), (1, 4), "{name}");
        assert_eq!(rows.values(), [0.0, 0.2, 0.4, 1.0], "{name}");
        assert_eq!(rows.norm_upper(), Some(2.0), "{name}");
    }
    write(place("short-idx3-ubyte"), &plain[..19]).unwrap();
    let refused = Rows::read(&place("short-idx3-ubyte"), 8).unwrap_err();
    let refused = told(&refused);
    assert!(
        refused.contains("expected 20") && refused.contains("found 19"),
        "{refused}"
    );
    write(place("nothing"), "hello").unwrap();
    assert!(Rows::read(&place("nothing"), 8).is_err());
    assert!(Rows::read(&place("absent"), 8).is_err());
}

#[test]
fn a_bad_line_is_named_and_not_shown() {
    for (text, needle) in [
        ("1,2\n3\n", "line 2: 1 fields, expected 2"),
        ("a,b\n1,2\n3,4,5\n", "line 3: 3 fields, expected 2"),
        ("1,2\n3,x7\n", "line 2, column 2: expected a finite number"),
        ("1,inf\n", "line 1, column 2: expected a finite number"),
        ("1,\n", "line 1, column 2: expected a finite number"),
        ("a,b\n", "is empty"),
        ("", "is empty"),
    ] {
        let error = Rows::decode_csv("f.csv", text.as_bytes()).unwrap_err();
        let refused = told(&error);
        assert!(refused.contains(needle), "{refused}");
        assert!(!format!("{error} {error:?}").contains("x7"), "{error}");
    }
}

//! Features of files: what is refused, and by what name.

use data::split::Records;
use data::{LabelledFeatures, NpyArray, npy};

use crate::told;

fn csv(text: &str) -> Result<LabelledFeatures, String> {
    LabelledFeatures::decode_csv("f.csv", text.as_bytes(), 2, 3).map_err(|e| told(&e))
}

fn array(width: usize, values: Vec<f32>) -> Result<LabelledFeatures, String> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("f.npy");
    let rows = values.len() / width;
    let width = Some(width);
    let array = NpyArray {
        rows,
        width,
        values,
    };
    npy::write(std::fs::File::create(&path).unwrap(), &array).unwrap();
    LabelledFeatures::read(&path, 2, 3).map_err(|e| told(&e))
}

#[test]
fn both_formats_hold_the_same_records() {
    let text = csv("1, 2, 0\r\n\n3,4.5,2").unwrap();
    let binary = array(3, vec![1.0, 2.0, 0.0, 3.0, 4.5, 2.0]).unwrap();
    assert_eq!(text, binary);
    assert_eq!(text.sha256().unwrap(), binary.sha256().unwrap());
    assert_eq!(
        (text.width(), text.classes(), text.labels()),
        (2, 3, &[0, 2][..])
    );
}

#[test]
fn what_is_no_record_is_refused_with_its_place_and_bound() {
    for (text, parts) in [
        ("1,2,0\n1,2\n", ["line 2", "2 fields", "expected 3"]),
        ("1,2,0\n1,nan,0\n", ["line 2", "column 2", "finite"]),
        ("1,inf,0\n", ["line 1", "column 2", "finite"]),
        ("1,2,3\n", ["line 1", "column 3", "from 0 to 2"]),
        ("1,2,0.5\n", ["line 1", "column 3", "from 0 to 2"]),
        ("1,2,-1\n", ["line 1", "column 3", "from 0 to 2"]),
        ("\n", ["f.csv", "empty", "at least 1"]),
    ] {
        let refusal = csv(text).unwrap_err();
        assert!(parts.iter().all(|part| refusal.contains(part)), "{refusal}");
    }
    for (width, values, parts) in [
        (4, vec![0.0; 8], ["f.npy", "4 columns", "3 columns"]),
        (
            3,
            vec![0.0, 0.0, 0.0, 0.0, 0.0, 7.0],
            ["row 1", "column 2", "from 0 to 2"],
        ),
        (3, vec![0.0, f32::NAN, 0.0], ["row 0", "column 1", "finite"]),
    ] {
        let refusal = array(width, values).unwrap_err();
        assert!(parts.iter().all(|part| refusal.contains(part)), "{refusal}");
    }
}

//! USPS: the text format, and the published files where `SLIVER_DATA` names a folder that holds them.

use data::{DataError, Dataset, DatasetKind, LoadOptions, usps};

use crate::published::gzip;

use crate::told;

/// A line with the label and one grey value everywhere.
fn line(label: &str, value: &str) -> String {
    format!("{label}{}", format!(" {value}").repeat(256))
}

fn decode(text: &str) -> Result<data::Records, DataError> {
    usps::decode("usps/zip.gz", &gzip(text.as_bytes()), 16)
}

fn refused(text: &str) -> DataError {
    decode(text).unwrap_err()
}

#[test]
fn both_spellings_are_read() {
    let text = [
        line("6.0000", "-1.0000"),
        line("9", "1 ").replace("  ", " "),
        line("0", "0"),
    ];
    for end in ["", "\n", "\n\n", "\r\n"] {
        let set = decode(&(text.join("\n") + end)).unwrap();
        assert_eq!(
            (set.len(), set.height(), set.width(), set.classes()),
            (3, 16, 16, 10)
        );
        assert_eq!(set.labels(), [6, 9, 0]);
        for (index, grey) in [0, 255, 128].into_iter().enumerate() {
            assert_eq!(*set.image_bytes(index).unwrap(), [grey; 256]);
        }
    }
}

#[test]
fn rows_run_from_left_to_right_and_are_enlarged() {
    let mut text = line("1", "-1");
    text.replace_range(text.len() - 2.., "1");
    let set = decode(&text).unwrap();
    assert_eq!(
        set.pixels().unwrap().iter().rposition(|&p| p == 255),
        Some(255)
    );
    assert_eq!(set.pixels().unwrap().iter().filter(|&&p| p > 0).count(), 1);
    let large = usps::decode("f", &gzip(text.as_bytes()), 28).unwrap();
    assert_eq!(large, set.resize(28, 28).unwrap());
    assert_eq!(large.image_bytes(0).unwrap()[783], 255);
}

#[test]
fn bad_lines_are_named() {
    let good = line("3", "0.5");
    let error = refused(&format!("{good}\n{good} 0\n"));
    let message = told(&error);
    assert!(
        message.contains("line 2: 258 fields, expected 257"),
        "{message}"
    );
    let error = refused(&format!("{good}\n\n3 0 0"));
    assert!(told(&error).contains("line 3: 3 fields"), "{error}");
    for label in ["10", "-1", "1.5", "nan", "x"] {
        let message = told(&refused(&line(label, "0")));
        assert!(
            message.contains("usps/zip.gz, line 1, column label"),
            "{message}"
        );
        assert!(message.contains("0 to 9"));
    }
    for value in ["1.001", "-2", "inf", "NaN", "x"] {
        let mut text = line("3", "0");
        text.replace_range(text.len() - 1.., value);
        let message = told(&refused(&format!("{good}\n{text}")));
        assert!(message.contains("line 2, column pixel 255"), "{message}");
        assert!(message.contains("-1 to 1"));
    }
    let bytes = gzip(&[good.as_bytes(), b"\n\xff\n"].concat());
    let error = usps::decode("f", &bytes, 16).unwrap_err();
    assert!(told(&error).contains("line 2: not text"), "{error}");
    assert!(matches!(decode("\n\n").unwrap_err(), DataError::Request(_)));
}

#[test]
fn other_files_are_refused() {
    let error = usps::decode("f", b"3 0 0", 16).unwrap_err();
    assert!(told(&error).contains("gzip"), "{error}");
    let bytes = gzip(line("3", "0").as_bytes());
    let error = usps::decode("f", &bytes[..bytes.len() - 9], 16).unwrap_err();
    assert!(told(&error).contains("corrupt"), "{error}");
    let error = usps::decode("f", &bytes, 0).unwrap_err();
    assert!(matches!(error, DataError::Request(_)), "{error}");
}

/// Counts and means: `zip.info.txt` of the published files, and numpy on them.
#[test]
fn the_published_files_are_what_they_are_known_to_be() {
    let Some(folder) = test_support::data_folder() else {
        return;
    };
    let options = LoadOptions {
        mirrors: Some(vec![]),
        ..Default::default()
    };
    let set = Dataset::load(DatasetKind::Usps, &options).unwrap();
    let train = [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644];
    let test = [359, 264, 198, 166, 200, 160, 170, 147, 166, 177];
    assert_eq!(set.train.class_sizes(), train);
    assert_eq!(set.test.class_sizes(), test);
    assert_eq!((set.train.height(), set.train.width()), (28, 28));
    let path = folder.join("usps/zip.train.gz");
    let small = usps::decode("f", &std::fs::read(path).unwrap(), 16).unwrap();
    let mean = small
        .pixels()
        .unwrap()
        .iter()
        .map(|&p| f64::from(p))
        .sum::<f64>()
        / small.pixels().unwrap().len() as f64;
    // -0.4910 in [-1, 1].
    assert!((mean / 255.0 * 2.0 - 1.0 + 0.4910).abs() < 5e-4, "{mean}");

    let few = LoadOptions {
        train: Some(10),
        test: Some(5),
        ..options
    };
    let few = Dataset::load(DatasetKind::Usps, &few).unwrap();
    assert_eq!((few.train.len(), few.test.len()), (10, 5));
}

//! Drafts of schemas: what is guessed of a file, and that the file is read by its draft.

use data::{DataError, Schema};
use proptest::prelude::*;
use test_support::data_folder;

use crate::says;

/// 120 people: more different notes than a category has levels.
fn people() -> String {
    let mut text = String::from("name;age;zip;score;gain;born;seen;well;sex;empty;flag\n");
    for i in 0..120 {
        let sex = ["F", "M", "NA"][i % 3];
        let (age, gain) = (17 + i % 72, if i % 2 == 0 { 0 } else { 1000 * i });
        text += &format!(
            "person {i};{age};0{};{:.2};{gain};19{}-03-0{};2021-05-06 07:{:02};{};{sex};?;{}\n",
            1000 + i % 7,
            i as f64 / 100.0 - 0.5,
            50 + i % 40,
            1 + i % 9,
            i % 60,
            ["Yes", "No"][i % 2],
            i % 2,
        );
    }
    text
}

#[test]
fn a_draft_says_what_a_file_holds() {
    let text = Schema::draft("people.csv", people().as_bytes(), None).unwrap();
    says(
        &text,
        &["IT HAS SEEN THE RECORDS", "public = true", "people.csv"],
    );
    for block in [
        "delimiter = \";\"\nheader = true\nmissing = [\"?\", \"NA\"]\n",
        "name = \"name\"\nkind = \"ignore\" # text: more than 100 different values\n\n",
        "name = \"age\"\nkind = \"integer\"\nmin = 10\nmax = 90\noutside = \"clamp\"\npublic = false\n",
        "name = \"zip\"\nkind = \"categorical\"\nlevels = [\"01000\", \"01001\",",
        "name = \"score\"\nkind = \"numeric\"\nmin = -1.0\nmax = 1.0\ndecimals = 2\noutside",
        "name = \"gain\"\nkind = \"integer\"\nmin = 0\nmax = 200000\nspecial = [0]\noutside",
        "name = \"born\"\nkind = \"date\"\nmin = \"1950-01-01\"\nmax = \"1989-12-31\"\noutside",
        "name = \"seen\"\nkind = \"datetime\"\nmin = \"2021-01-01T00:00\"\nmax = \"2021-12-31T23:59\"\noutside",
        "name = \"well\"\nkind = \"boolean\"\nzero = [\"No\"]\none = [\"Yes\"]\npublic = false\n",
        "name = \"sex\"\nkind = \"categorical\"\nlevels = [\"F\", \"M\"]\nmissing = \"level\"\npublic = false\n",
        "name = \"empty\"\nkind = \"ignore\" # nothing but missing values\n",
        "name = \"flag\"\nkind = \"boolean\"\nzero = [\"0\"]\none = [\"1\"]\n",
    ] {
        assert!(text.contains(block), "{block}\nin\n{text}");
    }
    let schema = Schema::parse("people.toml", &text).unwrap();
    assert_eq!(schema.unconfirmed().len(), 9);
    assert_eq!(schema.label(), None);
    let table = schema
        .coded_bytes("people.csv", people().as_bytes())
        .unwrap();
    assert_eq!((table.rows, table.columns, table.clamped), (120, 9, 0));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.csv");
    std::fs::write(&path, people()).unwrap();
    assert_eq!(
        Schema::draft_of(&path, None)
            .unwrap()
            .split_once('\n')
            .unwrap()
            .1,
        text.split_once('\n').unwrap().1
    );
    let confirmed = Schema::of_public(&path).unwrap();
    let confirmed = Schema::parse("people.csv", &confirmed).unwrap();
    assert!(confirmed.unconfirmed().is_empty());
    assert_eq!(confirmed.code_columns(), schema.code_columns());
}

#[test]
fn a_draft_has_the_label_that_was_asked_for() {
    let draft = |label| Schema::draft("people.csv", people().as_bytes(), Some(label));
    for (label, block) in [
        (
            "well",
            "kind = \"label\"\nclasses = [[\"No\"], [\"Yes\"]]\n",
        ),
        (
            "sex",
            "kind = \"label\"\nclasses = [[\"F\"], [\"M\"]]\nmissing = \"level\"\n",
        ),
        (
            "score",
            "kind = \"label\"\nmin = -1.0\nmax = 1.0\ndecimals = 2\n",
        ),
        (
            "age",
            "kind = \"label\"\nmin = 10\nmax = 90\ndecimals = 0\n",
        ),
    ] {
        let text = draft(label).unwrap();
        assert!(text.contains(block), "{block}\nin\n{text}");
        let schema = Schema::parse("t", &text).unwrap();
        assert_eq!(schema.code_columns()[schema.label().unwrap()].name, label);
    }
    for label in ["name", "born", "empty"] {
        says(
            &draft(label).unwrap_err(),
            &[&format!("label '{label}'"), "categories"],
        );
    }
    // The first line may be a record.
    let error = draft("income").unwrap_err().to_string();
    assert!(
        error.contains("label 'income'") && !error.contains("zip"),
        "{error}"
    );
    let numbered = Schema::draft("f", b"y,x\n10,a\n9,b\n1,c\n", Some("y")).unwrap();
    assert!(
        numbered.contains("classes = [[\"1\"], [\"9\"], [\"10\"]]"),
        "{numbered}"
    );
}

#[test]
fn files_are_recognised_or_refused() {
    let bare = Schema::draft("f", b"1,a\n2,b\n", None).unwrap();
    assert!(
        bare.contains("header = false") && bare.contains("name = \"column2\""),
        "{bare}"
    );
    let tabs = Schema::draft("f", b"\xef\xbb\xbfx\ty\r\n1,5\t2,5\r\n", None).unwrap();
    assert!(
        tabs.contains("delimiter = \"\\t\"") && tabs.contains("name = \"x\""),
        "{tabs}"
    );
    for (bytes, words) in [
        (&b""[..], "empty"),
        (b"a,b\n", "empty"),
        (b"a,b\n1,2\n1\n", "line 3: 1 fields, expected 2"),
        (b"a,\n1,2\n", "field 2 is empty"),
        (b"a,a\n1,2\n", "field 2 is the name of another column"),
        (b"a,b\n1,\xe9\n", "line 2: not text in UTF-8"),
    ] {
        let error = Schema::draft("f.csv", bytes, None).unwrap_err();
        says(&error, &["f.csv", words]);
        assert!(!matches!(error, DataError::Io { .. }));
    }
}

#[test]
fn adult_is_read_by_its_draft() {
    let Some(folder) = data_folder() else {
        return;
    };
    let path = folder.join("adult/adult.data");
    let schema = Schema::of_public(&path).unwrap();
    let schema = Schema::parse("adult.data", &schema).unwrap();
    let table = schema.coded(&path).unwrap();
    assert_eq!((table.rows, table.columns, table.clamped), (32_561, 15, 0));
    let sizes: Vec<usize> = schema
        .code_columns()
        .iter()
        .map(|c| c.codes.len())
        .collect();
    assert_eq!((sizes[1], sizes[3], sizes[9], sizes[13]), (9, 16, 2, 42));
}

proptest! {
    /// Whatever a file holds, it is refused or read by its draft, with nothing outside.
    #[test]
    fn a_file_is_read_by_its_draft(
        rows in prop::collection::vec(
            (
                prop_oneof!["-?[0-9]{1,17}", "[a-c]", Just("NA".to_string())],
                prop_oneof!["-?[0-9]{1,4}\\.[0-9]{0,9}", "[0-9]e-?[0-9]{1,3}"],
                "(19|20)[0-9]{2}-0[1-9]-[12][0-8]",
                "[ -~é]{0,6}",
            ),
            1..30,
        ),
    ) {
        let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut text = String::from("a,b,c,d\n");
        for (a, b, c, d) in &rows {
            text += &format!("{a},{b},{c},{}\n", quote(d));
        }
        let Ok(draft) = Schema::draft("f", text.as_bytes(), None) else {
            return Err(TestCaseError::fail(text));
        };
        let schema = Schema::parse("f", &draft);
        prop_assert!(schema.is_ok(), "{:?}\n{}", schema, draft);
        let table = schema.unwrap().coded_bytes("f", text.as_bytes());
        prop_assert!(table.is_ok(), "{:?}\n{}\n{}", table, draft, text);
        prop_assert_eq!(table.unwrap().clamped, 0, "{}\n{}", draft, text);
    }
}

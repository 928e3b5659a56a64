//! CSV files by a schema: what no message says, and what holds of any lines. `read` and `refused` have the cases.

use data::{DataError, GroupedTable, Missing, Schema};
use proptest::prelude::*;

use crate::{says, told};

const SCHEMA: &str = r#"
comment = "|"
missing = ["?", ""]
[[column]]
name = "age"
kind = "numeric"
min = 10
max = 20.0
[[column]]
name = "colour"
kind = "categorical"
levels = ["red", "green", "light blue"]
missing = "level"
[[column]]
name = "side"
kind = "categorical"
levels = ["left", "right"]
zero = ["left"]
one = ["right"]
missing = "drop"
[[column]]
name = "id"
kind = "ignore"
[[column]]
name = "sex"
kind = "sensitive"
zero = ["F", "female"]
one = ["M"]
[[column]]
name = "income"
kind = "label"
classes = [["low", "low."], ["high", "high."]]
"#;

const HEADER: &str = "age,colour,side,id,sex,income\n";
const GOOD: &str = "10,red,left,a,F,low\n 15 , light blue,right,,M, high.\n";

fn schema() -> Schema {
    Schema::parse("toy.toml", SCHEMA).unwrap()
}

fn read(schema: &Schema, lines: &str) -> Result<GroupedTable, DataError> {
    let text = format!("{HEADER}{lines}");
    Ok(schema.decode("toy.csv", text.as_bytes())?.table)
}

/// A private record has no place in a message: wherever a field is wrong, what it holds is left out.
#[test]
fn no_message_quotes_a_record() {
    let secret = "123.456789";
    for column in [0, 1, 2, 4, 5] {
        let mut fields = ["12", "red", "left", "a", "F", "low"];
        fields[column] = secret;
        for rule in [Missing::Refuse, Missing::Drop, Missing::Level] {
            let lines = format!("{GOOD}{}\n", fields.join(","));
            let error = read(&schema().with_missing(rule), &lines).unwrap_err();
            says(&error, &["line 4, column"]);
            assert!(!format!("{error} {error:?}").contains(secret), "{error:?}");
        }
    }
    // The first record of a file whose header is missing, and a quote that swallows the rest.
    for text in [
        format!("{secret},red,left,a,F,low\n"),
        format!("{HEADER}{GOOD}12,red,left,,F,\"low\n{secret},red,left,a,F,low\n"),
        format!("{HEADER}{GOOD}{secret},red\n"),
    ] {
        let error = schema().decode("toy.csv", text.as_bytes()).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(secret), "{error:?}");
    }
}

/// As spreadsheets write it: a byte order mark, other line breaks, quotes, tabs.
#[test]
fn the_form_of_a_file_changes_nothing() {
    let expected = read(&schema(), GOOD).unwrap();
    let text = format!("{HEADER}{GOOD}");
    let marked = format!("\u{feff}{text}").replace('\n', "\r\n");
    for (head, text) in [
        ("", marked.replace("red", "\"red\"")),
        ("header = false\n", GOOD.into()),
        ("delimiter = \"\\t\"\n", text.replace(',', "\t")),
    ] {
        let schema = Schema::parse("toy.toml", &format!("{head}{SCHEMA}")).unwrap();
        let read = schema.decode("toy.csv", text.as_bytes()).unwrap();
        assert_eq!(read.table, expected);
    }
}

#[test]
fn what_cannot_be_opened_or_is_no_text_is_refused() {
    let missing = schema().read_csv("no/such/file.csv".as_ref()).unwrap_err();
    assert!(matches!(missing, DataError::Io { .. }));
    let missing = Schema::read("no/such/file.toml".as_ref()).unwrap_err();
    says(&missing, &["file.toml"]);
    let latin = [HEADER.as_bytes(), b"\n12,\xff,left,,F,low\n"].concat();
    let draft = Schema::draft("toy.csv", &latin, None).unwrap_err();
    for error in [schema().decode("toy.csv", &latin).unwrap_err(), draft] {
        says(&error, &["toy.csv, line 3: not text in UTF-8"]);
    }
}

/// Only a table of groups asks for a feature.
#[test]
fn groups_and_labels_alone_are_no_table_of_groups() {
    let label = SCHEMA.find("[[column]]\nname = \"sex\"").unwrap();
    let schema = Schema::parse("toy.toml", &SCHEMA[label..]).unwrap();
    let text = b"sex,income\nF,low\nM,high\n";
    says(&schema.decode("f", text).unwrap_err(), &["toy.toml"]);
    assert_eq!(schema.coded_bytes("f", text).unwrap().rows, 2);
}

#[test]
fn another_column_can_be_sensitive() {
    let by_side = schema().with_sensitive("side").unwrap();
    assert_eq!(by_side.sensitive(), Some("side"));
    assert_eq!(by_side.with_sensitive("sex").unwrap(), schema());
    for name in ["colour", "age", "nothing"] {
        let error = schema().with_sensitive(name).unwrap_err();
        says(&error, &["toy.toml", &format!("'{name}'"), "side, sex"]);
    }
}

proptest! {
    /// Whatever a line, features within [0, 1].
    #[test]
    fn numbers_outside_their_range_are_refused_or_clamped(
        ages in prop::collection::vec(prop_oneof![-1e6..1e6_f64, 10.0..20.0_f64], 2..40),
        seed in any::<u32>(),
    ) {
        let clamp = SCHEMA.replacen("max = 20.0", "max = 20.0\noutside = \"clamp\"", 1);
        let clamp = Schema::parse("toy.toml", &clamp).unwrap();
        let mut lines = String::new();
        for (index, age) in ages.iter().enumerate() {
            let pick = (seed as usize).wrapping_mul(31).wrapping_add(index * 7);
            let colour = ["red", "green", "light blue", "?"][pick % 4];
            let sex = ["F", "M"][index % 2];
            lines += &format!("{age},{colour},left,,{sex},low\n");
        }
        let table = read(&clamp, &lines).unwrap();
        prop_assert_eq!(table.len(), ages.len());
        prop_assert!(table.features().iter().all(|value| (0.0..=1.0).contains(value)));
        for (index, age) in ages.iter().enumerate() {
            let row = table.row(index).unwrap();
            prop_assert_eq!(row[0], ((age.clamp(10.0, 20.0) - 10.0) / 10.0) as f32);
            prop_assert_eq!(row[1..5].iter().sum::<f32>(), 1.0);
        }
        let inside = ages.iter().all(|age| (10.0..=20.0).contains(age));
        prop_assert_eq!(read(&schema(), &lines).is_ok(), inside);
    }

    /// The number of a line is that of an editor: with blank lines, comments, breaks inside quotes, either kind of line break, and
    /// whether or not the last one has one.
    #[test]
    fn the_line_at_fault_is_named(
        before in prop::collection::vec(
            prop::sample::select(vec!["", " ", "| x", "10,red,left,,F,low", "12,red,left,\"a\n\nb\",F,low"]), 0..20,
        ),
        end in prop::sample::select(vec!["\n", "\r\n"]),
        ends in any::<bool>(),
    ) {
        let text = format!("{HEADER}{}\n10,red,left,,F,wrong", before.join("\n"));
        let number = format!("line {},", text.lines().count());
        let text = text + if ends { "\n" } else { "" };
        let error = schema().decode("toy.csv", text.replace('\n', end).as_bytes());
        let error = told(&error.unwrap_err());
        prop_assert!(error.contains(&number), "{} in {}", number, error);
    }
}

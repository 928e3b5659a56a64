//! `synth` of a table whose ranges and categories the schema leaves out: a share of the budget finds them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{Ran, done, folder, json, number, refusal, refuses, says, sliver, text};
use crate::synth::{first_release, is_near_its_bound};
use crate::synth_table::command;

const SCHEMA: &str = r#"missing = [""]

[[column]]
name = "patient"
kind = "ignore"

[[column]]
name = "age"
kind = "integer"
public = true

[[column]]
name = "seen"
kind = "date"
public = true

[[column]]
name = "ward"
kind = "categorical"
missing = "level"
public = true

[[column]]
name = "ill"
kind = "label"
classes = [["no"], ["yes"]]
public = true
"#;

/// Records of patients with two visits each; a ward with one record, and one without a ward.
fn people(home: &Path, records: usize, last: &str) -> (PathBuf, PathBuf) {
    let mut csv = String::from("patient,age,seen,ward,ill\n");
    for i in 0..records {
        let ward = match i {
            5 => "secret ward",
            6 => "",
            i => ["east", "\"west, new\"", "north"][i % 3],
        };
        let (age, ill) = (20 + (i * 37) % 60, ["no", "yes"][i % 2]);
        csv += &format!(
            "p{},{age},2019-{:02}-{:02},{ward},{ill}\n",
            i / 2,
            1 + i % 12,
            1 + i % 28
        );
    }
    csv += last;
    let (table, schema) = (home.join("people.csv"), home.join("people.toml"));
    fs::write(&table, csv).expect("written");
    fs::write(&schema, SCHEMA).expect("written");
    (table, schema)
}

/// The schema of the copy.
fn found(out: &Path) -> toml::Table {
    let text = fs::read_to_string(out.join("copy/schema.toml")).expect("a schema");
    toml::from_str(&text).expect("TOML")
}

#[test]
fn ranges_and_categories_are_found_with_noise() {
    let (home, out) = folder();
    let (table, schema) = people(home.path(), 4000, "");
    let flags = "--epsilon 3 --private-schema 0.2 --count 1000";
    let printed = text(&done(command(&table, &schema, &out, flags)).stdout);
    says(
        &printed,
        &[
            "ranges and categories of age, seen, ward are found with noise, by a share of the budget",
            "6 releases",
            "3 have values that are found with noise",
        ],
    );
    let schema_of_copy = found(&out);
    let columns = schema_of_copy["column"].as_array().expect("columns");
    let [min, max] = ["min", "max"].map(|end| columns[0][end].as_integer().expect("a number"));
    // Round numbers around 20 to 79 are 15 and 100; within them, what is heard.
    assert!(
        (15..=24).contains(&min) && (75..=100).contains(&max),
        "{min} {max}"
    );
    let [min, max] =
        ["min", "max"].map(|end| columns[1][end].as_str().expect("a date").to_string());
    assert!(
        min.starts_with("2018-1") || min.starts_with("2019-01"),
        "{min}"
    );
    assert!(
        max.starts_with("2019-1") || max.starts_with("2020-0"),
        "{max}"
    );
    let levels: Vec<&str> = columns[2]["levels"]
        .as_array()
        .expect("levels")
        .iter()
        .filter_map(toml::Value::as_str)
        .collect();
    assert_eq!(levels, ["east", "north", "west, new"]);
    assert_eq!(columns[2]["other"].as_str(), Some("other"));
    for name in [
        "copy/table.csv",
        "copy/schema.toml",
        "categories.json",
        "copy/marginals.csv",
    ] {
        let file = fs::read_to_string(out.join(name)).expect("a file");
        assert!(
            file.contains("west, new") && !file.contains("secret ward"),
            "{name}"
        );
    }
    let card = json(&out.join("copy/card.json"));
    assert!(number(&card["privacy"]["epsilon_upper"]) <= 3.0 + 1e-9);
    // The ledger has the threshold's delta: an accountant counts it.
    let ledger = fs::read_to_string(out.join("ledger.jsonl")).expect("a ledger");
    assert!(ledger.contains("\"failure\""), "{ledger}");

    // A killed run goes on from what was found.
    let before = fs::read(out.join("categories.json")).expect("names");
    for name in [
        "pairs.bin",
        "score.bin",
        "run.json",
        "copy.bin",
        "report.html",
    ] {
        fs::remove_file(out.join(name)).expect("removed");
    }
    fs::remove_dir_all(out.join("copy")).expect("removed");
    let mut again = sliver("synth");
    again.arg("--resume").arg(&out).arg("--cache-dir");
    again.arg(out.with_file_name("cache"));
    done(again);
    assert_eq!(
        fs::read(out.join("categories.json")).expect("names"),
        before
    );
    assert_eq!(found(&out), schema_of_copy);
    let after = fs::read_to_string(out.join("ledger.jsonl")).expect("a ledger");
    assert_eq!(after.lines().count(), ledger.lines().count() + 2);

    // Where noise drowns all, the report says so.
    let little = home.path().join("little");
    let (table, schema) = people(home.path(), 40, "");
    let flags = "--epsilon 0.1 --private-schema 0.1";
    done(command(&table, &schema, &little, flags));
    let page = fs::read_to_string(little.join("report.html")).expect("a page");
    assert!(page.matches("found no values of").count() >= 3, "{page}");
}

/// With the same noise: a record with an age, a date and a ward that nobody else has, and a patient with nine of whom two count.
#[test]
fn what_a_record_or_unit_moves_is_within_the_bound() {
    for (flags, records) in [("", 1), ("--unit patient --most-per-unit 2", 9)] {
        let released = |record: &str| {
            let (home, out) = folder();
            let (table, schema) = people(home.path(), 90, &record.repeat(records));
            let flags = format!(
                "--epsilon 2 --count 10 --private-schema 0.1 --insecure-noise-seed 5 {flags}"
            );
            done(command(&table, &schema, &out, &flags));
            first_release(&out, "ranges.bin")
        };
        let [(one, declared), (two, _)] = [
            "p99,-700,1901-01-01,mine,no\n",
            "p99,100000,2077-01-01,yours,yes\n",
        ]
        .map(released);
        is_near_its_bound(&one, &two, declared);
    }
}

/// A patient with 900 records of a ward that nobody else has: two of them count, and it is not named, where 900 patients name it.
#[test]
fn a_unit_names_nothing_alone() {
    for (patient, found) in [("p9", false), ("q", true)] {
        let (home, out) = folder();
        let last: String = (0..900)
            .map(|i| {
                let unit = if found { i.to_string() } else { String::new() };
                format!("{patient}{unit},30,2019-05-05,mine,no\n")
            })
            .collect();
        let (table, schema) = people(home.path(), 600, &last);
        let flags = "--epsilon 5 --private-schema 0.3 --count 10 --unit patient --most-per-unit 2";
        done(command(&table, &schema, &out, flags));
        let names = fs::read_to_string(out.join("categories.json")).expect("names");
        assert_eq!(names.contains("mine"), found, "{names}");
    }
}

#[test]
fn what_is_wrong_is_said_before_anything_is_released() {
    let (home, out) = folder();
    let (table, schema) = people(home.path(), 60, "");
    let run = |out: &Path, flags: &[&str]| {
        let command = command(&table, &schema, out, &flags.join(" "));
        command.ran()
    };
    refuses(
        "
                 => missing field `min`
                --private-schema 0.6 => --private-schema 0.6
                --private-schema 0 => --private-schema 0
            ",
        run,
    );
    let closed = SCHEMA
        .replace(
            "kind = \"integer\"",
            "kind = \"integer\"\nmin = 0\nmax = 99",
        )
        .replace(
            "kind = \"date\"",
            "kind = \"date\"\nmin = \"2019-01-01\"\nmax = \"2019-12-31\"",
        )
        .replace(
            "kind = \"categorical\"",
            "kind = \"categorical\"\nlevels = [\"east\"]\nother = \"other\"",
        );
    for (text, words) in [
        (closed, "every column has its range or its categories"),
        (
            SCHEMA.replace("classes = [[\"no\"], [\"yes\"]]\n", ""),
            "expected either 'classes'",
        ),
        (
            SCHEMA.replace("missing = \"level\"\n", ""),
            "column ward: expected a value",
        ),
    ] {
        fs::write(&schema, text).expect("written");
        let said = refusal(command(&table, &schema, &out, "--private-schema 0.1"));
        assert!(said.contains(words), "{words}: {said}");
    }
}

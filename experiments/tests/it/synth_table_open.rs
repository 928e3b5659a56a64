//! `synth` of a table whose ranges and categories the schema leaves out: a share of the budget finds them.

use crate::program::{Home, made_again, number, says};
use crate::synth::{first_release, is_near_its_bound};

const SCHEMA: &str = r#"missing = [""]
column = [
    { name = "patient", kind = "ignore" },
    { name = "age", kind = "integer", public = true },
    { name = "seen", kind = "date", public = true },
    { name = "ward", kind = "categorical", missing = "level", public = true },
    { name = "ill", kind = "label", classes = [["no"], ["yes"]], public = true },
]
"#;

/// Records of patients with two visits each, and the last ones; a ward with one record, and one without a ward.
pub(crate) fn people(home: &Home, records: usize, last: &str) {
    let mut csv = String::from("patient,age,seen,ward,ill\n");
    for i in 0..records {
        let ward = match i {
            5 => "secret ward",
            6 => "",
            i => ["east", "\"west, new\"", "north"][i % 3],
        };
        let (age, ill) = (20 + (i * 37) % 60, ["no", "yes"][i % 2]);
        let (patient, month, day) = (i / 2, 1 + i % 12, 1 + i % 28);
        csv += &format!("p{patient},{age},2019-{month:02}-{day:02},{ward},{ill}\n");
    }
    home.put("people.csv", csv + last);
    home.put("people.toml", SCHEMA);
}

fn with_people(records: usize, last: &str) -> Home {
    let home = Home::new();
    people(&home, records, last);
    home
}

const COPY: &str = "synth people.csv --schema people.toml --out run";

/// The schema of the copy.
fn found(home: &Home) -> toml::Table {
    toml::from_str(&home.text("run/copy/schema.toml")).expect("TOML")
}

#[test]
fn ranges_and_categories_are_found_with_noise() {
    let home = with_people(4000, "");
    let flags = "--epsilon 3 --private-schema 0.2 --count 1000";
    says(
        &home.done(&format!("{COPY} {flags}")),
        &[
            "ranges and categories of age, seen, ward are found with noise, by a share of the budget",
            "6 releases",
            "3 have values that are found with noise",
        ],
    );
    let schema_of_copy = found(&home);
    let columns = schema_of_copy["column"].as_array().expect("columns");
    let [min, max] = ["min", "max"].map(|end| columns[0][end].as_integer().expect("a number"));
    // Round numbers around 20 to 79 are 15 and 150; within them, what is heard, unless noise leaves the round ones.
    assert!(
        (15..=24).contains(&min) && (75..=150).contains(&max),
        "{min} {max}"
    );
    for (end, starts) in [("min", ["2018-", "2019-01"]), ("max", ["2019-1", "2020-"])] {
        let date = columns[1][end].as_str().expect("a date");
        assert!(starts.iter().any(|start| date.starts_with(start)), "{date}");
    }
    let levels = columns[2]["levels"].as_array().expect("levels").iter();
    let levels: Vec<&str> = levels.filter_map(toml::Value::as_str).collect();
    assert_eq!(levels, ["east", "north", "west, new"]);
    assert_eq!(columns[2]["other"].as_str(), Some("other"));
    for name in [
        "copy/table.csv",
        "copy/schema.toml",
        "categories.json",
        "copy/marginals.csv",
    ] {
        let file = home.text(&format!("run/{name}"));
        says(&file, &["west, new"]);
        assert!(!file.contains("secret ward"), "{name}");
    }
    let card = home.json("run/copy/card.json");
    assert!(number(&card["privacy"]["epsilon_upper"]) <= 3.0 + 1e-9);
    // The ledger has the threshold's delta: an accountant counts it.
    says(&home.text("run/ledger.jsonl"), &["\"failure\""]);

    // A killed run goes on from what was found.
    let gone = "pairs.bin score.bin run.json copy.bin report.html";
    made_again(&home, "categories.json", gone, 2);
    assert_eq!(found(&home), schema_of_copy);

    // Where noise drowns all, the report says so.
    let little = with_people(40, "");
    little.done(&format!("{COPY} --epsilon 0.1 --private-schema 0.1"));
    let page = little.text("run/report.html");
    assert!(page.matches("found no values of").count() >= 3, "{page}");
}

/// With the same noise: a record with an age, a date and a ward that nobody else has, and a patient with nine of whom two count.
#[test]
fn what_a_record_or_unit_moves_is_within_the_bound() {
    for (flags, records) in [("", 1), ("--unit patient --most-per-unit 2", 9)] {
        let released = [
            "p99,-700,1901-01-01,mine,no\n",
            "p99,100000,2077-01-01,yours,yes\n",
        ]
        .map(|record| {
            let home = with_people(90, &record.repeat(records));
            home.done(&format!(
                "{COPY} --epsilon 2 --count 10 --private-schema 0.1 --insecure-noise-seed 5 {flags}"
            ));
            first_release(&home.at("run"), "ranges.bin")
        });
        is_near_its_bound(released);
    }
}

/// A patient with 900 records of a ward that nobody else has: two of them count, and it is not named, where 900 patients name it.
#[test]
fn a_unit_names_nothing_alone() {
    for found in [false, true] {
        let patient = |i: usize| if found { format!("q{i}") } else { "p9".into() };
        let line = |i| format!("{},30,2019-05-05,mine,no\n", patient(i));
        let home = with_people(600, &(0..900).map(line).collect::<String>());
        home.done(&format!(
            "{COPY} --epsilon 5 --private-schema 0.3 --count 10 --unit patient --most-per-unit 2"
        ));
        let names = home.text("run/categories.json");
        assert_eq!(names.contains("mine"), found, "{names}");
    }
}

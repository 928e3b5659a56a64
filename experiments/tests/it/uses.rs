//! Records that are public in one run and private in another, through the program and one cache.

use data::split::is_test_row;

use crate::program::{Home, SCHEMA, says};

/// Runs a line in a run folder of its own and gives what it warned of: the same in its first lines,
/// in `run.json`, in its promise and on its page.
fn warnings(home: &Home, name: &str, line: &str) -> Vec<String> {
    let printed = home.done(&format!("{line} --backend flex --out {name}"));
    let lines = printed
        .lines()
        .map_while(|line| line.strip_prefix("WARNING   "));
    let lines: Vec<String> = lines.map(String::from).collect();
    let run = home.json(&format!("{name}/run.json"));
    let mut noted = run["warnings"].as_array().cloned().unwrap_or_default();
    // What is said of the promise itself is a note.
    let is_note = |noted: &serde_json::Value| {
        let text = noted.as_str().unwrap_or_default();
        printed.contains(&format!("note      {text}"))
    };
    noted.retain(|noted| !is_note(noted));
    assert_eq!(noted, lines);
    let promise = run["privacy"].as_str().expect("a promise");
    let page = home.text(&format!("{name}/report.html"));
    for line in &lines {
        says(promise, &[line]);
        says(&page, &["in another: publish one of the two"]);
    }
    lines
}

/// `--public half` splits 60000 glyphs of seed 0; `swae` may take all of them for private.
#[test]
fn swae_and_a_public_half_learn_of_each_other() {
    let home = Home::new();
    let swae = |name: &str, records: usize| {
        let line = format!(
            "swae --records {records} --batch 40 --steps 2 --delta 1e-6 --slices 12 --unconditional --quick-scores"
        );
        warnings(&home, name, &line)
    };
    assert!(swae("first", 60_000).is_empty());
    let half = "synth glyphs --public half --records 400 --public-records 200 --public-epochs 1 --quick-scores";
    let notes = warnings(&home, "second", half);
    let words = [
        "glyphs are split into a public and a private half in this run",
        "all private in another",
    ];
    says(&notes.concat(), &words);
    assert_eq!(notes.len(), 1);
    let words = ["glyphs are all private in this run"];
    says(&swae("third", 60_000)[0], &words);
    // Other records.
    assert!(swae("fourth", 300).is_empty());
}

/// A table of 200 records; others for another `start`.
fn table(start: usize) -> String {
    let row = |i: usize| {
        let (sex, y) = (["F", "M"][i % 2], ["no", "yes"][i % 3 % 2]);
        format!("{},{sex},{y}\n", i % 10)
    };
    let rows: String = (start..start + 200).map(row).collect();
    format!("x,sex,y\n{rows}")
}

#[test]
fn a_table_that_is_public_and_private_in_turn_is_told() {
    let home = Home::new();
    home.put("schema.toml", SCHEMA);
    home.put("mine.csv", table(0));
    home.put("tests.csv", table(7));
    let fair = |name: &str, flags: &str| {
        warnings(
            &home,
            name,
            &format!("fair --steps 3 --schema schema.toml {flags}"),
        )
    };
    // Without a promise nothing is private.
    let both = "--input mine.csv --test tests.csv";
    assert!(fair("0", &format!("{both} --no-privacy")).is_empty());
    for name in ["1", "2"] {
        assert!(fair(name, "--input mine.csv --test-share 0.2").is_empty());
    }
    let notes = fair("3", both);
    assert_eq!(notes.len(), 1);
    let words = [
        "mine.csv are all private in this run",
        "public in a share of 0.2 of its rows",
    ];
    says(&notes[0], &words);
    // What was public once, under another name.
    home.put("copy.csv", table(7));
    let notes = fair("4", "--input copy.csv --test-share 0.2");
    assert_eq!(notes.len(), 1);
    says(&notes[0], &["all public in another"]);
}

/// `fair` makes no row public that nobody named; what does is in the first lines, in the promise and on the page, with the
/// number of rows.
#[test]
fn no_row_of_ones_own_becomes_public_by_itself() {
    let home = Home::new();
    home.put("schema.toml", SCHEMA);
    home.put("mine.csv", table(0));
    let fair = "fair --steps 3 --input mine.csv --schema schema.toml --backend flex";
    let public = (0..200).filter(|&row| is_test_row(row, 0.3)).count();
    let rows = format!("{public} rows of mine.csv, which --test-share 0.3 makes public");
    let printed = home.done(&format!("{fair} --test-share 0.3 --out run"));
    says(&printed, &[&format!("public    {rows}\n")]);
    let record = home.json("run/run.json");
    assert_eq!(record["records"], 200 - public);
    says(record["privacy"].as_str().expect("a sentence"), &[&rows]);
    says(&home.text("run/report.html"), &[&rows]);
}

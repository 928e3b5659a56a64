//! Records that are public in one run and private in another, through the program and one cache.

use std::path::{Path, PathBuf};

use data::split::is_test_row;

use crate::program::{Ran, SCHEMA, done, json, refusal, says, sliver, text, words};

/// Runs a program in a run folder of its own and gives what it warned of: the same in its first lines,
/// in `run.json`, in its promise and on its page.
fn warnings(home: &Path, name: &str, experiment: &str, arguments: &[&str]) -> Vec<String> {
    let out = home.join(name);
    let output = sliver(experiment)
        .args(arguments)
        .args(["--backend", "flex", "--cache-dir"])
        .arg(home.join("cache"))
        .arg("--out")
        .arg(&out)
        .ran();
    let message = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = message
        .lines()
        .map_while(|line| line.strip_prefix("WARNING   "));
    let lines: Vec<String> = lines.map(String::from).collect();
    let run = json(&out.join("run.json"));
    let noted = run["warnings"].as_array().cloned().unwrap_or_default();
    let noted: Vec<&str> = noted.iter().filter_map(|w| w.as_str()).collect();
    assert_eq!(noted, lines);
    let promise = run["privacy"].as_str().expect("a promise");
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page");
    for line in &lines {
        assert!(promise.contains(line), "no '{line}' in: {promise}");
        assert!(page.contains("in another: publish one of the two"));
    }
    lines
}

fn swae(home: &Path, name: &str, records: &str) -> Vec<String> {
    let arguments = [
        "--records",
        records,
        "--batch",
        "40",
        "--steps",
        "2",
        "--delta",
        "1e-6",
        "--slices",
        "12",
        "--unconditional",
        "--quick-scores",
    ];
    warnings(home, name, "swae", &arguments)
}

/// `--public half` splits 60000 glyphs of seed 0; `swae` may take all of them for private.
#[test]
fn swae_and_a_public_half_learn_of_each_other() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let half = |name| {
        let arguments = words(
            "glyphs --public half --records 400 --public-records 200 --public-epochs 1 --quick-scores",
        );
        warnings(home.path(), name, "synth", &arguments)
    };
    assert!(swae(home.path(), "first", "60000").is_empty());
    let notes = half("second");
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].contains("glyphs are split into a public and a private half in this run")
            && notes[0].contains("all private in another"),
        "{notes:?}"
    );
    let notes = swae(home.path(), "third", "60000");
    assert!(
        notes[0].contains("glyphs are all private in this run"),
        "{notes:?}"
    );
    // Other records.
    assert!(swae(home.path(), "fourth", "300").is_empty());
}

/// What is refused before any record is split leaves nothing that later runs would be warned of.
#[test]
fn a_refused_run_leaves_no_note() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let cache = home.path().join("cache");
    let taken = home.path().join("taken");
    std::fs::create_dir(&taken).expect("a folder");
    std::fs::write(taken.join("mine.txt"), "mine").expect("written");
    let free = home.path().join("free");
    let half = |more| [words("glyphs --public half"), words(more)].concat();
    let [some, few, all] = ["--records 400", "--records 400 --delta 0.01", "--delta 1"].map(half);
    let cases: [(&str, &[&str], &Path, &str); 6] = [
        ("synth", &some, &taken, "exists already"),
        ("swae", &["--records", "300"], &taken, "exists already"),
        ("fair", &["--records", "300"], &taken, "exists already"),
        ("synth", &few, &free, "delta = 0.01"),
        ("synth", &all, &free, "--delta 1"),
        (
            "synth",
            &["glyphs", "--public", "glyphs"],
            &free,
            "--public glyphs",
        ),
    ];
    for (experiment, arguments, out, says) in cases {
        let message = refusal(
            sliver(experiment)
                .args(["--backend", "flex", "--cache-dir"])
                .arg(&cache)
                .arg("--out")
                .arg(out)
                .args(arguments)
                .ran(),
        );
        assert!(message.contains(says), "{arguments:?}: {message}");
        assert!(!cache.join("splits").exists(), "{experiment} {arguments:?}");
        assert!(!free.exists());
    }
}

/// A table of 200 records; others for another `start`.
fn table(home: &Path, name: &str, start: usize) -> PathBuf {
    let row = |i: usize| {
        let (sex, y) = (["F", "M"][i % 2], ["no", "yes"][i % 3 % 2]);
        format!("{},{sex},{y}\n", i % 10)
    };
    let rows: String = (start..start + 200).map(row).collect();
    let path = home.join(name);
    std::fs::write(&path, format!("x,sex,y\n{rows}")).expect("written");
    path
}

#[test]
fn a_table_that_is_public_and_private_in_turn_is_told() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let schema = home.path().join("schema.toml");
    std::fs::write(&schema, SCHEMA).expect("written");
    let path = |path: &Path| path.to_str().expect("UTF-8").to_string();
    let (mine, tests) = (
        path(&table(home.path(), "mine.csv", 0)),
        path(&table(home.path(), "tests.csv", 7)),
    );
    let schema = path(&schema);
    let fair = |name: &str, more: &[&str]| {
        let arguments = [&["--steps", "3", "--schema", &schema], more].concat();
        warnings(home.path(), name, "fair", &arguments)
    };
    // Without a promise nothing is private.
    let both = ["--input", &mine, "--test", &tests];
    assert!(fair("0", &[&both[..], &["--no-privacy"]].concat()).is_empty());
    for name in ["1", "2"] {
        assert!(fair(name, &["--input", &mine, "--test-share", "0.2"]).is_empty());
    }
    let notes = fair("3", &both);
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].contains("mine.csv are all private in this run"),
        "{notes:?}"
    );
    assert!(
        notes[0].contains("public in a share of 0.2 of its rows"),
        "{notes:?}"
    );
    // What was public once, under another name.
    let copy = home.path().join("copy.csv");
    std::fs::copy(&tests, &copy).expect("copied");
    let notes = fair("4", &["--input", &path(&copy), "--test-share", "0.2"]);
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("all public in another"), "{notes:?}");
    // In one run there is no such thing.
    let output = sliver("fair")
        .args(["--input", &mine, "--test", &mine, "--schema", &schema])
        .arg("--out")
        .arg(home.path().join("5"))
        .ran();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("the same records as --input"));
}

/// `fair` makes no row public that nobody named; what does is in the first lines, in the promise and on the page, with the
/// number of rows.
#[test]
fn no_row_of_ones_own_becomes_public_by_itself() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let schema = home.path().join("schema.toml");
    std::fs::write(&schema, SCHEMA).expect("written");
    table(home.path(), "mine.csv", 0);
    let run = |more: &str| {
        let mut command = sliver("fair");
        command.current_dir(home.path());
        command.args(words("--steps 3 --input mine.csv --schema schema.toml"));
        command.args(words("--backend flex --cache-dir cache --out run"));
        command.args(words(more)).ran()
    };
    let public = (0..200).filter(|&row| is_test_row(row, 0.3)).count();
    says(
        &refusal(run("")),
        &[
            "mine.csv",
            "no test records",
            "--test FILE",
            "--test-share 0.2",
        ],
    );
    for (more, word) in [
        ("--test-share 0", "--test-share 0: it must be above 0"),
        ("--test-share 1", "below 1"),
        ("--test-share 0.3 --test mine.csv", "cannot be used with"),
    ] {
        let said = refusal(run(more));
        assert!(said.contains(word), "{more}: {said}");
    }
    let out = home.path().join("run");
    assert!(!out.exists());
    let printed = done(run("--test-share 0.3"));
    let rows = format!("{public} rows of mine.csv, which --test-share 0.3 makes public");
    says(&text(&printed.stdout), &[&format!("public    {rows}\n")]);
    let record = json(&out.join("run.json"));
    assert_eq!(record["records"], 200 - public);
    says(record["privacy"].as_str().expect("a sentence"), &[&rows]);
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page");
    says(&page, &[&rows]);
}

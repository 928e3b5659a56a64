//! `report` as a person runs it: through the program, on run folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::program::{Ran, done, refusal, says, sliver, text};

fn report(folder: &Path, arguments: &[&str]) -> Output {
    sliver("report").current_dir(folder).args(arguments).ran()
}

/// A run folder in miniature.
fn write(root: &Path, name: &str, epsilon: f64, seed: u64, score: f64) -> PathBuf {
    let folder = root.join("runs/swae").join(name);
    fs::create_dir_all(&folder).expect("a folder");
    let run = format!(
        r#"{{"experiment": "swae", "version": "0.1.0", "device": "flex",
            "settings": {{"dataset": "glyphs", "epsilon": {epsilon}, "seed": {seed}}},
            "privacy": "({epsilon}, 1e-5)-differentially private", "private": true,
            "plan": {{"epsilon_upper": {epsilon}, "delta": 1e-5}},
            "metrics": [{{"name": "score", "value": {score}}}]}}"#
    );
    fs::write(folder.join("run.json"), run).expect("written");
    folder
}

#[test]
fn one_run_several_runs_and_a_sweep() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    write(root, "a", 1.0, 0, 10.0);
    write(root, "b", 1.0, 1, 12.0);
    write(root, "c", 5.0, 0, 20.0);

    let one = done(report(root, &["runs/swae/a"]));
    assert!(text(&one.stdout).contains("report.html"));
    let page = fs::read_to_string(root.join("runs/swae/a/report.html")).expect("a page");
    assert!(page.contains("Differentially private"));

    let table = done(report(root, &["runs/swae/a", "runs/swae/c"]));
    assert!(text(&table.stdout).starts_with("| epsilon | privacy"));

    let csv = report(root, &["--sweep", "runs", "--format", "csv"]);
    assert!(
        text(&csv.stdout).contains("1,\"(1, 1e-5)\",\"(2, 2e-5), added up\",2,0,11,1.41"),
        "{}",
        text(&csv.stdout)
    );
    let one = done(report(root, &["runs/swae/a", "--format", "csv"]));
    assert!(
        text(&one.stdout).lines().count() == 2,
        "{}",
        text(&one.stdout)
    );
    let markdown = report(root, &["--sweep", "runs/swae"]);
    assert!(text(&markdown.stdout).contains("| 11 +- 1.41 |"));
    let refused = report(root, &["runs/swae/a", "runs/swae/c", "--out", "x.html"]);
    assert!(text(&refused.stderr).contains("--out x.html: "));
}

#[test]
fn markdown_of_runs_and_of_chosen_columns() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let first = write(root, "a", 1.0, 0, 10.0);
    write(root, "b", 1.0, 1, 12.0);
    write(root, "c", 5.0, 0, 20.0);
    let run = fs::read_to_string(first.join("run.json")).expect("readable");
    let published = r#""value": 10, "unit": "nats", "paper": 11.5, "source": "Doe 2020, table 1""#;
    let run = run.replace("\"value\": 10", published).replace(
        "\"private\": true,",
        "\"private\": true, \"command\": \"swae --dataset glyphs\",",
    );
    fs::write(first.join("run.json"), run).expect("written");

    let one = report(root, &["--format", "markdown", "runs/swae/a"]);
    assert_eq!(
        text(&one.stdout),
        "```sh\nswae --dataset glyphs\n```\n\n\
         | result | value | published | by |\n|---|---|---|---|\n\
         | score | 10 nats | 11.5 nats | Doe 2020, table 1 |\n\n\
         Privacy: (1, 1e-5)-differentially private\n",
        "{}",
        text(&one.stderr)
    );
    let runs = ["runs/swae/a", "runs/swae/b", "runs/swae/c"];
    let chosen = [
        "--format=markdown",
        "--column",
        "epsilon",
        "--column",
        "SCORE",
    ];
    let several = report(root, &[&runs[..], &chosen[..]].concat());
    let table = text(&several.stdout);
    assert!(
        table.starts_with("| epsilon | score |\n|---|---|\n| 1 | 11 +- 1.41 |\n| 5 | 20 |\n\n"),
        "{table}"
    );
    let message = refusal(report(
        root,
        &["--sweep", "runs", "--format=markdown", "--column", "seed"],
    ));
    says(&message, &["seed: there is no such column"]);
    assert!(!root.join("runs/swae/a/report.html").exists());
}

#[test]
fn what_is_wrong_is_named() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let folder = write(root, "a", 1.0, 0, 10.0);
    let damaged = write(root, "b", 1.0, 0, 10.0);
    let run = fs::read_to_string(damaged.join("run.json")).expect("readable");
    let run = run.replace("\"epsilon_upper\": 1", "\"epsilon_upper\": \"one\"");
    fs::write(damaged.join("run.json"), run).expect("written");
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["RUN"]),
        (
            &["runs/swae/nowhere"],
            &["runs/swae/nowhere", "no run folder"],
        ),
        (
            &["runs/swae/a", "runs/swae/b"],
            &["runs/swae/b/run.json", "plan.epsilon_upper"],
        ),
        (
            &["runs/swae/a", "--out", "page.pdf"],
            &["--out page.pdf", ".html"],
        ),
        (
            &["runs/swae/a", "--format=csv", "--column", "score"],
            &["--column: CSV has all columns"],
        ),
        (&["runs/swae/a", "--column", "score"], &["--format"]),
        (&["--sweep", "nowhere"], &["nowhere"]),
    ];
    for (arguments, needles) in cases {
        let message = refusal(report(root, arguments));
        for needle in *needles {
            // Long lines of a diagnostic are broken between words.
            let joined: String = message.split_whitespace().collect();
            let needle: String = needle.split_whitespace().collect();
            assert!(
                joined.contains(&needle),
                "{arguments:?}: no {needle} in {message}"
            );
        }
    }
    assert!(!folder.join("report.html").exists());
}

//! `sweep` as a person runs it, of runs of seconds.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::program::{Ran, done, refusal, says, sliver, text};

const SWEEP: &str = r#"
    experiment = "swae"
    name = "two"
    [fixed]
    backend = "flex"
    records = 200
    batch = 20
    steps = 3
    delta = 1e-3
    slices = 8
    quick-scores = true
    [grid]
    epsilon = [2, 5]
"#;

fn sweep(folder: &Path, text: &str, more: &[&str]) -> Output {
    let file = folder.join("two.toml");
    std::fs::write(&file, text).expect("written");
    sliver("sweep")
        .arg(&file)
        .arg("--out")
        .arg(folder.join("runs"))
        .args(more)
        .ran()
}

fn finished(folder: &Path) -> Vec<PathBuf> {
    let runs = std::fs::read_dir(folder.join("runs")).into_iter().flatten();
    let runs = runs.flatten().map(|entry| entry.path());
    let mut done: Vec<PathBuf> = runs.filter(|run| run.join("run.json").exists()).collect();
    done.sort();
    done
}

fn is_of(run: &Path, values: &str) -> bool {
    let name = run.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(values)
}

#[test]
fn what_is_done_is_skipped_and_lines_can_be_run_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let printed = done(sweep(folder.path(), SWEEP, &["--plan"]));
    let lines: Vec<String> = text(&printed.stdout).lines().map(String::from).collect();
    assert_eq!(lines.len(), 2);

    // One line by a shell, as GNU parallel would; again, and nothing happens.
    let shell = || {
        done(Command::new("sh").args(["-c", &lines[0]]).ran());
        let first = finished(folder.path());
        assert_eq!(first.len(), 1);
        assert!(is_of(&first[0], "epsilon-2_"), "{first:?}");
        let files = ["ledger.jsonl", "run.json"];
        files.map(|name| std::fs::read(first[0].join(name)).expect("a file"))
    };
    let made = shell();
    assert_eq!(shell(), made);

    let rest = done(sweep(folder.path(), SWEEP, &["--workers", "2"]));
    assert!(text(&rest.stderr).contains("2 cells, 1 done, 1 to run"));
    let both = finished(folder.path());
    assert_eq!(both.len(), 2);
    assert_eq!(
        std::fs::read(both[0].join("run.json")).expect("a file"),
        made[1]
    );
    let none = sweep(folder.path(), SWEEP, &["--plan"]);
    assert!(none.stdout.is_empty());
}

#[test]
fn a_cell_that_fails_is_named_and_the_others_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = SWEEP.replace("[2, 5]", "[-1, 5]");
    let output = sweep(folder.path(), &bad, &[]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    says(&message, &["1 of 2 cells failed: epsilon--1_"]);
    assert_eq!(finished(folder.path()).len(), 1);
}

#[test]
fn mistakes_end_with_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    for (change, to, says) in [
        ("\"swae\"", "\"swea\"", "there is none of that name"),
        ("\"swae\"", "\"report\"", "name one of synth, swae, flow"),
        ("[2, 5]", "2", "grid.epsilon must be a list"),
    ] {
        let message = refusal(sweep(folder.path(), &SWEEP.replace(change, to), &[]));
        assert!(message.contains(says), "{message}");
    }
}

//! `sweep` as a person runs it.

use std::path::Path;
use std::process::{Command, Output};

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
    [grid]
    epsilon = [2, 5]
"#;

fn sweep(folder: &Path, text: &str, more: &[&str]) -> Output {
    let file = folder.join("two.toml");
    std::fs::write(&file, text).expect("written");
    Command::new(env!("CARGO_BIN_EXE_sweep"))
        .arg(&file)
        .arg("--out")
        .arg(folder.join("runs"))
        .args(more)
        .output()
        .expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn done(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder.join("runs"))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|e| e.path().join("run.json").exists())
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_done_is_skipped_and_lines_can_be_run_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let printed = sweep(folder.path(), SWEEP, &["--print"]);
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    let lines: Vec<String> = text(&printed.stdout).lines().map(String::from).collect();
    assert_eq!(lines.len(), 2);

    // One line by a shell, as GNU parallel would; again, and nothing happens.
    for _ in 0..2 {
        let output = Command::new("sh")
            .args(["-c", &lines[0]])
            .output()
            .expect("sh");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let first = done(folder.path());
    assert_eq!(first.len(), 1);
    assert!(first[0].starts_with("epsilon-2_"), "{first:?}");
    let ledger = folder
        .path()
        .join("runs")
        .join(&first[0])
        .join("ledger.jsonl");
    let before = std::fs::read(&ledger).expect("a ledger");

    let rest = sweep(folder.path(), SWEEP, &["--workers", "2"]);
    assert!(rest.status.success(), "{}", text(&rest.stderr));
    assert!(text(&rest.stderr).contains("2 cells, 1 done, 1 to run"));
    assert_eq!(done(folder.path()).len(), 2);
    assert_eq!(std::fs::read(&ledger).expect("a ledger"), before);
    let none = sweep(folder.path(), SWEEP, &["--print"]);
    assert!(none.stdout.is_empty());
}

#[test]
fn a_cell_that_fails_is_named_and_the_others_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = SWEEP.replace("[2, 5]", "[-1, 5]");
    let output = sweep(folder.path(), &bad, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("1 of 2 cells failed: epsilon--1_"), "{said}");
    assert_eq!(done(folder.path()).len(), 1);
}

#[test]
fn mistakes_end_with_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    for (change, to, says) in [
        ("\"swae\"", "\"swea\"", "there is no"),
        ("[2, 5]", "2", "grid.epsilon must be a list"),
    ] {
        let output = sweep(folder.path(), &SWEEP.replace(change, to), &[]);
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(said.contains(says), "{said}");
    }
}

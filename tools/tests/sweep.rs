//! `sweep` as a person runs it, of an experiment in miniature: the binary that lies beside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Fails at an epsilon of -1. Its last word is the folder, and a run that is done does nothing.
const EXPERIMENT: &str = r#"#!/bin/sh
for run in "$@"; do :; done
case "$*" in *"--epsilon -1"*) echo "epsilon = -1 is refused" >&2; exit 2;; esac
[ -e "$run/run.json" ] && exit 0
mkdir -p "$run" && echo started >> "$run/starts" && echo '{}' > "$run/run.json"
"#;

/// The binary in a folder with the experiment. Made once, before any process is started: one that starts while the
/// experiment is open for writing could keep it so.
fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sweep");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let experiment = folder.join("swae");
        std::fs::write(&experiment, EXPERIMENT).expect("written");
        let made = Command::new("chmod").arg("+x").arg(experiment).status();
        assert!(made.expect("chmod").success());
        let binary = folder.join("sweep");
        std::fs::hard_link(env!("CARGO_BIN_EXE_sweep"), &binary).expect("a link");
        binary
    })
}

const SWEEP: &str = r#"
    experiment = "swae"
    name = "two"
    [fixed]
    records = 200
    [grid]
    epsilon = [2, 5]
"#;

fn sweep(folder: &Path, text: &str, more: &[&str]) -> Output {
    let file = folder.join("two.toml");
    std::fs::write(&file, text).expect("written");
    Command::new(binary())
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
    let starts = folder.path().join("runs").join(&first[0]).join("starts");

    let rest = sweep(folder.path(), SWEEP, &["--workers", "2"]);
    assert!(rest.status.success(), "{}", text(&rest.stderr));
    assert!(text(&rest.stderr).contains("2 cells, 1 done, 1 to run"));
    assert_eq!(done(folder.path()).len(), 2);
    assert_eq!(std::fs::read(&starts).expect("a file"), b"started\n");
    let none = sweep(folder.path(), SWEEP, &["--print"]);
    assert!(none.stdout.is_empty());
}

#[test]
fn a_cell_that_fails_is_named_and_the_others_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = SWEEP.replace("[2, 5]", "[-1, 5]");
    let output = sweep(folder.path(), &bad, &[]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(
        message.contains("1 of 2 cells failed: epsilon--1_"),
        "{message}"
    );
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
        let message = text(&output.stderr);
        assert!(message.contains(says), "{message}");
    }
}

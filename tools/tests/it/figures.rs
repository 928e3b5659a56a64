//! `figures` as a person runs it: through the binary.

use std::path::Path;
use std::process::{Command, Output};

fn figures(root: &Path, runs: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_figures"))
        .current_dir(root)
        .args(["fair", "--runs", runs, "--out", "figures"])
        .output()
        .expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_folder_without_runs_is_named() {
    let root = tempfile::tempdir().expect("a folder");
    let output = figures(root.path(), "nowhere");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--runs nowhere"));
}

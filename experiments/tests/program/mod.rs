//! What tests of the binaries need of a program's run: its folder, its text, its JSON.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A temporary folder, kept as long as the first part lives, and the run's own place in it.
pub fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("run");
    (folder, out)
}

/// What a program said.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file as JSON.
pub fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("readable")).expect("JSON")
}

/// Starts a run and kills it once its ledger has so many lines, or lets it end before.
pub fn kill_at(command: &mut Command, run: &Path, lines: usize) {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let ledger = run.join("ledger.jsonl");
    while std::fs::read_to_string(&ledger).map_or(0, |t| t.lines().count()) < lines
        && child.try_wait().expect("a child").is_none()
    {
        std::thread::yield_now();
    }
    child.kill().expect("killed");
    child.wait().expect("a child");
}

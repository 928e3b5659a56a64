//! A reader that has seen enough, as `| head` has: the program ends without a word, and its exit code tells.

use std::process::{Command, Stdio};

use crate::program::{Ran, sliver, words};

/// Runs it with a standard output whose reader is gone before it starts.
fn unread(command: &mut Command) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = command.stdin(Stdio::null()).stdout(writer).ran();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("panicked"), "{command:?}: {said}");
    assert_eq!(output.status.code(), Some(141), "{command:?}: {said}");
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_program_quietly() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let epsilon = words("epsilon --records 60000 --batch 600 --steps 10");
    let more = ["--noise-multiplier", "2", "--delta", "1e-5"];
    unread(sliver("account").args(epsilon).args(more));

    let run = folder.join("runs/swae/a");
    std::fs::create_dir_all(&run).expect("a folder");
    let file = r#"{"experiment": "swae", "version": "0.1.0", "device": "flex", "settings": {},
        "privacy": "none", "private": false, "metrics": [{"name": "score", "value": 1}]}"#;
    std::fs::write(run.join("run.json"), file).expect("written");
    for arguments in [
        ["runs/swae/a", "--format=markdown"],
        ["--sweep=runs", "--format=csv"],
    ] {
        unread(sliver("report").current_dir(folder).args(arguments));
    }

    let grid = "experiment = \"swae\"\nname = \"two\"\n[grid]\nepsilon = [2, 5]\n";
    std::fs::write(folder.join("two.toml"), grid).expect("written");
    unread(
        sliver("sweep")
            .current_dir(folder)
            .args(["two.toml", "--plan"]),
    );
}

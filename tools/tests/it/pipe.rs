//! A reader that has seen enough, as `| head` has: the program ends without a word, and its exit code tells.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs it with a standard output whose reader is gone before it starts.
fn unread(command: &mut Command) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = command
        .stdin(Stdio::null())
        .stdout(writer)
        .output()
        .expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("panicked"), "{command:?}: {said}");
    assert_eq!(output.status.code(), Some(141), "{command:?}: {said}");
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_program_quietly() {
    // Beside the binaries, for a link; a copy could still be open in a process of another test when it is to run.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    let epsilon = [
        "epsilon",
        "--records",
        "60000",
        "--batch",
        "600",
        "--steps",
        "10",
    ];
    let more = ["--noise-multiplier", "2", "--delta", "1e-5"];
    unread(
        Command::new(env!("CARGO_BIN_EXE_account"))
            .args(epsilon)
            .args(more),
    );

    let run = folder.join("runs/swae/a");
    std::fs::create_dir_all(&run).expect("a folder");
    let file = r#"{"experiment": "swae", "version": "0.1.0", "device": "flex", "settings": {},
        "privacy": "none", "private": false, "metrics": [{"name": "score", "value": 1}]}"#;
    std::fs::write(run.join("run.json"), file).expect("written");
    for arguments in [["runs/swae/a", "--markdown"], ["--sweep=runs", "--csv"]] {
        unread(
            Command::new(env!("CARGO_BIN_EXE_report"))
                .current_dir(folder)
                .args(arguments),
        );
    }

    // An experiment beside the binary: `--print` runs none.
    let sweep = folder.join("sweep");
    std::fs::hard_link(env!("CARGO_BIN_EXE_sweep"), &sweep).expect("a link");
    std::fs::write(folder.join("swae"), "").expect("written");
    let grid = "experiment = \"swae\"\nname = \"two\"\n[grid]\nepsilon = [2, 5]\n";
    std::fs::write(folder.join("two.toml"), grid).expect("written");
    unread(
        Command::new(&sweep)
            .current_dir(folder)
            .args(["two.toml", "--print"]),
    );
}

/// The binaries of the experiments are slow to build: that they all come through the same door is read here.
#[test]
fn every_binary_comes_through_the_same_main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut read = 0;
    for folder in ["tools/src/bin", "experiments/src/bin"] {
        for file in std::fs::read_dir(root.join(folder)).expect("binaries") {
            let path = file.expect("a file").path();
            let text = std::fs::read_to_string(&path).expect("text");
            let through = ["diagnostic::main(", "session::main::<"];
            assert!(through.iter().any(|main| text.contains(main)), "{path:?}");
            read += 1;
        }
    }
    assert!(read >= 17, "{read}");
}

//! A reader that has seen enough, as `| head` has: the program ends without a word, and its exit code tells.

use std::process::Stdio;

use crate::program::{Home, Ran, text};

#[test]
fn a_reader_that_has_seen_enough_ends_the_program_quietly() {
    let home = Home::new();
    let file = r#"{"experiment": "swae", "version": "0.1.0", "device": "flex", "settings": {},
        "privacy": "none", "private": false, "metrics": [{"name": "score", "value": 1}]}"#;
    home.put("runs/swae/a/run.json", file);
    let grid = "experiment = \"swae\"\nname = \"two\"\n[grid]\nepsilon = [2, 5]\n";
    home.put("two.toml", grid);
    for line in [
        "account epsilon --records 60000 --batch 600 --steps 10 --noise-multiplier 2 --delta 1e-5",
        "report runs/swae/a --format=markdown",
        "report --sweep=runs --format=csv",
        "sweep two.toml --plan",
    ] {
        // Its reader is gone before it starts.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = home.sliver(line);
        let output = command.stdin(Stdio::null()).stdout(writer).ran();
        let said = text(&output.stderr);
        assert!(!said.contains("panicked"), "{line}: {said}");
        assert_eq!(output.status.code(), Some(141), "{line}: {said}");
    }
}

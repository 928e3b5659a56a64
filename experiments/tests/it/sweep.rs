//! The cells of a sweep are commands that an experiment takes.

use std::process::Command;

use tools::sweep::Sweep;

#[test]
fn a_cell_runs_once() {
    let sweep = r#"
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
    let cells = Sweep::parse(sweep).expect("a sweep").cells();
    let root = tempfile::tempdir().expect("a folder");
    let run = root.path().join(&cells[0].name);
    let start = || {
        let output = Command::new(env!("CARGO_BIN_EXE_swae"))
            .args(&cells[0].flags)
            .arg("--run")
            .arg(&run)
            .output()
            .expect("the binary starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        std::fs::read(run.join("ledger.jsonl")).expect("a ledger")
    };
    let ledger = start();
    assert!(run.join("run.json").exists());
    // Again, and nothing happens.
    assert_eq!(start(), ledger);
}

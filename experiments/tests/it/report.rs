//! What is reported of runs of `fair` together.

use crate::program::{Ran, sliver};
use std::fs;

use dp_core::accounting::{Accountant, PldAccountant};
use dp_core::ledger::Entries;
use lab::report::{RunRecord, Sweep, find_runs, upper};

/// Private runs over two seeds, one without privacy and one of known noise.
#[test]
fn a_sweep_tells_what_its_runs_spend_together() {
    let root = tempfile::tempdir().expect("a folder");
    let runs = root.path().join("runs");
    let run = |name: &str, more: &[&str]| {
        let output = sliver("fair")
            .args(["--backend", "flex", "--records", "600", "--steps", "12"])
            .args(more)
            .arg("--run")
            .arg(runs.join(name))
            .ran();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
    };
    run("a", &["--seed", "0"]);
    run("b", &["--seed", "1"]);
    run("c", &["--no-privacy"]);
    run("d", &["--epsilon", "9", "--insecure-noise-seed", "3"]);

    let ledger =
        |name: &str| fs::read_to_string(runs.join(name).join("ledger.jsonl")).expect("a ledger");
    let both = Entries::parse(&(ledger("a") + &ledger("b"))).expect("entries");
    let event = both.event().expect("an event");
    let epsilon = PldAccountant::default().epsilon(&event, 0.1 / 600.0);
    let epsilon = upper(epsilon.expect("an epsilon"));
    let together = format!("({epsilon}, 1.6667e-4)");

    let records: Vec<RunRecord> = find_runs(&runs)
        .expect("runs")
        .iter()
        .map(|folder| RunRecord::read(folder).expect("a run"))
        .collect();
    let markdown = Sweep::of(&records).markdown(&[]).expect("all columns");
    let row = |needle: &str| {
        let mut rows = markdown.lines().filter(|line| line.contains(needle));
        rows.next()
            .unwrap_or_else(|| panic!("no {needle} in {markdown}"))
    };
    assert!(row("privacy of one run").contains("| privacy of all its runs |"));
    assert!(row("1.6667e-4").contains(&format!(", 1.6667e-4) | {together} | 2 | 0 |")));
    assert!(
        row("the noise is known")
            .contains("| Not private: the noise is known | Not private: the noise is known | 1 |")
    );
    let all = row("All 2 private runs: together at most epsilon");
    assert!(all.contains(&format!("epsilon {epsilon}")), "{all}");
    assert!(all.contains("not in this bound: 2."), "{all}");
}

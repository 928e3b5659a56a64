//! What is reported of runs of `fair` together.

use dp_core::accounting::{Accountant, PldAccountant};
use dp_core::ledger::Entries;
use lab::report::{RunRecord, Sweep, find_runs, upper};

use crate::program::{Home, says};

/// Private runs over two seeds, one without privacy and one of known noise.
#[test]
fn a_sweep_tells_what_its_runs_spend_together() {
    let home = Home::new();
    for flags in [
        "a --seed 0",
        "b --seed 1",
        "c --no-privacy",
        "d --epsilon 9 --insecure-noise-seed 3",
    ] {
        home.done(&format!(
            "fair --backend flex --records 600 --steps 12 --run runs/{flags}"
        ));
    }
    let ledger = |name: &str| home.text(&format!("runs/{name}/ledger.jsonl"));
    let both = Entries::parse(&(ledger("a") + &ledger("b"))).expect("entries");
    let event = both.event().expect("an event");
    let epsilon = PldAccountant::default().epsilon(&event, 0.1 / 600.0);
    let epsilon = upper(epsilon.expect("an epsilon"));
    let together = format!("({epsilon}, 1.6667e-4)");

    let records: Vec<RunRecord> = find_runs(&home.at("runs"))
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
    says(&row("privacy of one run"), &["| privacy of all its runs |"]);
    says(
        &row("1.6667e-4"),
        &[&format!(", 1.6667e-4) | {together} | 2 | 0 |")],
    );
    says(
        &row("the noise is known"),
        &["| Not private: the noise is known | Not private: the noise is known | 1 |"],
    );
    let all = row("All 2 private runs: together at most epsilon");
    says(&all, &[&format!("epsilon {epsilon}")]);
    says(&all, &["not in this bound: 2."]);
}

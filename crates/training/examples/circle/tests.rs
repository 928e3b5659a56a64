//! What both methods promise and leave behind.

use std::path::Path;

use clap::Parser;
use dp_core::accounting::{Accountant, Event, PldAccountant};
use dp_core::ledger::Ledger;

use super::run::Run;
use super::{Arguments, make};

fn small(out: &Path, words: &str) -> Run {
    let words = format!("circle {words} --records 2000 --batch 200 --steps 50 --out");
    let words = words.split(' ').map(Into::into).chain([out.into()]);
    let arguments = Arguments::parse_from(words.collect::<Vec<std::ffi::OsString>>());
    make(&arguments).expect("a run").remove(0)
}

/// The budget is that of the circle's points, by the ledger's own numbers.
#[test]
fn gradients_spend_what_is_asked_for_on_the_circle() {
    let out = tempfile::tempdir().expect("a folder");
    let run = small(out.path(), "gradients --epsilon 1");
    let [Some(source), Some(target)] = run.epsilons else {
        panic!("{:?}", run.epsilons);
    };
    assert!((0.98..=1.0).contains(&target), "{target}");
    assert!(source > 2.0 * target, "{source}");
    let entries = out.path().join("gradients-epsilon1-seed0/ledger.jsonl");
    let entries = Ledger::read(&entries).expect("a ledger");
    assert_eq!(entries.releases(), 50);
    let declared = entries.entries[0].sensitivity.expect("a sensitivity");
    let deviation = entries.entries[0].deviation.expect("a deviation");
    // 4 sqrt(1/2) M L / m, with room for rounding.
    let of_target = 4.0 * 0.5f64.sqrt() * 8.0f64.sqrt() / 200.0;
    let share = run.settings.share().expect("a share");
    let found = declared * share / of_target;
    assert!((found - 1.0).abs() < 0.01, "{found}");
    let event = Event::dp_sgd(2000, 200, 50, deviation / (1.001 * of_target));
    let epsilon = PldAccountant::default().epsilon(&event, 1e-6);
    let epsilon = epsilon.expect("an epsilon");
    assert!((epsilon / target - 1.0).abs() < 0.01, "{epsilon} {target}");
    let source = small(out.path(), "gradients --epsilon 1 --protect source");
    assert!(source.epsilons[0].is_some_and(|epsilon| (0.98..=1.0).contains(&epsilon)));
}

#[test]
fn the_smoothed_distance_releases_once() {
    let out = tempfile::tempdir().expect("a folder");
    let run = small(out.path(), "smoothed");
    assert!(run.epsilons[1].is_some_and(|epsilon| (9.8..=10.0).contains(&epsilon)));
    assert_eq!(run.epsilons[0], None);
    assert!(run.sliced_w2_squared < 0.5 && run.panels.len() == 5);
    let entries = out.path().join("smoothed-epsilon10-seed0/ledger.jsonl");
    assert_eq!(Ledger::read(&entries).expect("a ledger").releases(), 1);
    for name in [
        "budgets",
        "smoothed-distance-steps",
        "smoothed-distance-panels",
    ] {
        let chart = std::fs::read_to_string(out.path().join(format!("circle-{name}.svg")));
        assert!(chart.expect("a chart").starts_with("<svg"), "{name}");
    }
}

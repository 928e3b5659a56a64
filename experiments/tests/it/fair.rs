//! `fair` as a person runs it: through the binary, in a folder of its own.

use std::path::Path;
use std::process::Command;

use dp_core::accounting::Event;
use dp_core::ledger::LedgerEntry;

use crate::program::{
    Home, SCHEMA, bytes_at, done, folder, json, ledger, lines, number, pld, put, refusal, remove,
    says, sliver, text, text_at, weights, whole_and_killed,
};
use crate::swae::is_of_known_noise;

/// A run of a task; a classification where the line names none.
fn fair(out: &Path, line: &str) -> Command {
    let mut command = sliver(&format!("fair {line} --backend flex --run"));
    command.arg(out);
    command
}

/// A run of a second.
fn small(out: &Path, more: &str) -> Command {
    fair(out, &format!("{more} --records 600 --steps 12"))
}

#[test]
fn every_task_leaves_everything_behind() {
    for task in [
        "classification",
        "classification --notion eo",
        "regression2d",
        "regression1d",
        "representation",
    ] {
        let (_keep, out) = folder();
        done(small(&out, task));
        let run = json(&out.join("run.json"));
        assert_eq!(run["private"], true);
        for name in ["model.bpk", "group.svg", "curve.svg", "report.html"] {
            assert!(out.join(name).exists(), "{name}");
        }
        assert!(!out.join("checkpoints").exists());
        let releases = ledger(&out);
        assert_eq!(releases.releases(), 12);
        let event = releases.event().expect("one event");
        let delta = number(&run["plan"]["delta"]);
        let epsilon = pld(&event, delta);
        let promised = number(&run["plan"]["epsilon_upper"]);
        assert!((epsilon / promised - 1.0).abs() < 1e-3, "{task}: {epsilon}");
    }
}

#[test]
fn a_post_processing_is_one_more_release_of_the_same_budget() {
    for (more, noise_multiplier) in [("", 1.0), ("--alpha 0.4 --post-share 0.1", 5.0)] {
        let (_keep, out) = folder();
        let flags = "regression1d --post-process 0.1";
        done(small(&out, &format!("{flags} {more}")));
        let entries = ledger(&out).entries;
        assert_eq!(entries.len(), 13);
        assert_eq!(entries[12].event, Event::Laplace { noise_multiplier });
        let moved = entries[12].sensitivity.expect("a bound");
        assert!((2.0..2.0 + 1e-8).contains(&moved), "{moved}");
        let run = json(&out.join("run.json"));
        let spent = number(&run["epsilon_spent_upper"]);
        assert!((1.99..=2.0).contains(&spent), "{spent}");
    }
}

/// Half of the budget for marginals before the first step, which a killed run does not release again. Without noise, records
/// that were moved leave less of a gap.
#[test]
fn a_repair_is_the_first_release_of_the_same_budget() {
    let Some(data) = test_support::data_folder() else {
        return;
    };
    let data = data.display();
    let run = |out: &Path, more: &str| {
        let adult = format!("adult --records 2000 --alpha 0 --data-dir {data}");
        fair(out, &format!("{adult} {more}"))
    };
    let known = "--steps 8 --checkpoint-every 3 --insecure-noise-seed 3";
    let (_keep, plain) = folder();
    done(run(&plain, known));
    let repaired = |out: &Path| run(out, &format!("{known} --repair 0.5"));
    let [(_whole, whole), (_killed, killed)] = whole_and_killed(repaired, &[5]);
    let ends = |out: &Path| json(&out.join("run.json"))["metrics"].clone();
    assert_eq!(ends(&whole), ends(&killed));
    let named = |out: &Path| {
        let releases = ledger(out).entries.into_iter();
        releases
            .filter(|entry| matches!(entry.event, Event::Gaussian { .. }))
            .count()
    };
    assert_eq!((named(&whole), named(&killed)), (1, 1));
    let (plain, entries) = (ledger(&plain).entries, ledger(&whole).entries);
    assert_eq!((plain.len(), entries.len()), (8, 9));
    // 105 slices in trees of 16 bins.
    let moved = entries[0].sensitivity.expect("a sensitivity");
    assert!((moved - (105.0_f64 * 10.0).sqrt()).abs() < 1e-3, "{moved}");
    let spent = number(&json(&whole.join("run.json"))["epsilon_spent_upper"]);
    assert!((2.98..=3.0).contains(&spent), "{spent}");
    let size =
        |entry: &LedgerEntry| entry.deviation.expect("noise") / entry.sensitivity.expect("a bound");
    assert!(size(&entries[1]) > size(&plain[0]));
    let moved = |more: &str| {
        let (_keep, out) = folder();
        done(run(&out, &format!("--steps 60 --no-privacy {more}")));
        let metrics = ends(&out);
        let metrics = metrics.as_array().expect("metrics").iter();
        let mut gaps = metrics.filter(|metric| metric["name"] == "Demographic parity gap");
        let gap = number(&gaps.next().expect("a gap")["value"]);
        (gap, weights(&out).expect("a model"))
    };
    let ((gap, own), (repaired, others)) = (moved(""), moved("--repair 0.5"));
    assert!(repaired < 0.8 * gap, "{repaired} {gap}");
    // They were trained on other records.
    assert_ne!(own, others);
}

/// At 1/n a mechanism may publish a record outright: only the preset `paper` has it, and says so.
#[test]
fn the_paper_s_delta_says_what_it_lets_through() {
    for (preset, records, share) in [("tuned", "600", 0.1), ("paper", "30000", 1.0)] {
        let (_keep, out) = folder();
        let line = format!("regression1d --preset {preset} --records {records} --steps 2");
        let output = done(fair(&out, &line));
        let run = json(&out.join("run.json"));
        let records = number(&run["records"]);
        let delta = number(&run["plan"]["delta"]);
        assert!((delta * records / share - 1.0).abs() < 1e-6, "{delta}");
        let loose = "would let a mechanism publish one of them outright";
        assert_eq!(text(&output.stdout).contains(loose), share > 0.1);
        assert_eq!(run["warnings"].to_string().contains(loose), share > 0.1);
    }
}

#[test]
fn histograms_tell_of_a_release_that_the_ledger_lost() {
    let (_keep, out) = folder();
    let flags = "regression1d --post-process 0.1";
    done(small(&out, flags));
    // As where it was killed before its last line.
    remove(out.join("run.json"));
    let ledger = out.join("ledger.jsonl");
    let whole = text_at(&ledger);
    let steps: String = whole.split_inclusive('\n').take(12).collect();
    put(&ledger, steps);
    let words = ["ledger.jsonl", "histograms.bin"];
    says(&refusal(small(&out, flags)), &words);
    put(&ledger, &whole);
    done(small(&out, flags));
    // Its steps were made again; its histograms were not.
    assert_eq!(lines(&out), 13 + 12);
    let run = json(&out.join("run.json"));
    let planned = number(&run["plan"]["epsilon_upper"]);
    assert!(number(&run["epsilon_spent_upper"]) > planned);
}

#[test]
fn runs_of_one_seed_share_their_batches_and_their_noise() {
    // Rodriguez-Vitores, Lalanne and Loubes 2025, C.6: with the same weight they are the same run, whatever else their settings are.
    let result = |more: &str| {
        let (_keep, out) = folder();
        let output = done(small(&out, &format!("{more} --insecure-noise-seed 3")));
        assert_eq!(json(&out.join("run.json"))["private"], false);
        is_of_known_noise(&text(&output.stdout));
        bytes_at(out.join("metrics.jsonl"))
    };
    assert!(result("") == result(""));
    assert!(result("") != result("--epsilon 1"));
}

#[test]
fn a_table_of_ones_own() {
    let home = Home::new();
    home.put("schema.toml", SCHEMA);
    let line = |i: usize| {
        let (x, sex) = (i % 10, if i.is_multiple_of(3) { "F" } else { "M" });
        format!("{x},{sex},{}\n", if x > 4 { "yes" } else { "no" })
    };
    let rows = (0..300).map(line).collect::<String>();
    home.put("good.csv", format!("x,sex,y\n{rows}"));
    // One group has records, but none of class 1.
    let one_class = rows.replace("F,yes", "F,no");
    home.put("one-class.csv", format!("x,sex,y\n{one_class}"));
    let flags = "--schema schema.toml --steps 10 --test-share 0.2 --backend flex";
    for name in ["good", "one-class"] {
        let input = format!("--input {name}.csv --notion sp --run {name}");
        home.done(&format!("fair {flags} {input}"));
    }
    assert_eq!(home.json("good/run.json")["records"], 247);
}

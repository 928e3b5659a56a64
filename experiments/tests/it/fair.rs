//! `fair` as a person runs it: through the binary, in a folder of its own.

use std::path::Path;
use std::process::{Command, Output};

use dp_core::accounting::Event;
use dp_core::ledger::{Ledger, LedgerEntry};

use crate::program::{
    Ran, SCHEMA, done, folder, json, ledger, lines, metrics, number, pld, refusal, refuses, says,
    sliver, text, weights, whole_and_killed, words,
};

/// A run of a task; a classification where the arguments name none.
fn fair(arguments: &[&str]) -> Command {
    let mut command = sliver("fair");
    command.args(arguments).args(["--backend", "flex"]);
    command
}

/// A run of a second.
fn small(out: &Path, more: &[&str]) -> Output {
    let mut command = fair(more);
    command.args(["--records", "600", "--steps", "12"]);
    command.arg("--run").arg(out);
    command.ran()
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
        done(small(&out, &task.split(' ').collect::<Vec<_>>()));
        let run = json(&out.join("run.json"));
        assert!(out.join("model.bpk").exists());
        assert_eq!(run["private"], true);
        assert!(out.join("group.svg").exists() && out.join("report.html").exists());
        assert!(out.join("curve.svg").exists());
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
    for (more, noise_multiplier) in [
        (vec![], 1.0),
        (vec!["--alpha", "0.4", "--post-share", "0.1"], 5.0),
    ] {
        let (_keep, out) = folder();
        let flags = ["regression1d", "--post-process", "0.1"];
        done(small(&out, &[&flags[..], &more[..]].concat()));
        let entries = ledger(&out).entries;
        assert_eq!(entries.len(), 13);
        assert_eq!(entries[12].event, Event::Laplace { noise_multiplier });
        assert_eq!(entries[12].sensitivity, Some(2.0));
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
    let run = |out: &Path, more: &str| {
        let mut command = fair(&["adult", "--records", "2000", "--alpha", "0"]);
        command.arg("--run").arg(out).args(words(more));
        command.arg("--data-dir").arg(&data);
        command
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
        let task = ["regression1d", "--preset", preset];
        let mut command = fair(&task);
        command.args(["--records", records, "--steps", "2", "--run"]);
        command.arg(&out);
        let output = done(command.ran());
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
    let flags = ["regression1d", "--post-process", "0.1"];
    done(small(&out, &flags));
    // As where it was killed before its last line.
    std::fs::remove_file(out.join("run.json")).expect("removed");
    let ledger = out.join("ledger.jsonl");
    let whole = std::fs::read_to_string(&ledger).expect("readable");
    let steps: Vec<&str> = whole.lines().take(12).collect();
    std::fs::write(&ledger, steps.join("\n") + "\n").expect("written");
    let message = refusal(small(&out, &flags));
    says(&message, &["ledger.jsonl", "histograms.bin"]);
    std::fs::write(&ledger, &whole).expect("written");
    done(small(&out, &flags));
    // Its steps were made again; its histograms were not.
    assert_eq!(
        Ledger::read(&ledger).expect("a ledger").entries.len(),
        13 + 12
    );
    let run = json(&out.join("run.json"));
    let planned = number(&run["plan"]["epsilon_upper"]);
    assert!(number(&run["epsilon_spent_upper"]) > planned);
}

#[test]
fn runs_of_one_seed_share_their_batches_and_their_noise() {
    // Rodriguez-Vitores, Lalanne and Loubes 2025, C.6: with the same weight they are the same run, whatever else their settings are.
    let result = |more: &[&str]| {
        let (_keep, out) = folder();
        let output = done(small(
            &out,
            &[more, &["--insecure-noise-seed", "3"]].concat(),
        ));
        let run = json(&out.join("run.json"));
        assert_eq!(run["private"], false);
        let message = text(&output.stdout);
        let mut promises = message.lines().filter(|l| l.starts_with("privacy"));
        let known = "privacy   NOT PRIVATE, because the noise comes from a known seed";
        assert!(promises.all(|l| l.starts_with(known)), "{message}");
        std::fs::read_to_string(out.join("metrics.jsonl")).expect("metrics")
    };
    assert_eq!(result(&[]), result(&[]));
    assert_ne!(result(&[]), result(&["--epsilon", "1"]));
}

#[test]
fn a_killed_run_resumes_to_the_same_end() {
    let settings =
        words("representation --steps 60 --insecure-noise-seed 4 --checkpoint-every 7 --ema 0.9");
    let run = |out: &Path| {
        let mut command = fair(&settings);
        command.args(["--records", "600", "--run"]).arg(out);
        command
    };
    let [(_keep, whole), (_kept, killed)] = whole_and_killed(run, &[10, 30, 50]);
    let ((scores, spent), (others, planned)) = (metrics(&killed), metrics(&whole));
    assert_eq!(scores, others);
    // What was made again is counted during the run too.
    assert!(spent.iter().zip(&planned).all(|(s, p)| s >= p));
    // From checkpoints at 7, 28 and 49.
    assert_eq!(lines(&killed), 60 + 3 + 2 + 1);
}

#[test]
fn bad_input_is_refused_by_name() {
    let cases = "
            --alpha 1.5 => --alpha 1.5
            --rate 0 => --rate 0
            --delta 0.1 => delta = 0.1
            --final-rate 2 => --final-rate 2
            --max-grad-norm -1 => --max-grad-norm -1
            regression2d --notion eo => --notion: the task regression2d has none
            regression2d --slices 1 => --slices 1
            classification --post-process 0.1 => --post-process: the task classification has none
            regression1d --post-process 2 => --post-process 2
            regression1d --post-process 0 --post-share 1 => --post-share 1
            classification --repair 0.5 => --repair: the task classification has none
            regression1d --sensitive sex => --sensitive: the task regression1d has none
            adult --post-share 0.2 => --post-share: the task adult has none
            adult --preset paper => --preset paper: the task adult has none
            adult --repair 1 => --repair 1
        ";
    refuses(cases, small);
}

#[test]
fn a_table_of_ones_own() {
    let keep = tempfile::tempdir().expect("a temporary folder");
    let place = |name: &str, content: &str| {
        let path = keep.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    };
    let schema = place("schema.toml", SCHEMA);
    let rows = |line: &dyn Fn(usize) -> String| {
        let lines: Vec<String> = (0..300).map(line).collect();
        format!("x,sex,y\n{}\n", lines.join("\n"))
    };
    let line = |i: usize| {
        let (x, sex) = (i % 10, if i.is_multiple_of(3) { "F" } else { "M" });
        format!("{x},{sex},{}", if x > 4 { "yes" } else { "no" })
    };
    let run = |csv: &Path, out: &Path, notion: &str| {
        fair(&["--steps", "10", "--notion", notion, "--test-share", "0.2"])
            .arg("--cache-dir")
            .arg(keep.path().join("cache"))
            .arg("--input")
            .arg(csv)
            .arg("--schema")
            .arg(&schema)
            .arg("--run")
            .arg(out)
            .ran()
    };
    let good = place("good.csv", &rows(&line));
    let out = keep.path().join("good");
    done(run(&good, &out, "sp"));
    assert_eq!(json(&out.join("run.json"))["records"], 247);
    for (name, content, says) in [
        (
            "ragged.csv",
            rows(&|i| if i == 41 { "1,F".into() } else { line(i) }),
            "another number of fields than 3",
        ),
        (
            "other.csv",
            rows(&|i| {
                if i == 6 {
                    "1,Positive17,no".into()
                } else {
                    line(i)
                }
            }),
            "column sex: expected",
        ),
        (
            "one-group.csv",
            rows(&|i| line(i).replace('F', "M")),
            "group 0",
        ),
    ] {
        let out = keep.path().join("bad");
        let message = refusal(run(&place(name, &content), &out, "sp"));
        assert!(message.contains(says), "{name}: {message}");
        assert!(!message.contains("Positive17"), "{message}");
        assert!(!out.exists());
    }
    // One group has records, but none of class 1.
    let one_class = place(
        "one-class.csv",
        &rows(&|i| line(i).replace("F,yes", "F,no")),
    );
    let out = keep.path().join("one-class");
    let message = refusal(run(&one_class, &out, "eo"));
    let says = [
        "group 0 of class 1 has no record",
        "choose another sensitive attribute, or --notion sp",
    ];
    assert!(says.iter().all(|says| message.contains(says)), "{message}");
    assert!(!out.exists());
    done(run(&one_class, &out, "sp"));
}

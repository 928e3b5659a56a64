//! The example of an experiment of one's own, as a person runs it.

#[allow(dead_code)] // its main
#[path = "../../examples/own_experiment.rs"]
mod example;

use std::path::Path;

use clap::Parser;
use lab::diagnostic::Failure;
use lab::session::{Arguments, run};

use self::example::{Flags, Regression};
use crate::program::{folder, json, last_checkpoint, lines, number, remove, says, words};

fn own(out: &Path, line: &str) -> Result<(), Failure> {
    let line = format!("own_experiment --backend flex {line} {}", out.display());
    run::<Regression>(&Arguments::<Flags>::parse_from(words(&line)))
}

/// A run that stops behind a step.
fn stopped(out: &Path, line: &str) {
    let failure = own(out, line).expect_err("it stops");
    assert!(matches!(failure, Failure::Interrupted { .. }), "{failure}");
}

#[test]
fn it_is_private_resumes_and_reports() {
    let known = "--steps 20 --insecure-noise-seed 4 --ema 0.9";
    let (_keep, whole) = folder();
    own(&whole, &format!("{known} --run")).expect("it runs");
    let (_keep, other) = folder();
    stopped(&other, &format!("{known} --stop-after-step 7 --run"));
    own(&other, "--resume").expect("it resumes");
    let [one, same] = [&whole, &other].map(|out| json(&out.join("run.json")));
    assert_eq!(one["metrics"], same["metrics"]);
    assert!(number(&one["metrics"][0]["value"]) > 0.6);
    assert_eq!([lines(&whole), lines(&other)], [20, 20]);
    assert!(other.join("report.html").exists() && !other.join("checkpoints").exists());
    assert_eq!(one["private"], false, "its noise is known");
    let (_keep, private) = folder();
    own(&private, "--steps 3 --run").expect("it runs");
    assert_eq!(json(&private.join("run.json"))["private"], true);
}

/// With its kept noise a run whose noise is correlated ends as if it had never stopped, and one line stands for all its steps;
/// where the noise is lost, the steps that are left have another.
#[test]
fn correlated_noise_resumes_for_nothing_more() {
    let settings = "--steps 30 --epsilon 2 --bandwidth 4 --checkpoint-every 3";
    let known = "--insecure-noise-seed 4";
    let (_keep, whole) = folder();
    own(&whole, &format!("{settings} {known} --run")).expect("it runs");
    assert_eq!(lines(&whole), 1);
    for (noise, lost) in [(known, false), ("", false), (known, true)] {
        let (_keep, other) = folder();
        let stop = "--stop-after-step 17 --run";
        stopped(&other, &format!("{settings} {noise} {stop}"));
        if lost {
            remove(last_checkpoint(&other).join("noise.json"));
        }
        own(&other, "--resume").expect("it resumes");
        let [one, again] = [&whole, &other].map(|out| json(&out.join("run.json")));
        // Without the known noise they may be the same by chance.
        assert!(one["metrics"] == again["metrics"] || noise.is_empty() || lost);
        assert_eq!(lines(&other), 1 + usize::from(lost));
        assert_eq!(again["private"], noise.is_empty());
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    for (flags, words) in [
        ("--epsilon nan", "--epsilon NaN"),
        ("--batch 9999", "--batch 9999"),
        ("--delta 0.1", "delta = 0.1"),
    ] {
        let (_keep, out) = folder();
        let refused = own(&out, &format!("{flags} --run")).expect_err("refused");
        assert!(matches!(refused, Failure::BadInput { .. }), "{refused}");
        says(&refused, &[words]);
        assert!(!out.exists());
    }
}

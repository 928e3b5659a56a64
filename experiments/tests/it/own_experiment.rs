//! The example of an experiment of one's own, as a person runs it.

#[allow(dead_code)] // its main
#[path = "../../examples/own_experiment.rs"]
mod example;

use std::path::Path;

use clap::Parser;
use lab::diagnostic::Failure;
use lab::session::{Arguments, run};

use self::example::{Flags, Regression};
use crate::program::{folder, json, last_checkpoint, lines, number, words};

fn own(arguments: &[&str], out: &Path) -> Result<(), Failure> {
    let out = out.to_str().expect("UTF-8");
    let backend = ["own_experiment", "--backend", "flex"];
    let line = backend.iter().chain(arguments).chain([&out]);
    run::<Regression>(&Arguments::<Flags>::parse_from(line))
}

#[test]
fn it_is_private_resumes_and_reports() {
    let settings = words("--steps 20 --insecure-noise-seed 4 --ema 0.9");
    let run = |more: &[&str], out: &Path| own(&[&settings, more, &["--run"]].concat(), out);
    let (_keep, whole) = folder();
    run(&[], &whole).expect("it runs");
    let (_keep, stopped) = folder();
    let failure = run(&["--stop-after-step", "7"], &stopped).expect_err("it stops");
    assert!(matches!(failure, Failure::Interrupted { .. }), "{failure}");
    own(&["--resume"], &stopped).expect("it resumes");
    let [one, other] = [&whole, &stopped].map(|out| json(&out.join("run.json")));
    assert_eq!(one["metrics"], other["metrics"]);
    assert!(number(&one["metrics"][0]["value"]) > 0.6);
    assert_eq!([lines(&whole), lines(&stopped)], [20, 20]);
    assert!(stopped.join("report.html").exists() && !stopped.join("checkpoints").exists());
    assert_eq!(one["private"], false, "its noise is known");
    let (_keep, private) = folder();
    own(&["--steps", "3", "--run"], &private).expect("it runs");
    assert_eq!(json(&private.join("run.json"))["private"], true);
}

/// With its kept noise a run whose noise is correlated ends as if it had never stopped, and one line stands for all its steps;
/// where the noise is lost, the steps that are left have another.
#[test]
fn correlated_noise_resumes_for_nothing_more() {
    let settings = words("--steps 30 --epsilon 2 --bandwidth 4 --checkpoint-every 3");
    let run = |more: &[&str], out: &Path| own(&[&settings, more, &["--run"]].concat(), out);
    let known: &[&str] = &["--insecure-noise-seed", "4"];
    let (_keep, whole) = folder();
    run(known, &whole).expect("it runs");
    assert_eq!(lines(&whole), 1);
    for (noise, lost) in [(known, false), (&[], false), (known, true)] {
        let (_keep, stopped) = folder();
        let failure = run(&[noise, &["--stop-after-step", "17"]].concat(), &stopped);
        let failure = failure.expect_err("it stops");
        assert!(matches!(failure, Failure::Interrupted { .. }), "{failure}");
        if lost {
            let last = last_checkpoint(&stopped);
            std::fs::remove_file(last.join("noise.json")).expect("its noise");
        }
        own(&["--resume"], &stopped).expect("it resumes");
        let [one, other] = [&whole, &stopped].map(|out| json(&out.join("run.json")));
        let same = one["metrics"] == other["metrics"];
        // Without the known noise they may be the same by chance.
        assert!(same || noise.is_empty() || lost);
        assert_eq!(lines(&stopped), 1 + usize::from(lost));
        assert_eq!(other["private"], noise.is_empty());
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    for (flags, says) in [
        (["--epsilon", "nan"], "--epsilon NaN"),
        (["--batch", "9999"], "--batch 9999"),
        (["--delta", "0.1"], "delta = 0.1"),
    ] {
        let (_keep, out) = folder();
        let refused = own(&[&flags[..], &["--run"]].concat(), &out).expect_err("refused");
        assert!(matches!(refused, Failure::BadInput { .. }), "{refused}");
        assert!(refused.to_string().contains(says), "{refused}");
        assert!(!out.exists());
    }
}

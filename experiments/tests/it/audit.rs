//! The audits of this workspace's own mechanisms: true claims, planted bugs, bad input.

#[allow(dead_code)] // its main
#[path = "../../examples/audit/main.rs"]
mod example;

use clap::Parser;
use lab::diagnostic::Failure;

use self::example::{Arguments, Findings, run};

/// With noise of a known seed. The false-alarm rate of each audit is that of `--false-alarm`, 1 in 100.
fn audit(flags: &str) -> Result<Findings, Failure> {
    let line = format!("audit --insecure-noise-seed 11 {flags}");
    run(&Arguments::parse_from(line.split_whitespace()))
}

const SMALL: &str = "--runs 20000 --canaries 2000 --pairs 150";

/// A training on sampled batches, in one run.
const TRAINING: &str = "--epsilon 4 --rate 0.3 --pairs 0";

/// Percents of the claim, one an estimator, where no attack violates it.
fn shares(flags: &str) -> Vec<f64> {
    let findings = audit(flags).expect(flags);
    assert!(findings.violations().is_empty(), "{flags}: {findings:?}");
    let shares = findings.attacks.iter().filter_map(|attack| attack.share);
    let shares: Vec<f64> = shares.collect();
    assert!(shares.iter().all(|share| *share <= 100.0), "{shares:?}");
    shares
}

#[test]
fn what_is_claimed_of_a_release_is_not_violated() {
    for flags in ["--epsilon 4", "--epsilon 10", "--epsilon 4 --steps 3"] {
        let shares = shares(&format!("{SMALL} {flags}"));
        // By the law of the scores, nearly all of it.
        assert!(shares.len() == 5 && shares[2] > 90.0, "{shares:?}");
    }
}

#[test]
fn planted_bugs_are_found() {
    for flags in [
        "--epsilon 4 --sabotage half-noise",
        "--epsilon 4 --steps 4 --sabotage accounted-once",
    ] {
        let findings = audit(&format!("{SMALL} {flags}")).expect(flags);
        let violations = findings.violations();
        for name in [
            "many runs, counts and a Gaussian curve",
            "many runs, law of the scores",
            "pairs of runs, one after the other",
        ] {
            assert!(violations.contains(&name), "{flags}: {violations:?}");
        }
        let failure = findings.verdict().expect_err("a violation");
        let says = "the claim of epsilon 4 at delta 1e-5 is violated";
        assert!(matches!(&failure, Failure::Failed { message, .. } if message == says));
    }
}

/// Against the curve of the plan, amplification and all.
#[test]
fn what_is_claimed_of_a_training_is_not_violated() {
    for mechanism in ["poisson", "fixed-size"] {
        let shares = shares(&format!("{TRAINING} --steps 20 --mechanism {mechanism}"));
        assert!(shares.len() == 2 && shares[1] > 20.0, "{shares:?}");
    }
}

#[test]
fn bugs_of_a_training_are_found_in_one_run() {
    for flags in [
        "--mechanism poisson --steps 20 --sabotage half-noise",
        "--mechanism poisson --steps 20 --sabotage accounted-once",
        "--mechanism poisson --steps 20 --sabotage fixed-batches",
        "--mechanism fixed-size --steps 60 --sabotage accounted-once",
    ] {
        let violations = audit(&format!("{TRAINING} {flags}"));
        let violations = violations.expect(flags).violations();
        let name = "one run, guesses and the curve of the plan";
        assert!(violations.contains(&name), "{flags}: {violations:?}");
    }
}

/// Trainings whose data sets have 2 to 48 records: deterministic but for their noise and batches, which a fault is found
/// in with a probability of at most 1 in 100 where there is none.
#[test]
fn trainings_keep_what_they_declare() {
    let findings = audit("--mechanism training --replays 100").expect("it runs");
    assert!(findings.attacks.is_empty(), "{findings:?}");
    findings.verdict().expect("no violation");
}

#[test]
fn every_planted_bug_of_a_training_is_found() {
    let cases = [
        ("half-noise", "neighbours are"),
        ("accounted-once", "and the ledger holds 1"),
        ("fixed-batches", "all steps have the same one"),
        ("no-clip", "neighbours are"),
        ("clip-by-batch", "neighbours are"),
        ("mean-for-sum", "neighbours are"),
        ("unstable-ties", "neighbours are"),
        ("poisson-for-fixed", "they are of one size"),
        ("dropped-line", "and the ledger holds 19"),
        ("size-from-data", "depends on the record"),
        ("normalising-by-data", "neighbours are"),
        ("resumed-noise", "the same noise"),
        ("canary-in-public", "the weights before the first step"),
    ];
    for (bug, words) in cases {
        let flags = format!("--mechanism training --replays 60 --sabotage {bug}");
        let found = audit(&flags).expect(bug).attacks;
        let says = found.iter().any(|fault| fault.to_string().contains(words));
        assert!(says, "{bug}: {found:?}");
    }
}

/// The last weights alone.
#[test]
fn a_final_model_shows_most_of_its_claim_and_no_more() {
    for (epsilon, runs, least) in [(1, 10_000, 30.0), (4, 2000, 50.0), (10, 300, 40.0)] {
        let model = format!("--mechanism final-model --epsilon {epsilon} --records 50");
        let all = shares(&format!("{model} --runs {runs}"));
        assert!(all.len() == 2 && all[1] > least, "{epsilon}: {all:?}");
    }
}

#[test]
fn bad_budgets_are_refused() {
    let cases = [
        ("--epsilon 0", "--epsilon is 0"),
        ("--delta 0.7", "--delta is 0.7"),
        ("--false-alarm 1", "--false-alarm is 1"),
        ("--rate 0", "--rate is 0"),
        ("--delta 1e-4 --mechanism poisson", "delta = 0.0001"),
        ("--mechanism final-model --records 1", "--records is 1"),
        (
            "--mechanism final-model --sabotage half-noise",
            "--mechanism training",
        ),
        ("--sabotage accounted-once", "say --steps"),
        ("--sabotage unstable-ties", "--mechanism training"),
        (
            "--sabotage fixed-batches --steps 4",
            "--mechanism fixed-size",
        ),
    ];
    for (flags, words) in cases {
        let failure = audit(flags).expect_err(flags);
        assert!(matches!(failure, Failure::BadInput { .. }), "{failure:?}");
        test_support::says(&format!("{failure:?}"), &[words]);
    }
}

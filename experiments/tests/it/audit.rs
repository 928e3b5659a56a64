//! `audit` as a person runs it: a true claim, planted bugs, bad input.

use crate::program::{Ran, refusal, says, sliver};
use std::path::Path;
use std::process::Output;

/// With noise of a known seed, and a page in a folder that goes again. The false-alarm rate of each run is that of
/// `--false-alarm`, 1 in 100.
fn audit(flags: &str) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    audit_in(folder.path(), flags)
}

fn audit_in(folder: &Path, flags: &str) -> Output {
    sliver("audit")
        .args(flags.split_whitespace())
        .args(["--insecure-noise-seed", "11"])
        .current_dir(folder)
        .ran()
}

const SMALL: &str = "--runs 20000 --canaries 2000 --pairs 150";

/// A training on sampled batches, in one run.
const TRAINING: &str = "--epsilon 4 --rate 0.3 --pairs 0";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Percents of the claim, one an estimator.
fn shares(output: &Output) -> Vec<f64> {
    let share = |line: &str| line.split_once(" % of the claim")?.0.trim().parse().ok();
    text(&output.stdout).lines().filter_map(share).collect()
}

#[test]
fn what_is_claimed_of_a_release_is_not_violated() {
    for flags in ["--epsilon 4", "--epsilon 10", "--epsilon 4 --steps 3"] {
        let output = audit(&format!("{SMALL} {flags}"));
        let printed = text(&output.stdout);
        assert!(output.status.success(), "{flags}: {printed}");
        says(&printed, &["no attack violates the claim"]);
        let shares = shares(&output);
        assert_eq!(shares.len(), 5, "{printed}");
        assert!(shares.iter().all(|share| *share <= 100.0), "{shares:?}");
        // By the law of the scores, nearly all of it.
        assert!(shares[2] > 90.0, "{shares:?}");
    }
}

#[test]
fn planted_bugs_are_found() {
    let cases = [
        "--epsilon 4 --sabotage half-noise",
        "--epsilon 4 --steps 4 --sabotage accounted-once",
    ];
    for flags in cases {
        let output = audit(&format!("{SMALL} {flags}"));
        let printed = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{flags}: {printed}");
        let verdict = printed
            .lines()
            .find(|line| line.contains("violated by"))
            .expect("a verdict");
        says(
            &verdict,
            &[
                "many runs, counts and a Gaussian curve",
                "many runs, law of the scores",
                "pairs of runs",
            ],
        );
        assert!(text(&output.stderr).contains("the claim of epsilon 4 at delta 1e-5 is violated"));
    }
}

/// Against the curve of the plan, amplification and all.
#[test]
fn what_is_claimed_of_a_training_is_not_violated() {
    for mechanism in ["poisson", "fixed-size"] {
        let output = audit(&format!("{TRAINING} --steps 20 --mechanism {mechanism}"));
        let printed = text(&output.stdout);
        assert!(output.status.success(), "{mechanism}: {printed}");
        let shares = shares(&output);
        assert_eq!(shares.len(), 2, "{printed}");
        assert!(shares[1] > 20.0 && shares[1] <= 100.0, "{shares:?}");
    }
}

#[test]
fn bugs_of_a_training_are_found_in_one_run() {
    let cases = [
        "--mechanism poisson --steps 20 --sabotage half-noise",
        "--mechanism poisson --steps 20 --sabotage accounted-once",
        "--mechanism poisson --steps 20 --sabotage fixed-batches",
        "--mechanism fixed-size --steps 60 --sabotage accounted-once",
    ];
    for flags in cases {
        let output = audit(&format!("{TRAINING} {flags}"));
        let printed = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{flags}: {printed}");
        says(
            &printed,
            &["violated by one run, guesses and the curve of the plan"],
        );
    }
}

/// Trainings whose data sets have 2 to 48 records: deterministic but for their noise and batches, which a fault is found
/// in with a probability of at most 1 in 100 where there is none.
#[test]
fn trainings_keep_what_they_declare() {
    let output = audit("--mechanism training --replays 100");
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("keeps what it declares"), "{printed}");
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
        let output = audit(&format!(
            "--mechanism training --replays 60 --sabotage {bug}"
        ));
        let printed = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{bug}: {printed}");
        assert!(printed.contains(words), "{bug}: {printed}");
    }
}

/// The last weights alone, of trainings on all records. An audit leaves a page, with what each bound assumes.
#[test]
fn a_final_model_shows_most_of_its_claim_and_no_more() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let flags = "--mechanism final-model --epsilon 10 --steps 5 --rate 1 --records 200 --runs 300";
    let output = audit_in(folder.path(), flags);
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{printed}");
    let shares = shares(&output);
    assert!(
        shares.len() == 2 && shares.iter().all(|share| *share <= 100.0),
        "{printed}"
    );
    assert!(shares[1] > 40.0, "{printed}");
    let page = folder.path().join("runs/audit/final-model-eps10");
    for name in ["run.json", "claim.svg", "report.html"] {
        assert!(page.join(name).exists(), "{name}");
    }
    let html = std::fs::read_to_string(page.join("report.html")).expect("a page");
    says(
        &html,
        &[
            "no attack violates the claim",
            "Gaussian",
            "taken for public",
        ],
    );
    // A folder that exists is refused before an attack.
    let output = audit_in(folder.path(), &format!("{flags} --out {}", page.display()));
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    // Another one beside it; batches that are sampled are held against the plan's own curve.
    let flags =
        "--mechanism final-model --epsilon 10 --steps 5 --rate 0.5 --records 200 --runs 100";
    let output = audit_in(folder.path(), flags);
    let printed = text(&output.stdout);
    assert!(
        output.status.success() && printed.contains("the curve of the plan"),
        "{printed}"
    );
    assert!(
        folder
            .path()
            .join("runs/audit/final-model-eps10-2/report.html")
            .exists()
    );
}

#[test]
fn bad_budgets_are_refused() {
    let cases = [
        ("--epsilon 0", "--epsilon is 0"),
        ("--delta 0.7", "--delta is 0.7"),
        ("--false-alarm 1", "--false-alarm is 1"),
        ("--rate 0", "--rate is 0"),
        ("--delta 1e-4 --mechanism poisson", "delta = 0.0001"),
        ("--mechanism final-model --rate 2", "--rate is 2"),
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
        let message = refusal(audit(flags));
        assert!(message.contains(words), "{flags}: {message}");
    }
}

//! `sweep` as a person runs it, of runs of seconds.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::program::{Ran, done, json, refusal, says, sliver, text};

const SWEEP: &str = r#"
    experiment = "swae"
    name = "two"
    [fixed]
    backend = "flex"
    records = 200
    batch = 20
    steps = 3
    delta = 1e-3
    slices = 8
    quick-scores = true
    [grid]
    epsilon = [2, 5]
"#;

fn sweep(folder: &Path, text: &str, more: &[&str]) -> Output {
    let file = folder.join("two.toml");
    std::fs::write(&file, text).expect("written");
    sliver("sweep")
        .arg(&file)
        .arg("--out")
        .arg(folder.join("runs"))
        .args(more)
        .ran()
}

fn finished(folder: &Path) -> Vec<PathBuf> {
    let runs = std::fs::read_dir(folder.join("runs")).into_iter().flatten();
    let runs = runs.flatten().map(|entry| entry.path());
    let mut done: Vec<PathBuf> = runs.filter(|run| run.join("run.json").exists()).collect();
    done.sort();
    done
}

fn is_of(run: &Path, values: &str) -> bool {
    let name = run.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(values)
}

#[test]
fn what_is_done_is_skipped_and_lines_can_be_run_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let printed = done(sweep(folder.path(), SWEEP, &["--plan"]));
    let lines: Vec<String> = text(&printed.stdout).lines().map(String::from).collect();
    assert_eq!(lines.len(), 2);

    // One line by a shell, as GNU parallel would; again, and nothing happens.
    let shell = || {
        done(Command::new("sh").args(["-c", &lines[0]]).ran());
        let first = finished(folder.path());
        assert_eq!(first.len(), 1);
        assert!(is_of(&first[0], "epsilon-2_"), "{first:?}");
        let files = ["ledger.jsonl", "run.json"];
        files.map(|name| std::fs::read(first[0].join(name)).expect("a file"))
    };
    let made = shell();
    assert_eq!(shell(), made);

    let rest = done(sweep(folder.path(), SWEEP, &["--workers", "2"]));
    assert!(text(&rest.stderr).contains("2 cells, 1 done, 1 to run"));
    let both = finished(folder.path());
    assert_eq!(both.len(), 2);
    assert_eq!(
        std::fs::read(both[0].join("run.json")).expect("a file"),
        made[1]
    );
    let none = sweep(folder.path(), SWEEP, &["--plan"]);
    assert!(none.stdout.is_empty());
}

#[test]
fn a_cell_that_fails_is_named_and_the_others_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = SWEEP.replace("[2, 5]", "[-1, 5]");
    let output = sweep(folder.path(), &bad, &[]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    says(&message, &["1 of 2 cells failed: epsilon--1_"]);
    assert_eq!(finished(folder.path()).len(), 1);
}

#[test]
fn mistakes_end_with_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    for (change, to, says) in [
        ("\"swae\"", "\"swea\"", "there is none of that name"),
        ("\"swae\"", "\"report\"", "name one of synth, swae, fair"),
        ("[2, 5]", "2", "grid.epsilon must be a list"),
    ] {
        let message = refusal(sweep(folder.path(), &SWEEP.replace(change, to), &[]));
        assert!(message.contains(says), "{message}");
    }
}

/// Nothing of a single run's cost is in what a private choice releases, and samples are made of it as of any run.
#[test]
fn a_private_choice_tells_of_no_single_run() {
    for (experiment, fixed, select) in [
        (
            "fair",
            "task = \"classification\"\nrecords = 300\nsteps = 8\nepsilon = 1",
            "Accuracy",
        ),
        (
            "synth",
            "kind = \"table\"\ninput = \"biased\"\nrecords = 400\nepsilon = 1",
            "sliced Wasserstein",
        ),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = folder.path().join("cache");
        let text = format!(
            "experiment = \"{experiment}\"\nname = \"choice\"\n[fixed]\nbackend = \"flex\"\ncache-dir = {:?}\n{fixed}\n[grid]\nseed = [1, 2]\n",
            cache.display().to_string()
        );
        let flags = [
            "--private",
            "--select",
            select,
            "--runs",
            "2",
            "--law",
            "logarithmic",
        ];
        done(sweep(folder.path(), &text, &flags));
        let (best, secret) = (
            folder.path().join("runs/best"),
            folder.path().join("runs/private"),
        );
        let mut single = Vec::new();
        for run in std::fs::read_dir(secret).expect("runs").flatten() {
            if !run.path().is_dir() {
                continue;
            }
            let run = json(&run.path().join("run.json"));
            for number in [
                &run["plan"]["epsilon_upper"],
                &run["plan"]["noise_multiplier"],
            ] {
                single.extend(number.as_f64());
            }
        }
        assert!(single.len() >= 2);
        for entry in std::fs::read_dir(&best).expect("a folder").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "ledger.jsonl" {
                // What may be chosen has its noise there: the selection's epsilon is computed from it.
                continue;
            }
            let bytes = std::fs::read(entry.path()).expect("a file");
            let written = String::from_utf8_lossy(&bytes);
            for number in &single {
                for shown in [number.to_string(), dp_core::decimal::upper(*number)] {
                    // A whole number may be any number.
                    let told = shown.contains('.') && written.contains(&shown);
                    assert!(!told, "{experiment} {name}: {shown}");
                }
            }
        }
        let run = json(&best.join("run.json"));
        assert_eq!(run["settings"]["epsilon"], run["plan"]["epsilon_upper"]);
        if experiment == "synth" {
            let to = folder.path().join("copy");
            let mut export = sliver("export");
            done(
                export
                    .arg(&best)
                    .arg("--out")
                    .arg(&to)
                    .args(["--count", "20"]),
            );
            let card = json(&to.join("card.json"));
            assert_eq!(
                card["privacy"]["epsilon_upper"],
                run["plan"]["epsilon_upper"]
            );
        }
    }
}

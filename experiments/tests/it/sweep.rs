//! `sweep` as a person runs it, of runs of seconds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{
    Home, Ran, bytes_at, done, files, json, put, refusal, says, sliver, text, unwrapped,
};

/// Runs with known noise, of a few steps each.
pub(crate) const SWEEP: &str = r#"
    experiment = "swae"
    name = "some"
    [fixed]
    backend = "flex"
    records = 200
    batch = 20
    steps = 3
    delta = 1e-3
    slices = 8
    quick-scores = true
    insecure-noise-seed = 3
    [grid]
    epsilon = [2, 5]
"#;

/// A sweep of this text, whose runs are in the folder `runs` of this one.
pub(crate) fn sweep(folder: &Path, text: &str) -> Command {
    let file = folder.join("sweep.toml");
    put(&file, text);
    let mut command = sliver("sweep");
    command.arg(file).arg("--out").arg(folder.join("runs"));
    command
}

/// What a sweep says whose first of these cells failed.
#[track_caller]
pub(crate) fn one_failed(program: impl Ran, of: usize) -> String {
    let output = program.ran();
    let message = unwrapped(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    let failed = format!("1 of {of} cells failed: epsilon--1_");
    says(&message, &[&failed]);
    message
}

fn finished(home: &Home) -> Vec<PathBuf> {
    let runs = std::fs::read_dir(home.at("runs")).into_iter().flatten();
    let runs = runs.flatten().map(|entry| entry.path());
    let mut done: Vec<PathBuf> = runs.filter(|run| run.join("run.json").exists()).collect();
    done.sort();
    done
}

#[test]
fn what_is_done_is_skipped_and_lines_can_be_run_elsewhere() {
    let home = Home::new();
    let run = |flags: &[&str]| done(sweep(&home.at(""), SWEEP).args(flags));
    let printed = text(&run(&["--plan"]).stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 2);

    // One line by a shell, as GNU parallel would; again, and nothing happens.
    let [made, again] = [(); 2].map(|()| {
        done(Command::new("sh").args(["-c", lines[0]]).ran());
        let first = finished(&home);
        assert_eq!(first.len(), 1);
        says(&first[0].display(), &["runs/epsilon-2_"]);
        ["ledger.jsonl", "run.json"].map(|name| bytes_at(first[0].join(name)))
    });
    assert!(made == again);

    let rest = run(&["--workers", "2"]);
    says(&text(&rest.stderr), &["2 cells, 1 done, 1 to run"]);
    let both = finished(&home);
    assert_eq!(both.len(), 2);
    assert!(bytes_at(both[0].join("run.json")) == made[1]);
    assert!(run(&["--plan"]).stdout.is_empty());
}

#[test]
fn a_cell_that_fails_is_named_and_the_others_run() {
    let home = Home::new();
    let bad = SWEEP.replace("[2, 5]", "[-1, 5]");
    one_failed(sweep(&home.at(""), &bad), 2);
    assert_eq!(finished(&home).len(), 1);
}

#[test]
fn mistakes_end_with_code_2() {
    let home = Home::new();
    for (change, to, words) in [
        ("\"swae\"", "\"swea\"", "there is none of that name"),
        (
            "\"swae\"",
            "\"report\"",
            "name one of synth, classify, swae, fair",
        ),
        ("[2, 5]", "2", "grid.epsilon must be a list"),
    ] {
        let message = refusal(sweep(&home.at(""), &SWEEP.replace(change, to)));
        says(&message, &[words]);
    }
}

/// Nothing of a single run's cost is in what a private choice releases, and samples are made of it as of any run.
///
/// The noise is secret: one of about a hundred figures of five digits on a page is one of the four that are looked for in
/// less than one of a thousand runs.
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
        let home = Home::new();
        let cache = home.at("cache").display().to_string();
        let text = format!(
            "experiment = \"{experiment}\"\nname = \"choice\"\n[fixed]\nbackend = \"flex\"\ncache-dir = {cache:?}\n{fixed}\n[grid]\nseed = [1, 2]\n"
        );
        let mut command = sweep(&home.at(""), &text);
        command.args(["--private", "--select", select]);
        done(command.args(["--runs", "2", "--law", "logarithmic"]));
        let mut single = Vec::new();
        for name in files(&home.at("runs/private")).into_keys() {
            if name.ends_with("run.json") && name.components().count() == 2 {
                let plan = json(&home.at("runs/private").join(name))["plan"].clone();
                let numbers = [&plan["epsilon_upper"], &plan["noise_multiplier"]];
                single.extend(numbers.into_iter().filter_map(serde_json::Value::as_f64));
            }
        }
        assert!(single.len() >= 2);
        for (name, bytes) in files(&home.at("runs/best")) {
            // What may be chosen has its noise in the ledger: the selection's epsilon is computed from it.
            if name == Path::new("ledger.jsonl") {
                continue;
            }
            let written = String::from_utf8_lossy(&bytes);
            // Whole numbers: among thousands of noisy counts some have the digits of a cost within theirs.
            let apart = |c: char| !c.is_ascii_digit() && c != '.';
            let numbers = written.split(apart).map(|number| number.trim_matches('.'));
            let written: BTreeSet<&str> = numbers.collect();
            for number in &single {
                for shown in [number.to_string(), dp_core::decimal::upper(*number)] {
                    // A whole number may be any number.
                    let told = shown.contains('.') && written.contains(&*shown);
                    assert!(!told, "{experiment} {}: {shown}", name.display());
                }
            }
        }
        let run = home.json("runs/best/run.json");
        let epsilon = &run["plan"]["epsilon_upper"];
        assert_eq!(run["settings"]["epsilon"], *epsilon);
        if experiment == "synth" {
            home.done("export runs/best --out copy --count 20");
            let card = home.json("copy/card.json");
            assert_eq!(card["privacy"]["epsilon_upper"], *epsilon);
        }
    }
}

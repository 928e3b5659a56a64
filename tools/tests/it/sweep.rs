//! `sweep` as a person runs it, of an experiment in miniature: the binary that lies beside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Fails at an epsilon of -1. Its last word is the folder, and a run that is done does nothing.
const EXPERIMENT: &str = r#"#!/bin/sh
for run in "$@"; do :; done
case "$*" in *"--epsilon -1"*) echo "epsilon = -1 is refused" >&2; exit 2;; esac
[ -e "$run/run.json" ] && exit 0
mkdir -p "$run" && echo started >> "$run/starts" && echo '{}' > "$run/run.json"
"#;

/// The binary in a folder with the experiment. Made once, before any process is started: one that starts while the
/// experiment is open for writing could keep it so.
fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sweep");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let experiment = folder.join("swae");
        std::fs::write(&experiment, EXPERIMENT).expect("written");
        let made = Command::new("chmod").arg("+x").arg(experiment).status();
        assert!(made.expect("chmod").success());
        let binary = folder.join("sweep");
        std::fs::hard_link(env!("CARGO_BIN_EXE_sweep"), &binary).expect("a link");
        binary
    })
}

const SWEEP: &str = r#"
    experiment = "swae"
    name = "two"
    [fixed]
    records = 200
    [grid]
    epsilon = [2, 5]
"#;

fn sweep(folder: &Path, text: &str, more: &[&str]) -> Output {
    let file = folder.join("two.toml");
    std::fs::write(&file, text).expect("written");
    Command::new(binary())
        .arg(&file)
        .arg("--out")
        .arg(folder.join("runs"))
        .args(more)
        .output()
        .expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn done(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder.join("runs"))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|e| e.path().join("run.json").exists())
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_done_is_skipped_and_lines_can_be_run_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let printed = sweep(folder.path(), SWEEP, &["--print"]);
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    let lines: Vec<String> = text(&printed.stdout).lines().map(String::from).collect();
    assert_eq!(lines.len(), 2);

    // One line by a shell, as GNU parallel would; again, and nothing happens.
    for _ in 0..2 {
        let output = Command::new("sh")
            .args(["-c", &lines[0]])
            .output()
            .expect("sh");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let first = done(folder.path());
    assert_eq!(first.len(), 1);
    assert!(first[0].starts_with("epsilon-2_"), "{first:?}");
    let starts = folder.path().join("runs").join(&first[0]).join("starts");

    let rest = sweep(folder.path(), SWEEP, &["--workers", "2"]);
    assert!(rest.status.success(), "{}", text(&rest.stderr));
    assert!(text(&rest.stderr).contains("2 cells, 1 done, 1 to run"));
    assert_eq!(done(folder.path()).len(), 2);
    assert_eq!(std::fs::read(&starts).expect("a file"), b"started\n");
    let none = sweep(folder.path(), SWEEP, &["--print"]);
    assert!(none.stdout.is_empty());
}

#[test]
fn a_cell_that_fails_is_named_and_the_others_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = SWEEP.replace("[2, 5]", "[-1, 5]");
    let output = sweep(folder.path(), &bad, &[]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(
        message.contains("1 of 2 cells failed: epsilon--1_"),
        "{message}"
    );
    assert_eq!(done(folder.path()).len(), 1);
}

#[test]
fn mistakes_end_with_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    for (change, to, says) in [
        ("\"swae\"", "\"swea\"", "there is no"),
        ("[2, 5]", "2", "grid.epsilon must be a list"),
    ] {
        let output = sweep(folder.path(), &SWEEP.replace(change, to), &[]);
        assert_eq!(output.status.code(), Some(2));
        let message = text(&output.stderr);
        assert!(message.contains(says), "{message}");
    }
}

/// A private experiment of one Gaussian release, whose score is its epsilon: config, ledger and `run.json` of a run.
const PRIVATE: &str = r#"#!/bin/sh
for run in "$@"; do :; done
case "$*" in *"--epsilon 2"*) score=0.2; z=8.0;; *) score=0.1; z=4.0;; esac
event="{\"type\":\"gaussian\",\"noise_multiplier\":$z}"
case "$*" in *--plan*) echo "{\"private\":true,\"event\":{\"type\":\"composed\",\"events\":[$event]},\"neighbours\":\"replace_one\",\"delta\":1e-5,\"releases\":2}"; exit 0;; esac
[ -e "$run/run.json" ] && exit 0
mkdir -p "$run" && echo 'dataset = "x"' > "$run/config.toml"
echo "{\"event\":$event,\"count\":2,\"neighbours\":\"replace_one\"}" > "$run/ledger.jsonl"
echo "{}" > "$run/metrics.jsonl"; echo weights > "$run/weights.f32"
echo "{\"experiment\":\"flow\",\"version\":\"1\",\"device\":\"x\",\"privacy\":\"(1, 1e-5) alone\",\"private\":true,\"releases\":2,\"plan\":{\"epsilon_upper\":1.0,\"delta\":1e-5,\"neighbours\":\"replace one record\"},\"finished\":\"today\",\"training_seconds\":3.0,\"metrics\":[{\"name\":\"Distance\",\"value\":1.0,\"better\":\"lower\"},{\"name\":\"Reads private records: accuracy\",\"value\":0.5,\"better\":\"higher\"},{\"name\":\"Accuracy on tests\",\"value\":$score,\"better\":\"higher\"}]}" > "$run/run.json"
"#;

fn private(folder: &Path, text: &str, more: &[&str]) -> Output {
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(|| {
        let experiment = binary().with_file_name("flow");
        std::fs::write(&experiment, PRIVATE).expect("written");
        let made = Command::new("chmod").arg("+x").arg(experiment).status();
        assert!(made.expect("chmod").success());
    });
    let flags = ["--private", "--law", "logarithmic", "--runs", "3"];
    let text = text.replace("\"swae\"", "\"flow\"");
    sweep(folder, &text, &[&flags, more].concat())
}

fn json(path: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(path).expect("readable");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_private_selection_releases_the_best_alone() {
    use dp_accountant::accounting::{Accountant, Event, FdpAccountant, Runs, Selection};
    let root = tempfile::tempdir().expect("a folder");
    let select = ["--select", "accuracy on"];
    let output = private(root.path(), SWEEP, &select);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (best, secret) = (
        root.path().join("runs/best"),
        root.path().join("runs/private"),
    );
    let attempts: Vec<PathBuf> = std::fs::read_dir(&secret)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    let drawn = json(&secret.join("drawn.json"));
    assert_eq!(
        drawn["cells"].as_array().expect("a list").len(),
        attempts.len()
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
        assert_eq!(
            (mode(&secret), mode(&secret.join("drawn.json"))),
            (0o700, 0o600)
        );
    }
    // The best of those that were made.
    let score = |run: &Path| {
        json(&run.join("run.json"))["metrics"][2]["value"]
            .as_f64()
            .expect("a score")
    };
    let most = attempts.iter().map(|run| score(run)).fold(0.0, f64::max);
    assert_eq!(score(&best), most);
    assert_eq!(
        std::fs::read_to_string(best.join("weights.f32")).expect("kept"),
        "weights\n"
    );
    // What it cost, from the ledger alone: every cell counts, drawn or not.
    let runs = Runs::negative_binomial(0.0, 3.0).expect("a law");
    let cells = [8.0, 4.0].map(|noise_multiplier| Event::Composed {
        events: vec![Event::Gaussian { noise_multiplier }],
    });
    let total = Selection::new(runs, cells.into(), 0.0)
        .and_then(|s| s.epsilon(1e-5))
        .expect("an epsilon");
    let ledger = dp_accountant::ledger::Ledger::read(&best.join("ledger.jsonl")).expect("a ledger");
    let spent = FdpAccountant::default()
        .epsilon(&ledger.event().expect("an event"), 1e-5)
        .expect("covered");
    assert!((spent - total).abs() < 1e-6, "{spent} {total}");
    assert_eq!(ledger.releases(), 2);
    let run = json(&best.join("run.json"));
    let told = run["plan"]["epsilon_upper"].as_f64().expect("a number");
    assert!(
        (told - total).abs() < 1e-6 && run["epsilon_spent_upper"] == run["plan"]["epsilon_upper"]
    );
    assert!(
        run["privacy"]
            .as_str()
            .expect("words")
            .contains("choice of hyperparameters included")
    );
    // Nothing that tells of the others, neither there nor in a report of the sweep.
    assert!(run["finished"].is_null() && run["training_seconds"].is_null());
    for name in ["metrics.jsonl", "command.txt", ".lock", "checkpoints"] {
        assert!(!best.join(name).exists(), "{name}");
    }
    let page = std::fs::read_to_string(best.join("report.html")).expect("a page");
    assert!(page.contains("the best of a random number of runs"));
    assert!(!page.contains("private/") && !page.contains("00001_"));
    let found = reporting::report::find_runs(&root.path().join("runs")).expect("runs");
    assert_eq!(found, std::slice::from_ref(&best));
    // Again, and nothing changes; after a kill before the release it goes on with what was drawn.
    let before = std::fs::read(best.join("run.json")).expect("read");
    assert!(private(root.path(), SWEEP, &select).status.success());
    std::fs::remove_dir_all(&best).expect("removed");
    std::fs::remove_file(attempts[0].join("run.json")).expect("removed");
    let output = private(root.path(), SWEEP, &select);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(std::fs::read(best.join("run.json")).expect("read"), before);
    assert_eq!(json(&secret.join("drawn.json")), drawn);
    // Another request does not take it over.
    std::fs::remove_dir_all(&best).expect("removed");
    let output = private(root.path(), SWEEP, &["--select", "distance"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("another selection"));
}

#[test]
fn a_private_selection_refuses_what_it_cannot_keep() {
    for (change, to, flags, says) in [
        (
            "records",
            "memorisation = true\nrecords",
            "--select accuracy",
            "--memorisation reads",
        ),
        (
            "name =",
            "coupled = true\nname =",
            "--select accuracy",
            "coupled",
        ),
        (
            "records",
            "records",
            "--select accuracy --delta 2",
            "selection is refused",
        ),
        (
            "records",
            "records",
            "--select accuracy --total-epsilon 3",
            "epsilon no part of the grid",
        ),
        ("records", "records", "--select reads", "cannot choose"),
        ("records", "records", "--select nothing", "no result"),
    ] {
        let root = tempfile::tempdir().expect("a folder");
        let flags: Vec<&str> = flags.split(' ').collect();
        let output = private(root.path(), &SWEEP.replacen(change, to, 1), &flags);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{says}: {error}");
        assert!(error.contains(says), "{says}: {error}");
        assert!(!root.path().join("runs/best").exists());
    }
}

//! Private selection over an experiment in miniature.

use std::path::{Path, PathBuf};

use clap::Parser;
use reporting::diagnostic::Failure;
use tools::sweep::{Arguments, run};

const SWEEP: &str = r#"
    experiment = "synth"
    name = "two"
    [fixed]
    records = 200
    [grid]
    epsilon = [2, 5]
"#;

fn private(folder: &Path, text: &str, more: &[&str]) -> Result<(), Failure> {
    let file = folder.join("two.toml");
    std::fs::write(&file, text).expect("written");
    let (file, out) = (file.display().to_string(), folder.join("runs"));
    let (out, runs) = (out.display().to_string(), ["--runs", "3"]);
    let words = [
        "sweep",
        &file,
        "--out",
        &out,
        "--private",
        "--law",
        "logarithmic",
    ];
    let arguments = Arguments::parse_from([&words[..], &runs, more].concat());
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/experiment.sh");
    run(&arguments, &program, &[("synth", Some("method"))])
}

fn json(path: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(path).expect("readable");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_private_selection_releases_the_best_alone() {
    use dp_accountant::accounting::{
        Accountant, Event, PldAccountant, PrivateSelection, RepetitionDistribution,
    };
    let root = tempfile::tempdir().expect("a folder");
    let select = ["--select", "accuracy on"];
    private(root.path(), SWEEP, &select).expect("a selection");
    let (best, secret) = (
        root.path().join("runs/best"),
        root.path().join("runs/private"),
    );
    let attempts: Vec<PathBuf> = std::fs::read_dir(&secret)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    let sampled = json(&secret.join("drawn.json"));
    assert_eq!(
        sampled["cells"].as_array().expect("a list").len(),
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
        let run = json(&run.join("run.json"));
        let metrics = run["metrics"].as_array().expect("metrics").iter();
        let accuracy = metrics.clone().find(|m| m["name"] == "Accuracy on tests");
        accuracy.and_then(|m| m["value"].as_f64()).expect("a score")
    };
    let most = attempts.iter().map(|run| score(run)).fold(0.0, f64::max);
    assert_eq!(score(&best), most);
    assert_eq!(
        std::fs::read_to_string(best.join("weights.f32")).expect("kept"),
        "weights\n"
    );
    // What it cost, from the ledger alone: every cell counts, sampled or not.
    let runs = RepetitionDistribution::negative_binomial(0.0, 3.0).expect("a law");
    let cells = [8.0, 4.0].map(|noise_multiplier| Event::Composed {
        events: vec![Event::Gaussian { noise_multiplier }],
    });
    let total = PrivateSelection::new(runs, cells.into(), 0.0)
        .and_then(|s| s.epsilon(1e-5))
        .expect("an epsilon");
    let ledger = dp_accountant::ledger::Ledger::read(&best.join("ledger.jsonl")).expect("a ledger");
    let spent = PldAccountant::default()
        .epsilon(&ledger.event().expect("an event"), 1e-5)
        .expect("covered");
    assert!((spent - total).abs() < 1e-6, "{spent} {total}");
    assert_eq!(ledger.releases(), 2);
    let run = json(&best.join("run.json"));
    let promised = run["plan"]["epsilon_upper"].as_f64().expect("a number");
    assert!(
        (promised - total).abs() < 1e-6
            && run["epsilon_spent_upper"] == run["plan"]["epsilon_upper"]
    );
    assert!(
        run["privacy"]
            .as_str()
            .expect("words")
            .contains("choice of hyperparameters included")
    );
    // Nothing that tells of the others, neither there nor in a report of the sweep.
    assert!(run["finished"].is_null() && run["training_seconds"].is_null());
    leaves_what_is_allowed(&best, &run, total);
    let page = std::fs::read_to_string(best.join("report.html")).expect("a page");
    assert!(page.contains("the best of a random number of runs"));
    assert!(!page.contains("private/") && !page.contains("00001_"));
    let found = reporting::report::find_runs(&root.path().join("runs")).expect("runs");
    assert_eq!(found, std::slice::from_ref(&best));
    // Again, and nothing changes; after a kill before the release it goes on with what was sampled.
    let before = std::fs::read(best.join("run.json")).expect("read");
    private(root.path(), SWEEP, &select).expect("a selection");
    std::fs::remove_dir_all(&best).expect("removed");
    std::fs::remove_file(attempts[0].join("run.json")).expect("removed");
    private(root.path(), SWEEP, &select).expect("a selection");
    assert_eq!(std::fs::read(best.join("run.json")).expect("read"), before);
    assert_eq!(json(&secret.join("drawn.json")), sampled);
    // Another request does not take it over.
    std::fs::remove_dir_all(&best).expect("removed");
    let other = private(root.path(), SWEEP, &["--select", "distance"]);
    let refused = other.expect_err("another selection");
    assert!(matches!(refused, Failure::BadInput { .. }), "{refused:?}");
    assert!(refused.to_string().contains("another selection"));
}

/// Files and fields are those of a list, whatever the run's folder holds, and numbers of its privacy those of the selection.
fn leaves_what_is_allowed(best: &Path, run: &serde_json::Value, total: f64) {
    let entries = std::fs::read_dir(best).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("text")
        })
        .collect();
    names.sort();
    let allowed = [
        "config.toml",
        "ledger.jsonl",
        "report.html",
        "run.json",
        "samples.png",
        "weights.f32",
    ];
    assert_eq!(names, allowed);
    for name in names {
        let text = std::fs::read_to_string(best.join(&name)).expect("text");
        assert!(!text.contains("7.654321"), "{name}: {text}");
    }
    let fields = |value: &serde_json::Value| -> Vec<String> {
        let mut fields: Vec<String> = value.as_object().expect("fields").keys().cloned().collect();
        fields.sort();
        fields
    };
    let of_plan = &run["plan"];
    let said = fields(of_plan)
        .into_iter()
        .filter(|name| !of_plan[name].is_null());
    let said: Vec<String> = said.collect();
    assert_eq!(said, ["accountant", "delta", "epsilon_upper", "neighbours"]);
    let metrics = run["metrics"].as_array().expect("metrics").iter();
    let metrics: Vec<&str> = metrics
        .filter_map(|metric| metric["name"].as_str())
        .collect();
    assert_eq!(metrics, ["Distance", "Accuracy on tests"]);
    assert_eq!(
        run["warnings"],
        serde_json::json!(["Public in another run."])
    );
    assert_eq!(run["public_knowledge"], "Nothing.");
    let config = std::fs::read_to_string(best.join("config.toml")).expect("text");
    let config: toml::Table = config.parse().expect("TOML");
    for settings in [
        serde_json::to_value(config).expect("JSON"),
        run["settings"].clone(),
    ] {
        assert_eq!(
            fields(&settings),
            ["dataset", "delta", "epsilon", "input", "records"]
        );
        let epsilon = settings["epsilon"].as_f64().expect("a number");
        assert!((epsilon - total).abs() < 1e-6, "{epsilon} {total}");
        assert_eq!(settings["delta"], 1e-5);
        assert_eq!(settings["input"], "people.csv");
    }
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
            "--select accuracy --epsilon 3",
            "epsilon no part of the grid",
        ),
        ("records", "records", "--select reads", "cannot choose"),
        ("records", "records", "--select nothing", "no result"),
    ] {
        let root = tempfile::tempdir().expect("a folder");
        let flags: Vec<&str> = flags.split(' ').collect();
        let output = private(root.path(), &SWEEP.replacen(change, to, 1), &flags);
        let refused = output.expect_err(says);
        assert!(matches!(refused, Failure::BadInput { .. }), "{refused:?}");
        assert!(refused.to_string().contains(says), "{says}: {refused}");
        assert!(!root.path().join("runs/best").exists());
    }
}

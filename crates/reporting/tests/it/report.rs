//! Reports from run folders: whole ones, ones that were cut off, and damaged ones.

use std::fs;
use std::path::{Path, PathBuf};

use crate::runs::{finished, step, write};
use crate::snapshots::same;
use dp_accountant::accounting::{Accountant, Event, PldAccountant};
use reporting::report::{RunRecord, Standing, Statement, Sweep, find_runs, page, upper};
use serde_json::{Value, json};

fn read(folder: &Path) -> RunRecord {
    RunRecord::read(folder).expect("readable")
}

/// A finished run; one that was cut off, in the middle of a line of its ledger; and one whose files contradict each other.
pub(crate) fn pages(root: &Path) -> Vec<PathBuf> {
    let whole = write(&root.join("swae/first"), Some(&finished(3, 1.0, 119.7)));
    let cut = write(&root.join("swae/a-run-that-was-cut-off"), None);
    let ledger = fs::read_to_string(cut.join("ledger.jsonl")).expect("readable");
    fs::write(cut.join("ledger.jsonl"), &ledger[..ledger.len() - 40]).expect("written");
    let mut run = finished(0, 1.0, 1.0);
    run["metrics"][0]["value"] = Value::Null;
    run["plan"]["noise_multiplier"] = json!(0.999_999);
    run["plan"]["unit"] = json!("all records of one person");
    run["took"]["resumed"] = json!(true);
    run["warnings"] = json!(["a & b"]);
    let worse = write(&root.join("swae/worse"), Some(&run));
    let known = format!("{}\n{}\n", step(0.1, true), step(0.1, false));
    fs::write(worse.join("ledger.jsonl"), known).expect("written");
    fs::remove_file(worse.join("samples.png")).expect("removed");
    let lines = [json!(2.0), Value::Null, json!(1.0)].into_iter().zip(1..);
    let lines = lines.map(|(loss, step)| json!({"step": step, "loss": loss}).to_string() + "\n");
    fs::write(worse.join("metrics.jsonl"), lines.collect::<String>()).expect("written");
    let page = |folder: PathBuf| reporting::report::write(&folder).expect("a page");
    [whole, cut, worse].map(page).into()
}

#[test]
fn three_pages_are_as_they_were() {
    let root = tempfile::tempdir().expect("a folder");
    let names = ["finished.html", "cut-off.html", "contradicted.html"];
    for (page, name) in pages(root.path()).iter().zip(names) {
        let html = fs::read_to_string(page).expect("readable");
        let place = root.path().display().to_string().replace('/', "&#x2f;");
        same(name, html.replace(&place, "ROOT").as_bytes());
        // Nothing is fetched or run, and nothing but the folder makes a page.
        for fetched in ["src=\"http", "href=", "url(", "<script", "<b>bold", "{{"] {
            assert!(!html.contains(fetched), "{name}: {fetched}");
        }
        let again = reporting::report::write(page.parent().expect("a folder"));
        let again = fs::read_to_string(again.expect("written"));
        assert_eq!(again.expect("readable"), html);
    }
}

#[test]
fn what_a_run_is_worth_follows_the_worse_of_its_files() {
    let root = tempfile::tempdir().expect("a folder");
    let standing = |name: &str, run: Option<&Value>, ledger: Option<String>| {
        let folder = write(&root.path().join(name), run);
        if let Some(ledger) = ledger {
            fs::write(folder.join("ledger.jsonl"), ledger).expect("written");
        }
        let record = read(&folder);
        page(&record).expect("a page");
        Statement::of(&record)
    };
    let private = finished(0, 1.0, 1.0);
    let known = format!("{}\n{}\n", step(0.1, true), step(0.1, false));
    let contradicted = standing("a", Some(&private), Some(known));
    assert!(contradicted.sentence.contains("its ledger shows"));
    let mut bare = step(0.1, true);
    bare["event"] = json!({"type": "non_private"});
    let mut seeded = private.clone();
    seeded["private"] = json!(false);
    let mut plain = seeded.clone();
    plain["plan"] = Value::Null;
    let cut = standing("b", None, None);
    assert!(cut.sentence.contains("4 releases"), "{}", cut.sentence);
    for (found, expected) in [
        (contradicted, Standing::KnownNoise),
        (cut, Standing::Unfinished),
        (standing("c", Some(&private), None), Standing::Private),
        (
            standing("d", Some(&private), Some(bare.to_string())),
            Standing::KnownNoise,
        ),
        (standing("e", Some(&seeded), None), Standing::KnownNoise),
        (standing("f", Some(&plain), None), Standing::NotPrivate),
    ] {
        assert_eq!(found.standing, expected, "{}", found.sentence);
    }
}

#[test]
fn a_lost_ledger_is_not_taken_for_nothing_released() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = write(&root.path().join("swae/cut"), None);
    let checkpoint = folder.join("checkpoints/step-000000004");
    fs::create_dir_all(&checkpoint).expect("a folder");
    let manifest = r#"{"step": 4, "releases": 4}"#;
    fs::write(checkpoint.join("manifest.json"), manifest).expect("written");
    let sentence = || Statement::of(&read(&folder)).sentence;
    assert!(sentence().contains("4 releases are in its ledger"));
    fs::remove_file(folder.join("ledger.jsonl")).expect("removed");
    let message = sentence();
    assert!(message.contains("more is spent than it shows"), "{message}");
    assert!(!message.contains("Nothing was released"), "{message}");
    fs::remove_dir_all(folder.join("checkpoints")).expect("removed");
    assert!(sentence().contains("nothing says what was released"));
}

#[test]
fn damage_is_named_by_folder_file_and_field() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = write(&root.path().join("damaged"), Some(&finished(0, 1.0, 1.0)));
    let refused = |folder: &Path, words: &[&str]| {
        let said = RunRecord::read(folder).expect_err("refused").to_string();
        assert!(
            words.iter().all(|words| said.contains(words)),
            "{said}, not {words:?}"
        );
    };
    refused(&root.path().join("nowhere"), &["nowhere", "no run folder"]);
    let damaged = |file: &str, text: &str, words: &[&str]| {
        fs::write(folder.join(file), text).expect("written");
        refused(&folder, &[&[file], words].concat());
    };
    for (field, wrong, words) in [
        (
            "/metrics/1/value",
            json!("high"),
            &["damaged/run.json", "metrics[1].value", "high"][..],
        ),
        ("/plan/delta", json!([]), &["plan.delta"]),
        ("/device", Value::Null, &["device"]),
    ] {
        let mut run = finished(0, 1.0, 1.0);
        *run.pointer_mut(field).expect("a field") = wrong;
        damaged("run.json", &run.to_string(), words);
    }
    damaged("run.json", "{\"experiment\": ", &[]);
    fs::remove_file(folder.join("run.json")).expect("removed");
    damaged("config.toml", "epsilon = = 3", &[]);
    fs::write(folder.join("config.toml"), "").expect("written");
    damaged("metrics.jsonl", "{}\nnonsense\n", &["line 2"]);
    fs::write(folder.join("metrics.jsonl"), "").expect("written");
    let telepathy = r#"{"event": {"type": "telepathy"}, "count": 1}"#;
    damaged(
        "ledger.jsonl",
        &format!("{telepathy}\n"),
        &["line 1", "telepathy"],
    );
    let count = r#"{"event": {"type": "non_private"}, "count": "x"}"#;
    damaged(
        "ledger.jsonl",
        &format!("{count}\n"),
        &["line 1", "expected u64"],
    );
}

/// A warning of several runs stands once, with their names; one of all stands for all.
#[test]
fn what_holds_for_several_runs_is_said_once() {
    let root = tempfile::tempdir().expect("a folder");
    let record = |name: &str, warnings: &[&str]| {
        let mut run = finished(0, 1.0, 1.0);
        run["warnings"] = serde_json::json!(warnings);
        read(&write(&root.path().join(name), Some(&run)))
    };
    let said = |records: &[RunRecord]| Sweep::of(records).warnings;
    let mut records = vec![record("a", &["large"]), record("b", &["large", "late"])];
    assert_eq!(said(&records), ["all 2 runs: large", "b: late"]);
    records.push(record("c", &[]));
    assert_eq!(said(&records), ["a, b: large", "b: late"]);
    assert_eq!(said(&records[..1]), ["a: large"]);
}

/// Less than was spent is never printed: of a run that lost part of its ledger, the plan counts.
#[test]
fn a_shortened_ledger_makes_runs_together_spend_no_less() {
    let root = tempfile::tempdir().expect("a folder");
    let folders =
        ["a", "b"].map(|name| write(&root.path().join(name), Some(&finished(0, 1.0, 1.0))));
    let table = |name: &str| {
        let sweep = Sweep::of(&folders.each_ref().map(|folder| read(folder)));
        let table = sweep.markdown(&[]).expect("all columns");
        assert!(table.contains(&sweep.together.expect("private runs")));
        same(&format!("together-{name}.md"), table.as_bytes());
    };
    table("whole");
    let ledger = folders[0].join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).expect("readable");
    let three: String = text.split_inclusive('\n').take(3).collect();
    fs::write(&ledger, three).expect("written");
    table("shortened");

    // Epsilons add up for the same neighbours alone.
    let other = folders[1].join("ledger.jsonl");
    let kept = fs::read_to_string(&other).expect("readable");
    fs::write(&other, kept.replace("replace_one", "add_remove")).expect("written");
    table("mixed");
    fs::write(&other, kept).expect("written");

    // Of a run that did not finish no plan is known.
    fs::remove_file(folders[0].join("run.json")).expect("removed");
    fs::write(folders[0].join("class-moments.json"), "{\"releases\": 4}").expect("written");
    table("unfinished");
    fs::remove_file(&ledger).expect("removed");
    fs::remove_file(folders[0].join("class-moments.json")).expect("removed");
    table("lost");
}

#[test]
fn sweeps_are_means_over_seeds() {
    let root = tempfile::tempdir().expect("a folder");
    let scores = [(1.0, [130.0, 132.0, 134.0]), (10.0, [120.0, 120.0, 126.0])];
    for (epsilon, scores) in scores {
        for (seed, score) in scores.into_iter().enumerate() {
            let folder = root.path().join(format!("deep/eps{epsilon}/seed{seed}"));
            write(&folder, Some(&finished(seed as u64, epsilon, score)));
        }
    }
    let cut = write(&root.path().join("deep/cut"), None);
    // As the finished runs of epsilon 1, but for the seed.
    let settings = "dataset = \"glyphs\"\nepsilon = 1.0\ndelta = 1e-5\nseed = 7\n\
        a-very-long-setting-name-without-any-space-in-it-at-all = 2.449489742783178\n";
    fs::write(cut.join("config.toml"), settings).expect("written");

    let folders = find_runs(root.path()).expect("found");
    assert_eq!(folders.len(), 7);
    let records: Vec<RunRecord> = folders.iter().map(|folder| read(folder)).collect();
    let sweep = Sweep::of(&records);
    assert_eq!(sweep.varying, ["epsilon"]);
    assert_eq!(sweep.cells.len(), 2);
    let first = &sweep.cells[0];
    assert_eq!((first.finished, first.unfinished), (3, 1));
    let spread = first.spreads[0].expect("measured");
    assert_eq!((spread.mean, spread.deviation), (132.0, Some(2.0)));
    let spread = sweep.cells[1].spreads[0].expect("measured");
    assert_eq!((spread.mean, spread.deviation), (122.0, Some(12f64.sqrt())));

    let csv = sweep.csv();
    assert_eq!(csv.lines().count(), 3);
    // Three runs of four releases, and the four of the run that was cut off.
    let event = Event::dp_sgd(60_000, 600, 16, 0.75);
    let epsilon = PldAccountant::default()
        .epsilon(&event, 1e-5)
        .expect("covered");
    assert!(epsilon > 1.0);
    let all = format!(
        "1.0,\"(1, 1e-5)\",\"({}, 1e-5)\",3,1,132,2,",
        upper(epsilon)
    );
    assert!(csv.contains(&all), "{csv}");
    let together = sweep.together.as_ref().expect("private runs");
    assert!(together.starts_with("All 7 private runs: together at most epsilon"));
    let markdown = sweep.markdown(&[]).expect("all columns");
    assert!(markdown.contains("| 132 +- 2 |"), "{markdown}");

    let list = root.path().join("list.txt");
    fs::write(&list, "# two\ndeep/eps1/seed0\n\ndeep/eps1/seed1\n").expect("written");
    let listed = find_runs(&list).expect("found");
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|folder| RunRecord::is_run(folder)));
    fs::write(&list, "# none\n").expect("written");
    assert!(find_runs(&list).is_err());
    assert!(find_runs(&root.path().join("nowhere")).is_err());
}

//! Reports from run folders: whole ones, ones that were cut off, and damaged ones.

use std::fs;

use crate::runs::{finished, step, write};
use dp_accountant::accounting::{Accountant, Event, PldAccountant};
use reporting::report::{RunRecord, Standing, Statement, Sweep, find_runs, page, upper};
use serde_json::{Value, json};

fn refusal(folder: &std::path::Path, needles: &[&str]) {
    let error = RunRecord::read(folder).expect_err("refused");
    let message = error.to_string();
    for needle in needles {
        assert!(message.contains(needle), "no {needle} in: {message}");
    }
}

#[test]
fn a_page_is_rebuilt_from_the_folder_alone() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = write(
        &root.path().join("swae/first"),
        Some(&finished(3, 1.0, 119.7)),
    );
    let path = reporting::report::write(&folder).expect("written");
    let html = fs::read_to_string(&path).expect("readable");
    for needle in [
        "Differentially private",
        "Private autoencoder on &lt;glyphs&gt; &amp; &quot;more&quot;",
        "119.7 nats",
        "100.5 nats",
        "Rodriguez-Vitores et al. 2025, table 2",
        "0.1 to 0.2",
        "0.075 to 0.15",
        "batches of 600 of 60000 records, without replacement",
        "53 min 43 s",
        "commit 0123456789abcdef",
        "Samples &lt;b&gt;bold&lt;",
        "alt=\"It falls.\"",
        "data:image/png;base64,",
        "data:image/svg+xml;base64,",
        "--dataset glyphs --epsilon 1 --seed 3",
    ] {
        assert!(html.contains(needle), "no {needle}");
    }
    assert!(!html.contains("<b>bold") && !html.contains("{{") && !html.contains("<script"));
    // Nothing is fetched: no address but that of the policy and of data.
    assert!(!html.contains("src=\"http") && !html.contains("href=") && !html.contains("url("));
    let again = reporting::report::write(&folder).expect("written");
    assert_eq!(fs::read_to_string(again).expect("readable"), html);
}

#[test]
fn the_noise_of_a_page_is_told_in_full() {
    let root = tempfile::tempdir().expect("a folder");
    let mut run = finished(0, 1.0, 1.0);
    run["plan"]["noise_multiplier"] = json!(0.999_999);
    let record = RunRecord::read(&write(&root.path().join("a"), Some(&run))).expect("readable");
    let facts = Statement::of(&record).facts;
    assert!(
        facts.contains(&("noise multiplier", "0.999999".to_string())),
        "{facts:?}"
    );
}

#[test]
fn what_a_run_is_worth_follows_the_worse_of_its_files() {
    let root = tempfile::tempdir().expect("a folder");
    let standing = |name: &str, run: Option<&Value>, ledger: Option<String>| {
        let folder = write(&root.path().join(name), run);
        if let Some(ledger) = ledger {
            fs::write(folder.join("ledger.jsonl"), ledger).expect("written");
        }
        let record = RunRecord::read(&folder).expect("readable");
        page(&record).expect("a page");
        Statement::of(&record)
    };
    let private = finished(0, 1.0, 1.0);
    assert_eq!(
        standing("a", Some(&private), None).standing,
        Standing::Private
    );
    let known = format!("{}\n{}\n", step(0.1, true), step(0.1, false));
    let contradicted = standing("b", Some(&private), Some(known));
    assert_eq!(contradicted.standing, Standing::KnownNoise);
    assert!(contradicted.sentence.contains("its ledger shows"));
    let mut bare = step(0.1, true);
    bare["event"] = json!({"type": "non_private"});
    let bare = bare.to_string();
    let bare = standing("c", Some(&private), Some(bare));
    assert_eq!(bare.standing, Standing::KnownNoise);

    let mut seeded = private.clone();
    seeded["private"] = json!(false);
    assert_eq!(
        standing("d", Some(&seeded), None).standing,
        Standing::KnownNoise
    );
    let mut plain = seeded.clone();
    plain["plan"] = Value::Null;
    assert_eq!(
        standing("e", Some(&plain), None).standing,
        Standing::NotPrivate
    );
    let cut = standing("f", None, None);
    assert_eq!(cut.standing, Standing::Unfinished);
    assert!(cut.sentence.contains("4 releases"), "{}", cut.sentence);
}

#[test]
fn a_run_that_was_cut_off_shows_what_is_known() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = write(&root.path().join("swae/cut"), None);
    let ledger = fs::read_to_string(folder.join("ledger.jsonl")).expect("readable");
    fs::write(folder.join("ledger.jsonl"), &ledger[..ledger.len() - 40]).expect("written");
    let record = RunRecord::read(&folder).expect("readable");
    assert_eq!(record.ledger.releases, 3);
    assert_eq!(record.ledger.torn, [4]);
    assert_eq!(record.ledger.groups[0].phases, [(1, 3)]);
    let html = page(&record).expect("a page");
    for needle in [
        "Unfinished",
        "swae on glyphs",
        "a kill cut off",
        "loss, test",
    ] {
        assert!(html.contains(needle), "no {needle}");
    }
}

#[test]
fn a_lost_ledger_is_not_taken_for_nothing_released() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = write(&root.path().join("swae/cut"), None);
    let checkpoint = folder.join("checkpoints/step-000000004");
    fs::create_dir_all(&checkpoint).expect("a folder");
    fs::write(
        checkpoint.join("manifest.json"),
        r#"{"step": 4, "releases": 4}"#,
    )
    .expect("written");
    let sentence = || {
        let record = RunRecord::read(&folder).expect("readable");
        Statement::of(&record).sentence
    };
    assert!(sentence().contains("4 releases are in its ledger"));
    fs::remove_file(folder.join("ledger.jsonl")).expect("removed");
    let message = sentence();
    assert!(message.contains("more is spent than it shows"), "{message}");
    assert!(!message.contains("Nothing was released"), "{message}");
    fs::remove_dir_all(folder.join("checkpoints")).expect("removed");
    let message = sentence();
    assert!(
        message.contains("nothing says what was released"),
        "{message}"
    );
}

#[test]
fn a_missing_picture_costs_the_picture_alone() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = write(&root.path().join("run"), Some(&finished(0, 1.0, 1.0)));
    fs::remove_file(folder.join("samples.png")).expect("removed");
    let html = page(&RunRecord::read(&folder).expect("readable")).expect("a page");
    assert!(html.contains("The picture &quot;samples.png&quot;"));
    assert!(html.contains("data:image/svg+xml"));
}

#[test]
fn damage_is_named_by_folder_file_and_field() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = write(&root.path().join("damaged"), Some(&finished(0, 1.0, 1.0)));
    refusal(&root.path().join("nowhere"), &["nowhere", "no run folder"]);

    let mut wrong = finished(0, 1.0, 1.0);
    wrong["metrics"][1]["value"] = json!("high");
    fs::write(folder.join("run.json"), wrong.to_string()).expect("written");
    refusal(&folder, &["damaged/run.json", "metrics[1].value", "high"]);
    wrong = finished(0, 1.0, 1.0);
    wrong["plan"]["delta"] = json!([]);
    fs::write(folder.join("run.json"), wrong.to_string()).expect("written");
    refusal(&folder, &["run.json", "plan.delta"]);
    wrong = finished(0, 1.0, 1.0);
    wrong.as_object_mut().expect("an object").remove("device");
    fs::write(folder.join("run.json"), wrong.to_string()).expect("written");
    refusal(&folder, &["run.json", "device"]);
    fs::write(folder.join("run.json"), "{\"experiment\": ").expect("written");
    refusal(&folder, &["run.json"]);

    fs::remove_file(folder.join("run.json")).expect("removed");
    fs::write(folder.join("config.toml"), "epsilon = = 3").expect("written");
    refusal(&folder, &["config.toml"]);
    fs::write(folder.join("config.toml"), "").expect("written");
    fs::write(folder.join("metrics.jsonl"), "{}\nnonsense\n").expect("written");
    refusal(&folder, &["metrics.jsonl", "line 2"]);
    fs::write(folder.join("metrics.jsonl"), "").expect("written");
    for (line, word) in [
        (
            r#"{"event": {"type": "telepathy"}, "count": 1}"#,
            "telepathy",
        ),
        (
            r#"{"event": {"type": "non_private"}, "count": "x"}"#,
            "expected u64",
        ),
    ] {
        fs::write(folder.join("ledger.jsonl"), format!("{line}\n")).expect("written");
        refusal(&folder, &["ledger.jsonl", "line 1", word]);
    }
}

#[test]
fn what_is_not_finite_is_counted() {
    let root = tempfile::tempdir().expect("a folder");
    let mut run = finished(0, 1.0, 1.0);
    run["metrics"][0]["value"] = Value::Null;
    let folder = write(&root.path().join("run"), Some(&run));
    let lines =
        "{\"step\":1,\"loss\":2.0}\n{\"step\":2,\"loss\":null}\n{\"step\":3,\"loss\":1.0}\n";
    fs::write(folder.join("metrics.jsonl"), lines).expect("written");
    let html = page(&RunRecord::read(&folder).expect("readable")).expect("a page");
    assert!(html.contains("1 values of loss are not finite"));
    assert!(html.contains("not finite</td>"));
}

/// A warning of several runs stands once, with their names; one of all stands for all.
#[test]
fn what_holds_for_several_runs_is_said_once() {
    let root = tempfile::tempdir().expect("a folder");
    let record = |name: &str, warnings: &[&str]| {
        let mut run = finished(0, 1.0, 1.0);
        run["warnings"] = serde_json::json!(warnings);
        RunRecord::read(&write(&root.path().join(name), Some(&run))).expect("readable")
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
    let sweep = || {
        let records = folders
            .each_ref()
            .map(|folder| RunRecord::read(folder).expect("readable"));
        let sweep = Sweep::of(&records);
        let table = sweep.markdown(&[]).expect("all columns");
        let together = sweep.together.clone().expect("private runs");
        assert!(table.contains(&together));
        (together, sweep.cells[0].privacy_of_all.clone(), table)
    };
    let (whole, _, table) = sweep();
    assert!(whole.contains("composed from their ledgers"), "{whole}");
    assert!(!table.contains("Warning: "));

    let ledger = folders[0].join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).expect("readable");
    let three: String = text.split_inclusive('\n').take(3).collect();
    fs::write(&ledger, three).expect("written");
    let (added, of_cell, table) = sweep();
    let both = "together at most epsilon 2 at delta 2e-5";
    assert!(added.contains(both), "{added}");
    assert!(
        added.contains("epsilons and deltas added up") && of_cell.contains("(2, 2e-5), added up"),
        "{added} {of_cell}"
    );
    let shortened = "4 releases in the ledger, but it holds 3";
    assert_eq!(table.matches(shortened).count(), 1);

    // Epsilons add up for the same neighbours alone.
    let other = folders[1].join("ledger.jsonl");
    let same = fs::read_to_string(&other).expect("readable");
    fs::write(&other, same.replace("replace_one", "add_remove")).expect("written");
    let (mixed, of_cell, _) = sweep();
    assert!(mixed.contains("is not known"), "{mixed}");
    assert_eq!(of_cell, "not known");
    fs::write(&other, same).expect("written");

    // Of a run that did not finish no plan is known.
    fs::remove_file(folders[0].join("run.json")).expect("removed");
    fs::write(folders[0].join("class-moments.json"), "{\"releases\": 4}").expect("written");
    let unknown = || {
        let (together, _, table) = sweep();
        assert!(together.contains("is not known"), "{together}");
        table
    };
    assert_eq!(
        unknown().matches("class-moments.json tells of 4").count(),
        1
    );
    fs::remove_file(&ledger).expect("removed");
    fs::remove_file(folders[0].join("class-moments.json")).expect("removed");
    let table = unknown();
    assert_eq!(table.matches("There is no ledger").count(), 1);
    assert!(table.contains("| not known |"));
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
    let records: Vec<RunRecord> = folders
        .iter()
        .map(|folder| RunRecord::read(folder).expect("readable"))
        .collect();
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
    let all = format!("({}, 1e-5)", upper(epsilon));
    assert!(
        csv.contains(&format!("1.0,\"(1, 1e-5)\",\"{all}\",3,1,132,2,")),
        "{csv}"
    );
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

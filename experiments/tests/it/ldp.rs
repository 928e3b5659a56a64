//! `ldp` as a person runs it: through the binary, in a folder of its own.

use std::path::Path;
use std::process::Command;

use data::{NpyArray, npy};
use dp_core::ledger::Entries;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::program::{
    Ran, SCHEMA, done, folder, json, metrics, number, refusal, refuses, says, sliver, text,
    whole_and_killed, words,
};

fn ldp(kind: &str, out: &Path) -> Command {
    let mut command = sliver("ldp");
    command.args([kind, "--backend", "flex"]);
    if kind == "images" {
        command.args(["--quick-scores", "--scored", "100"]);
    }
    command.arg("--cache-dir").arg(out.with_file_name("cache"));
    command.arg("--run").arg(out);
    command
}

/// A run of seconds.
fn small(loss: &str, out: &Path) -> Command {
    let mut command = ldp("images", out);
    command.args(["--loss", loss, "--records", "300", "--steps", "6"]);
    command.args(["--batch", "40", "--slices", "12", "--keep", "30"]);
    command.args(["--insecure-noise-seed", "3", "--checkpoint-every", "2"]);
    command
}

fn weights(out: &Path) -> Vec<u8> {
    std::fs::read(out.join("weights.f32")).expect("weights")
}

#[test]
fn a_run_leaves_everything_behind_and_a_killed_one_the_same() {
    for loss in ["entropic", "w2", "divergence", "sliced"] {
        let [(_keep, whole), (_kept, killed)] = whole_and_killed(|out| small(loss, out), &[3, 5]);
        assert_eq!(weights(&killed), weights(&whole), "{loss}");
        assert_eq!(metrics(&killed).0, metrics(&whole).0, "{loss}");
        for out in [&whole, &killed] {
            // Privatised once, also by a run that was killed twice.
            let ledger = std::fs::read_to_string(out.join("ledger.jsonl")).expect("a ledger");
            assert_eq!(Entries::parse(&ledger).expect("a ledger").releases(), 1);
            assert!(out.join("privatised.safetensors").exists());
            assert!(out.join("samples.png").exists() && out.join("report.html").exists());
        }
        let run = json(&whole.join("run.json"));
        let privacy = run["privacy"].as_str().expect("a sentence");
        says(&privacy, &["each record is released alone, once"]);
        assert_eq!(run["plan"]["neighbours"], "replace one record");
        assert!((number(&run["plan"]["epsilon_upper"]) - 35.0).abs() < 0.01);
    }
}

/// The distance to the records themselves stands apart, and only where it was asked for.
#[test]
fn distances_to_private_records_are_asked_for() {
    let run = |flags: &[&str]| {
        let (_keep, out) = folder();
        let mut command = small("sliced", &out);
        command.args(flags);
        done(command);
        json(&out.join("run.json"))
    };
    let (plain, asked) = (run(&[]), run(&["--memorisation"]));
    assert!(plain["train_and_test"].is_null() && asked["test"] == plain["test"]);
    let both = &asked["train_and_test"];
    assert_eq!(both["reads_private_records"], true);
    let [train, test] = ["train", "test"].map(|side| number(&both[side]));
    // Of the same distribution, and as many: 300, where the score above has all public ones.
    assert!((train / test - 1.0).abs() < 0.2 && train != test, "{both}");
    let metrics = asked["metrics"].to_string();
    assert!(
        metrics.contains("Reads private records: squared 2-Wasserstein distance to its records")
    );
}

/// The matched loss learns points without their noise, the plain one with it; Laplace noise and the published
/// calibration too. Seeds are fixed.
#[test]
fn points_are_denoised() {
    let variances = |flags: &[&str]| {
        let (_keep, out) = folder();
        let mut command = ldp("points", &out);
        command
            .args(words(
                "--dataset line --insecure-noise-seed 5 --records 20000",
            ))
            .args(["--steps", "400", "--batch", "200"])
            .args(flags);
        done(command);
        let run = json(&out.join("run.json"));
        let of = |name: &str| number(&run["test"]["variances"][name][0]);
        [of("generated"), of("clean"), of("privatised")]
    };
    for flags in [
        &["--epsilon", "20"][..],
        &["--epsilon", "20", "--calibration", "paper"],
        &["--epsilon", "6", "--mechanism", "laplace"],
        &["--epsilon", "20", "--loss", "sliced"],
    ] {
        let [generated, clean, privatised] = variances(flags);
        assert!(privatised > 3.0 * clean, "{flags:?}: {privatised}");
        assert!((generated - clean).abs() < 0.35, "{flags:?}: {generated}");
    }
    let [generated, clean, privatised] = variances(&["--epsilon", "20", "--loss", "w2"]);
    assert!(
        (generated / privatised - 1.0).abs() < 0.3,
        "{generated} {clean} {privatised}"
    );
}

#[test]
fn a_file_that_was_privatised_before_is_all_that_is_read() {
    let (keep, out) = folder();
    let file = keep.path().join("private.safetensors");
    done(
        sliver("privatise")
            .args(words("--input glyphs --records 300 --mechanism laplace"))
            .args(words("--epsilon 40 --radius 30 --keep 25"))
            .args(["--label-weight", "2", "--out"])
            .arg(&file)
            .ran(),
    );
    let with = |out: &Path, flags: &[&str]| {
        let mut command = ldp("images", out);
        command.args(["--steps", "4", "--batch", "40", "--input"]);
        command.arg(&file).args(flags);
        command
    };
    let said = text(&done(with(&out, &[])).stdout);
    assert!(said.contains("No private record is read"), "{said}");
    let run = json(&out.join("run.json"));
    assert_eq!(run["settings"]["mechanism"], "laplace");
    assert_eq!(run["settings"]["keep"], 25);
    assert!(!out.join("privatised.safetensors").exists());

    let refused = |flags: &[&str], words: &str| {
        let (_keep, out) = folder();
        let message = refusal(with(&out, flags));
        assert!(message.contains(words), "{message}");
        assert!(!out.exists());
    };
    refused(&["--epsilon", "30"], "40.0, but 30.0 is asked for");
    refused(&["--mechanism", "gaussian"], "gaussian");
    refused(&["--records", "10"], "--records");
    refused(&["--memorisation"], "--memorisation");
    // A file that was cut off is not taken for a whole one.
    let whole = std::fs::read(&file).expect("a file");
    std::fs::write(&file, &whole[..whole.len() - 3]).expect("writable");
    let (_keep, out) = folder();
    let output = with(&out, &[]).ran();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

/// Standard Gaussian rows.
fn gaussian(path: &Path, rows: usize, width: usize) {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let values = (0..rows * width).map(|_| StandardNormal.sample(&mut rng));
    let array = NpyArray {
        rows,
        width: Some(width),
        values: values.collect(),
    };
    npy::write(std::fs::File::create(path).expect("created"), &array).expect("written");
}

#[test]
fn points_of_a_file_are_denoised_and_nothing_else_is_read() {
    let (keep, out) = folder();
    let place = |name: &str| keep.path().join(name);
    gaussian(&place("line.npy"), 20_000, 1);
    gaussian(&place("plane.npy"), 400, 2);
    let schema = place("schema.toml");
    std::fs::write(&schema, SCHEMA).expect("written");
    std::fs::write(place("table.csv"), "x,sex,y\n1,F,no\n3,M,yes\n").expect("written");
    let privatise = |input: &Path, name: &str, flags: &str| {
        let mut command = sliver("privatise");
        command.args(["--mechanism", "gaussian", "--epsilon", "20"]);
        command.args(["--delta", "1e-6", "--radius", "4"]);
        command.args(flags.split_whitespace()).arg("--input");
        command.arg(input).arg("--out").arg(place(name));
        done(command);
        place(name)
    };
    let learn = |out: &Path, input: &Path, flags: &str| {
        let mut command = ldp("points", out);
        command.arg("--input").arg(input);
        command.args(flags.split_whitespace());
        command
    };

    let known = "--insecure-noise-seed 5";
    let line = privatise(&place("line.npy"), "line.safetensors", known);
    let flags = "--dataset line --steps 400 --batch 200";
    done(learn(&out, &line, flags));
    let run = json(&out.join("run.json"));
    let variance = |name: &str| run["test"]["variances"][name][0].as_f64();
    let [generated, clean, privatised] =
        ["generated", "clean", "privatised"].map(|name| variance(name).expect("a number"));
    assert!(privatised > 3.0 * clean, "{privatised}");
    assert!((generated - clean).abs() < 0.35, "{generated}");
    assert_eq!(run["test"]["privatised_records"], 20_000);
    assert_eq!(run["private"], false, "the noise of the file is known");

    let plane = privatise(&place("plane.npy"), "plane.safetensors", "");
    let (_keep, out) = folder();
    let few = "--dataset gaussian --steps 2 --batch 20 --scored 100";
    let said = text(&done(learn(&out, &plane, few)).stdout);
    assert!(said.contains("No private record is read"), "{said}");
    let run = json(&out.join("run.json"));
    assert_eq!(run["private"], true);
    assert_eq!(run["settings"]["epsilon"], 20.0);
    let metrics = run["metrics"].to_string();
    assert!(metrics.contains("to 100 public records"), "{metrics}");
    assert!(!out.join("privatised.safetensors").exists());

    let one_hot = format!("--label-weight 1 --schema {}", schema.display());
    let table = privatise(&place("table.csv"), "table.safetensors", &one_hot);
    let images = privatise(Path::new("glyphs"), "images.safetensors", "--records 20");
    for (input, flags, words) in [
        (&images, few, "images of 1x28x28, and no points"),
        (&table, few, "2 classes, and points have none"),
        (
            &plane,
            "--dataset line",
            "--dataset line: it must be of records of 2 values",
        ),
        (&plane, "--epsilon 30", "20.0, but 30.0 is asked for"),
        (&plane, "--records 10", "--records: the records of --input"),
        (&place("plane.npy"), few, "not privatised"),
    ] {
        refuses(&format!("{flags} => {words}"), |out, flags| {
            learn(out, input, &flags.join(" ")).ran()
        });
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let run = |out: &Path, flags: &[&str]| ldp("images", out).args(flags).ran();
    let cases = "
            --epsilon 0 => --epsilon 0
            --delta 0.7 => --delta 0.7
            --radius -1 => --radius -1
            --mechanism laplace --calibration paper => its calibration is exact
            --preset paper --mechanism laplace => its calibration is exact
            --keep 0 => --keep 0
            --keep 900 => 900
            --no-privacy => --loss entropic
            --denoise => --denoise
            --dataset nothing => nothing
            --dataset line => say `sliver ldp points line`
            --batch 3 => --batch 3
        ";
    refuses(cases, run);
}

#[test]
fn the_baseline_takes_noise_off_first() {
    let (_keep, out) = folder();
    let mut command = ldp("images", &out);
    command
        .args(words(
            "--preset paper --dataset glyphs --records 200 --steps 2",
        ))
        .args(words("--network perceptron --batch 40 --loss w2 --denoise"))
        .args(["--delta", "1e-4"]);
    done(command);
    let run = json(&out.join("run.json"));
    assert!(
        run["wavelets"]
            .as_str()
            .is_some_and(|words| words.contains("levels"))
    );
}

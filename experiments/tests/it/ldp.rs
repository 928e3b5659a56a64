//! `ldp` as a person runs it: through the binary, in a folder of its own.

use std::path::Path;
use std::process::Command;

use crate::program::{
    Ran, done, folder, json, killed_after, lines, metrics, number, refusal, refuses, says, sliver,
    text, whole_and_killed, words,
};
use data::privatised::Privatised;
use data::{NpyArray, npy};

#[allow(dead_code)] // its main
#[path = "../../examples/wavelets.rs"]
mod wavelets;

fn ldp(out: &Path) -> Command {
    let mut command = sliver("ldp");
    command.args(words("--backend flex --quick-scores --scored 100"));
    command.arg("--cache-dir").arg(out.with_file_name("cache"));
    command.arg("--run").arg(out);
    command
}

/// Glyphs with noise of these flags.
fn privatised(file: &Path, flags: &str) {
    let mut command = sliver("privatise");
    command.args(["glyphs".as_ref(), file.as_os_str()]);
    done(command.args(words(flags)).ran());
}

/// Gaussian noise on a few coefficients and the class.
const NOISE: &str = "--records 300 --mechanism gaussian --epsilon 35 --delta 1e-4 --radius 8 --keep 30 --label-weight 4";

/// A run of seconds.
fn small(loss: &str, file: &Path, out: &Path) -> Command {
    let mut command = ldp(out);
    command.args(["--loss", loss, "--steps", "6", "--batch", "40"]);
    command.args(["--checkpoint-every", "2", "--input"]);
    command.arg(file);
    command
}

fn weights(out: &Path) -> Vec<u8> {
    std::fs::read(out.join("weights.f32")).expect("weights")
}

#[test]
fn a_run_leaves_everything_behind_and_a_killed_one_the_same() {
    let (keep, _) = folder();
    let file = keep.path().join("noisy.safetensors");
    privatised(&file, NOISE);
    for loss in ["entropic", "w2", "divergence"] {
        let small = |out: &Path| small(loss, &file, out);
        let [(_keep, whole), (_kept, killed)] = whole_and_killed(small, &[3, 5]);
        assert_eq!(weights(&killed), weights(&whole), "{loss}");
        assert_eq!(metrics(&killed).0, metrics(&whole).0, "{loss}");
        for out in [&whole, &killed] {
            assert_eq!(lines(out), 0, "nothing is spent");
            assert!(out.join("samples.png").exists() && out.join("report.html").exists());
        }
        let run = json(&whole.join("run.json"));
        assert_eq!(
            (&run["private"], &run["input"]["epsilon"]),
            (&true.into(), &35.0.into())
        );
        let privacy = run["privacy"].as_str().expect("a sentence");
        says(
            &privacy,
            &[
                "No private record is read",
                "epsilon 35 at delta 1e-4, local",
            ],
        );
    }
}

/// The distance to the records themselves stands apart, and only where it was asked for.
#[test]
fn distances_to_private_records_are_asked_for() {
    let (keep, _) = folder();
    let file = keep.path().join("noisy.safetensors");
    privatised(&file, NOISE);
    let run = |flags: &[&str]| {
        let (_keep, out) = folder();
        let mut command = small("entropic", &file, &out);
        command.args(flags);
        done(command);
        json(&out.join("run.json"))
    };
    let (plain, asked) = (run(&[]), run(&["--memorisation"]));
    assert!(plain["train_and_test"].is_null() && asked["test"] == plain["test"]);
    let privacy = asked["privacy"].as_str().expect("a sentence");
    says(
        &privacy,
        &["Private records are read by --memorisation alone"],
    );
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

#[test]
fn a_privatised_file_is_all_that_is_read() {
    let (keep, out) = folder();
    let file = keep.path().join("private.safetensors");
    let laplace =
        "--records 300 --mechanism laplace --epsilon 40 --radius 30 --keep 25 --label-weight 2";
    privatised(&file, laplace);
    let with = |out: &Path, flags: &[&str]| {
        let mut command = ldp(out);
        command.args(["--steps", "4", "--batch", "40", "--input"]);
        command.arg(&file).args(flags);
        command
    };
    let said = text(&done(with(&out, &[])).stdout);
    assert!(said.contains("No private record is read"), "{said}");
    let run = json(&out.join("run.json"));
    assert_eq!(
        (&run["private"], &run["records"]),
        (&true.into(), &0.into())
    );
    assert_eq!(run["input"]["mechanism"], "laplace");
    assert_eq!(run["test"]["privatised_records"], 300);

    // A run of other records than those it started with, and one that privatised its own, as there were.
    let (_kept, started) = folder();
    killed_after(
        &mut with(&started, &["--checkpoint-every", "1"]),
        &started,
        3,
    );
    privatised(&file, &format!("{laplace} --force"));
    let resume = |run: &Path| {
        let mut command = sliver("ldp");
        refusal(command.arg("--resume").arg(run).args(["--backend", "flex"]))
    };
    says(&resume(&started), &["records"]);
    let config = started.join("config.toml");
    let old = std::fs::read_to_string(&config).expect("settings") + "epsilon = 35.0\n";
    std::fs::write(&config, old).expect("written");
    says(
        &resume(&started),
        &["epsilon", "of an earlier version", "start it anew"],
    );

    // Noise of a known seed protects nobody, whoever learns from it.
    let known = keep.path().join("known.safetensors");
    privatised(
        &known,
        "--records 40 --mechanism laplace --epsilon 40 --radius 30 --insecure-noise-seed 5",
    );
    let (_keep, out) = folder();
    let mut command = ldp(&out);
    command.args(words("--steps 2 --batch 20 --input"));
    done(command.arg(&known));
    assert_eq!(json(&out.join("run.json"))["private"], false);
    let plain = keep.path().join("plain.npy");
    let rows = NpyArray {
        rows: 2,
        width: Some(784),
        values: vec![0.5; 1568],
    };
    npy::write(std::fs::File::create(&plain).expect("created"), &rows).expect("written");
    let (_keep, out) = folder();
    let message = refusal(ldp(&out).arg("--input").arg(&plain));
    says(
        &message,
        &["plain.npy", "give a file that `sliver privatise` wrote"],
    );
    // A file that was cut off is not taken for a whole one.
    let whole = std::fs::read(&file).expect("a file");
    std::fs::write(&file, &whole[..whole.len() - 3]).expect("writable");
    let (_keep, out) = folder();
    let output = with(&out, &[]).ran();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_is_refused() {
    let (keep, _) = folder();
    let file = keep.path().join("noisy.safetensors");
    privatised(&file, NOISE);
    let run = |out: &Path, flags: &[&str]| ldp(out).arg("--input").arg(&file).args(flags).ran();
    let cases = "
            --epsilon 30 => --epsilon
            --records 10 => --records
            --no-privacy => --no-privacy
            --dataset nothing => nothing
            --batch 3 => --batch 3
        ";
    refuses(cases, run);
}

#[test]
fn wavelets_take_noise_off_a_file_and_its_promise_stays() {
    let (keep, out) = folder();
    let place = |name: &str| keep.path().join(name);
    let (noisy, smooth) = (place("noisy.safetensors"), place("smooth.safetensors"));
    let noise = "--records 200 --mechanism gaussian --epsilon 100 --delta 1e-4 --radius 12";
    privatised(&noisy, noise);
    let said = wavelets::smoothed("glyphs", &noisy, &smooth).expect("written");
    assert!(said.contains("levels"), "{said}");
    let [before, after] = [&noisy, &smooth].map(|path| Privatised::load(path).expect("a file"));
    assert_eq!(before.header, after.header);
    let energy = |file: &Privatised| file.values.iter().map(|x| x * x).sum::<f32>();
    assert!(energy(&after) < energy(&before) / 2.0);
    let mut command = ldp(&out);
    command.args(words("--loss w2 --network perceptron --steps 2 --batch 40"));
    let said = text(&done(command.arg("--input").arg(&smooth)).stdout);
    assert!(said.contains("No private record is read"), "{said}");
    let (few, other) = (place("few.safetensors"), place("other.safetensors"));
    privatised(&few, &format!("{noise} --keep 25"));
    let refused = wavelets::smoothed("glyphs", &few, &other).expect_err("no pixels");
    assert!(refused.to_string().contains("no images of 28x28"));
    assert!(!other.exists());
}

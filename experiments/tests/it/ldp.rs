//! `ldp` as a person runs it: through the binary, in a folder of its own.

use std::path::Path;
use std::process::Command;

use data::privatised::Privatised;
use data::{NpyArray, npy};
use dp_core::ledger::Entries;

use crate::program::{
    Ran, done, folder, json, metrics, number, refusal, refuses, says, sliver, text,
    whole_and_killed, words,
};

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

/// A run of seconds.
fn small(loss: &str, out: &Path) -> Command {
    let mut command = ldp(out);
    command.args(["--loss", loss, "--records", "300", "--steps", "6"]);
    command.args(["--batch", "40", "--keep", "30"]);
    command.args(["--insecure-noise-seed", "3", "--checkpoint-every", "2"]);
    command
}

fn weights(out: &Path) -> Vec<u8> {
    std::fs::read(out.join("weights.f32")).expect("weights")
}

#[test]
fn a_run_leaves_everything_behind_and_a_killed_one_the_same() {
    for loss in ["entropic", "w2", "divergence"] {
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
        let mut command = small("entropic", &out);
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
        let mut command = ldp(out);
        command.args(["--steps", "4", "--batch", "40", "--input"]);
        command.arg(&file).args(flags);
        command
    };
    let said = text(&done(with(&out, &[])).stdout);
    assert!(said.contains("No private record is read"), "{said}");
    let run = json(&out.join("run.json"));
    assert_eq!(run["private"], true);
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
    // Noise of a known seed protects nobody, whoever learns from it.
    let known = keep.path().join("known.safetensors");
    done(
        sliver("privatise")
            .args(words("--input glyphs --records 40 --mechanism laplace"))
            .args(words(
                "--epsilon 40 --radius 30 --insecure-noise-seed 5 --out",
            ))
            .arg(&known)
            .ran(),
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
    assert!(message.contains("not privatised"), "{message}");
    // A file that was cut off is not taken for a whole one.
    let whole = std::fs::read(&file).expect("a file");
    std::fs::write(&file, &whole[..whole.len() - 3]).expect("writable");
    let (_keep, out) = folder();
    let output = with(&out, &[]).ran();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_is_refused() {
    let run = |out: &Path, flags: &[&str]| ldp(out).args(flags).ran();
    let cases = "
            --epsilon 0 => --epsilon 0
            --delta 0.7 => --delta 0.7
            --radius -1 => --radius -1
            --mechanism laplace --calibration paper => its calibration is exact
            --preset paper --mechanism laplace => its calibration is exact
            --keep 0 => --keep 0
            --keep 900 => 900
            --no-privacy => --loss entropic
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
    let privatise = |flags: &str, out: &Path| {
        let mut command = sliver("privatise");
        command.args(words("--input glyphs --records 200 --mechanism gaussian"));
        command.args(words("--epsilon 100 --delta 1e-4 --radius 12"));
        done(command.args(words(flags)).arg("--out").arg(out));
    };
    privatise("", &noisy);
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
    privatise("--keep 25", &few);
    let refused = wavelets::smoothed("glyphs", &few, &other).expect_err("no pixels");
    assert!(refused.to_string().contains("no images of 28x28"));
    assert!(!other.exists());
}

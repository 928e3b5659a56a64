//! `ldp` as a person runs it: through the binary, in a folder of its own.

use std::path::Path;
use std::process::Command;

use data::privatised::Privatised;

use crate::program::{
    Home, bytes_at, json, killed_after, lines, metrics, npy, number, says, sliver, whole_and_killed,
};

#[allow(dead_code)] // its main
#[path = "../../examples/wavelets.rs"]
mod wavelets;

/// Gaussian noise on a few coefficients and the class.
pub(crate) const NOISE: &str = "--records 300 --mechanism gaussian --epsilon 35 --delta 1e-4 --radius 8 --keep 30 --label-weight 4";
const LDP: &str = "ldp --backend flex --quick-scores --scored 100";

/// Glyphs with noise of these flags, in the file `noisy.safetensors`.
pub(crate) fn privatised(flags: &str) -> Home {
    let home = Home::new();
    home.done(&format!("privatise glyphs noisy.safetensors {flags}"));
    home
}

/// A run of seconds.
fn small(home: &Home, out: &Path, flags: &str) -> Command {
    let input = home.at("noisy.safetensors");
    let mut command = sliver(&format!(
        "{LDP} {flags} --steps 6 --batch 40 --checkpoint-every 2 --input {}",
        input.display()
    ));
    command.arg("--run").arg(out);
    command
}

#[test]
fn a_run_leaves_everything_behind_and_a_killed_one_the_same() {
    let home = privatised(NOISE);
    for loss in ["entropic", "w2", "divergence"] {
        let small = |out: &Path| small(&home, out, &format!("--loss {loss}"));
        let [(_keep, whole), (_kept, killed)] = whole_and_killed(small, &[3, 5]);
        let weights = |out: &Path| bytes_at(out.join("weights.f32"));
        assert!(weights(&killed) == weights(&whole), "{loss}");
        assert_eq!(metrics(&killed).0, metrics(&whole).0, "{loss}");
        for out in [&whole, &killed] {
            assert_eq!(lines(out), 0, "nothing is spent");
            assert!(out.join("samples.png").exists() && out.join("report.html").exists());
        }
        let run = json(&whole.join("run.json"));
        let promised = (&run["private"], &run["input"]["epsilon"]);
        assert_eq!(promised, (&true.into(), &35.0.into()));
        let words = [
            "No private record is read",
            "epsilon 35 at delta 1e-4, local",
        ];
        says(&run["privacy"], &words);
    }
}

/// The distance to the records themselves stands apart, and only where it was asked for.
#[test]
fn distances_to_private_records_are_asked_for() {
    let home = privatised(NOISE);
    let [plain, asked] = ["", "--memorisation"].map(|flag| {
        home.done(&format!(
            "{LDP} --loss entropic --steps 6 --batch 40 --input noisy.safetensors {flag} --out run{flag}"
        ));
        home.json(&format!("run{flag}/run.json"))
    });
    assert!(plain["train_and_test"].is_null() && asked["test"] == plain["test"]);
    let words = ["Private records are read by --memorisation alone"];
    says(&asked["privacy"], &words);
    let both = &asked["train_and_test"];
    assert_eq!(both["reads_private_records"], true);
    let [train, test] = ["train", "test"].map(|side| number(&both[side]));
    // Of the same distribution, and as many: 300, where the score above has all public ones.
    assert!((train / test - 1.0).abs() < 0.2 && train != test, "{both}");
    let words = ["Reads private records: squared 2-Wasserstein distance to its records"];
    says(&asked["metrics"], &words);
}

#[test]
fn a_privatised_file_is_all_that_is_read() {
    let laplace =
        "--records 300 --mechanism laplace --epsilon 40 --radius 30 --keep 25 --label-weight 2";
    let home = privatised(laplace);
    let with = format!("{LDP} --steps 4 --batch 40 --input noisy.safetensors");
    let said = home.done(&format!("{with} --out run"));
    says(&said, &["No private record is read"]);
    let run = home.json("run/run.json");
    let read = (&run["private"], &run["records"]);
    assert_eq!(read, (&true.into(), &0.into()));
    assert_eq!(run["input"]["mechanism"], "laplace");
    assert_eq!(run["test"]["privatised_records"], 300);

    // A run of other records than those it started with, and one that privatised its own, as there were.
    let mut started = home.sliver(&format!("{with} --checkpoint-every 1 --run started"));
    killed_after(&mut started, &home.at("started"), 3);
    home.done(&format!(
        "privatise glyphs noisy.safetensors {laplace} --force"
    ));
    let resume = "ldp --resume started --backend flex";
    home.refuses(resume, &["records"]);
    let old = home.text("started/config.toml") + "epsilon = 35.0\n";
    home.put("started/config.toml", old);
    let words = ["epsilon", "of an earlier version", "start it anew"];
    home.refuses(resume, &words);

    // Noise of a known seed protects nobody, whoever learns from it.
    home.done(
        "privatise glyphs known.safetensors --records 40 --mechanism laplace --epsilon 40 --radius 30 --insecure-noise-seed 5",
    );
    home.done(&format!(
        "{LDP} --steps 2 --batch 20 --input known.safetensors --out known"
    ));
    assert_eq!(home.json("known/run.json")["private"], false);
    // A file that was cut off is not taken for a whole one.
    home.put("plain.npy", npy(Some(784), &[0.5; 1568]));
    let whole = home.bytes("noisy.safetensors");
    home.put("cut.safetensors", &whole[..whole.len() - 3]);
    let cases = "
        plain.npy => plain.npy | give a file that `sliver privatise` wrote
        cut.safetensors => cut.safetensors
    ";
    home.refuses_each(&format!("{LDP} --out none --input"), cases);
}

#[test]
fn what_cannot_be_is_refused() {
    let cases = "
        --epsilon 30 => --epsilon
        --records 10 => --records
        --no-privacy => --no-privacy
        --dataset nothing => nothing
        --batch 3 => --batch 3
    ";
    let line = format!("{LDP} --input noisy.safetensors --run none");
    privatised(NOISE).refuses_each(&line, cases);
}

#[test]
fn wavelets_take_noise_off_a_file_and_its_promise_stays() {
    let noise = "--records 200 --mechanism gaussian --epsilon 100 --delta 1e-4 --radius 12";
    let home = privatised(noise);
    let [noisy, smooth] = ["noisy.safetensors", "smooth.safetensors"].map(|name| home.at(name));
    let said = wavelets::smoothed("glyphs", &noisy, &smooth).expect("written");
    says(&said, &["levels"]);
    let [before, after] = [&noisy, &smooth].map(|path| Privatised::load(path).expect("a file"));
    assert_eq!(before.header, after.header);
    let energy = |file: &Privatised| file.values.iter().map(|x| x * x).sum::<f32>();
    assert!(energy(&after) < energy(&before) / 2.0);
    let flags = "--loss w2 --network perceptron --steps 2 --batch 40 --out run";
    let said = home.done(&format!("{LDP} {flags} --input smooth.safetensors"));
    says(&said, &["No private record is read"]);
    let few = privatised(&format!("{noise} --keep 25"));
    let other = few.at("other.safetensors");
    let refused = wavelets::smoothed("glyphs", &few.at("noisy.safetensors"), &other);
    let refused = refused.expect_err("no pixels");
    says(&refused.to_string(), &["no images of 28x28"]);
    assert!(!other.exists());
}

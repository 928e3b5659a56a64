//! `adapt` as a person runs it: through the binary, in a folder of its own, on features that are made here.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use data::split::is_test_row;
use data::{NpyArray, npy};
use dp_core::ledger::Entries;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use test_support::data_folder;

use crate::program::{
    Ran, done, folder, json, lines, metrics, number, refusal, refuses, says, sliver, words,
};

const WIDTH: usize = 12;
const CLASSES: usize = 3;

/// Features around the mean of their class, all of a domain moved towards class 0; the label last.
fn rows(seed: u64, count: usize, shift: f32) -> Vec<f32> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut rows = Vec::new();
    for row in 0..count {
        let class = row % CLASSES;
        for column in 0..WIDTH {
            let mean = if column % CLASSES == class { 1.0 } else { 0.0 };
            let moved = if column % CLASSES == 0 { shift } else { 0.0 };
            rows.push(mean + moved + rng.random_range(-0.5..0.5f32));
        }
        rows.push(class as f32);
    }
    rows
}

fn csv(path: &Path, rows: &[f32]) {
    let mut text = String::new();
    for row in rows.chunks_exact(WIDTH + 1) {
        let fields: Vec<String> = row.iter().map(f32::to_string).collect();
        writeln!(text, "{}", fields.join(",")).expect("a string grows");
    }
    std::fs::write(path, text).expect("written");
}

fn array(path: &Path, width: usize, values: Vec<f32>) {
    let (rows, width) = (values.len() / width, Some(width));
    let array = NpyArray {
        rows,
        width,
        values,
    };
    npy::write(std::fs::File::create(path).expect("created"), &array).expect("written");
}

/// A public source in one format and a private target in the other.
fn domains(place: &Path) -> [PathBuf; 2] {
    let files = [place.join("source.npy"), place.join("target.csv")];
    array(&files[0], WIDTH + 1, rows(1, 300, 0.0));
    csv(&files[1], &rows(2, 400, 0.6));
    files
}

/// A run of `sliced`, or of the method that the first of the flags names.
fn adapt(place: &Path, files: &[PathBuf; 2], more: &[&str]) -> Command {
    let named = more.iter().take_while(|word| !word.starts_with('-'));
    let method = named.copied().next().unwrap_or("sliced");
    let mut own = vec![
        ["--features", "12"],
        ["--classes", "3"],
        ["--public-steps", "60"],
        ["--public-batch", "32"],
        ["--latent", "4"],
    ];
    if !["source", "warp"].contains(&method) {
        own.extend([["--delta", "1e-4"], ["--batch", "60"], ["--steps", "3"]]);
    }
    if method == "sliced" {
        own.push(["--slices", "4"]);
    }
    let mut command = sliver("adapt");
    if more.first() != Some(&method) {
        command.arg(method);
    }
    command.args(more);
    command.args(own.iter().filter(|pair| !more.contains(&pair[0])).flatten());
    command.arg("--source").arg(&files[0]).arg("--target");
    command.arg(&files[1]).arg("--cache-dir");
    command.arg(place.join("cache")).args(["--backend", "flex"]);
    if !more.iter().any(|flag| flag.starts_with("--test")) {
        command.args(["--test-share", "0.2"]);
    }
    command
}

fn run(command: &mut Command, out: &Path) -> Output {
    command.arg("--run").arg(out).ran()
}

#[test]
fn each_way_of_copying_leaves_everything_behind() {
    for (more, releases) in [
        (vec!["--epsilon", "2"], 3),
        (vec!["--no-privacy"], 0),
        (vec!["source"], 0),
    ] {
        let (keep, out) = folder();
        let files = domains(keep.path());
        done(run(&mut adapt(keep.path(), &files, &more), &out));
        let found = json(&out.join("run.json"));
        let nothing_read = more.contains(&"source") && releases == 0;
        let promise = found["privacy"].as_str().expect("words");
        assert!(!promise.contains("classes"), "{more:?}: {promise}");
        assert_eq!(found["private"], releases > 0 || nothing_read, "{more:?}");
        let parsed = std::fs::read_to_string(out.join("ledger.jsonl")).unwrap_or_default();
        assert_eq!(
            Entries::parse(&parsed).expect("a ledger").releases(),
            releases
        );
        if releases > 0 {
            let epsilon = number(&found["epsilon_spent_upper"]);
            assert!(epsilon <= 2.0 && epsilon > 1.9, "{more:?}: {epsilon}");
        }
        let accuracy = number(&found["test"]["accuracy"]);
        assert!((0.0..=1.0).contains(&accuracy));
        for file in [
            "model.bpk",
            "report.html",
            "confusion.png",
            "features-after.svg",
        ] {
            assert!(out.join(file).exists(), "{more:?}: {file}");
        }
    }
}

/// The labels of target records are for evaluation alone: others change no weight.
#[test]
fn labels_of_the_target_change_nothing() {
    let (keep, out) = folder();
    let [source, target] = domains(keep.path());
    let other = keep.path().join("other.csv");
    let mut changed = rows(2, 400, 0.6);
    let rows = changed.chunks_exact_mut(WIDTH + 1).enumerate();
    for (_, row) in rows.filter(|&(row, _)| !is_test_row(row, 0.2)) {
        row[WIDTH] = (row[WIDTH] + 1.0) % CLASSES as f32;
    }
    csv(&other, &changed);
    let ends = [target, other].map(|target| {
        let out = out.with_extension(target.file_stem().expect("a name"));
        let more = ["--epsilon", "2", "--insecure-noise-seed", "7"];
        done(run(
            &mut adapt(keep.path(), &[source.clone(), target], &more),
            &out,
        ));
        // The loss has all digits: it tells of any other weight.
        metrics(&out).0.last().cloned()
    });
    assert!(ends[0].is_some());
    assert_eq!(ends[0], ends[1]);
}

/// Without noise the distance pulls the target's features to the source's, whose classifier then reads more of them.
#[test]
fn a_shift_is_undone() {
    let (keep, out) = folder();
    let files = ["source.npy", "target.npy"].map(|name| keep.path().join(name));
    array(&files[0], WIDTH + 1, rows(1, 900, 0.0));
    array(&files[1], WIDTH + 1, rows(2, 900, 1.2));
    let flags = "--no-privacy --batch 600 --steps 150 --weight 5 --public-steps 200 --latent 8 --slices 16 \
                 --public-batch 128 --learning-rate 3e-3";
    let more: Vec<&str> = flags.split_whitespace().collect();
    done(run(&mut adapt(keep.path(), &files, &more), &out));
    let test = &json(&out.join("run.json"))["test"];
    let number = |name: &str| number(&test[name]);
    let (before, after) = (number("accuracy_of_source_classifier"), number("accuracy"));
    assert!(after > before + 0.05, "{before} to {after}");
}

/// The warp is of one release, which lies in the run's folder; what it taught lies nowhere else.
#[test]
fn a_warp_is_learned_from_one_release() {
    if data_folder().is_none() {
        return;
    }
    let (keep, out) = folder();
    let command = |seed: &str| {
        let mut command = sliver("adapt");
        let flags = "glyphs usps --epsilon 2 --delta 1e-4 --records 500 --public-records 2000 --public-steps 3 \
                     --slices 16 --backend flex --insecure-noise-seed";
        command.args(flags.split_whitespace()).arg(seed);
        command.arg("--cache-dir").arg(keep.path().join("cache"));
        command
    };
    done(run(&mut command("3"), &out));
    assert_eq!(lines(&out), 1);
    let found = json(&out.join("run.json"));
    // USPS fills the image, and glyphs do not.
    let size = number(&found["warp"]["height"]) - 0.2 * number(&found["warp"]["own size"]);
    assert!(size < -0.1, "{found}");
    assert!(out.join("marginals.bin").exists());
    let kept = std::fs::read_dir(keep.path().join("cache/autoencoders")).expect("a cache");
    assert_eq!(kept.count(), 1, "the classifier of the source alone");
    let epsilon = number(&found["epsilon_spent_upper"]);
    assert!(epsilon <= 2.0 && epsilon > 1.99, "{epsilon}");
    // What is learned is of the noisy values: with other noise it is another warp.
    let other = keep.path().join("other");
    assert!(run(&mut command("4"), &other).status.success());
    let other = json(&other.join("run.json"));
    assert_ne!(found["warp"], other["warp"]);
    assert!(found["warp"].is_object());
}

/// Bad files and flags: the place, the bound, exit code 2, and nothing is written.
#[test]
fn bad_input_is_refused_and_nothing_is_written() {
    let (keep, out) = folder();
    let [source, target] = domains(keep.path());
    let bad = |name: &str| keep.path().join(name);
    std::fs::write(bad("short.csv"), "1,2,0\n").expect("written");
    let mut label = rows(2, 20, 0.0);
    label[WIDTH] = 3.0;
    csv(&bad("label.csv"), &label);
    let mut value = rows(2, 20, 0.0);
    value[WIDTH + 3] = f32::NAN;
    array(&bad("value.npy"), WIDTH + 1, value);
    array(&bad("width.npy"), 5, vec![0.0; 50]);
    let whole = std::fs::read(&source).expect("read");
    std::fs::write(bad("cut.npy"), &whole[..whole.len() - 5]).expect("written");
    let private = ["--epsilon", "2"];
    for (file, parts) in [
        ("short.csv", ["another number of fields", "than 13", ""]),
        ("label.csv", ["column 13", "from 0 to 2", ""]),
        ("value.npy", ["finite", "repair", ""]),
        ("width.npy", ["5 columns", "expected", "13 columns"]),
        ("cut.npy", ["cut.npy", "expected", "bytes"]),
        ("absent.npy", ["absent.npy", "open the file", ""]),
    ] {
        for files in [[source.clone(), bad(file)], [bad(file), target.clone()]] {
            let said = refusal(run(&mut adapt(keep.path(), &files, &private), &out));
            assert!(said.contains(file), "{file}: {said}");
            assert!(
                parts.iter().all(|part| said.contains(part)),
                "{file}: {said}"
            );
            assert!(
                !out.exists() && !keep.path().join("cache").exists(),
                "{file}"
            );
        }
    }
    let files = [source, target];
    let cases = "
            --epsilon 2 --batch 5000 => between 1 and
            --epsilon 2 --delta 0.5 => delta
            --epsilon 0 => positive
            --epsilon 2 --clip-jacobian 0 => clip-jacobian
            warp --epsilon 2 => no images to warp
            --epsilon 2 --latent 5 => --slices 4
            source --epsilon 2 => '--epsilon'
        ";
    refuses(cases, |out, more| {
        run(&mut adapt(keep.path(), &files, more), out)
    });
    let mut images = sliver("adapt");
    images.args(words("sliced --epsilon 2 --target mnist --source"));
    let said = refusal(run(images.arg(&files[0]), &out));
    assert!(said.contains("--target mnist") && !out.exists(), "{said}");
}

#[test]
fn records_that_are_public_and_private_are_refused_by_their_flags() {
    let (keep, out) = folder();
    let [source, target] = domains(keep.path());
    let copy = keep.path().join("copy.npy");
    std::fs::copy(&source, &copy).expect("copied");
    let [one, other, twice] = [&source, &target, &copy].map(|path| path.display().to_string());
    let files = |a: &str, b: &str, more: &[&str]| adapt(keep.path(), &[a.into(), b.into()], more);
    let images = || {
        let mut command = sliver("adapt");
        command.args(["glyphs", "glyphs", "--images", "raw", "--backend", "flex"]);
        command
    };
    for (mut command, flag, before) in [
        (
            files(&one, &one, &[]),
            format!("--target {one}"),
            format!("--source {one}"),
        ),
        (
            files(&one, &twice, &[]),
            format!("--target {twice}"),
            format!("--source {one}"),
        ),
        (
            files(&one, &other, &["--test", &other]),
            format!("--target {other}"),
            format!("--test {other}"),
        ),
        (
            files(&one, &other, &["--test", &twice]),
            format!("--test {twice}"),
            format!("--source {one}"),
        ),
        (images(), "--target glyphs".into(), "--source glyphs".into()),
    ] {
        let said = refusal(run(&mut command, &out));
        let expected = format!("{flag}: the same records as {before}");
        assert!(said.contains(&expected), "{expected}: {said}");
        assert!(!out.exists(), "{flag}");
    }
}

/// A damaged file of USPS, by its pinned size, before anything is written.
#[test]
fn a_damaged_usps_file_is_refused() {
    let (keep, out) = folder();
    let usps = keep.path().join("usps");
    std::fs::create_dir_all(&usps).expect("a folder");
    std::fs::write(usps.join("zip.train.gz"), b"\x1f\x8bcut").expect("written");
    let mut command = sliver("adapt");
    command.args(words(
        "--backend flex --source glyphs --target usps --epsilon 2",
    ));
    command.arg("--data-dir").arg(keep.path());
    command.arg("--cache-dir").arg(keep.path().join("cache"));
    let said = refusal(run(&mut command, &out));
    says(&said, &["zip.train.gz", "1829071"]);
    assert!(!out.exists());
}

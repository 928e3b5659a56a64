//! `distance` as a person runs it: through the binary, on files.

use std::path::{Path, PathBuf};
use std::process::Output;

use data::npy::{self, NpyArray};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::program::{
    Ran, done, folder, json, ledger, lines, number, refuses, sliver, text, words,
};

/// Normal rows around `(shift, shift)`, as an NPY file.
fn file(folder: &Path, name: &str, rows: usize, shift: f32, seed: u64) -> PathBuf {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let values = (0..2 * rows).map(|_| {
        let x: f32 = StandardNormal.sample(&mut rng);
        shift + x
    });
    let array = NpyArray {
        rows,
        width: Some(2),
        values: values.collect(),
    };
    let path = folder.join(name);
    npy::write(std::fs::File::create(&path).expect("created"), &array).expect("written");
    path
}

fn distance(a: &Path, b: &Path, out: &Path, more: &[&str]) -> Output {
    let mut command = sliver("distance");
    command.arg("--backend").arg("flex").arg("--source").arg(a);
    command.arg("--target").arg(b);
    let cache = out.parent().expect("a folder").join("cache");
    command.args(more).arg("--cache-dir").arg(cache);
    command.arg("--run").arg(out);
    command.ran()
}

#[test]
fn a_distance_leaves_with_its_error_its_test_and_its_ledger() {
    let (keep, out) = folder();
    let a = file(keep.path(), "a.npy", 4000, 0.0, 1);
    let b = file(keep.path(), "b.npy", 3000, 1.0, 2);
    let flags = words("--radius 4 --epsilon 5 --test --json --insecure-noise-seed 3");
    let output = done(distance(&a, &b, &out, &flags));
    let said = text(&output.stdout);
    let last = said.lines().last().expect("a line");
    let found: serde_json::Value = serde_json::from_str(last).expect("JSON on the last line");
    let number = |key: &str| number(&found[key]);
    // The shift is 1 in both coordinates, so the mean over directions is 1, less what the ball takes.
    let (squared, error) = (number("squared_distance"), number("standard_error"));
    assert!(
        (squared - 0.95).abs() < 4.0 * error + 0.1,
        "{squared}, {error}"
    );
    assert!(number("plug_in_squared_distance") > squared);
    assert!(number("p_value") <= 0.05 && found["differ"] == true);
    assert_eq!(json(&out.join("run.json"))["test"], found);
    assert!(out.join("release.svg").exists() && out.join("report.html").exists());
    let entries = ledger(&out).entries;
    assert_eq!(entries.len(), 1);
    // A whole orthonormal basis: 2 r, however many slices there are.
    assert!((entries[0].sensitivity.expect("a sensitivity") - 8.0).abs() < 1e-4);
    let deviation = entries[0].deviation.expect("a deviation");
    assert!((number("smoothing_deviation") / deviation - 1.0).abs() < 1e-12);
    // Another question to the same release costs nothing.
    std::fs::remove_file(out.join("run.json")).expect("removed");
    assert!(distance(&a, &b, &out, &flags).status.success());
    assert_eq!(lines(&out), 1);
    assert_eq!(json(&out.join("run.json"))["test"], found);
    // A run that resumes tells it as it was asked to; one that is done tells it again.
    std::fs::remove_file(out.join("run.json")).expect("removed");
    let mut resumed = sliver("distance");
    let said = text(&done(resumed.arg("--resume").arg(&out)).stdout);
    assert_eq!(said.lines().last(), Some(last));
    let said = text(&done(distance(&a, &b, &out, &flags)).stdout);
    assert_eq!(said.lines().last(), Some(last));
}

#[test]
fn one_side_may_be_public_and_nothing_may_be_private() {
    let (keep, out) = folder();
    let a = file(keep.path(), "a.npy", 400, 0.0, 1);
    let b = file(keep.path(), "b.npy", 300, 0.0, 2);
    done(distance(
        &a,
        &b,
        &out,
        &["--radius", "4", "--protect", "target"],
    ));
    let run = json(&out.join("run.json"));
    assert_eq!(
        (&run["private"], &run["records"]),
        (&true.into(), &300.into())
    );
    assert!(
        run["privacy"]
            .as_str()
            .expect("a sentence")
            .contains("replace one record;")
    );
    let out = keep.path().join("plain");
    done(distance(&a, &b, &out, &["--no-privacy", "--slices", "1"]));
    let run = json(&out.join("run.json"));
    assert_eq!((&run["private"], lines(&out)), (&false.into(), 0));
    assert_eq!(run["test"]["smoothing_deviation"], 0.0);
}

#[test]
fn bad_files_are_refused_by_name_and_nothing_is_written() {
    let (keep, _) = folder();
    let a = file(keep.path(), "a.npy", 40, 0.0, 1);
    let write = |name: &str, bytes: &[u8]| {
        let path = keep.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        path
    };
    let whole = std::fs::read(&a).expect("readable");
    let cut = &whole[..whole.len() - 3];
    let wide = b"1,2,3\n1,2,3\n4,5,6\n1,1,1\n";
    let run = |b: &Path, cases: &str| {
        refuses(cases, |_, flags| {
            distance(&a, b, &keep.path().join("run"), flags)
        });
        assert!(!keep.path().join("run").exists());
    };
    for (b, says) in [
        (write("short.npy", cut), "short.npy: expected 448 bytes"),
        (write("wide.csv", wide), "rows of 2 values"),
        (
            write("bad.csv", b"1,2\n1,nan\n"),
            "column 2: expected a finite number",
        ),
        (write("few.csv", b"1,2\n1,4\n"), "2 rows, at least 4"),
        (
            write("no-idx", &[0, 0, 8, 1, 0, 0]),
            "wrong idx magic number",
        ),
        (keep.path().join("absent.npy"), "absent.npy"),
    ] {
        run(&b, &format!("--radius 4 => {says}"));
    }
    let cases = "
        => --radius: none was given
        --radius 0 => --radius 0
        --radius 4 --delta 0.5 => delta = 0.5
        --radius 4 --slices 0 => --slices 0
        --radius 4 --test --permutations 5 => --permutations 5
    ";
    run(&file(keep.path(), "b.npy", 40, 0.0, 2), cases);
}

//! `distance` as a person runs it: through the binary, on files.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::program::{Home, ledger, lines, npy, number, says};

/// Normal rows around `(shift, shift)`, as an NPY file.
pub(crate) fn rows(rows: usize, shift: f32, seed: u64) -> Vec<u8> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let values = (0..2 * rows).map(|_| {
        let x: f32 = StandardNormal.sample(&mut rng);
        shift + x
    });
    npy(Some(2), &values.collect::<Vec<f32>>())
}

const DISTANCE: &str = "distance --source a.npy --target b.npy --backend flex";

#[test]
fn a_distance_leaves_with_its_error_its_test_and_its_ledger() {
    let home = Home::new();
    home.put("a.npy", rows(4000, 0.0, 1));
    home.put("b.npy", rows(3000, 1.0, 2));
    let line = format!(
        "{DISTANCE} --radius 4 --epsilon 5 --test --json --insecure-noise-seed 3 --run run"
    );
    let said = home.done(&line);
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
    assert_eq!(home.json("run/run.json")["test"], found);
    assert!(home.has("run/release.svg") && home.has("run/report.html"));
    let entries = ledger(&home.at("run")).entries;
    assert_eq!(entries.len(), 1);
    // A whole orthonormal basis: 2 r, however many slices there are.
    assert!((entries[0].sensitivity.expect("a sensitivity") - 8.0).abs() < 1e-4);
    let deviation = entries[0].deviation.expect("a deviation");
    assert!((number("smoothing_deviation") / deviation - 1.0).abs() < 1e-12);
    // Another question to the same release costs nothing. A run that resumes tells it as it was asked to; one that is done tells it
    // again.
    for (line, done) in [
        (&*line, false),
        ("distance --resume run", false),
        (&*line, true),
    ] {
        if !done {
            home.lose("run/run.json");
        }
        assert_eq!(home.done(line).lines().last(), Some(last));
        assert_eq!(home.json("run/run.json")["test"], found);
    }
    assert_eq!(lines(&home.at("run")), 1);
}

#[test]
fn one_side_may_be_public_and_nothing_may_be_private() {
    let home = Home::new();
    home.put("a.npy", rows(400, 0.0, 1));
    home.put("b.npy", rows(300, 0.0, 2));
    home.done(&format!("{DISTANCE} --radius 4 --protect target --run run"));
    let run = home.json("run/run.json");
    let read = (&run["private"], &run["records"]);
    assert_eq!(read, (&true.into(), &300.into()));
    says(&run["privacy"], &["replace one record;"]);
    home.done(&format!("{DISTANCE} --no-privacy --slices 1 --run plain"));
    let run = home.json("plain/run.json");
    assert_eq!(
        (&run["private"], lines(&home.at("plain"))),
        (&false.into(), 0)
    );
    assert_eq!(run["test"]["smoothing_deviation"], 0.0);
}

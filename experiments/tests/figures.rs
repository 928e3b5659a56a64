//! `figures` as a person runs it: through the binary, on runs of `fair`.

use std::path::Path;
use std::process::{Command, Output};

fn figures(root: &Path, runs: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_figures"))
        .current_dir(root)
        .args(["fair", "--runs", runs, "--out", "figures"])
        .output()
        .expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn runs_become_figures() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    for budget in [&["--epsilon", "3"][..], &["--no-privacy"]] {
        for alpha in ["0", "0.5"] {
            for seed in ["0", "1"] {
                let name = format!("runs/{}-{alpha}-{seed}", budget.len());
                let output = Command::new(env!("CARGO_BIN_EXE_fair"))
                    .current_dir(root)
                    .args(["--backend", "flex", "--records", "400", "--steps", "10"])
                    .args(["--alpha", alpha, "--seed", seed])
                    .args(["--insecure-noise-seed", seed, "--out", &name])
                    .args(budget)
                    .output()
                    .expect("the binary starts");
                assert!(output.status.success(), "{}", text(&output.stderr));
            }
        }
    }
    let drawn = figures(root, "runs");
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    for name in [
        "classification-curve-alpha0.png",
        "classification-difference-alpha0.png",
        "classification-difference-alpha0.5.png",
        "classification-w2_squared.png",
    ] {
        let picture = image::open(root.join("figures").join(name)).expect("a picture");
        assert!(picture.width() > 300, "{name}");
    }
    let page = std::fs::read_to_string(root.join("figures/figures.html")).expect("a page");
    assert!(page.contains("What privacy adds to the objective of the same seed, alpha 0.5"));
}

#[test]
fn a_folder_without_runs_is_named() {
    let root = tempfile::tempdir().expect("a folder");
    let output = figures(root.path(), "nowhere");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--runs nowhere"));
}

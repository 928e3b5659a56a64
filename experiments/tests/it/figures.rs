//! Figures over runs of `fair`.

use crate::program::{Ran, sliver};
use clap::Parser as _;
use tools::report::{Arguments, run};

#[test]
fn runs_become_figures() {
    let root = tempfile::tempdir().expect("a folder");
    let (runs, out) = (root.path().join("runs"), root.path().join("figures"));
    for budget in [&["--epsilon", "3"][..], &["--no-privacy"]] {
        for alpha in ["0", "0.5"] {
            for seed in ["0", "1"] {
                let output = sliver("fair")
                    .args(["--backend", "flex", "--records", "400", "--steps", "10"])
                    .args(["--alpha", alpha, "--seed", seed])
                    .args(["--insecure-noise-seed", seed, "--out"])
                    .arg(runs.join(format!("{}-{alpha}-{seed}", budget.len())))
                    .args(budget)
                    .ran();
                let error = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{error}");
            }
        }
    }
    let (from, to) = (runs.as_os_str(), out.as_os_str());
    let words = ["report", "--figures", "fair"].map(AsRef::as_ref);
    let words = words.into_iter().chain([from, "--out".as_ref(), to]);
    run(&Arguments::parse_from(words)).expect("figures");
    for name in [
        "classification-curve-alpha0.svg",
        "classification-difference-alpha0.svg",
        "classification-difference-alpha0.5.svg",
        "classification-w2_squared.svg",
    ] {
        let chart = std::fs::read_to_string(out.join(name)).expect("a chart");
        assert!(chart.starts_with("<svg"), "{name}");
    }
    let page = std::fs::read_to_string(out.join("figures.html")).expect("a page");
    assert!(page.contains("What privacy adds to the objective of the same seed, alpha 0.5"));
    assert!(page.contains("image/svg+xml") && !page.contains("image/png"));
}

#[test]
fn a_folder_without_runs_is_named() {
    let root = tempfile::tempdir().expect("a folder");
    let output = sliver("report")
        .current_dir(root.path())
        .args(["--figures", "fair", "nowhere", "--out", "figures"])
        .ran();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("--figures fair nowhere"), "{message}");
}

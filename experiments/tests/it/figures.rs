//! Figures over runs of `fair`.

use clap::Parser as _;
use tools::report::{Arguments, run};

use crate::program::{Home, says};

#[test]
fn runs_become_figures() {
    let home = Home::new();
    for budget in ["--epsilon 3", "--no-privacy"] {
        for alpha in ["0", "0.5"] {
            for seed in ["0", "1"] {
                home.done(&format!(
                    "fair --backend flex --records 400 --steps 10 --alpha {alpha} --seed {seed} --insecure-noise-seed {seed} {budget} \
                     --out runs/{}-{alpha}-{seed}",
                    budget.len()
                ));
            }
        }
    }
    let (runs, out) = (home.at("runs"), home.at("figures"));
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
        let chart = home.text(&format!("figures/{name}"));
        assert!(chart.starts_with("<svg"), "{name}");
    }
    let page = home.text("figures/figures.html");
    says(
        &page,
        &["What privacy adds to the objective of the same seed, alpha 0.5"],
    );
    assert!(page.contains("image/svg+xml") && !page.contains("image/png"));
}

//! `circle` as a person runs it: through the binary, in a folder of its own.

use std::path::Path;
use std::process::{Command, Output};

use dp_core::accounting::Event;
use private_training::penalty::ToSample;
use tools::figures::{Arguments, run};

use crate::program::{
    Ran, done, folder, json, ledger, lines, metrics, number, pld, refuses, sliver,
    whole_and_killed, words,
};

use clap::Parser as _;

/// A run of a method; of gradients where the arguments name none.
fn circle(arguments: &[&str]) -> Command {
    let mut command = sliver("circle");
    command.args(arguments);
    command.args(["--backend", "flex", "--records", "2000", "--batch", "200"]);
    command
}

fn small(out: &Path, more: &[&str]) -> Output {
    let mut command = circle(more);
    command.arg("--run").arg(out);
    command.ran()
}

#[test]
fn both_methods_leave_everything_behind_and_become_figures() {
    let (_keep, root) = folder();
    for (method, epsilon, releases) in [("gradients", "1", 50), ("smoothed", "10", 1)] {
        let out = root.join(method);
        done(small(
            &out,
            &[method, "--epsilon", epsilon, "--steps", "50"],
        ));
        let run = json(&out.join("run.json"));
        assert_eq!(run["private"], true);
        for name in ["panels.svg", "curve.svg", "report.html", "panel-50.json"] {
            assert!(out.join(name).exists(), "{method}: {name}");
        }
        assert_eq!(lines(&out), releases, "{method}");
        assert!(number(&run["test"]["sliced_w2_squared"]) < 0.5);
        // The budget is that of the circle's points, by the ledger's own numbers.
        let asked: f64 = epsilon.parse().expect("a number");
        let target = number(&run["epsilon_target_upper"]);
        assert!(
            (0.98..=1.0).contains(&(target / asked)),
            "{method}: {target}"
        );
        let spent = number(&run["epsilon_spent_upper"]);
        assert!(if method == "gradients" {
            spent > 2.0 * target
        } else {
            spent == target
        });
        if method == "smoothed" {
            continue;
        }
        let entries = ledger(&out).entries;
        let declared = entries[0].sensitivity.expect("a sensitivity");
        let deviation = entries[0].deviation.expect("a deviation");
        // 4 sqrt(1/2) M L / m, with room for rounding.
        let of_target = 4.0 * 0.5f64.sqrt() * 8.0f64.sqrt() / 200.0;
        let share = ToSample::share(swd::Cost::Square, 1.0, 2, 200, 200).expect("a share");
        assert!(
            (declared * share / of_target - 1.0).abs() < 0.01,
            "{declared}"
        );
        let event = Event::dp_sgd(2000, 200, 50, deviation / (1.001 * of_target));
        let delta = number(&run["plan"]["delta"]);
        let epsilon = pld(&event, delta);
        assert!(
            (epsilon / target - 1.0).abs() < 0.01,
            "{epsilon} for {target}"
        );
    }
    let out = root.join("figures");
    let words = ["figures", "circle", "--runs"].map(AsRef::as_ref);
    let (from, to) = (root.as_os_str(), out.as_os_str());
    let words = words.into_iter().chain([from, "--out".as_ref(), to]);
    run(&Arguments::parse_from(words)).expect("figures");
    for name in [
        "budgets",
        "smoothed-distance-panels",
        "private-gradients-steps",
    ] {
        let chart = std::fs::read_to_string(out.join(format!("circle-{name}.svg")));
        assert!(chart.expect("a chart").starts_with("<svg"), "{name}");
    }
}

#[test]
fn a_killed_run_resumes_to_the_same_end() {
    let settings = words("--steps 30 --insecure-noise-seed 4 --checkpoint-every 7");
    let run = |out: &Path| {
        let mut command = circle(&settings);
        command.arg("--run").arg(out);
        command
    };
    let [(_keep, whole), (_kept, killed)] = whole_and_killed(run, &[10, 25]);
    let ((scores, spent), (others, planned)) = (metrics(&killed), metrics(&whole));
    assert_eq!(scores, others);
    assert!(spent.iter().zip(&planned).all(|(s, p)| s >= p));
    // From checkpoints at 7 and 21; what was made again counts for both sides.
    assert_eq!(lines(&killed), 30 + 3 + 4);
    let target = |run: &Path| json(&run.join("run.json"))["epsilon_target_upper"].as_f64();
    assert!(target(&killed) > target(&whole));
}

#[test]
fn what_was_released_once_is_not_released_again() {
    let settings = ["smoothed", "--steps", "20", "--insecure-noise-seed", "4"];
    let (_keep, whole) = folder();
    assert!(small(&whole, &settings).status.success());
    let (_keep, stopped) = folder();
    let mut command = circle(&settings);
    command.arg("--run").arg(&stopped);
    crate::program::stopped_after(&mut command, 9);
    assert!(small(&stopped, &settings).status.success());
    assert_eq!((lines(&whole), lines(&stopped)), (1, 1));
    assert_eq!(metrics(&whole).0, metrics(&stopped).0);
}

#[test]
fn bad_input_is_refused_by_name() {
    let cases = "
            --steps 0 => --steps 0
            --slices 1 => --slices 1
            --clip-jacobian 0 => --clip-jacobian 0
            smoothed --clip-activation 0 => from 1e-9 to 1e18
            smoothed --protect source => '--protect'
            gradients --combine => '--combine'
            --delta 0.1 => delta = 0.1
            --final-rate 2 => --final-rate 2
        ";
    refuses(cases, small);
}

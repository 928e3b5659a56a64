//! `swae` from public weights and with private marginals as its sampler, through the binaries.

use std::path::Path;
use std::process::Command;

use dp_core::accounting::{Event, GaussianAccountant, noise_multiplier_for};

use crate::program::{
    Ran, done, folder, json, ledger, lines, pld, refuses, says, sliver, stopped_after, text, words,
};

/// A run of seconds: 300 glyphs, 6 steps, 60 particles.
fn command(out: &Path, more: &[&str]) -> Command {
    let mut command = sliver("swae");
    command.args(words("--backend flex --records 300 --batch 40 --steps 6"));
    command.args(words("--delta 1e-3 --slices 12 --quick-scores --cache-dir"));
    command.arg(concat!(env!("CARGO_TARGET_TMPDIR"), "/tuned-cache"));
    command.arg("--out").arg(out).args(more);
    command
}

const TUNED: &str = "--start-from public --public-steps 20 --sampler marginals --class-slices 8 --bins 8 --particles 60";

fn tuned(out: &Path, more: &[&str]) -> Command {
    let mut command = command(out, &words(TUNED));
    command.args(more);
    command
}

/// The values of a release, behind their checksum and how many releases came before them.
fn released(out: &Path, name: &str) -> Vec<u8> {
    std::fs::read(out.join(name)).expect(name)[72..].to_vec()
}

#[test]
fn steps_moments_and_marginals_are_one_promise() {
    let (keep, out) = folder();
    let printed = text(&done(tuned(&out, &["--epsilon", "5"])).stdout);
    says(
        &printed,
        &["which cover the training gradients, the class moments and the class marginals"],
    );
    says(
        &printed,
        &["Public: synthetic glyphs, on which the weights started, and the test records"],
    );
    let run = json(&out.join("run.json"));
    assert_eq!(run["private"], true);
    let known = run["public_knowledge"].as_str().expect("words");
    assert!(known.contains("2000 glyphs: synthetic digits"), "{known}");
    assert!(known.contains("with their labels"), "{known}");

    // Six steps, then both releases, with a quarter of 1/z^2 of the budget.
    let ledger = ledger(&out);
    let entries = ledger.entries;
    assert_eq!(entries.len(), 8);
    let gaussian = |noise_multiplier| Event::Gaussian { noise_multiplier };
    let whole = noise_multiplier_for(&GaussianAccountant, 5.0, 1e-3, gaussian).expect("a noise");
    for (entry, share) in entries[6..].iter().zip([0.25 * 0.3, 0.25 * 0.7]) {
        let Event::Gaussian { noise_multiplier } = entry.event else {
            panic!("{entry:?}");
        };
        let ratio = noise_multiplier / (whole / f64::sqrt(share));
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    }
    let events = entries
        .into_iter()
        .map(|e| e.event.repeated(e.count))
        .collect();
    let replayed = pld(&Event::Composed { events }, 1e-3);
    assert!((4.9..=5.0001).contains(&replayed), "{replayed}");

    // Samples to take away are the particles, and the same ones varied anew after that; judging it again changes nothing.
    let export = |more: &[&str]| {
        let mut command = sliver("export");
        command.arg(&out).args(["--format", "npz", "--out"]);
        command.args(more);
        command.current_dir(keep.path()).ran()
    };
    done(export(&["a", "--count", "99"]));
    let samples = std::fs::read(out.join("samples.png")).expect("samples");
    let mut again = sliver("swae");
    again.args(["--backend", "flex", "--quick-scores", "--rescore"]);
    again.arg(&out);
    done(again);
    assert_eq!(lines(&out), 8);
    assert_eq!(
        std::fs::read(out.join("samples.png")).expect("samples"),
        samples
    );
    assert!(export(&["b", "--count", "99"]).status.success());
    let images = |to: &str| std::fs::read(keep.path().join(to).join("images.npz")).expect("images");
    assert_eq!(images("a"), images("b"));
}

/// Stopped in the steps, and again between the two releases: the second must not have the noise of the first.
#[test]
fn a_run_that_is_stopped_between_its_releases_ends_like_one_that_is_not() {
    let known = &words("--epsilon 5 --insecure-noise-seed 3 --checkpoint-every 2");
    let (_keep, whole) = folder();
    done(tuned(&whole, known));
    let (_keep, stopped) = folder();
    stopped_after(&mut tuned(&stopped, known), 3);
    let resume = || {
        let mut command = sliver("swae");
        command.args(["--backend", "flex", "--quick-scores", "--resume"]);
        command.arg(&stopped);
        command.arg("--cache-dir");
        command.arg(concat!(env!("CARGO_TARGET_TMPDIR"), "/tuned-cache"));
        command
    };
    // In the way of what comes after the moments.
    let obstacle = stopped.join("latents.f32");
    std::fs::create_dir(&obstacle).expect("a folder");
    let output = resume().ran();
    assert!(!output.status.success());
    assert_eq!(lines(&stopped), 7, "{}", text(&output.stderr));
    assert!(stopped.join("class-moments.bin").exists());
    assert!(!stopped.join("class-marginals.bin").exists());
    std::fs::remove_dir(&obstacle).expect("removed");
    done(resume());
    assert_eq!(lines(&stopped), 8);
    for name in ["class-moments.bin", "class-marginals.bin"] {
        assert_eq!(released(&stopped, name), released(&whole, name), "{name}");
    }
    for name in ["latents.f32", "labels.u8", "samples.png"] {
        let bytes = |run: &Path| std::fs::read(run.join(name)).expect(name);
        assert_eq!(bytes(&stopped), bytes(&whole), "{name}");
    }
}

/// From a run on glyphs that sees no labels; its folder may go once the next run has started.
#[test]
fn the_weights_of_a_run_on_drawn_records_are_a_start() {
    let (_keep, first) = folder();
    done(command(&first, &["--no-privacy", "--unconditional"]));
    let (_keep, next) = folder();
    let from = first.to_str().expect("UTF-8");
    let flags = ["--start-from", from, "--seed", "5", "--epsilon", "5"];
    stopped_after(&mut command(&next, &flags), 1);
    std::fs::remove_dir_all(&first).expect("removed");
    let mut resume = sliver("swae");
    resume.args(["--backend", "flex", "--quick-scores", "--resume"]);
    resume.arg(&next);
    let printed = text(&done(resume).stdout);
    assert!(printed.contains("Public: synthetic glyphs"), "{printed}");
    let known = json(&next.join("run.json"))["public_knowledge"].to_string();
    assert!(known.contains("those of a run on glyphs"), "{known}");
}

#[test]
fn what_is_not_public_or_has_no_use_is_refused() {
    let (keep, glyphs) = folder();
    done(command(&glyphs, &["--no-privacy"]));
    let at = |name: &str| keep.path().join(name);
    let run = glyphs.to_str().expect("UTF-8").to_string();
    // As a run on other records has it.
    let (private, config) = (at("private"), "config.toml");
    std::fs::create_dir(&private).expect("a folder");
    let settings = std::fs::read_to_string(glyphs.join(config)).expect("settings");
    let settings = settings.replace("dataset = \"glyphs\"", "dataset = \"usps\"");
    std::fs::write(private.join(config), settings).expect("written");
    std::fs::write(private.join("run.json"), "{}").expect("written");
    let private = private.to_str().expect("UTF-8");
    let cases = format!(
        "--start-from {private} => its records are of usps, so its weights are not public
        --start-from {run} => its glyphs are those of this run, --seed 0
        --start-from {run} --seed 1 --latent 7 => its latents have 6 dimensions, these 7
        --start-from {run} --seed 1 --unconditional => its decoder needs labels
        --start-from nowhere => nowhere: there is no config.toml
        --public-steps 9 => --public-steps: nothing is trained on synthetic records
        --start-from public --public-steps 0 => --public-steps 0: it must be between 1 and
        --bins 8 => --bins: --sampler moments does not use it
        --particles 8 => --particles: --sampler moments does not use it
        --sampler marginals --bins 9 => --bins 9: it must be a power of two
        --sampler marginals --class-slices 5 => --class-slices 5: it must be at least
        --sampler marginals --marginals-share 1 => --marginals-share 1: it must be above 0
        --sampler marginals --particles 0 => --particles 0: it must be at least 1
        --sampler marginals --unconditional => --sampler marginals: it must be moments
        --start-from public --resume x => cannot be used with"
    );
    refuses(&cases, command);
}

//! `generator` as a person runs it: through the binary, in a folder of its own.

use std::path::Path;
use std::process::Command;

use crate::program::{
    Ran, done, folder, json, killed_after, ledger, metrics, number, refuses, sliver, text, words,
};

fn generator(release: &str, out: &Path) -> Command {
    let mut command = sliver("generator");
    command.arg(release);
    command.args(["--backend", "flex", "--delta", "1e-4", "--quick-scores"]);
    command.args(["--scored", "100"]).arg("--cache-dir");
    command.arg(out.with_file_name("cache")).arg("--run");
    command.arg(out);
    command
}

/// A run of seconds of each kind of release.
fn small(release: &str, out: &Path) -> Command {
    let mut command = generator(release, out);
    command.args(["--records", "300", "--steps", "6"]);
    command.args(["--points", "40", "--slices-per-step", "8"]);
    command.args(["--insecure-noise-seed", "3", "--checkpoint-every", "2"]);
    match release {
        "marginals" => command.args(["--slices", "12"]),
        _ => command.args(["--batch", "20"]),
    };
    command
}

fn weights(out: &Path) -> Vec<u8> {
    std::fs::read(out.join("weights.f32")).expect("weights")
}

#[test]
fn a_run_leaves_everything_behind_and_a_killed_one_the_same() {
    for (release, releases) in [("marginals", 1), ("projections", 6)] {
        let (_keep, out) = folder();
        let said = text(&done(small(release, &out)).stdout);
        assert!(said.contains("replace one record"), "{said}");
        let run = json(&out.join("run.json"));
        assert_eq!(run["plan"]["neighbours"], "replace one record");
        assert!((number(&run["plan"]["epsilon_upper"]) - 10.0).abs() < 0.1);
        assert!(out.join("samples.png").exists() && out.join("report.html").exists());
        let entries = ledger(&out);
        assert_eq!(entries.releases(), releases, "{release}");

        let (_keep, again) = folder();
        killed_after(&mut small(release, &again), &again, 5);
        done(small(release, &again));
        assert_eq!(weights(&again), weights(&out), "{release}");
        assert_eq!(metrics(&again).0, metrics(&out).0, "{release}");
    }
}

#[test]
fn without_privacy_nothing_is_promised() {
    let (_keep, out) = folder();
    let mut command = small("marginals", &out);
    command.arg("--no-privacy");
    done(command);
    let run = json(&out.join("run.json"));
    assert_eq!(run["private"], false);
}

#[test]
fn photographs_come_without_classes() {
    let (keep, out) = folder();
    let [photographs, public] = ["photographs", "public"].map(|name| keep.path().join(name));
    for (folder, places) in [(&photographs, 0..20_u8), (&public, 20..40)] {
        std::fs::create_dir(folder).expect("a folder");
        for place in places {
            let colour = image::Rgb([6 * place, 200 - place, 30]);
            let picture = image::RgbImage::from_pixel(8, 8, colour);
            let name = folder.join(format!("{place}.png"));
            picture.save(name).expect("a picture");
        }
    }
    let mut command = generator("marginals", &out);
    command
        .args(words("--dataset images --slices 6 --slices-per-step 3"))
        .args(["--steps", "2", "--points", "20"])
        .arg("--data-dir")
        .arg(&photographs)
        .arg("--public")
        .arg(&public);
    done(command);
    let picture = image::open(out.join("samples.png")).expect("a picture");
    // Pictures of 64 pixels, with 2 around each.
    assert_eq!((picture.width() - 2) % 66, 0);
}

#[test]
fn bad_input_is_refused_before_anything_is_written() {
    let run = |out: &Path, flags: &[&str]| {
        let mut command = sliver("generator");
        command.args(flags);
        command.args(["--backend", "flex", "--records", "300"]);
        command.arg("--out").arg(out).ran()
    };
    refuses(
        "
                --slices 0 => --slices 0
                --radius -1 => --radius -1
                --radius nan => --radius
                --bins 12 => --bins 12
                --points 7 => --points 7
                images => the folder of the public ones
                glyphs --public half => all training records of a labelled data set are private
                --dataset nothing => --dataset nothing
                --delta 0.1 => delta
                --ema 1 => --ema 1
                --slices 10 --slices-per-step 11 => --slices-per-step 11
                projections --slices 1000 => a power of two
                projections --slices 512 => at least 794
                projections --batch 500 => --batch 500
                --dataset images --public . => --data-dir
                --dataset images --public . --latent 10 => --latent 10
            ",
        run,
    );
}

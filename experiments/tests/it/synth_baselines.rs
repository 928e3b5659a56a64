//! What `synth --method` has beside the mixture, as a person runs it.

use std::fs;
use std::path::Path;
use std::process::Command;

use data::pictures::{Classes, Pictures, Public};
use image::{GrayImage, Luma};

use crate::program::{Ran, done, folder, json, lines, refuses, says, sliver, text};
use crate::synth::images;

fn command(input: &str, flags: &str, out: &Path) -> Command {
    let mut command = sliver("synth");
    let cache = out.with_file_name("cache");
    command.arg(input).args(flags.split_whitespace());
    command.arg("--out").arg(out).arg("--cache-dir").arg(cache);
    command.args(["--backend", "flex"]);
    command
}

/// DP-MERF of few images, grey ones and colour ones: a copy with a card, what `export` makes of the folder alone, and a run that
/// was killed behind its release, which makes the same generator of it and releases nothing again.
#[test]
fn a_generator_learns_from_what_was_released_once() {
    for channels in [1, 3] {
        let (home, out) = folder();
        let input = images(home.path(), &["a", "b"], 12);
        let flags = format!(
            "--method merf --side 28 --channels {channels} --score-share 0 --epsilon 100 --delta 1e-5 --count 30"
        );
        let input = input.to_str().expect("a path");
        let printed = text(&done(command(input, &flags, &out)).stdout);
        says(&printed, &["DP-MERF", "1 releases"]);
        let card = json(&out.join("copy/card.json"));
        assert_eq!(
            (&card["count"], &card["image"]["channels"]),
            (&30.into(), &channels.into())
        );
        let public = card["public_knowledge"].as_str().expect("words");
        assert!(public.contains("DP-MERF"), "{public}");
        let export = |name: &str| {
            let to = home.path().join(name);
            let mut export = sliver("export");
            export.arg(&out);
            export.args(["--format", "npz", "--count", "700", "--out"]);
            done(export.arg(&to));
            fs::read(to.join("images.npz")).expect("images")
        };
        let (before, ledger) = (export("before"), lines(&out));
        let [released, weights] = ["embeddings.bin", "weights.f32"].map(|name| out.join(name));
        let kept = (
            fs::read(&released).expect("kept"),
            fs::read(&weights).expect("kept"),
        );
        for name in ["weights.f32", "samples.json", "run.json", "report.html"] {
            fs::remove_file(out.join(name)).expect("removed");
        }
        fs::remove_dir_all(out.join("copy")).expect("removed");
        let mut again = sliver("synth");
        again.arg("--resume").arg(&out).arg("--cache-dir");
        done(again.arg(home.path().join("cache")));
        assert_eq!((lines(&out), ledger), (1, 1));
        assert!(
            kept == (
                fs::read(&released).expect("kept"),
                fs::read(&weights).expect("made")
            )
        );
        assert!(before == export("after") && out.join("copy/card.json").exists());
    }
}

/// Without noise: images of a class that is bright on the left are so, and those of the other on the right.
#[test]
fn generated_images_are_of_their_class() {
    let (home, out) = folder();
    let input = home.path().join("halves");
    let names = ["left", "right"];
    for (class, name) in names.iter().enumerate() {
        fs::create_dir_all(input.join(name)).expect("a folder");
        for place in 0..60_u32 {
            let bright = |x: u32, y: u32| {
                usize::from(x >= 14) == class && !(x + y + place).is_multiple_of(7)
            };
            let image = GrayImage::from_fn(28, 28, |x, y| Luma([220 * u8::from(bright(x, y))]));
            let path = input.join(name).join(format!("{place}.png"));
            image.save(path).expect("written");
        }
    }
    let flags = "--method merf --side 28 --channels 1 --no-privacy --quick-scores";
    done(command(input.to_str().expect("a path"), flags, &out));
    let public = Public {
        side: Some(28),
        channels: Some(1),
        classes: Classes::Named(names.map(String::from).to_vec()),
    };
    let copy = Pictures::read(&out.join("copy/png"), &public, &|_| {}).expect("a copy");
    let images = copy.images.whole().expect("images");
    let mut excess = [0.0_f32; 2];
    for (place, &label) in images.labels().iter().enumerate() {
        let pixels = images.image(place).expect("an image");
        let sides = pixels.iter().enumerate();
        let sum: f32 = sides.map(|(i, x)| if i % 28 < 14 { *x } else { -x }).sum();
        excess[usize::from(label)] += sum / 392.0 / 60.0;
    }
    assert!(excess[0] > 0.3 && excess[1] < -0.3, "{excess:?}");
}

#[test]
fn one_cell_takes_one_release() {
    let (_home, out) = folder();
    let flags =
        "--cells 1 --public none --records 400 --latent 8 --no-privacy --count 5 --quick-scores";
    let printed = text(&done(command("shapes", flags, &out)).stdout);
    assert!(
        printed.contains("moments of 1 cells of each class"),
        "{printed}"
    );
    assert!(out.join("moments.bin").exists() && !out.join("cells.bin").exists());
}

#[test]
fn what_a_baseline_does_not_have_is_refused() {
    refuses(
        "
                --method merf --cells 1 => --cells 1: it must be left out with --method merf
                --method merf --public glyphs => --public glyphs: it must be shapes
            ",
        |out, flags| command("glyphs", &flags.join(" "), out).ran(),
    );
}

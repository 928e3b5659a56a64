//! `synth` as a person runs it: a folder of images in, a private copy out, and everything that can be wrong.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use data::pictures::{Classes, Pictures, Public};
use image::{GrayImage, Luma, Rgb, RgbImage};
use test_support::data_folder;

use crate::program::{
    Ran, done, folder, json, made_again, number, refusal, refuses, says, sliver, text,
};

/// Classes of colour images of 36 x 32 pixels, each image with a place of its own.
pub(crate) fn images(home: &Path, classes: &[&str], each: usize) -> PathBuf {
    let all = home.join("scans");
    for (class, name) in classes.iter().enumerate() {
        fs::create_dir_all(all.join(name)).expect("a folder");
        for place in 0..each {
            let value = |x: u32, y: u32| {
                let wave = (x as usize * (class + 1) + y as usize * place) as f64 / 9.0;
                Rgb([
                    (127.0 + 100.0 * wave.sin()) as u8,
                    90 * class as u8,
                    (place * 7) as u8,
                ])
            };
            let image = RgbImage::from_fn(36, 32, value);
            let path = all
                .join(name)
                .join(format!("person{}-{place}.png", place / 2));
            image.save(path).expect("written");
        }
    }
    all
}

fn command(input: &Path, out: &Path, flags: &str) -> Command {
    let mut command = sliver("synth");
    command.arg(input).args(flags.split_whitespace());
    command.arg("--out").arg(out);
    let cache = out.with_file_name("cache");
    command.arg("--cache-dir").arg(cache);
    command.args(["--backend", "flex"]);
    if !flags.contains("--public") && !flags.contains("merf") {
        // Shapes are many, and tests of flows have them.
        command.args(["--public", "none"]);
    }
    command
}

const COLOUR: &str = "--side 28 --channels 3 --latent 8 --cells 2";
const GREY: &str = "--side 28 --channels 1 --latent 8 --cells 2";
const ONE_CELL: &str = "--side 28 --channels 3 --latent 8 --cells 1";

/// Relative paths of all files below a folder, with their contents.
pub(crate) fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).expect("below").to_path_buf();
                found.insert(name, fs::read(&path).expect("readable"));
            }
        }
    }
    found
}

#[test]
fn a_folder_of_classes_becomes_one_that_may_be_published() {
    let (home, out) = folder();
    let input = images(home.path(), &["benign", "malign"], 12);
    let flags = format!("{COLOUR} --epsilon 5 --count 10");
    let printed = text(&done(command(&input, &out, &flags)).stdout);
    says(
        &printed,
        &[
            "24 private records",
            "the names of the 2 folders",
            "neighbours: replace one record",
            "3 releases",
        ],
    );
    // By their names: of so few records a class may have no sample, as the noise would have it.
    let public = Public {
        side: Some(28),
        channels: Some(3),
        classes: Classes::Named(vec!["benign".into(), "malign".into()]),
    };
    assert!(out.join("copy/png/benign").exists() && out.join("copy/png/malign").exists());
    let copy =
        Pictures::read(&out.join("copy/png"), &public, &|_| {}).expect("a folder of classes");
    assert_eq!(
        (copy.images.len(), &copy.classes[..]),
        (10, &["benign".into(), "malign".into()][..])
    );
    let card = json(&out.join("copy/card.json"));
    let knowledge = card["public_knowledge"].as_str().expect("words");
    says(
        &knowledge,
        &["the number of images, the size of images (28 pixels, colour)"],
    );
    assert!(number(&card["privacy"]["epsilon_upper"]) <= 5.0 + 1e-9);
    // The same command again makes nothing again.
    let again = command(&input, &out, &flags);
    let place = again.get_args().map(|arg| match arg.to_str() {
        Some("--out") => "--run".into(),
        _ => arg.to_owned(),
    });
    let place: Vec<_> = place.skip(1).collect();
    done(sliver("synth").args(&place));
    // Other samples are not made in its place, nor passed over.
    let mut other = sliver("synth");
    let count = place.iter().position(|arg| arg == "10").expect("a count");
    other
        .args(&place[..count])
        .arg("11")
        .args(&place[count + 1..]);
    says(&refusal(other), &["--count=11", "is done", "sliver export"]);
    let ledger = fs::read_to_string(out.join("ledger.jsonl")).expect("a ledger");
    assert_eq!(ledger.lines().count(), 3, "{ledger}");
}

#[test]
fn units_are_in_the_promise_and_cost_what_they_count() {
    let (home, out) = folder();
    let input = images(home.path(), &["a", "b"], 12);
    let flags = format!(
        "{COLOUR} --epsilon 2 --unit-from-name person([0-9]+) --most-per-unit 3 --insecure-noise-seed 3"
    );
    let printed = text(&done(command(&input, &out, &flags)).stdout);
    assert!(printed.contains("6 private records"), "{printed}");
    says(
        &printed,
        &["replace all images of one unit, 3 of which count at most"],
    );
    let deviations = |path: &Path| {
        ["moments.bin", "cells.bin", "score.bin"].map(|name| {
            let bytes = fs::read(path.join(name)).expect("released");
            f64::from_le_bytes(bytes[72..80].try_into().expect("eight bytes"))
        })
    };
    let three = deviations(&out);
    let (_keep, other) = folder();
    done(command(
        &input,
        &other,
        &flags.replace("--most-per-unit 3", "--most-per-unit 1"),
    ));
    for (three, one) in three.into_iter().zip(deviations(&other)) {
        assert!((three / one - 3.0).abs() < 1e-9, "{three} {one}");
    }
}

/// A run that is killed after its first release does not make it again.
#[test]
fn a_killed_run_resumes_from_what_it_released() {
    let (home, out) = folder();
    let input = images(home.path(), &["a", "b"], 12);
    let flags = format!("{COLOUR} --epsilon 2 --count 6");
    done(command(&input, &out, &flags));
    let (moments, ledger) = (
        fs::read(out.join("moments.bin")),
        fs::read_to_string(out.join("ledger.jsonl")),
    );
    made_again(
        &out,
        &[
            "cells.bin",
            "score.bin",
            "run.json",
            "latents.f32",
            "report.html",
        ],
    );
    assert_eq!(
        fs::read(out.join("moments.bin")).expect("kept"),
        moments.expect("kept")
    );
    let lines = |text: &str| text.lines().count();
    let after = fs::read_to_string(out.join("ledger.jsonl")).expect("a ledger");
    // All but the first were made twice, and are counted twice.
    assert_eq!(lines(&after), lines(&ledger.expect("a ledger")) + 2);
    assert!(out.join("copy/card.json").exists() && out.join("cells.bin").exists());
}

/// Public images without classes are what samples are decoded by: grey ones train an autoencoder, colour ones a network behind
/// cosines. They must be others than the private ones, and a run resumes with the same ones alone.
#[test]
fn public_images_are_what_a_copy_is_decoded_by() {
    let (home, out) = folder();
    let input = images(home.path(), &["a", "b"], 12);
    let public = home.path().join("public");
    let draw = |shade: u8| {
        fs::create_dir_all(&public).expect("a folder");
        for place in 0..30 {
            let value = |x, y| Rgb([shade, (x * 3 + place) as u8, (y * place) as u8]);
            let image = RgbImage::from_fn(40, 30, value);
            image
                .save(public.join(format!("{place}.png")))
                .expect("written");
        }
    };
    draw(10);
    let name = public.to_str().expect("a path");
    let of = format!("--public {name} --epsilon 5 --count 6 --score-share 0");
    let colour = home.path().join("colour");
    for (out, shape, learned) in [
        (&colour, COLOUR, "; 30 images taught how edges look"),
        (&out, GREY, "An autoencoder learned from 30 public images"),
    ] {
        let printed = text(&done(command(&input, out, &format!("{shape} {of}"))).stdout);
        for words in ["and the images that --public names", learned] {
            assert!(printed.contains(words), "{words}: {printed}");
        }
        let card = json(&out.join("copy/card.json"));
        let knowledge = card["public_knowledge"].as_str().expect("words");
        assert!(
            knowledge.contains(learned) && !knowledge.contains(name),
            "{knowledge}"
        );
    }
    // Another copy of the same run is decoded by the weights that it keeps.
    let again = home.path().join("again");
    let mut export = sliver("export");
    done(export.arg(&out).args(["--count", "6", "--out"]).arg(&again));
    let pictures = |of: &Path| files(&of.join("png")).into_values().collect::<Vec<_>>();
    assert_eq!(pictures(&again), pictures(&out.join("copy")));

    draw(200);
    for gone in ["run.json", "latents.f32"] {
        fs::remove_file(out.join(gone)).expect("removed");
    }
    let cache = out.with_file_name("cache");
    let mut resumed = sliver("synth");
    resumed.arg("--resume").arg(&out).arg("--cache-dir");
    resumed.arg(&cache);
    let said = refusal(resumed.ran());
    says(&said, &["is another than the run began with"]);

    let twin = home.path().join("twin");
    for (path, bytes) in files(&input) {
        let to = twin.join(path);
        fs::create_dir_all(to.parent().expect("a folder")).expect("created");
        fs::write(to, bytes).expect("written");
    }
    let array = home.path().join("small.npz");
    fs::write(&array, "no archive").expect("written");
    let run = |out: &Path, flags: &[&str]| {
        command(&input, out, &format!("{COLOUR} {}", flags.join(" "))).ran()
    };
    let [same, twin, array] = [&input, &twin, &array].map(|path| path.display());
    let cases = format!(
        "--public {same} => apart from the private input
        --public {twin} => other images than the private ones
        --public {array} => small.npz
        --public glyphs => as --input has them
        --public /no/folder => /no/folder"
    );
    refuses(&cases, run);
}

#[test]
fn what_is_wrong_is_named_and_nothing_is_written() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let input = images(home.path(), &["a", "b"], 3);
    let run = |out: &Path, flags: &[&str]| command(&input, out, &flags.join(" ")).ran();
    refuses(
        "
                --channels 3 => the side of the images is public
                --side 32 => whether they are grey or colour is public
                --side 30 --channels 3 => --side 30: it must be a multiple of 4 from 28 to 64
                --side 68 --channels 3 => --side 68
                --side 32 --channels 2 => --channels 2: it must be 1 or 3
                --side 32 --channels 3 --classes a => lies in no folder of a class
                --side 32 --channels 3 --classes a,a => names of folders, each once
                --side 32 --channels 3 --classes 10000 => 1 to 256
                --side 32 --channels 3 --epsilon -1 => --epsilon -1
                --side 32 --channels 3 --delta 0.5 => delta
                --side 32 --channels 3 --latent 1 => --latent 1
                --side 32 --channels 3 --records 7 => at most 6
                --side 32 --channels 3 --count 7 => --count 7
                --side 32 --channels 3 --most-per-unit 2 => given with --unit
                --side 32 --channels 3 --unit-from-name ( --most-per-unit 2 => a regular expression
                --side 32 --channels 3 --unit-from-name x --most-per-unit 2 => has no unit
                --side 32 --channels 3 --unit /no/file --most-per-unit 2 => /no/file
                --side 32 --channels 3 --test /no/folder => /no/folder
            ",
        run,
    );
    // What lies in the input, or around it, is not public, and nothing is written among the private images.
    let (inside, around) = (input.join("a"), home.path());
    let cases = ["public", "test"].into_iter().flat_map(|flag| {
        [&*inside, around].map(|path| {
            let path = path.display();
            format!(
                "--side 32 --channels 3 --{flag} {path} => {path}: it must be apart from the private input"
            )
        })
    });
    refuses(&cases.collect::<Vec<_>>().join("\n"), run);
    let within = input.join("a/new/copy");
    let said = refusal(command(&input, &within, "--side 32 --channels 3").ran());
    assert!(
        said.contains("apart from the private input, where"),
        "{said}"
    );
    let around = home.path().join("none/../scans/a/new");
    let said = refusal(command(&input, &around, "--side 32 --channels 3").ran());
    assert!(said.contains("without .."), "{said}");
    let mut here = sliver("synth");
    here.args(["images", ".", "--side", "32", "--channels", "3"]);
    let said = refusal(here.current_dir(&input).ran());
    assert!(said.contains("--out runs: it must be apart"), "{said}");
    assert!(!input.join("a/new").exists());
    #[cfg(unix)]
    {
        let link = input.join("a/linked");
        std::os::unix::fs::symlink(home.path(), &link).expect("a link");
        refuses("--side 32 --channels 3 => in it is a link to a folder", run);
        fs::remove_file(link).expect("removed");
    }
    // A folder that is there is not written into.
    let (_keep, out) = folder();
    fs::create_dir(&out).expect("created");
    fs::write(out.join("mine"), "").expect("written");
    let refused = run(&out, &["--side", "32", "--channels", "3"]);
    assert_eq!(
        (
            refused.status.code(),
            fs::read_dir(&out).expect("a folder").count()
        ),
        (Some(2), 1)
    );
    let image = input.join("a").join("person0-0.png");
    let bytes = fs::read(&image).expect("readable");
    fs::write(&image, &bytes[..bytes.len() / 2]).expect("written");
    refuses(
        "--side 32 --channels 3 => a file in it cannot be read as an image",
        run,
    );
}

/// Images are encoded some at once: those of the last class lie beyond the first ones, and have their share of the copy.
#[test]
fn all_images_count() {
    let (home, out) = folder();
    let input = images(home.path(), &["a", "b", "c"], 125);
    let flags = format!("{ONE_CELL} --no-privacy --count 30 --quick-scores");
    done(command(&input, &out, &flags));
    for class in ["a", "b", "c"] {
        let samples = fs::read_dir(out.join("copy/png").join(class)).expect("a class");
        let count = samples.count();
        assert!((8..=12).contains(&count), "{class}: {count}");
    }
}

/// The synthetic shapes, which need no file, and an archive of NumPy: the copy has the form of what it is of.
#[test]
fn copies_have_the_form_of_what_they_are_of() {
    let (home, out) = folder();
    let shapes = done(command(
        Path::new("shapes"),
        &out,
        "--latent 8 --count 20 --quick-scores --records 400",
    ));
    assert!(text(&shapes.stdout).contains("400 private records"));
    assert!(out.join("copy/png/leaves").exists() && !out.join("copy/images.npz").exists());
    let again = home.path().join("again");
    let mut export = sliver("export");
    done(
        export
            .arg(&out)
            .args(["--format", "npz", "--count", "40", "--out"])
            .arg(&again),
    );
    let npz = again.join("images.npz");
    let second = home.path().join("second");
    done(command(
        &npz,
        &second,
        "--classes 4 --latent 6 --cells 1 --no-privacy --count 5",
    ));
    assert!(second.join("copy/images.npz").exists() && !second.join("copy/png").exists());
}

/// What the page of a copy says of loading it, with the real torchvision and NumPy where Python has them.
#[test]
fn python_reads_copies_as_their_pages_say() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let input = images(home.path(), &["a", "b"], 6);
    let shown = [
        (
            "",
            "torchvision",
            "len(folder), folder.classes",
            "(6, ['a', 'b'])",
        ),
        ("/a", "torchvision", "len(folder)", "6"),
        (
            "",
            "numpy",
            "images.shape, labels.shape, images.dtype",
            "((6, 28, 28, 3), (6,), dtype('uint8'))",
        ),
    ];
    for (place, (below, module, value, expected)) in shown.into_iter().enumerate() {
        let out = home.path().join(place.to_string());
        let formats = if module == "numpy" {
            "--format npz"
        } else {
            ""
        };
        let flags = format!("{ONE_CELL} --no-privacy --quick-scores --count 6 {formats}");
        let from = PathBuf::from(format!("{}{below}", input.display()));
        done(command(&from, &out, &flags));
        python_reads(&out, module, value, expected);
    }
}

/// Runs what the page of a run's copy says of Python, where that has the module, and sees what it makes of a value.
pub(crate) fn python_reads(out: &Path, module: &str, value: &str, expected: &str) {
    let page = fs::read_to_string(out.join("copy/README.md")).expect("a page");
    let code = page.split("```python\n").nth(1);
    let code = code.and_then(|rest| rest.split("```").next());
    fs::rename(out.join("copy"), out.join("export")).expect("renamed");
    let Some(mut python) = test_support::python(&[module]) else {
        return;
    };
    let code = format!("{}\nprint(({value}))", code.expect("a block of code"));
    let output = python.current_dir(out).args(["-c", &code]).ran();
    let said = text(&output.stdout);
    assert_eq!(said.trim(), expected, "{}", text(&output.stderr));
}

/// All of CIFAR-10 out of its archive, without scores.
#[test]
fn cifar_10_is_a_data_set_by_name() {
    if data_folder().is_none() {
        return;
    }
    let (_home, out) = folder();
    let said = refusal(command(Path::new("cifar10"), &out, "--public cifar10"));
    says(&said, &["--public cifar10: it must be other than"]);
    let flags = "--epsilon 1 --delta 1e-5 --count 20 --quick-scores";
    let printed = text(&done(command(Path::new("cifar10"), &out, flags)).stdout);
    says(&printed, &["50000 private records, 10000 test records"]);
    assert!(out.join("copy/png/airplane").exists());
}

/// What the first release is of, by the same noise on both sides: replacing all images of a person moves it by no more than
/// the ledger says, and by most of that where they are many and bright. Ten images of one person would move it by more.
#[test]
fn a_unit_moves_what_is_released_no_more_than_the_ledger_says() {
    const MANY: usize = 10;
    let released = |name: &str, method: &str, bright: u8| {
        let (home, out) = folder();
        let input = images(home.path(), &["a", "b"], 12);
        for place in 0..MANY {
            let class = if bright > 0 { "a" } else { "b" };
            let image = GrayImage::from_pixel(40, 40, Luma([bright]));
            let name = format!("{class}/person9-{place}.png");
            image.save(input.join(name)).expect("written");
        }
        let units = "--unit-from-name person([0-9]+) --most-per-unit 2 --insecure-noise-seed 4";
        done(command(
            &input,
            &out,
            &format!("{method} --epsilon 2 --count 2 {units}"),
        ));
        first_release(&out, name)
    };
    for (name, method) in [
        ("moments.bin", COLOUR),
        ("embeddings.bin", "--side 28 --channels 3 --method merf"),
    ] {
        let [(one, declared), (two, _)] = [255, 0].map(|bright| released(name, method, bright));
        is_near_its_bound(&one, &two, declared);
    }
}

/// The values that a run released by this name, and the deviation of their noise.
pub(crate) fn release(run: &Path, name: &str) -> (Vec<f64>, f64) {
    let bytes = fs::read(run.join(name)).expect("released");
    let words = bytes[64..].as_chunks::<8>().0;
    // How many releases there were, the deviation, and the values behind their number.
    let [deviation, count] = [words[1], words[2]];
    let count = u64::from_le_bytes(count) as usize;
    let values = words[3..3 + count].iter().map(|&v| f64::from_le_bytes(v));
    (values.collect(), f64::from_le_bytes(deviation))
}

/// The values of the first release of a run, which has this name, and their sensitivity by the ledger.
pub(crate) fn first_release(run: &Path, name: &str) -> (Vec<f64>, f64) {
    let ledger = fs::read_to_string(run.join("ledger.jsonl")).expect("a ledger");
    let first = ledger.lines().next().expect("a line");
    let line: serde_json::Value = serde_json::from_str(first).expect("JSON");
    let sensitivity = number(&line["sensitivity"]);
    (release(run, name).0, sensitivity)
}

/// Values of two neighbours with the same noise differ by what the ledger says at most, and by nearly as much.
pub(crate) fn is_near_its_bound(one: &[f64], two: &[f64], declared: f64) {
    let squares = one.iter().zip(two).map(|(a, b)| (a - b).powi(2));
    let moved = squares.sum::<f64>().sqrt();
    assert!(moved <= declared * (1.0 + 1e-6), "{moved} {declared}");
    assert!(moved > 0.9 * declared, "{moved} {declared}");
}

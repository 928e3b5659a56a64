//! `synth` as a person runs it: a folder of images in, a private copy out, and everything that can be wrong.

use std::path::Path;

use data::export::{Format, ImageWriter, Layout};
use data::{Arrays, Asked, Classes};
use image::{GrayImage, Luma, Rgb, RgbImage};
use test_support::data_folder;

use crate::program::{
    Home, Ran, bytes_at, files, lines, made_again, make_folder, number, refusal, remove, rename,
    same, says, text, text_at,
};

/// Classes of colour images of 36 x 32 pixels in the folder `scans`, each image with a place of its own.
pub(crate) fn images(home: &Home, classes: &[&str], each: usize) {
    for (class, name) in classes.iter().enumerate() {
        let folder = home.at("scans").join(name);
        make_folder(&folder);
        for place in 0..each {
            let value = |x: u32, y: u32| {
                let wave = (x as usize * (class + 1) + y as usize * place) as f64 / 9.0;
                let red = (127.0 + 100.0 * wave.sin()) as u8;
                Rgb([red, 90 * class as u8, (place * 7) as u8])
            };
            let image = RgbImage::from_fn(36, 32, value);
            let path = folder.join(format!("person{}-{place}.png", place / 2));
            image.save(path).expect("written");
        }
    }
}

/// Shapes, the public side of most, are many, and tests of flows have them.
const COPY: &str = "synth scans --backend flex --public none";
const COLOUR: &str = "--side 28 --channels 3 --latent 8 --cells 2";
const GREY: &str = "--side 28 --channels 1 --latent 8 --cells 2";
const ONE_CELL: &str = "--side 28 --channels 3 --latent 8 --cells 1";

#[test]
fn a_folder_of_classes_becomes_one_that_may_be_published() {
    let home = Home::new();
    images(&home, &["benign", "malign"], 12);
    // Not an image, and said to be none wherever the copy is described.
    home.put("scans/benign/secret.csv", "a,b");
    let copy = format!("{COPY} {COLOUR} --epsilon 5");
    says(
        &home.done(&format!("{copy} --count 10 --out run")),
        &[
            "24 private records",
            "the names of the 2 folders",
            "neighbours: replace one record",
            "3 releases",
        ],
    );
    // By their names: of so few records a class may have no sample, as the noise would have it.
    let names = ["benign", "malign"].map(String::from).to_vec();
    let public = Asked {
        side: Some(28),
        channels: Some(3),
        classes: Classes::Named(names.clone()),
        ..Asked::default()
    };
    assert!(home.has("run/copy/benign") && home.has("run/copy/malign"));
    let read = data::read(&home.at("run/copy"), &public, &|_| {});
    let read = read.expect("a folder of classes");
    assert_eq!((read.records.len(), read.classes), (10, names));
    for page in ["README.md", "card.json", "../report.html"] {
        let page = home.text(&format!("run/copy/{page}"));
        says(&page, &["Not in the copy: texts and tables"]);
        assert!(!page.contains("secret"), "{page}");
    }
    let card = home.json("run/copy/card.json");
    says(
        &card["public_knowledge"],
        &["the number of images, the size of images (28 pixels, colour)"],
    );
    assert!(number(&card["privacy"]["epsilon_upper"]) <= 5.0 + 1e-9);
    // The same command again makes nothing again; other samples are not made in its place, nor passed over.
    home.done(&format!("{copy} --count 10 --run run"));
    let words = ["--count=11", "is done", "sliver export"];
    home.refuses(&format!("{copy} --count 11 --run run"), &words);
    assert_eq!(lines(&home.at("run")), 3);
}

#[test]
fn units_are_in_the_promise_and_cost_what_they_count() {
    let home = Home::new();
    images(&home, &["a", "b"], 12);
    let copy = format!(
        "{COPY} {COLOUR} --epsilon 2 --unit-from-name person([0-9]+) --insecure-noise-seed 3"
    );
    says(
        &home.done(&format!("{copy} --most-per-unit 3 --out three")),
        &[
            "6 private units",
            "replace all images of one unit, 3 of which count at most",
        ],
    );
    home.done(&format!("{copy} --most-per-unit 1 --out one"));
    for name in ["moments.bin", "cells.bin", "score.bin"] {
        let [three, one] = ["three", "one"].map(|run| release(&home.at(run), name).1);
        assert!((three / one - 3.0).abs() < 1e-9, "{three} {one}");
    }
}

/// A run that is killed after its first release does not make it again.
#[test]
fn a_killed_run_resumes_from_what_it_released() {
    let home = Home::new();
    images(&home, &["a", "b"], 12);
    home.done(&format!("{COPY} {COLOUR} --epsilon 2 --count 6 --out run"));
    let gone = "cells.bin score.bin run.json latents.f32 report.html";
    made_again(&home, "moments.bin", gone, 2);
    assert!(home.has("run/cells.bin"));
}

/// Public images without classes are what samples are decoded by: grey ones train an autoencoder, colour ones a network behind
/// cosines. They must be others than the private ones, and a run resumes with the same ones alone.
#[test]
fn public_images_are_what_a_copy_is_decoded_by() {
    let home = Home::new();
    images(&home, &["a", "b"], 12);
    let draw = |shade: u8| {
        make_folder(home.at("public"));
        for place in 0..30 {
            let value = |x, y| Rgb([shade, (x * 3 + place) as u8, (y * place) as u8]);
            let image = RgbImage::from_fn(40, 30, value);
            let path = home.at(&format!("public/{place}.png"));
            image.save(path).expect("written");
        }
    };
    draw(10);
    let name = home.at("public").display().to_string();
    for (out, shape, learned) in [
        ("colour", COLOUR, "; 30 images taught how edges look"),
        ("run", GREY, "An autoencoder learned from 30 public images"),
    ] {
        let printed = home.done(&format!(
            "synth scans --backend flex {shape} --public {name} --epsilon 5 --count 6 --score-share 0 --out {out}"
        ));
        says(&printed, &["and the images that --public names", learned]);
        let knowledge = &home.json(&format!("{out}/copy/card.json"))["public_knowledge"];
        says(knowledge, &[learned]);
        assert!(!knowledge.to_string().contains(&name), "{knowledge}");
    }
    // Another copy of the same run is decoded by the weights that it keeps.
    home.done("export run --count 6 --out again");
    let [one, other] = ["again", "run/copy"].map(|folder| files(&home.at(folder)));
    same(&one, &other);

    draw(200);
    home.lose("run/run.json run/latents.f32");
    let words = ["is another than the run began with"];
    home.refuses("synth --resume run", &words);
}

/// What lies in the input, or around it, is not public, and nothing is written among the private images.
#[test]
fn a_run_keeps_apart_from_its_input() {
    let home = Home::new();
    images(&home, &["a", "b"], 3);
    let mut here = home.sliver("synth images . --side 32 --channels 3");
    let said = refusal(here.current_dir(home.at("scans")));
    says(&said, &["--out runs: it must be apart"]);
    #[cfg(unix)]
    {
        let link = home.at("scans/a/linked");
        std::os::unix::fs::symlink(home.at(""), &link).expect("a link");
        let words = ["in it is a link to a folder"];
        let copy = format!("{COPY} --side 32 --channels 3 --out none");
        home.refuses(&copy, &words);
        remove(link);
    }
    assert!(!home.has("none") && !home.has("scans/runs"));
}

/// Images are encoded some at once: those of the last class lie beyond the first ones, and have their share of the copy.
#[test]
fn all_images_count() {
    let home = Home::new();
    images(&home, &["a", "b", "c"], 125);
    home.done(&format!(
        "{COPY} {ONE_CELL} --no-privacy --count 30 --quick-scores --out run"
    ));
    for class in ["a", "b", "c"] {
        let count = files(&home.at("run/copy").join(class)).len();
        assert!((8..=12).contains(&count), "{class}: {count}");
    }
}

/// The synthetic shapes, which need no file, and an archive of NumPy: the copy has the form of what it is of.
#[test]
fn copies_have_the_form_of_what_they_are_of() {
    let home = Home::new();
    let shapes = COPY.replace("scans", "shapes");
    let flags = "--latent 8 --count 20 --quick-scores --records 400 --out run";
    let printed = home.done(&format!("{shapes} {flags}"));
    says(&printed, &["400 private records"]);
    assert!(home.has("run/copy/leaves") && !home.has("run/copy/images.npz"));
    home.done("export run --format npz --count 40 --out again");
    let array = COPY.replace("scans", "again/images.npz");
    home.done(&format!(
        "{array} --classes 4 --latent 6 --cells 1 --no-privacy --count 5 --out second"
    ));
    assert!(home.has("second/copy/images.npz") && !home.has("second/copy/0"));
    // As keras has them.
    let arrays = Arrays {
        images: "x_train".into(),
        labels: "y_train".into(),
        kind: "<i8".into(),
        column: true,
        channel: true,
        ..Arrays::default()
    };
    let layout = Layout {
        count: 12,
        sides: [28; 2],
        channels: 1,
        labels: true,
        classes: Vec::new(),
        formats: vec![Format::Npz],
        arrays: arrays.clone(),
    };
    let mut writer = ImageWriter::create(&home.at(""), &layout).expect("created");
    let pixels: Vec<u8> = (0..12 * 784).map(|i| (i % 253) as u8).collect();
    let labels: Vec<u8> = (0..12).map(|i| i % 3).collect();
    writer.append(&pixels, &labels).expect("written");
    writer.finish().expect("written");
    let array = COPY.replace("scans", "images.npz");
    home.done(&format!(
        "{array} --classes 3 --latent 4 --cells 1 --no-privacy --count 5 --quick-scores --out keras"
    ));
    let asked = Asked {
        classes: Classes::Counted(3),
        ..Asked::default()
    };
    let copy = data::read(&home.at("keras/copy/images.npz"), &asked, &|_| {}).expect("read");
    assert_eq!((copy.records.len(), copy.arrays), (5, arrays));
    says(
        &home.text("keras/copy/README.md"),
        &["[\"x_train\"]", "[\"y_train\"]"],
    );
}

/// What the page of a copy says of loading it, with the real torchvision and NumPy where Python has them.
#[test]
fn python_reads_copies_as_their_pages_say() {
    let home = Home::new();
    images(&home, &["a", "b"], 6);
    let shape = "images.shape, labels.shape, images.dtype";
    let of_numpy = "((6, 28, 28, 3), (6,), dtype('uint8'))";
    for (out, input, module, value, expected) in [
        (
            "1",
            "scans",
            "torchvision",
            "len(folder), folder.classes",
            "(6, ['a', 'b'])",
        ),
        (
            "2",
            "scans/a",
            "PIL",
            "len(images), images[0].size",
            "(6, (28, 28))",
        ),
        ("3", "scans --format npz", "numpy", shape, of_numpy),
    ] {
        let copy = COPY.replace("scans", input);
        home.done(&format!(
            "{copy} {ONE_CELL} --no-privacy --quick-scores --count 6 --out {out}"
        ));
        python_reads(&home.at(out), module, value, expected);
    }
}

/// Runs what the page of a run's copy says of Python, where that has the module, and sees what it makes of a value.
pub(crate) fn python_reads(out: &Path, module: &str, value: &str, expected: &str) {
    let page = text_at(out.join("copy/README.md"));
    let code = page.split("```python\n").nth(1);
    let code = code.and_then(|rest| rest.split("```").next());
    rename(out.join("copy"), out.join("export"));
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
    let home = Home::new();
    let same = "synth cifar10 --backend flex --public cifar10 --out run";
    home.refuses(same, &["--public cifar10: it must be other than"]);
    let copy = COPY.replace("scans", "cifar10");
    let flags = "--epsilon 1 --delta 1e-5 --count 20 --quick-scores --out run";
    let printed = home.done(&format!("{copy} {flags}"));
    says(&printed, &["50000 private records, 10000 test records"]);
    assert!(home.has("run/copy/airplane"));
}

/// What the first release is of, by the same noise on both sides: replacing all images of a person moves it by no more than
/// the ledger says, and by most of that where they are many and bright. Ten images of one person would move it by more.
#[test]
fn a_unit_moves_what_is_released_no_more_than_the_ledger_says() {
    const MANY: usize = 10;
    let of_moments = format!("--public none {COLOUR}");
    for (name, method) in [
        ("moments.bin", &*of_moments),
        ("embeddings.bin", "--side 28 --channels 3 --method merf"),
    ] {
        is_near_its_bound([(255, "a"), (0, "b")].map(|(bright, class)| {
            let home = Home::new();
            images(&home, &["a", "b"], 12);
            for place in 0..MANY {
                let image = GrayImage::from_pixel(40, 40, Luma([bright]));
                let path = home.at(&format!("scans/{class}/person9-{place}.png"));
                image.save(path).expect("written");
            }
            let units = "--unit-from-name person([0-9]+) --most-per-unit 2 --insecure-noise-seed 4";
            home.done(&format!(
                "synth scans --backend flex {method} --epsilon 2 --count 2 {units} --out run"
            ));
            first_release(&home.at("run"), name)
        }));
    }
}

/// The values that a run released by this name, and the deviation of their noise.
pub(crate) fn release(run: &Path, name: &str) -> (Vec<f64>, f64) {
    let bytes = bytes_at(run.join(name));
    let words = bytes[64..].as_chunks::<8>().0;
    // How many releases there were, the deviation, and the values behind their number.
    let [deviation, count] = [words[1], words[2]];
    let count = u64::from_le_bytes(count) as usize;
    let values = words[3..3 + count].iter().map(|&v| f64::from_le_bytes(v));
    (values.collect(), f64::from_le_bytes(deviation))
}

/// The sensitivity of the line of the ledger with this number, from 1.
pub(crate) fn declared(run: &Path, place: u64) -> f64 {
    let ledger = text_at(run.join("ledger.jsonl"));
    let line = ledger.lines().nth(place as usize - 1).expect("a line");
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    number(&line["sensitivity"])
}

/// The values of the first release of a run, which has this name, and their sensitivity by the ledger.
pub(crate) fn first_release(run: &Path, name: &str) -> (Vec<f64>, f64) {
    (release(run, name).0, declared(run, 1))
}

/// How far two releases are apart.
pub(crate) fn moved(one: &[f64], other: &[f64]) -> f64 {
    assert_eq!(one.len(), other.len());
    let squares = one.iter().zip(other).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>().sqrt()
}

/// First releases of two neighbours with the same noise differ by what the ledger says at most, and by nearly as much.
#[track_caller]
pub(crate) fn is_near_its_bound([(one, declared), (two, _)]: [(Vec<f64>, f64); 2]) {
    let moved = moved(&one, &two);
    assert!(moved <= declared * (1.0 + 1e-6), "{moved} {declared}");
    assert!(moved > 0.9 * declared, "{moved} {declared}");
}

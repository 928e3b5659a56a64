//! `privatise` as a person runs it: through the binary, on every kind of input, and on everything that can be wrong.

use std::fs;
use std::process::Command;

use data::privatised::{Header, LabelEncoding, NoiseSeed, Privatised, Transform};
use data::transform::Dct;
use data::{Glyphs, Records, idx};
use test_support::data_folder;

use crate::program::{
    Home, Ran, SCHEMA, done, files, make_folder, npy, refusal, says, text, unwrapped,
};

/// Noise of a millionth of the radius: a record comes out as it is and in its place, if nothing else happens to it.
const CLEAR: &str =
    "--mechanism laplace --epsilon 2e6 --radius 1000 --insecure-noise-seed 1 --keep-order";
const LAPLACE: &str = "--mechanism laplace --epsilon 5 --radius 10";
const GAUSSIAN: &str = "--mechanism gaussian --epsilon 5 --delta 1e-5 --radius 10";

/// Files of glyphs: `images`, `images.gz` and `labels.gz`.
pub(crate) fn glyphs(home: &Home) -> Records {
    let images = Glyphs::generate(30, 0).expect("made");
    let (mut gzip, mut labels) = (Vec::new(), Vec::new());
    idx::write_images(&mut gzip, &images).expect("written");
    idx::write_labels(&mut labels, &images).expect("written");
    let mut plain: Vec<u8> = [0x803, 30, 28, 28].map(u32::to_be_bytes).concat();
    plain.extend(&*images.pixels().expect("pixels"));
    home.put("images", plain);
    home.put("images.gz", gzip);
    home.put("labels.gz", labels);
    images
}

/// A file of one row of two values, and a folder for what is made of it.
fn row() -> Home {
    let home = Home::new();
    home.put("row.npy", npy(Some(2), &[1.0, 2.0]));
    make_folder(home.at("out"));
    home
}

/// A run that must succeed, and what it wrote.
fn privatised(home: &Home, input: &str, flags: &str) -> Privatised {
    make_folder(home.at("out"));
    home.done(&format!(
        "privatise {input} out/noisy.safetensors --force {flags}"
    ));
    Privatised::load(&home.at("out/noisy.safetensors")).expect("whole")
}

/// Refuses the inputs and flags of each line, and leaves what was there.
#[track_caller]
fn refuses(home: &Home, cases: &str) {
    make_folder(home.at("out"));
    let before = files(&home.at(""));
    home.refuses_each("privatise --out out/noisy.safetensors --input", cases);
    assert!(files(&home.at("")) == before);
}

#[track_caller]
fn near(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        // Noise of scale 1e-3: a draw beyond 40 scales has a probability below 1e-17.
        assert!((found - expected).abs() < 0.04, "{found} {expected}");
    }
}

fn clean(images: &Records) -> Vec<f32> {
    let places: Vec<usize> = (0..images.len()).collect();
    images.gather(&places).expect("there")
}

#[test]
fn idx_images_are_privatised_with_their_labels_or_transformed() {
    let home = Home::new();
    let images = glyphs(&home);
    let clean = clean(&images);
    for file in ["images.gz", "images"] {
        let read = privatised(&home, file, CLEAR);
        assert_eq!(read.header.source_shape, Some([1, 28, 28]));
        assert_eq!(read.header.labels, LabelEncoding::Dropped);
        assert_eq!(read.header.noise_seed, NoiseSeed::Insecure);
        near(&read.values, &clean);
    }
    let flags = format!("{CLEAR} --label-weight 3 --label-file labels.gz");
    let read = privatised(&home, "images.gz", &flags);
    let one_hot = LabelEncoding::OneHot {
        weight: 3.0,
        classes: 10,
    };
    assert_eq!((read.header.labels, read.header.width), (one_hot, 794));
    let labelled = clean.chunks_exact(784).zip(images.labels());
    for (record, (image, &label)) in read.values.chunks_exact(794).zip(labelled) {
        near(&record[..784], image);
        let mut class = [0.0; 10];
        class[usize::from(label)] = 3.0;
        near(&record[784..], &class);
    }
    let read = privatised(&home, "images.gz", &format!("{CLEAR} --keep 50"));
    let dct = Dct::new(1, 28, 50).expect("a transform");
    let kept = Transform::Dct {
        side: 28,
        channels: 1,
        kept: dct.kept().to_vec(),
    };
    assert_eq!((&read.header.transform, read.header.width), (&kept, 50));
    for (record, image) in read.values.chunks_exact(50).zip(clean.chunks_exact(784)) {
        near(record, &dct.forward(image).expect("an image"));
    }
}

#[test]
fn arrays_tables_folders_and_data_sets_by_name_are_privatised() {
    let home = Home::new();
    let values = |input: &str, flags: &str| privatised(&home, input, &format!("{CLEAR} {flags}"));
    let rows = [1.0, 2.0, 3.0, 4.0, 250.0, 6.0];
    home.put("rows.npy", npy(Some(2), &rows));
    near(&values("rows.npy", "").values, &rows);
    home.put("labels.npy", npy(Some(1), &[1.0, 0.0, 2.0]));
    let flags = "--label-weight 1 --classes 3 --label-file labels.npy";
    let labelled = [
        [1.0, 2.0, 0.0, 1.0, 0.0],
        [3.0, 4.0, 1.0, 0.0, 0.0],
        [250.0, 6.0, 0.0, 0.0, 1.0],
    ];
    near(&values("rows.npy", flags).values, &labelled.concat());
    let squares: Vec<f32> = (0_i16..32).map(|i| f32::from(i % 7)).collect();
    home.put("images.npy", npy(Some(16), &squares));
    let read = values("images.npy", "--shape 1x4x4 --keep 16");
    let dct = read.header.dct().expect("a transform").expect("one");
    let records = read.values.chunks_exact(16);
    let back = records.flat_map(|record| dct.inverse(record).expect("a record"));
    near(&back.collect::<Vec<f32>>(), &squares);

    home.put("schema.toml", SCHEMA);
    home.put("table.csv", "x,sex,y\n5,F,no\n10,M,yes\n");
    let schema = "--schema schema.toml";
    near(&values("table.csv", schema).values, &[0.5, 1.0]);
    let read = values("table.csv", &format!("{schema} --label-weight 1"));
    near(&read.values, &[0.5, 1.0, 0.0, 1.0, 0.0, 1.0]);

    for (name, red) in [("a.png", 255), ("b.png", 51)] {
        let picture = image::RgbImage::from_pixel(6, 6, image::Rgb([red, 0, 0]));
        let path = home.put(&format!("photographs/{name}"), "");
        picture.save(path).expect("written");
    }
    let read = values("photographs", "--side 4");
    assert_eq!(read.header.source_shape, Some([3, 4, 4]));
    near(&read.values[..16], &[1.0; 16]);
    near(&read.values[48..64], &[0.2; 16]);
    near(&read.values[64..], &[0.0; 32]);

    let sampled = Glyphs::generate(20, 5).expect("made");
    let read = values("glyphs", "--seed 5 --records 20");
    near(&read.values, &clean(&sampled));
    if let Some(data) = data_folder() {
        for (name, all) in [("mnist", 60_000), ("fashion-mnist", 60_000), ("usps", 7291)] {
            let flags = format!("{LAPLACE} --keep 2 --data-dir {}", data.display());
            let header = privatised(&home, name, &flags).header;
            assert_eq!((header.records, header.width), (all, 2), "{name}");
        }
    }
}

#[test]
fn the_promise_is_told_as_it_is() {
    let home = row();
    let run = |flags: &str| {
        let line = format!("privatise row.npy out/noisy.safetensors --force {flags}");
        done(home.sliver(&line))
    };
    for (flags, words) in [
        (
            LAPLACE.to_string(),
            &[
                "privacy epsilon 5 at delta 0, local: for each record, by itself",
                "neighbours: any two records",
                "Laplace of scale 4 in each value",
                "a sum of absolute values of at most 10",
            ][..],
        ),
        (
            format!("{GAUSSIAN} --calibration paper"),
            &[
                "epsilon 5 at delta 1e-5",
                "equation 4",
                "this noise has epsilon 4.",
            ],
        ),
        (
            GAUSSIAN.into(),
            &[
                "privacy epsilon 5 at delta 1e-5, local",
                "calibration: exact",
                "has epsilon 5",
            ],
        ),
    ] {
        says(&unwrapped(&run(&flags).stdout), words);
    }
    let words = ["--delta 1", "above 0 and below 1"];
    home.refuses(
        &format!(
            "privatise row.npy none.npy {}",
            GAUSSIAN.replace("1e-5", "1")
        ),
        &words,
    );
    let header = Privatised::load(&home.at("out/noisy.safetensors"));
    assert_eq!(header.expect("whole").header.noise_seed, NoiseSeed::Secret);
    let output = run(&format!("{LAPLACE} --insecure-noise-seed 3"));
    let stdout = unwrapped(&output.stdout);
    assert!(!stdout.contains("privacy epsilon"), "{stdout}");
    says(&stdout, &["privacy NONE"]);
    says(&unwrapped(&output.stderr), &["NOT PRIVATE"]);
}

#[test]
fn what_the_bound_held_back_stands_in_the_private_log_and_nowhere_else() {
    let home = Home::new();
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let rows = [1.0, 2.0, 300.0, 400.0, nan, 1.0, inf, 0.0, 0.0, 0.0];
    home.put("rows.npy", npy(Some(2), &rows));
    make_folder(home.at("out"));
    let run = |log: &str| {
        let line = "privatise rows.npy out/noisy.safetensors --force";
        home.sliver(&format!("{line} {GAUSSIAN} --log {log}"))
    };
    let output = done(run("private.log"));
    let line = home.json("private.log");
    assert!(line["PRIVATE"].is_string());
    let counts = ["records", "projected", "not_finite"].map(|name| line[name].as_u64());
    assert_eq!(counts, [Some(5), Some(3), Some(2)]);
    #[cfg(unix)]
    {
        let log = fs::metadata(home.at("private.log")).expect("a log");
        let mode = std::os::unix::fs::MetadataExt::mode(&log);
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
    // Not what the program says, nor what it leaves.
    for said in [&output.stdout, &output.stderr].map(|said| text(said)) {
        let tells = said.contains("projected") || said.contains("finite");
        assert!(!tells, "{said}");
    }
    let left = text(&home.bytes("out/noisy.safetensors"));
    assert!(!left.contains("projected"));
    // A second run adds its line.
    done(run("private.log"));
    assert_eq!(home.text("private.log").lines().count(), 2);
    // Where the log cannot be written, no record leaves.
    make_folder(home.at("a-folder"));
    home.lose("out/noisy.safetensors");
    let output = run("a-folder").ran();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    says(&refusal(run("none/log")), &["no folder"]);
    assert!(files(&home.at("out")).is_empty());
}

#[test]
fn what_was_privatised_is_not_privatised_again() {
    let home = row();
    home.done(&format!("privatise row.npy noisy.npy {GAUSSIAN}"));
    privatised(&home, "row.npy", GAUSSIAN);
    // By what it holds, whatever its name.
    let noisy = home.bytes("out/noisy.safetensors");
    for name in ["images", "copy.safetensors", "noisy.npy"] {
        if name != "noisy.npy" {
            home.put(name, &noisy);
        }
        let flags = "--mechanism laplace --epsilon 3 --radius 1 --force";
        let words = "privatised already, at epsilon 5 | more noise | epsilon 8";
        refuses(&home, &format!("{name} {flags} => {words}"));
    }
    // An array is one again where its header is gone.
    home.put("noisy.npy", home.bytes("row.npy"));
    home.lose("noisy.npy.json");
    privatised(&home, "noisy.npy", LAPLACE);
}

#[test]
fn a_stream_that_was_cut_off_leaves_nothing() {
    let home = Home::new();
    glyphs(&home);
    // More rows than are read at once: the first of them had their noise already.
    let values: Vec<f32> = (0..6000_u16).map(f32::from).collect();
    home.put("whole.npy", npy(Some(2), &values));
    home.put("schema.toml", SCHEMA);
    let lines = "5,F,no\n".repeat(3000);
    home.put("whole.csv", format!("x,sex,y\n{lines}"));
    for (name, of, lost) in [
        ("cut", "images", 5),
        ("cut.gz", "images.gz", 500),
        ("cut.npy", "whole.npy", 3),
        ("cut.csv", "whole.csv", 4),
    ] {
        let bytes = home.bytes(of);
        home.put(name, &bytes[..bytes.len() - lost]);
    }
    refuses(
        &home,
        &format!(
            "
        cut {LAPLACE} => cut: truncated | expected 23536 bytes | found 23531
        cut.gz {LAPLACE} => cut.gz: truncated | expected 23536 bytes | found
        cut.npy {LAPLACE} => cut.npy: expected 24128 bytes | found 24125
        cut.csv {LAPLACE} --schema schema.toml => cut.csv: its last line has no line break | cut off
        whole.csv {LAPLACE} --schema schema.toml --records 3001 => 3001 records asked for, expected no more than there are
    "
        ),
    );
}

/// What a file promises, against what is asked of it.
#[test]
fn a_header_that_is_not_what_was_asked_for_is_refused() {
    let home = row();
    privatised(&home, "row.npy", GAUSSIAN);
    let show = "privatise --show out/noisy.safetensors";
    let cases = "
        --epsilon 3 => epsilon: 5.0 | 3.0 is asked for
        --radius 1 --epsilon 5 => radius: 10.0 | 1.0 is asked for
        --calibration paper => \"exact\" | \"paper\" is asked for
    ";
    home.refuses_each(show, cases);
    let words = ["epsilon 5 at delta 1e-5, local"];
    says(&home.done(&format!("{show} {GAUSSIAN}")), &words);
    // A promise that its noise does not keep.
    let bytes = home.bytes("out/noisy.safetensors");
    let length = u64::from_le_bytes(*bytes.first_chunk().expect("a length")) as usize;
    let head = String::from_utf8_lossy(&bytes[8..8 + length]);
    let head = head.replace("\"epsilon\":\"5.0\"", "\"epsilon\":\"4.0\"");
    let altered = [&bytes[..8], head.as_bytes(), &bytes[8 + length..]].concat();
    home.put("out/noisy.safetensors", altered);
    let words = ["noise_scale: expected", "which its promise needs"];
    home.refuses(show, &words);
}

#[test]
fn an_output_that_exists_is_kept_unless_force_is_said() {
    let home = row();
    let first = privatised(&home, "row.npy", GAUSSIAN);
    refuses(
        &home,
        &format!("row.npy {GAUSSIAN} => exists already | --force"),
    );
    // Noise is new each time.
    assert_ne!(privatised(&home, "row.npy", GAUSSIAN), first);
    // Nor is the input written over, whatever its name.
    let line = format!("privatise row.npy out/../row.npy --force {GAUSSIAN}");
    let before = files(&home.at(""));
    home.refuses(&line, &["--out", "the same file"]);
    assert!(files(&home.at("")) == before);
    // A failure leaves the older file as it was.
    let cut = home.bytes("row.npy");
    home.put("cut.npy", &cut[..cut.len() - 1]);
    refuses(&home, &format!("cut.npy {GAUSSIAN} --force => found 135"));
}

#[test]
fn an_interrupt_leaves_nothing() {
    let home = row();
    let flags = "--records 5000 --stop-after-record 1000 --log private.log";
    let line = format!("privatise glyphs out/noisy.safetensors {LAPLACE} {flags}");
    let output = home.sliver(&line).ran();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    says(&unwrapped(&output.stderr), &["nothing was written"]);
    assert!(files(&home.at("out")).is_empty() && !home.has("private.log"));
}

/// 400 MB of bytes, 1.6 GB as numbers, within 300 MB of addresses, the program's own among them.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_data() {
    let home = Home::new();
    let rows = 512_000_u64;
    let head = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows}, 784), }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{head:<117}\n").bytes());
    assert_eq!(bytes.len(), 128);
    let input = home.put("long.npy", &bytes);
    // A hole: it takes no place on the disk.
    let file = fs::File::options().write(true).open(input).expect("a file");
    file.set_len(128 + rows * 784).expect("a length");
    let command = format!(
        "ulimit -v 300000; exec {} privatise long.npy noisy.safetensors {LAPLACE} --shape 1x28x28 --keep 1",
        env!("CARGO_BIN_EXE_sliver"),
    );
    let mut shell = Command::new("sh");
    done(shell.args(["-c", &command]).current_dir(home.at("")).ran());
    let header = Header::read(&home.at("noisy.safetensors")).expect("whole");
    assert_eq!(header.expect("a header").records, rows);
}

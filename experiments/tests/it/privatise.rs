//! `privatise` as a person runs it: through the binary, on every kind of input, and on everything that can be wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use data::npy::{self, NpyArray};
use data::privatised::{Header, LabelEncoding, NoiseSeed, Privatised, Transform, header_path};
use data::transform::Dct;
use data::{Glyphs, LabelledImages, idx};
use test_support::{data_folder, says};

use crate::program::{Ran, SCHEMA, done, refusal, sliver, text, unwrapped};

/// Noise of a millionth of the radius: a record comes out as it is and in its place, if nothing else happens to it.
const CLEAR: &str =
    "--mechanism laplace --epsilon 2e6 --radius 1000 --insecure-noise-seed 1 --keep-order";
const LAPLACE: &str = "--mechanism laplace --epsilon 5 --radius 10";
const GAUSSIAN: &str = "--mechanism gaussian --epsilon 5 --delta 1e-5 --radius 10";

/// A folder with inputs in `in` and an empty one for outputs.
struct Fixture {
    keep: tempfile::TempDir,
    out: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let keep = tempfile::tempdir().expect("a temporary folder");
        let out = keep.path().join("out");
        fs::create_dir(&out).expect("created");
        Self { keep, out }
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.keep.path().join(name);
        fs::write(&path, bytes).expect("written");
        path
    }

    fn array(&self, name: &str, width: usize, values: &[f32]) -> PathBuf {
        let array = NpyArray {
            rows: values.len() / width,
            width: Some(width),
            values: values.to_vec(),
        };
        let mut bytes = Vec::new();
        npy::write(&mut bytes, &array).expect("written");
        self.file(name, &bytes)
    }

    /// Files of glyphs: images, as gzip and not, and labels.
    fn glyphs(&self) -> (LabelledImages, [PathBuf; 3]) {
        let images = Glyphs::generate(30, 0).expect("made");
        let (mut gzip, mut labels) = (Vec::new(), Vec::new());
        idx::write_images(&mut gzip, &images).expect("written");
        idx::write_labels(&mut labels, &images).expect("written");
        let mut plain: Vec<u8> = [0x803, 30, 28, 28].map(u32::to_be_bytes).concat();
        plain.extend(images.pixels());
        let files = [
            ("images.gz", gzip),
            ("images", plain),
            ("labels.gz", labels),
        ];
        let paths = files.map(|(name, bytes)| self.file(name, &bytes));
        (images, paths)
    }

    /// What lies in the folder of outputs.
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.out).expect("a folder");
        let names = entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn run(&self, input: &Path, flags: &str) -> Output {
        self.run_as("noisy.safetensors", input, flags)
    }

    fn run_as(&self, name: &str, input: &Path, flags: &str) -> Output {
        let mut command = sliver("privatise");
        command.arg("--input").arg(input);
        command.arg("--out").arg(self.out.join(name));
        command.args(flags.split_whitespace());
        command.ran()
    }

    /// A run that must succeed, and what it wrote.
    fn privatise(&self, input: &Path, flags: &str) -> Privatised {
        done(self.run(input, &format!("{flags} --force")));
        Privatised::load(&self.out.join("noisy.safetensors")).expect("whole")
    }

    /// A run that must be refused: exit code 2, the words in the message, nothing left.
    fn refuses(&self, input: &Path, flags: &str, words: &[&str]) {
        let before = self.left();
        let message = refusal(self.run(input, flags));
        says(&message, words);
        assert_eq!(self.left(), before, "{flags}");
    }
}

fn near(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        // Noise of scale 1e-3: a draw beyond 40 scales has a probability below 1e-17.
        assert!((found - expected).abs() < 0.04, "{found} {expected}");
    }
}

fn clean(images: &LabelledImages) -> Vec<f32> {
    let places: Vec<usize> = (0..images.len()).collect();
    images.gather(&places).expect("there")
}

#[test]
fn idx_images_are_privatised_gzip_or_not_with_their_labels_or_without() {
    let place = Fixture::new();
    let (images, [gzip, plain, labels]) = place.glyphs();
    for file in [&gzip, &plain] {
        let read = place.privatise(file, CLEAR);
        assert_eq!(read.header.source_shape, Some([1, 28, 28]));
        assert_eq!(read.header.labels, LabelEncoding::Dropped);
        assert_eq!(read.header.noise_seed, NoiseSeed::Insecure);
        near(&read.values, &clean(&images));
    }
    let labels = labels.display();
    let flags = format!("{CLEAR} --label-weight 3 --label-file {labels}");
    let read = place.privatise(&gzip, &flags);
    let one_hot = LabelEncoding::OneHot {
        weight: 3.0,
        classes: 10,
    };
    assert_eq!((read.header.labels, read.header.width), (one_hot, 794));
    for (record, (image, &label)) in read
        .values
        .chunks_exact(794)
        .zip(clean(&images).chunks_exact(784).zip(images.labels()))
    {
        near(&record[..784], image);
        let mut class = [0.0; 10];
        class[usize::from(label)] = 3.0;
        near(&record[784..], &class);
    }
}

#[test]
fn the_transform_keeps_the_coefficients_that_the_header_names() {
    let place = Fixture::new();
    let (images, [gzip, ..]) = place.glyphs();
    let read = place.privatise(&gzip, &format!("{CLEAR} --keep 50"));
    let dct = Dct::new(1, 28, 50).expect("a transform");
    let kept = Transform::Dct {
        side: 28,
        channels: 1,
        kept: dct.kept().to_vec(),
    };
    assert_eq!((&read.header.transform, read.header.width), (&kept, 50));
    for (record, image) in read
        .values
        .chunks_exact(50)
        .zip(clean(&images).chunks_exact(784))
    {
        near(record, &dct.forward(image).expect("an image"));
    }
}

#[test]
fn arrays_tables_folders_and_data_sets_by_name_are_privatised() {
    let place = Fixture::new();
    // Bytes and doubles too, as NumPy writes them.
    let rows = [1.0, 2.0, 3.0, 4.0, 250.0, 6.0];
    let array = place.array("rows.npy", 2, &rows);
    near(&place.privatise(&array, CLEAR).values, &rows);
    let labels = place.array("labels.npy", 1, &[1.0, 0.0, 2.0]);
    let flags = format!(
        "{CLEAR} --label-weight 1 --classes 3 --label-file {}",
        labels.display()
    );
    let labelled = [
        1.0, 2.0, 0.0, 1.0, 0.0, 3.0, 4.0, 1.0, 0.0, 0.0, 250.0, 6.0, 0.0, 0.0, 1.0,
    ];
    near(&place.privatise(&array, &flags).values, &labelled);
    let squares: Vec<f32> = (0_i16..32).map(|i| f32::from(i % 7)).collect();
    let images = place.array("images.npy", 16, &squares);
    let flags = format!("{CLEAR} --shape 1x4x4 --keep 16");
    let read = place.privatise(&images, &flags);
    let dct = read.header.dct().expect("a transform").expect("one");
    let back: Vec<f32> = read
        .values
        .chunks_exact(16)
        .flat_map(|record| dct.inverse(record).expect("a record"))
        .collect();
    near(&back, &squares);

    let schema = place.file("schema.toml", SCHEMA.as_bytes());
    let table = place.file("table.csv", b"x,sex,y\n5,F,no\n10,M,yes\n");
    let flags = format!("{CLEAR} --schema {}", schema.display());
    near(&place.privatise(&table, &flags).values, &[0.5, 1.0]);
    let flags = format!("{flags} --label-weight 1");
    let labelled = [0.5, 1.0, 0.0, 1.0, 0.0, 1.0];
    near(&place.privatise(&table, &flags).values, &labelled);

    let folder = place.keep.path().join("photographs");
    fs::create_dir(&folder).expect("created");
    for (name, red) in [("a.png", 255), ("b.png", 51)] {
        let picture = image::RgbImage::from_pixel(6, 6, image::Rgb([red, 0, 0]));
        picture.save(folder.join(name)).expect("written");
    }
    let read = place.privatise(&folder, &format!("{CLEAR} --side 4"));
    assert_eq!(read.header.source_shape, Some([3, 4, 4]));
    near(&read.values[..16], &[1.0; 16]);
    near(&read.values[48..64], &[0.2; 16]);
    near(&read.values[64..], &[0.0; 32]);

    let sampled = Glyphs::generate(20, 5).expect("made");
    let flags = format!("{CLEAR} --seed 5 --records 20");
    near(
        &place.privatise(Path::new("glyphs"), &flags).values,
        &clean(&sampled),
    );
    if let Some(data) = data_folder() {
        for (name, all) in [("mnist", 60_000), ("fashion-mnist", 60_000), ("usps", 7291)] {
            let flags = format!("{LAPLACE} --keep 2 --data-dir {}", data.display());
            let header = place.privatise(Path::new(name), &flags).header;
            assert_eq!((header.records, header.width), (all, 2), "{name}");
        }
    }
}

#[test]
fn an_array_with_its_header_beside_it_holds_the_same() {
    let place = Fixture::new();
    let array = place.array("rows.npy", 2, &[1.0, 2.0, 3.0, 4.0]);
    let one = place.privatise(&array, CLEAR);
    done(place.run_as("noisy.npy", &array, CLEAR));
    assert_eq!(
        place.left(),
        ["noisy.npy", "noisy.npy.json", "noisy.safetensors"]
    );
    let path = place.out.join("noisy.npy");
    assert_eq!(Privatised::load(&path).expect("whole"), one);
    assert_eq!(npy::read(&path).expect("an array").values, one.values);
}

#[test]
fn the_promise_is_told_as_it_is() {
    let place = Fixture::new();
    let array = place.array("rows.npy", 2, &[1.0, 2.0]);
    let run = |flags: &str| {
        let output = done(place.run(&array, &format!("{flags} --force")));
        (unwrapped(&output.stdout), unwrapped(&output.stderr))
    };
    let (stdout, _) = run(LAPLACE);
    says(
        &stdout,
        &[
            "privacy epsilon 5 at delta 0, local: for each record, by itself",
            "neighbours: any two records",
            "Laplace of scale 4 in each value",
            "a sum of absolute values of at most 10",
        ],
    );
    let (stdout, _) = run(GAUSSIAN);
    says(
        &stdout,
        &[
            "privacy epsilon 5 at delta 1e-5, local",
            "calibration: exact",
            "has epsilon 5",
        ],
    );
    let header = Privatised::load(&place.out.join("noisy.safetensors"))
        .expect("whole")
        .header;
    assert_eq!(header.noise_seed, NoiseSeed::Secret);
    let (stdout, _) = run(&format!("{GAUSSIAN} --calibration paper"));
    says(
        &stdout,
        &[
            "epsilon 5 at delta 1e-5",
            "equation 4",
            "this noise has epsilon 4.",
        ],
    );
    let (stdout, warned) = run(&format!("{LAPLACE} --insecure-noise-seed 3"));
    assert!(!stdout.contains("privacy epsilon"), "{stdout}");
    says(&stdout, &["privacy NONE"]);
    says(&warned, &["NOT PRIVATE"]);
}

/// The same command gives other noise, unless its seed is given.
#[test]
fn secret_noise_is_new_each_time() {
    let place = Fixture::new();
    let array = place.array("rows.npy", 2, &[1.0, 2.0]);
    let [one, other] = [(); 2].map(|()| place.privatise(&array, GAUSSIAN).values);
    assert_ne!(one, other);
    let seeded = format!("{GAUSSIAN} --insecure-noise-seed 3");
    let [one, other] = [(); 2].map(|()| place.privatise(&array, &seeded).values);
    assert_eq!(one, other);
}

#[test]
fn what_the_bound_held_back_stands_in_the_private_log_and_nowhere_else() {
    let place = Fixture::new();
    let nan = f32::NAN;
    let rows = [
        1.0,
        2.0,
        300.0,
        400.0,
        nan,
        1.0,
        f32::INFINITY,
        0.0,
        0.0,
        0.0,
    ];
    let array = place.array("rows.npy", 2, &rows);
    let log = place.keep.path().join("private.log");
    let flags = format!(
        "--mechanism gaussian --epsilon 5 --delta 1e-5 --radius 10 --log {}",
        log.display()
    );
    let output = done(place.run(&array, &flags));
    let line: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&log).expect("a log")).expect("JSON");
    assert!(line["PRIVATE"].is_string());
    let counts = ["records", "projected", "not_finite"].map(|name| line[name].as_u64());
    assert_eq!(counts, [Some(5), Some(3), Some(2)]);
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(&log).expect("a log"));
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
    // Not what the program says, nor what it leaves.
    for said in [&output.stdout, &output.stderr] {
        let said = text(said);
        assert!(
            !said.contains("projected") && !said.contains("finite"),
            "{said}"
        );
    }
    let bytes = fs::read(place.out.join("noisy.safetensors")).expect("a file");
    assert!(!String::from_utf8_lossy(&bytes).contains("projected"));
    // A second run adds its line.
    place.privatise(&array, &flags);
    assert_eq!(fs::read_to_string(&log).expect("a log").lines().count(), 2);
    // Where the log cannot be written, no record leaves.
    let folder = place.keep.path().join("a-folder");
    fs::create_dir(&folder).expect("created");
    let before = place.left();
    let flags = format!("{LAPLACE} --log {}", folder.display());
    let output = place.run_as("other.safetensors", &array, &flags);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(place.left(), before);
    let none = place.keep.path().join("none/log");
    place.refuses(
        &array,
        &format!("{LAPLACE} --force --log {}", none.display()),
        &["no folder"],
    );
}

#[test]
fn what_was_privatised_is_not_privatised_again() {
    let place = Fixture::new();
    let array = place.array("rows.npy", 2, &[1.0, 2.0]);
    assert!(place.run_as("noisy.npy", &array, GAUSSIAN).status.success());
    place.privatise(&array, GAUSSIAN);
    // By what it holds, whatever its name.
    let copies = ["images", "copy.safetensors"].map(|name| {
        let copy = place.keep.path().join(name);
        fs::copy(place.out.join("noisy.safetensors"), &copy).expect("copied");
        copy
    });
    let npy = place.out.join("noisy.npy");
    let refused = |file: &Path| {
        let flags = "--mechanism laplace --epsilon 3 --radius 1 --force";
        let why = [
            "privatised already, at epsilon 5",
            "more noise",
            "epsilon 8",
        ];
        place.refuses(file, flags, &why);
    };
    copies.iter().for_each(|copy| refused(copy));
    refused(&npy);
    // A header alone, or of another array, is refused too.
    fs::write(&npy, fs::read(&array).expect("an array")).expect("written");
    fs::remove_file(header_path(&npy)).expect("removed");
    assert!(
        place
            .run_as("noisy2.safetensors", &npy, LAPLACE)
            .status
            .success()
    );
}

#[test]
fn a_stream_that_was_cut_off_leaves_nothing() {
    let place = Fixture::new();
    let (_, [gzip, plain, labels]) = place.glyphs();
    let cut = |name: &str, path: &Path, lost: usize| {
        let bytes = fs::read(path).expect("a file");
        place.file(name, &bytes[..bytes.len() - lost])
    };
    let whole = 16 + 30 * 784;
    let (expected, found) = (
        format!("expected {whole} bytes"),
        format!("found {}", whole - 5),
    );
    place.refuses(
        &cut("cut", &plain, 5),
        LAPLACE,
        &["cut: truncated", &expected, &found],
    );
    place.refuses(
        &cut("cut", &gzip, 500),
        LAPLACE,
        &["cut: truncated", &expected, "found"],
    );
    let one_hot = |labels: &Path| {
        format!(
            "{LAPLACE} --label-weight 1 --label-file {}",
            labels.display()
        )
    };
    let short = place.file(
        "short",
        &[&[0, 0, 8, 1, 0, 0, 0, 30][..], &[1; 29]].concat(),
    );
    place.refuses(&gzip, &one_hot(&short), &["expected 38 bytes", "found 37"]);
    let other = place.file(
        "other",
        &[&[0, 0, 8, 1, 0, 0, 0, 29][..], &[1; 29]].concat(),
    );
    place.refuses(&gzip, &one_hot(&other), &["holds 29 labels, expected 30"]);
    place.refuses(
        &cut("labels-cut", &labels, 9),
        &one_hot(&labels),
        &["wrong idx magic"],
    );
    // More rows than are read at once: the first of them had their noise already.
    let values: Vec<f32> = (0..6000_u16).map(f32::from).collect();
    let array = place.array("whole.npy", 2, &values);
    place.refuses(
        &cut("cut.npy", &array, 3),
        LAPLACE,
        &["cut.npy: expected 24128 bytes", "found 24125"],
    );
    let schema = place.file("schema.toml", SCHEMA.as_bytes());
    let with_schema = format!("{LAPLACE} --schema {}", schema.display());
    let lines = "5,F,no\n".repeat(3000);
    let table = place.file("whole.csv", format!("x,sex,y\n{lines}").as_bytes());
    place.refuses(
        &cut("cut.csv", &table, 1),
        &with_schema,
        &["cut.csv: its last line has no line break"],
    );
    place.refuses(
        &cut("cut.csv", &table, 4),
        &with_schema,
        &["cut.csv: its last line has no line break", "cut off"],
    );
    place.refuses(
        &gzip,
        &format!("{LAPLACE} --records 31"),
        &["31 records asked for, expected 1 to 30"],
    );
    let beyond = format!("{with_schema} --records 3001");
    place.refuses(
        &table,
        &beyond,
        &["3001 records asked for, expected no more than there are"],
    );
}

#[test]
fn a_header_that_is_not_what_was_asked_for_is_refused() {
    let place = Fixture::new();
    let (_, [gzip, plain, labels]) = place.glyphs();
    place.refuses(
        &gzip,
        &format!("{LAPLACE} --shape 3x28x28"),
        &["--shape 3x28x28", "images of 1x28x28"],
    );
    let array = place.array("rows.npy", 12, &[0.0; 24]);
    place.refuses(
        &array,
        &format!("{LAPLACE} --shape 1x4x4"),
        &["--shape 1x4x4", "12 values"],
    );
    place.refuses(&labels, LAPLACE, &["wrong idx magic number"]);
    let schema = place.file("schema.toml", SCHEMA.as_bytes());
    let table = place.file("table.csv", b"x,age,y\n5,F,no\n");
    let flags = format!("{LAPLACE} --schema {}", schema.display());
    place.refuses(
        &table,
        &flags,
        &["table.csv, line 1", "names no column of the schema"],
    );
    // What a file promises, against what is asked of it.
    place.privatise(&plain, GAUSSIAN);
    let show = |flags: &str| {
        let mut command = sliver("privatise");
        command.arg("--show");
        command.arg(place.out.join("noisy.safetensors"));
        command.args(flags.split_whitespace());
        command.ran()
    };
    for (flags, words) in [
        ("--epsilon 3", ["epsilon: 5.0", "3.0 is asked for"]),
        ("--keep 3", ["coefficients kept: null", "3 is asked for"]),
        (
            "--label-weight 3",
            ["label weight: null", "3.0 is asked for"],
        ),
        (
            "--mechanism laplace",
            ["\"gaussian\"", "\"laplace\" is asked for"],
        ),
        (
            "--radius 1 --epsilon 5",
            ["radius: 10.0", "1.0 is asked for"],
        ),
        (
            "--calibration paper",
            ["\"exact\"", "\"paper\" is asked for"],
        ),
    ] {
        let output = show(flags);
        assert_eq!(output.status.code(), Some(2), "{flags}");
        says(&unwrapped(&output.stderr), &words);
    }
    let output = done(show(GAUSSIAN));
    says(
        &text(&output.stdout),
        &["30 records", "epsilon 5 at delta 1e-5, local"],
    );
    // A promise that its noise does not keep.
    let path = place.out.join("noisy.safetensors");
    let bytes = fs::read(&path).expect("a file");
    let length = u64::from_le_bytes(*bytes.first_chunk().expect("a length")) as usize;
    let head = String::from_utf8_lossy(&bytes[8..8 + length]);
    let head = head.replace("\"epsilon\":\"5.0\"", "\"epsilon\":\"4.0\"");
    let altered = [&bytes[..8], head.as_bytes(), &bytes[8 + length..]].concat();
    fs::write(&path, altered).expect("written");
    let output = show("");
    assert_eq!(output.status.code(), Some(2));
    says(
        &unwrapped(&output.stderr),
        &["noise_scale: expected", "which its promise needs"],
    );
    fs::write(&path, &bytes[..bytes.len() - 1]).expect("written");
    says(&unwrapped(&show("").stderr), &["cut off or damaged"]);
}

#[test]
fn an_output_that_exists_is_kept_unless_force_is_said() {
    let place = Fixture::new();
    let array = place.array("rows.npy", 2, &[1.0, 2.0]);
    let first = place.privatise(&array, GAUSSIAN);
    let path = place.out.join("noisy.safetensors");
    place.refuses(&array, GAUSSIAN, &["exists already", "--force"]);
    assert_eq!(Privatised::load(&path).expect("whole"), first);
    assert_ne!(place.privatise(&array, GAUSSIAN), first);
    // A failure leaves the older file as it was.
    let second = fs::read(&path).expect("a file");
    let cut = fs::read(&array).expect("an array");
    let cut = place.file("cut.npy", &cut[..cut.len() - 1]);
    place.refuses(&cut, &format!("{GAUSSIAN} --force"), &["found 135"]);
    assert_eq!(fs::read(&path).expect("a file"), second);
}

#[test]
fn an_interrupt_leaves_nothing() {
    let place = Fixture::new();
    let log = place.keep.path().join("private.log");
    let flags = format!(
        "{LAPLACE} --records 5000 --stop-after-record 1000 --log {}",
        log.display()
    );
    let output = place.run(Path::new("glyphs"), &flags);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    says(&unwrapped(&output.stderr), &["nothing was written"]);
    assert_eq!(place.left(), [""; 0]);
    assert!(!log.exists());
}

#[test]
fn requests_without_an_answer_are_refused() {
    let place = Fixture::new();
    let (_, [gzip, _, labels]) = place.glyphs();
    let laplace = "--mechanism laplace --epsilon 5";
    for (flags, words) in [
        ("--epsilon 5 --radius 1", "--mechanism"),
        ("--mechanism laplace --radius 1", "--epsilon"),
        (laplace, "--radius"),
        ("--mechanism laplace --epsilon 0 --radius 1", "epsilon"),
        ("--mechanism laplace --epsilon inf --radius 1", "epsilon"),
        ("--mechanism laplace --epsilon 5 --radius=-1", "radius"),
        (
            "--mechanism laplace --epsilon 5 --radius 1 --delta 1e-5",
            "delta is 0",
        ),
        (
            "--mechanism laplace --epsilon 5 --radius 1 --calibration paper",
            "exact",
        ),
        ("--mechanism gaussian --epsilon 5 --radius 1", "--delta"),
        (
            "--mechanism gaussian --epsilon 5 --radius 1 --delta 1",
            "delta",
        ),
        (
            "--mechanism gaussian --epsilon 5 --radius 1 --delta 0.6 --calibration paper",
            "delta",
        ),
        ("--mechanism laplace --epsilon 1 --radius 1e36", "32 bits"),
        (
            "--mechanism laplace --epsilon 1e-8 --radius 1",
            "for 784 values",
        ),
    ] {
        place.refuses(&gzip, flags, &[words]);
    }
    for (flags, words) in [
        ("--keep 785", "1 to 784"),
        ("--keep 0", "1 to 784"),
        ("--label-weight 1", "no classes"),
        ("--label-weight 0", "--label-weight"),
        ("--shape 28x28", "CHANNELSxHEIGHTxWIDTH"),
    ] {
        place.refuses(&gzip, &format!("{laplace} --radius 1 {flags}"), &[words]);
    }
    let laplace = format!("{laplace} --radius 1");
    let array = place.array("rows.npy", 2, &[1.0, 2.0]);
    place.refuses(&array, &format!("{laplace} --keep 1"), &["--shape"]);
    let wide = format!("{laplace} --shape 1x1x2 --keep 1");
    place.refuses(&array, &wide, &["1 x 2 pixels"]);
    let labelled = format!(
        "{laplace} --label-weight 1 --label-file {}",
        labels.display()
    );
    place.refuses(&array, &labelled, &["--classes"]);
    place.refuses(
        &place.keep.path().join("none.npy"),
        &laplace,
        &["none.npy", "open the file"],
    );
    place.refuses(&place.file("table.csv", b"1,2\n"), &laplace, &["--schema"]);
    place.refuses(
        &place.file("nothing", b""),
        &laplace,
        &["nothing", "expected 4 bytes"],
    );
    let out = place.out.join("noisy.safetensors");
    let log = |path: &Path| format!("{laplace} --force --log {}", path.display());
    // Neither the output nor the log may be what is read, or each other.
    for path in [&out, &array, &header_path(&out)] {
        place.refuses(&array, &log(path), &["--log", "the same file"]);
    }
    let before = fs::read(&array).expect("an array");
    let flags = format!("{laplace} --force");
    let output = place.run_as("../rows.npy", &array, &flags);
    assert_eq!(output.status.code(), Some(2));
    says(&unwrapped(&output.stderr), &["--out", "the same file"]);
    assert_eq!(fs::read(&array).expect("an array"), before);
}

/// 400 MB of bytes, 1.6 GB as numbers, within 300 MB of addresses, the program's own among them.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_data() {
    let place = Fixture::new();
    let rows = 512_000_u64;
    let head = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows}, 784), }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{head:<117}\n").bytes());
    assert_eq!(bytes.len(), 128);
    let input = place.file("long.npy", &bytes);
    // A hole: it takes no place on the disk.
    let file = fs::File::options()
        .write(true)
        .open(&input)
        .expect("a file");
    file.set_len(128 + rows * 784).expect("a length");
    let command = format!(
        "ulimit -v 300000; exec {} privatise --input {} --out {} {LAPLACE} --shape 1x28x28 --keep 1",
        env!("CARGO_BIN_EXE_sliver"),
        input.display(),
        place.out.join("noisy.safetensors").display()
    );
    done(Command::new("sh").arg("-c").arg(&command).ran());
    let header = Header::read(&place.out.join("noisy.safetensors")).expect("whole");
    assert_eq!(header.expect("a header").records, rows);
}

//! The whole program on two neighbouring inputs, with noise from one known seed: every released value is held against the
//! sensitivity in the ledger, and everything else that the program leaves is the same to the byte.
//!
//! One record, or all of a unit's, is replaced in its value, its label or class folder, its name, and its place. What is released
//! follows from earlier releases, so each is compared by a run of the other input that resumes from what the first input's run
//! released before. At last the runs of both inputs resume from all that was released: their folders, pages, copies and what the
//! program prints may differ in nothing but times.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use data::Schema;
use data::export::{Format, ImageWriter, Layout};
use data::privatised::Privatised;
use image::{GrayImage, Luma};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use regex::Regex;

use crate::program::{
    bytes_at, done, files, json, make_folder, npy, put, remove, rename, same, sliver, text,
    text_at, weights, words,
};
use crate::synth::{declared, moved, release};

/// What a release moves by may be this much above what the ledger says, of which it is a share: sums round by their order.
const ROUNDING: f64 = 1e-6;
/// The least share of a bound that is attained.
const TIGHT: f64 = 0.6;
/// Noise that both inputs get.
const KNOWN: &str = "--insecure-noise-seed 3";

/// What lays an input into a folder; that with a replaced record where it is told so.
type Lay<'a> = &'a dyn Fn(&Path, bool);

/// Two folders in which the same paths lie, one for each of two neighbouring inputs.
struct Homes {
    keep: tempfile::TempDir,
}

impl Homes {
    fn new(lay: impl Fn(&Path, bool)) -> Self {
        let keep = tempfile::tempdir().expect("a temporary folder");
        let homes = Self { keep };
        for (home, replaced) in homes.both("").iter().zip([false, true]) {
            make_folder(home);
            lay(home, replaced);
        }
        homes
    }

    /// What has this name in each of the folders.
    fn both(&self, name: &str) -> [PathBuf; 2] {
        ["one", "other"].map(|home| self.keep.path().join(home).join(name))
    }

    /// Runs a line in both folders.
    fn run(&self, line: &str) -> [String; 2] {
        self.both("").map(|home| run(&home, line))
    }
}

/// Runs a line in a folder; what the program prints, without times.
fn run(home: &Path, line: &str) -> String {
    let output = done(sliver(line).current_dir(home));
    timeless(&text(&output.stdout)) + &timeless(&text(&output.stderr))
}

/// Text without points of time, and without how long things take or took.
fn timeless(text: &str) -> String {
    // A line that slow machines alone have.
    let lines = Regex::new(r"(?m)^time      about .*\n").expect("a pattern");
    let text = lines.replace_all(text, "").into_owned();
    let times = [
        r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2})?(\.\d+)?( ?UTC|Z)?",
        r#""(started|finished|time|[a-z_]*seconds)": ?"?[^,"\n}]+"?"#,
        r"\b\d+(\.\d+)?(e-?\d+)? ?(ms|s|seconds|minutes|min|h)\b",
    ];
    times.iter().fold(text, |text, times| {
        let times = Regex::new(times).expect("a pattern");
        times.replace_all(&text, "TIME").into_owned()
    })
}

/// Everything below a folder, without times; of a model its weights, whose head has names that are new in each run.
fn left(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut left = files(root);
    for (path, bytes) in &mut left {
        if path.ends_with("model.bpk") {
            *bytes = weights(root).expect("weights");
        } else if let Ok(text) = std::str::from_utf8(bytes) {
            *bytes = timeless(text).into_bytes();
        }
    }
    left
}

/// How many releases there were with the one in this file.
fn place(run: &Path, file: &str) -> u64 {
    let bytes = bytes_at(run.join(file));
    u64::from_le_bytes(bytes[64..72].try_into().expect("eight bytes"))
}

/// A copy of a run that was cut off behind these releases.
fn cut_off(run: &Path, to: &Path, released: &[String]) {
    if to.exists() {
        remove(to);
    }
    make_folder(to);
    let begun = ["asked.json", "command.txt", "config.toml", "public.json"];
    for name in begun.into_iter().chain(released.iter().map(|name| &**name)) {
        if run.join(name).exists() {
            fs::copy(run.join(name), to.join(name)).expect("copied");
        }
    }
    let ledger = text_at(run.join("ledger.jsonl"));
    let lines: String = ledger.split_inclusive('\n').take(released.len()).collect();
    put(to.join("ledger.jsonl"), lines);
}

/// Runs `line` on both inputs and holds all that it leaves against each other.
///
/// - `releases`: the files of what it releases, in order, without `.bin`; names of what is counted end in `.json`.
///
/// Gives for each release how far the replaced record moved it, as a share of what the ledger declares.
fn compared(homes: &Homes, line: &str, releases: &str) -> Vec<f64> {
    let file = |name: &str| match name.contains('.') {
        true => name.to_string(),
        false => format!("{name}.bin"),
    };
    let releases: Vec<String> = words(releases).into_iter().map(file).collect();
    let resume = format!("{} --resume run --cache-dir cache", words(line)[0]);
    let line = format!("{line} {KNOWN} --run run --cache-dir cache");
    let [one, other] = homes.both("run");
    homes.run(&line);
    let top = |run: &Path| -> Vec<PathBuf> {
        let all = files(run).into_keys();
        // How many samples a class has is read from what was released.
        let sample = |path: &Path| path.extension().is_some_and(|ending| ending == "png");
        all.filter(|path| !(path.starts_with("copy") && sample(path)))
            .collect()
    };
    assert_eq!(top(&one), top(&other));
    let mut shares = Vec::new();
    for (number, file) in releases.iter().enumerate() {
        if number > 0 {
            cut_off(&one, &other, &releases[..number]);
            run(&homes.both("")[1], &resume);
        }
        if file.ends_with(".bin") {
            let [(a, _), (b, _)] = [&one, &other].map(|run| release(run, file));
            assert_eq!(place(&one, file), number as u64 + 1, "{file}");
            shares.push(moved(&a, &b) / declared(&one, number as u64 + 1));
        }
    }
    let lines = crate::program::lines(&one);
    assert_eq!(lines, releases.len(), "other releases than {releases:?}");
    let [whole, _] = homes.both("whole");
    rename(&one, &whole);
    for run in [&one, &other] {
        cut_off(&whole, run, &releases);
    }
    let [said, others] = homes.run(&resume);
    assert_eq!(said, others);
    same(&left(&one), &left(&other));
    if one.join("samples.json").exists() || one.join("copy").exists() {
        exports_are_the_same(homes);
    }
    shares
}

fn exports_are_the_same(homes: &Homes) {
    homes.run("export run --count 5 --out exported");
    let [one, other] = homes.both("exported").map(|place| left(&place));
    same(&one, &other);
}

/// No share is above 1, and the one of the first release is near it if it can be.
#[track_caller]
fn within(shares: &[f64], what: &str) {
    let bounded = shares.iter().all(|&share| share <= 1.0 + ROUNDING);
    assert!(bounded && shares[0] > 0.01, "{what}: {shares:?}");
}

#[track_caller]
fn attained(shares: &[f64], what: &str) {
    within(shares, what);
    assert!(shares[0] >= TIGHT, "{what}: {shares:?}");
}

// Images.

const CLASSES: [&str; 3] = ["a", "b", "c"];
const EACH: usize = 8;
const SIDE: u32 = 28;

/// An image with its class and the person that it shows.
struct Picture {
    class: usize,
    name: String,
    image: GrayImage,
}

fn picture(class: usize, name: String, seed: usize) -> Picture {
    let value = |x: u32, y: u32| {
        let wave = (x as usize * (class + 1) + y as usize * (seed + 1)) as f64 / 7.0;
        Luma([(127.0 + 100.0 * wave.sin()) as u8])
    };
    let image = GrayImage::from_fn(SIDE, SIDE, value);
    Picture { class, name, image }
}

/// Images of persons of two each. One image is replaced by another in another class, whose name comes first; with `unit` all images
/// of a person are, by one of another.
fn pictures(replaced: bool, unit: bool) -> Vec<Picture> {
    let all = CLASSES.len() * EACH;
    let mut pictures = Vec::new();
    for place in 0..all {
        let person = place % (all / 2);
        let gone = replaced && if unit { person == 3 } else { place == 3 };
        if !gone {
            let name = format!("p{person:02}-{place}");
            pictures.push(picture(place / EACH, name, place));
        }
    }
    // A unit of one image, too: how many images there are is private.
    if replaced {
        let mut new = picture(2, "p00x-0".into(), 0);
        new.image = bright();
        pictures.insert(0, new);
    }
    pictures
}

fn bright() -> GrayImage {
    GrayImage::from_fn(SIDE, SIDE, |x, _| Luma([255 - (x % 3) as u8]))
}

/// Images of which one is another of the same class, whose size may be public.
fn of_one_class(replaced: bool) -> Vec<Picture> {
    let mut all = pictures(false, false);
    if replaced {
        all[3].image = bright();
    }
    all
}

fn folder_of(root: &Path, pictures: &[Picture], classes: bool) {
    for picture in pictures {
        let folder = match classes {
            true => root.join(CLASSES[picture.class]),
            false => root.to_path_buf(),
        };
        make_folder(&folder);
        let path = folder.join(format!("{}.png", picture.name));
        picture.image.save(path).expect("written");
    }
}

fn scans(home: &Path, replaced: bool) {
    folder_of(&home.join("scans"), &pictures(replaced, false), true);
    put(home.join("scans/notes.txt"), "of no image");
}

fn tar(home: &Path, replaced: bool) {
    scans(home, replaced);
    pack(home);
}

fn pack(home: &Path) {
    let file = fs::File::create(home.join("scans.tar")).expect("created");
    let mut archive = tar::Builder::new(file);
    archive
        .append_dir_all("scans", home.join("scans"))
        .expect("packed");
    archive.finish().expect("packed");
}

fn array(home: &Path, replaced: bool, format: Format) {
    let pictures = pictures(replaced, false);
    let layout = Layout {
        count: pictures.len(),
        sides: [SIDE as usize; 2],
        channels: 1,
        labels: true,
        classes: CLASSES.map(String::from).to_vec(),
        formats: vec![format],
        arrays: data::Arrays::default(),
    };
    let mut writer = ImageWriter::create(home, &layout).expect("created");
    for picture in &pictures {
        let label = [picture.class as u8];
        writer
            .append(picture.image.as_raw(), &label)
            .expect("written");
    }
    writer.finish().expect("written");
}

const GREY: &str = "--side 28 --channels 1 --latent 8 --public none --quick-scores --backend flex --epsilon 2 --count 6";

#[test]
fn images_of_every_form() {
    let flat = |home: &Path, replaced| {
        folder_of(&home.join("scans"), &pictures(replaced, false), false);
    };
    let npz = |home: &Path, replaced| array(home, replaced, Format::Npz);
    let idx = |home: &Path, replaced| array(home, replaced, Format::Idx);
    let cases: [(Lay<'_>, &str, &str); 7] = [
        (&scans, "scans --cells 2", "moments cells score"),
        (&scans, "scans --cells 1", "moments score"),
        (&scans, "scans --method merf", "embeddings score"),
        (&tar, "scans.tar --cells 2", "moments cells score"),
        (&flat, "scans --cells 2", "moments cells"),
        (&npz, "images.npz --classes 3 --cells 1", "moments score"),
        (
            &idx,
            "MNIST/raw/train-images-idx3-ubyte.gz --classes 3 --cells 1",
            "moments score",
        ),
    ];
    for (lay, input, releases) in cases {
        let homes = Homes::new(lay);
        let mut line = format!("synth {input} {GREY}");
        if input.contains("merf") {
            line = line.replace("--latent 8 --public none", "");
        }
        let shares = compared(&homes, &line, releases);
        // An image that goes to another class moves moments the farthest; without classes there is none.
        match input.contains("merf") || !releases.contains("score") {
            true => within(&shares, input),
            false => attained(&shares, input),
        }
    }
}

/// Some of many records, whichever the secret generator takes: at least one of these keys takes the replaced one. Fixed places in
/// the order of paths would hold other images from the replaced one on: waves across and along take turns.
#[test]
fn some_records_of_a_set() {
    const MANY: usize = 240;
    let lay = |home: &Path, replaced: bool| {
        let wave = |place: usize| {
            let value = |x: u32, y: u32| {
                let across = place.is_multiple_of(2);
                let (x, y) = if across { (x, y) } else { (y, x) };
                let slope = f64::from(x) * 0.3 + f64::from(y) * 0.01 * (place % 5) as f64;
                Luma([(127.0 + 120.0 * slope.sin()) as u8])
            };
            Picture {
                class: place * CLASSES.len() / MANY,
                name: format!("{place:03}"),
                image: GrayImage::from_fn(SIDE, SIDE, value),
            }
        };
        let kept = (0..MANY).filter(|&place| !replaced || place != 3);
        let mut all: Vec<Picture> = kept.map(wave).collect();
        all.extend(replaced.then(|| picture(2, "000".into(), 0)));
        folder_of(&home.join("scans"), &all, true);
        pack(home);
    };
    for input in ["scans", "scans.tar"] {
        let homes = Homes::new(lay);
        let mut most = 0.0_f64;
        for seed in 1..=4 {
            let line = format!(
                "synth {input} --records 120 --cells 1 {GREY} --score-share 0 --insecure-noise-seed {seed} --cache-dir cache --run run{seed}"
            );
            homes.run(&line);
            let [one, other] = homes.both(&format!("run{seed}"));
            let [(a, _), (b, _)] = [&one, &other].map(|run| release(run, "moments.bin"));
            most = most.max(moved(&a, &b) / declared(&one, 1));
        }
        attained(&[most], input);
    }
}

#[test]
fn units_of_images() {
    let lay = |home: &Path, replaced| {
        let pictures = pictures(replaced, true);
        folder_of(&home.join("scans"), &pictures, true);
        let mut csv = String::from("image,person\n");
        for picture in &pictures {
            let person = picture.name.split('-').next().expect("a person");
            csv += &format!("{}/{}.png,{person}\n", CLASSES[picture.class], picture.name);
        }
        put(home.join("units.csv"), csv);
        // What else a unit brings is in nothing that leaves either.
        if replaced {
            put(
                home.join("scans").join(CLASSES[0]).join("px-notes.txt"),
                "a note",
            );
        }
    };
    for unit in ["--unit units.csv", "--unit-from-name (p[0-9x]+)-"] {
        let homes = Homes::new(lay);
        let line = format!("synth scans {GREY} --cells 2 {unit} --most-per-unit 2");
        let shares = compared(&homes, &line, "moments cells score");
        // Two images of a person move from their classes to another one; all at the farthest is what the bound has.
        within(&shares, unit);
    }
}

/// What else `--method` releases once: all of one folder is private.
#[test]
fn methods_that_release_once() {
    for (flags, releases) in [
        (
            "--method marginals --public none --latent 4 --slices 8",
            "moments release score",
        ),
        (
            "--method generator --slices 8 --slices-per-step 4",
            "release score",
        ),
        // The sizes of the classes are public: neighbours are of one class.
        (
            "--method fixed --public none --latent 4 --slices 8",
            "release score",
        ),
        (
            "--method marginals --labels public --public none --latent 4 --slices 8",
            "moments release score",
        ),
    ] {
        let within_class = flags.contains("fixed") || flags.contains("--labels public");
        let homes = Homes::new(|home, replaced| {
            // Rows that leave one by one are in a secret order: here it is known, so each stays in its place.
            let all = match within_class {
                true => of_one_class(replaced),
                false => pictures(replaced, false),
            };
            folder_of(&home.join("scans"), &all, true);
        });
        let line = format!(
            "synth scans --side 28 --channels 1 --quick-scores --backend flex --epsilon 2 --count 6 --steps 2 {flags}"
        );
        within(&compared(&homes, &line, releases), flags);
    }
}

/// What `--method` releases at each step: what an export takes of it is what the steps have made, and nothing else of a record.
#[test]
fn methods_that_release_at_each_step() {
    for (flags, made) in [
        (
            "--method resampled --public none --latent 4 --slices 8",
            "latents.f32",
        ),
        (
            "--method latent-generator --public none --latent 4 --slices 8",
            "latents.f32",
        ),
        ("--method projections --slices 1024", "weights.f32"),
    ] {
        let homes = Homes::new(|home, replaced| {
            folder_of(&home.join("scans"), &of_one_class(replaced), true);
        });
        homes.run(&format!(
            "synth scans --side 28 --channels 1 --quick-scores --backend flex --epsilon 20 --batch 24 --steps 2 --count 6 \
             {flags} {KNOWN} --run run --cache-dir cache"
        ));
        let [one, other] = homes.both("run");
        let [first, second] = [&one, &other].map(|run| left(run));
        assert!(first.keys().eq(second.keys()), "{flags}");
        for name in ["config.toml", "samples.json", "ledger.jsonl"] {
            let name = Path::new(name);
            assert!(first[name] == second[name], "{flags}: {}", name.display());
        }
        // All images are in the batch: the record that was replaced has moved what was made.
        assert!(first[Path::new(made)] != second[Path::new(made)], "{flags}");
        // What follows from that: samples, and their scores.
        fs::copy(one.join(made), other.join(made)).expect("copied");
        let [results, mut others] = [&one, &other].map(|run| json(&run.join("run.json")));
        others["metrics"] = results["metrics"].clone();
        put(other.join("run.json"), others.to_string());
        exports_are_the_same(&homes);
    }
}

// Tables.

const SCHEMA: &str = r#"
missing = [""]
column = [
    { name = "patient", kind = "ignore" },
    { name = "age", kind = "integer", min = 0, max = 99, outside = "clamp", public = true },
    { name = "ward", kind = "categorical", levels = ["east", "west", "north"], other = "elsewhere", public = true },
    { name = "ill", kind = "label", classes = [["no"], ["yes"]], public = true },
]
"#;

/// Lines of a table; in the other one the record of the sixth line has other values and stands last, or all three records of its
/// patient are replaced by five.
fn people(replaced: bool, unit: bool) -> Vec<String> {
    let line = |place: usize| {
        let ward = ["east", "west", "north"][place % 3];
        let ill = ["no", "yes"][usize::from(place % 90 > 55)];
        format!("p{},{},{ward},{ill}", place / 3, place % 90)
    };
    let (gone, new) = match (replaced, unit) {
        (false, _) => (0..0, 0),
        (true, false) => (6..7, 1),
        (true, true) => (6..9, 5),
    };
    let kept = (0..120).filter(|place| !gone.contains(place));
    let mut lines: Vec<String> = kept.map(line).collect();
    lines.extend((0..new).map(|number| format!("p99,{},unheard of,yes", 980 + number)));
    lines
}

fn csv(lines: &[String]) -> String {
    format!("patient,age,ward,ill\n{}\n", lines.join("\n"))
}

fn table(home: &Path, replaced: bool, unit: bool) {
    put(home.join("people.toml"), SCHEMA);
    put(home.join("people.csv"), csv(&people(replaced, unit)));
}

fn parquet(home: &Path, replaced: bool) {
    table(home, replaced, false);
    let of_width = SCHEMA.replace("max = 99,", "max = 99, stored = \"uint8\",");
    put(home.join("people.toml"), of_width);
    let schema = Schema::read(&home.join("people.toml")).expect("a schema");
    let codes = schema
        .coded(&home.join("people.csv"))
        .expect("records")
        .codes;
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    schema
        .write(&home.join("people.parquet"), &codes, rng)
        .expect("written");
}

/// The replaced record stands in another part.
fn parts(home: &Path, replaced: bool) {
    table(home, replaced, false);
    let folder = home.join("people");
    make_folder(&folder);
    for (part, lines) in people(replaced, false).chunks(50).enumerate() {
        put(folder.join(format!("part-{part}.csv")), csv(lines));
    }
}

/// Each field that says how a table is written, and what stands in it for something else.
const WRITTEN: &str = r#"
delimiter = ";"
missing = ["NA"]
byte_order_mark = true
line_ends = "crlf"
quotes = "texts"
column = [
    { name = "seen", kind = "datetime", min = "2023-01-01T00:00", max = "2023-12-31T23:59", outside = "clamp", written = "%d/%m/%Y %H:%M:%S%.3f", public = true },
    { name = "pay", kind = "numeric", min = 0, max = 9000, outside = "clamp", decimals = 2, written = "1.234,5", absent = ["unknown", "-"], missing = "level", special = [-1], scale = "log", public = true },
    { name = "visits", kind = "integer", min = 0, max = 99, outside = "clamp", written = "1234.0", missing = "level", special = [0], public = true },
    { name = "ill", kind = "label", classes = [["no"], ["yes"]], public = true },
]
"#;

/// The replaced record has other values in each of these columns: a day out of the range, another word for what is missing, a value
/// that stands for something else.
fn written(home: &Path, replaced: bool) {
    let line = |place: usize| {
        let (day, month) = (1 + place % 28, 1 + place % 12);
        let pay = match place % 10 {
            0 => "unknown".into(),
            1 => "-1,00".into(),
            _ => format!("{}.{:03},50", 1 + place % 7, place * 37 % 1000),
        };
        let ill = ["no", "yes"][usize::from(place > 60)];
        format!(
            "\"{day:02}/{month:02}/2023 10:{:02}:07.{place:03}\";{pay};{}.0;\"{ill}\"\r\n",
            place % 60,
            1 + place % 90
        )
    };
    let kept = (0..120).filter(|&place| !replaced || place != 6).map(line);
    let new = if replaced {
        "\"31/12/2024 23:59:59.999\";-;0.0;\"yes\"\r\n"
    } else {
        ""
    };
    let names = "\u{feff}\"seen\";\"pay\";\"visits\";\"ill\"\r\n";
    put(
        home.join("people.csv"),
        names.to_string() + &kept.collect::<String>() + new,
    );
    put(home.join("people.toml"), WRITTEN);
}

#[test]
fn tables_of_every_form() {
    let plain = |home: &Path, replaced| table(home, replaced, false);
    let of_units = |home: &Path, replaced| table(home, replaced, true);
    let cases: [(Lay<'_>, &str); 6] = [
        (&plain, "people.csv"),
        (&written, "people.csv --seed 1"),
        (&plain, "people.csv --records 100"),
        (&of_units, "people.csv --unit patient --most-per-unit 2"),
        (&parquet, "people.parquet"),
        (&parts, "people/part-*.csv"),
    ];
    for (lay, input) in cases {
        for of in ["synth", "classify"] {
            let homes = Homes::new(lay);
            let count = if of == "synth" { "--count 50" } else { "" };
            let line = format!("{of} {input} --schema people.toml --epsilon 2 {count}");
            let shares = compared(&homes, &line, "columns pairs score");
            attained(&shares, &line);
        }
    }
}

/// Ranges and categories that the schema leaves out are releases too.
#[test]
fn a_table_of_which_not_all_is_known() {
    let lay = |home: &Path, replaced| {
        table(home, replaced, false);
        let open = SCHEMA.replace("min = 0, max = 99, outside = \"clamp\", ", "");
        let levels = "levels = [\"east\", \"west\", \"north\"], other = \"elsewhere\", ";
        put(home.join("people.toml"), open.replace(levels, ""));
    };
    for of in ["synth people.csv --count 50", "classify people.csv"] {
        let homes = Homes::new(lay);
        let line = format!("{of} --schema people.toml --private-schema 0.3 --epsilon 20");
        let releases = "ranges narrower-ranges categories.json columns pairs score";
        within(&compared(&homes, &line, releases), &line);
    }
}

/// A draft that promises names and kinds alone is the same whatever a record holds.
#[test]
fn an_open_draft() {
    let homes = Homes::new(|home, replaced| table(home, replaced, false));
    let [said, others] = homes.run("schema people.csv --open --label ill --out draft.toml");
    assert_eq!(said, others);
    let [one, other] = homes.both("draft.toml").map(text_at);
    assert_eq!(one, other);
}

/// One step on all records: by plain descent the weights move by the learning rate times what was released.
#[test]
fn a_step_on_a_table() {
    const RATE: f64 = 0.5;
    let lay = |home: &Path, replaced: bool| {
        let line = |place: usize| {
            let sex = ["F", "M"][place % 2];
            format!("{},{sex},{}\n", place % 11, ["no", "yes"][place % 3 % 2])
        };
        let kept = (0..80).filter(|&place| !replaced || place != 4);
        // Of the same group, whose sizes are public.
        let new = if replaced { "10,F,no\n" } else { "" };
        let lines = kept.map(line).collect::<String>() + new;
        put(home.join("people.csv"), format!("x,sex,y\n{lines}"));
        put(home.join("schema.toml"), crate::program::SCHEMA);
        let tests: String = (100..160).map(line).collect();
        put(home.join("tests.csv"), format!("x,sex,y\n{tests}"));
    };
    let homes = Homes::new(lay);
    for (number, least, flags) in [
        (0, TIGHT, "--alpha 0 --max-grad-norm 0.05"),
        (1, 0.01, "--alpha 0.5"),
    ] {
        let line = format!(
            "fair --input people.csv --schema schema.toml --test tests.csv --steps 1 --rate 1 --optimizer sgd --learning-rate {RATE} \
             {flags} --epsilon 2 --delta 1e-4 --backend flex {KNOWN} --cache-dir cache --run run{number}"
        );
        homes.run(&line);
        let [one, other] = homes.both(&format!("run{number}"));
        let values = |run: &Path| -> Vec<f64> {
            let bytes = weights(run).expect("weights");
            // What stands before them fills up to a multiple of more bytes.
            let words = bytes.as_rchunks::<4>().1.iter();
            words
                .map(|&word| f64::from(f32::from_le_bytes(word)))
                .collect()
        };
        let share = moved(&values(&one), &values(&other)) / RATE / declared(&one, 1);
        // Weights are rounded to `f32` in each of two runs.
        assert!(share > least && share <= 1.0 + 1e-3, "{flags}: {share}");
        let [one, other] = [one, other].map(|run| files(&run).into_keys().collect::<Vec<_>>());
        assert_eq!(one, other);
    }
}

// Records that leave one by one, in a secret order.

/// Rows of `width` values that are the same, whatever their order, but for one at most: how far that one is from the one in its
/// place. How many rows stand in their own place, which is known.
fn one_differs(one: &[Vec<f64>], other: &[Vec<f64>], near: f64) -> f64 {
    assert_eq!(one.len(), other.len());
    let apart = |a: &Vec<f64>, b: &Vec<f64>| moved(a, b);
    let mut free: Vec<&Vec<f64>> = other.iter().collect();
    let mut alone = Vec::new();
    for row in one {
        match free.iter().position(|other| apart(row, other) < near) {
            Some(place) => drop(free.swap_remove(place)),
            None => alone.push(row),
        }
    }
    assert!(alone.len() <= 1, "{} rows differ", alone.len());
    alone.iter().zip(free).map(|(a, b)| apart(a, b)).sum()
}

/// No place of a row is that of its record: more than eight rows in their places have a probability below 1e-6 in a secret order.
fn out_of_place(found: &[Vec<f64>], expected: &[Vec<f64>], near: f64) {
    let pairs = found.iter().zip(expected);
    let kept = pairs.filter(|(a, b)| moved(a, b) < near).count();
    assert!(kept <= 8, "{kept} rows are in their place");
}

/// Points on a circle; in the other file one of them is at its opposite, and stands first.
fn points(replaced: bool) -> Vec<[f32; 2]> {
    let point = |place: usize, sign: f32| {
        let angle = place as f32 * 0.07;
        [sign * angle.cos(), sign * angle.sin()]
    };
    let kept = (0..60).filter(|&place| !replaced || place != 30);
    let kept = kept.map(|place| point(place, 1.0));
    let first = replaced.then(|| point(30, -1.0));
    first.into_iter().chain(kept).collect()
}

/// Rows as files hold them, each alike but for its place and values.
fn rows_of(home: &Path, rows: &[[f32; 2]]) {
    put(home.join("rows.npy"), npy(Some(2), &rows.concat()));
    let lines = |more: &str| -> String {
        let line = |[x, y]: &[f32; 2]| format!("{x:?},{y:?}{more}\n");
        rows.iter().map(line).collect()
    };
    put(home.join("rows.csv"), format!("x,y\n{}", lines("")));
    put(home.join("table.csv"), format!("x,y,ill\n{}", lines(",no")));
    let schema = r#"
column = [
    { name = "x", kind = "numeric", min = -1, max = 1 },
    { name = "y", kind = "numeric", min = -1, max = 1 },
    { name = "ill", kind = "label", classes = [["no"], ["yes"]] },
]
"#;
    put(home.join("table.toml"), schema);
}

fn doubles(rows: &[[f32; 2]]) -> Vec<Vec<f64>> {
    rows.iter()
        .map(|row| row.iter().map(|&x| f64::from(x)).collect())
        .collect()
}

/// What is released of rows at the origin is the noise alone.
#[test]
fn rows_whose_projections_are_released() {
    let lay = |home: &Path, replaced: bool| {
        rows_of(home, &points(replaced));
        let public = npy(Some(2), &points(false)[..40].concat());
        put(home.join("public.npy"), public);
        make_folder(home.join("none"));
        rows_of(&home.join("none"), &[[0.0; 2]; 60]);
    };
    for input in ["rows.npy", "rows.csv"] {
        let homes = Homes::new(lay);
        let line = |from: &str, run: &str| {
            format!(
                "distance --source {from} --target public.npy --protect source --radius 1 --epsilon 5 --slices 2 --backend flex {KNOWN} \
                 --cache-dir cache --run {run}"
            )
        };
        homes.run(&line(input, "run"));
        let [first, _] = homes.both("");
        run(&first, &line(&format!("none/{input}"), "noise"));
        let [one, other] = homes.both("run");
        let values = |run: &Path| release(run, "projections.bin").0;
        let noise = values(&first.join("noise"));
        let exact = |run: &Path| -> Vec<Vec<f64>> {
            let clear: Vec<f64> = values(run).iter().zip(&noise).map(|(a, b)| a - b).collect();
            let n = clear.len() / 2;
            (0..n).map(|row| vec![clear[row], clear[n + row]]).collect()
        };
        let [a, b] = [exact(&one), exact(&other)];
        let share = one_differs(&a, &b, 1e-4) / declared(&one, 1);
        attained(&[share], input);
        // Two orthonormal slices turn the plane: norms and angles stay. The first row of the file is at angle 0.
        let turned: Vec<f64> = a.iter().map(|row| row[1].atan2(row[0])).collect();
        let steps = turned
            .windows(2)
            .filter(|pair| ((pair[1] - pair[0]).abs() - 0.07).abs() < 1e-3);
        assert!(steps.count() <= 12, "rows stand in the order of the file");
    }
}

/// Noise of a millionth of the radius: a record comes out as it is.
const CLEAR: &str = "--mechanism laplace --epsilon 2e6 --radius 1.8";

#[test]
fn records_that_are_privatised() {
    let homes = Homes::new(|home, replaced| rows_of(home, &points(replaced)));
    let clean = doubles(&points(false));
    // Numbers of a table are brought to [0, 1].
    let scaled = |row: &Vec<f64>| row.iter().map(|x| (x + 1.0) / 2.0).collect();
    let numbers: Vec<Vec<f64>> = clean.iter().map(scaled).collect();
    for (input, expected, far) in [
        ("--input rows.npy", clean, 2.0),
        ("--input table.csv --schema table.toml", numbers, 1.0),
    ] {
        let line = format!("privatise {input} --out noisy.safetensors --force {CLEAR} {KNOWN}");
        homes.run(&line);
        let [one, other] = homes.both("").map(|home| privatised(&home));
        // The diameter is 3.6, in the sum of absolute values.
        let found = one_differs(&one, &other, 1e-3);
        assert!((found - far).abs() < 1e-3, "{input}: {found}");
        out_of_place(&one, &expected, 1e-3);
        let [first, _] = homes.both("");
        run(&first, &format!("{line} --keep-order"));
        let kept = privatised(&first);
        let near = |(a, b): (&Vec<f64>, &Vec<f64>)| moved(a, b) < 1e-3;
        assert!(kept.iter().zip(&expected).all(near), "{input}");
    }
}

/// The records that a run of `privatise` left.
fn privatised(home: &Path) -> Vec<Vec<f64>> {
    let read = Privatised::load(&home.join("noisy.safetensors")).expect("whole");
    let rows = read.values.chunks_exact(read.header.width);
    let row = |row: &[f32]| row.iter().map(|&x| f64::from(x)).collect();
    rows.map(row).collect()
}

/// Images of a folder, all or some of them.
#[test]
fn files_that_are_privatised() {
    let lay =
        |home: &Path, replaced| folder_of(&home.join("scans"), &pictures(replaced, false), true);
    let homes = Homes::new(lay);
    let line = "privatise --input scans --side 8 --out noisy.safetensors --force --mechanism laplace --epsilon 2e8 --radius 300";
    homes.run(&format!("{line} {KNOWN}"));
    let [one, other] = homes.both("").map(|home| privatised(&home));
    assert!(one_differs(&one, &other, 0.05) > 1.0);
    let again = |flags: &str| {
        let [home, _] = homes.both("");
        run(&home, &format!("{line} {flags}"));
        privatised(&home)
    };
    let in_order = again(&format!("{KNOWN} --keep-order"));
    out_of_place(&one, &in_order, 0.05);
    // Without a known seed each order is a new one: two of 24 images are the same in one of 10^23.
    let [first, second] = [again(""), again("")];
    assert!(first.iter().zip(&second).any(|(a, b)| moved(a, b) > 1.0));
    let some = again("--records 12 --insecure-noise-seed 4");
    let first = &in_order[..12];
    let kept = some
        .iter()
        .filter(|row| first.iter().any(|other| moved(row, other) < 0.05));
    // Of 24 images 12: all from the first twelve paths in one of 2.7 million choices.
    assert!(kept.count() < 12, "the first paths are taken");
}

/// The weights of a model, and what the ledger declares of the one step that they are the sum of.
fn head(run: &Path) -> (Vec<f64>, f64) {
    let bytes = bytes_at(run.join("model/model.safetensors"));
    let tensors = safetensors::SafeTensors::deserialize(&bytes).expect("tensors");
    let head = tensors.tensor("head").expect("a head");
    let (words, _) = head.data().as_chunks::<4>();
    let weights = words
        .iter()
        .map(|&word| f64::from(f32::from_le_bytes(word)));
    (weights.collect(), declared(run, 1))
}

/// A classifier of one step, of which the weights are what was released; all else is the same but for what follows from them.
#[test]
fn classifiers() {
    let people = |home: &Path, replaced| {
        folder_of(&home.join("scans"), &pictures(replaced, true), true);
    };
    let rows = |home: &Path, replaced: bool| {
        let mut values: Vec<f32> = (0..96).map(|i| (i as f32 * 0.7).sin()).collect();
        let mut labels: Vec<f32> = (0..24).map(|i| (i % 3) as f32).collect();
        if replaced {
            values[4..8].copy_from_slice(&[1e3, -7.0, 0.0, 1e-3]);
            labels[1] = 2.0;
        }
        put(home.join("rows.npy"), npy(Some(4), &values));
        put(home.join("labels.npy"), npy(None, &labels));
    };
    let persons = |home: &Path, replaced: bool| {
        rows(home, replaced);
        let units: Vec<f32> = (0..24).map(|i| (i / 2) as f32).collect();
        put(home.join("persons.npy"), npy(None, &units));
        if replaced {
            let mut values: Vec<f32> = (0..96).map(|i| (i as f32 * 0.7).sin()).collect();
            values[..8].copy_from_slice(&[9.0, 9.0, 9.0, 9.0, 1e3, -7.0, 0.0, 1e-3]);
            let labels = (0..24).map(|i| ((i + usize::from(i < 2)) % 3) as f32);
            put(home.join("rows.npy"), npy(Some(4), &values));
            put(
                home.join("labels.npy"),
                npy(None, &labels.collect::<Vec<_>>()),
            );
        }
    };
    let grey = "scans --side 28 --channels 1 --public none";
    let by_person = "rows.npy --labels labels.npy --classes 3 --unit persons.npy --most-per-unit 2";
    let unit = format!("{grey} --unit-from-name (p[0-9x]+)- --most-per-unit 2");
    let cases: [(Lay<'_>, &str, f64); 6] = [
        (&scans, grey, 24.0),
        (&tar, "scans.tar --side 28 --channels 1 --public none", 24.0),
        (&people, &unit, 12.0),
        (&rows, "rows.npy --labels labels.npy --classes 3", 24.0),
        (&rows, "rows.npy --labels labels.npy --range 0..2", 24.0),
        (&persons, by_person, 12.0),
    ];
    for (lay, input, units) in cases {
        let homes = Homes::new(lay);
        let line = format!(
            "classify {input} --backend flex --epsilon 2 --score-share 0 --steps 1 --learning-rate {units} {KNOWN} \
             --run run --cache-dir cache"
        );
        let [said, others] = homes.run(&line);
        let [one, other] = homes.both("run");
        let [(a, bound), (b, _)] = [&one, &other].map(|run| head(run));
        // A unit of one image is replaced by one of two: three gradients of four.
        within(&[moved(&a, &b) / bound], input);
        assert!(moved(&a, &b) / bound > 0.3, "{input}");
        let unlike = |text: &str| -> Vec<String> {
            let lines = text
                .lines()
                .filter(|line| !line.contains("norm of weights"));
            lines.map(String::from).collect()
        };
        assert_eq!(unlike(&said), unlike(&others), "{input}");
        let [mut first, mut second] = [&one, &other].map(|run| left(run));
        for files in [&mut first, &mut second] {
            // The weights, their sums, and a page that draws their norm.
            for name in [
                "model.safetensors",
                "model/model.safetensors",
                "model/card.json",
                "metrics.jsonl",
                "report.html",
                "run.json",
            ] {
                assert!(files.remove(Path::new(name)).is_some(), "{name}");
            }
        }
        same(&first, &second);
    }
}

//! What a private input holds, and what its files are called, is in no message and no file of a run, unless `--show-private`
//! asks for it: then it is on standard error, in lines marked `PRIVATE`, and still in no file.

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::process::Command;

use data::Schema;
use data::npy::{self, NpyArray};
use image::{ImageFormat, Rgb, RgbImage};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::program::{Ran, text, words};
use crate::synth::files;

/// A name and a number that no public input has.
const NAME: &str = "Jane_Doe_HIV";
const NUMBER: &str = "4711.25";

/// An input that has one of them, and what is asked of it.
struct Case {
    files: Vec<(String, Vec<u8>)>,
    words: String,
    /// Whether the owner is told it; otherwise only where it stands.
    told: bool,
}

fn case(files: &[(&str, Vec<u8>)], words: impl Into<String>) -> Case {
    let owned = |(name, content): &(&str, Vec<u8>)| (name.to_string(), content.clone());
    Case {
        files: files.iter().map(owned).collect(),
        words: words.into(),
        told: true,
    }
}

fn untold(case: Case) -> Case {
    Case {
        told: false,
        ..case
    }
}

fn png() -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let image = RgbImage::from_pixel(30, 28, Rgb([9, 80, 200]));
    let written = image.write_to(&mut bytes, ImageFormat::Png);
    written.expect("an image");
    bytes.into_inner()
}

/// A tar archive of files, by their names, kinds (`0` for a file, `2` for a link) and contents.
fn tar(entries: &[(&str, u8, Vec<u8>)]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, kind, content) in entries {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..107].copy_from_slice(b"0000600");
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = *kind;
        header[257..263].copy_from_slice(b"ustar\0");
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        archive.extend(header);
        archive.extend(content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

/// A zip archive of files as they are.
fn zip(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut archive, mut index) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let mut crc = !0_u32;
        for byte in content {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
            }
        }
        let sizes = [!crc, content.len() as u32, content.len() as u32];
        let sizes = sizes.map(u32::to_le_bytes).concat();
        let length = (name.len() as u16).to_le_bytes();
        let place = (archive.len() as u32).to_le_bytes();
        let version = [20, 0, 0, 0, 0, 0, 0, 0, 33, 0];
        archive.extend(b"PK\x03\x04");
        archive.extend([&version[..], &sizes, &length, &[0, 0], name.as_bytes()].concat());
        archive.extend(content);
        index.extend(b"PK\x01\x02\x14\x00");
        index.extend(
            [
                &version[..],
                &sizes,
                &length,
                &[0; 12],
                &place,
                name.as_bytes(),
            ]
            .concat(),
        );
    }
    let count = (entries.len() as u16).to_le_bytes();
    let [size, start] = [index.len(), archive.len()].map(|n| (n as u32).to_le_bytes());
    let end = [
        b"PK\x05\x06\0\0\0\0",
        &count[..],
        &count,
        &size,
        &start,
        &[0; 2],
    ]
    .concat();
    [archive, index, end].concat()
}

/// An array of numbers in one column, or in several.
fn array(width: Option<usize>, values: &[f32]) -> Vec<u8> {
    let mut file = Vec::new();
    let array = NpyArray {
        rows: values.len() / width.unwrap_or(1),
        width,
        values: values.to_vec(),
    };
    npy::write(&mut file, &array).expect("an array");
    file
}

/// Two grey images of 28 pixels a side as NumPy has them.
fn bytes_of_images() -> Vec<u8> {
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 28, 28), }";
    let start = [b"\x93NUMPY\x01\x00", &118_u16.to_le_bytes()[..]].concat();
    let header = format!("{header:<117}\n").into_bytes();
    [start, header, vec![7; 2 * 28 * 28]].concat()
}

const IMAGES: &str = "synth images scans --side 28 --channels 3 --public none --latent 8 \
                      --backend flex --cache-dir cache";
const ARCHIVE: &str = "synth images scans.tar --side 28 --channels 3 --public none --latent 8 \
                       --backend flex --cache-dir cache";

/// Images of two classes and of two people, in a folder or an archive, and one more.
fn scans(name: &str, content: Vec<u8>, more: &str) -> Case {
    let files = [
        ("scans/a/p1.png", png()),
        ("scans/b/p2.png", png()),
        (name, content),
    ];
    case(&files, format!("{IMAGES} {more}"))
}

fn archived(name: &str, kind: u8, content: Vec<u8>, more: &str) -> Case {
    let entries = [
        ("a/p1.png", b'0', png()),
        ("b/p2.png", b'0', png()),
        (name, kind, content),
    ];
    case(&[("scans.tar", tar(&entries))], format!("{ARCHIVE} {more}"))
}

fn of_images() -> Vec<Case> {
    let mut cases = vec![
        scans("scans/a/Jane_Doe_HIV.png", b"no image".into(), ""),
        scans("scans/Jane_Doe_HIV/1.png", png(), "--classes a,b"),
        scans("scans/Jane_Doe_HIV.png", png(), ""),
        scans("scans/Jane_Doe_HIV/note.txt", Vec::new(), ""),
        scans(
            "scans/a/Jane_Doe_HIV.png",
            png(),
            "--unit-from-name p([0-9]+) --most-per-unit 2",
        ),
        archived("a/Jane_Doe_HIV.png", b'0', b"no image".into(), ""),
        archived("Jane_Doe_HIV/1.png", b'0', png(), "--classes a,b"),
        archived("a/Jane_Doe_HIV.png", b'2', Vec::new(), ""),
        archived(
            "a/Jane_Doe_HIV.png",
            b'0',
            png(),
            "--unit-from-name p([0-9]+) --most-per-unit 2",
        ),
    ];
    if cfg!(unix) {
        cases.push(scans("scans/Jane_Doe_HIV\\1/1.png", png(), ""));
    }
    let twice = ("a/Jane_Doe_HIV.png", b'0', png());
    let twice = tar(&[twice.clone(), ("b/p2.png", b'0', png()), twice]);
    cases.push(case(&[("scans.tar", twice)], ARCHIVE));
    let mut damaged = tar(&[("a/Jane_Doe_HIV.png", b'0', png())]);
    damaged[124..135].fill(b'x');
    let sum: u32 = damaged[..512].iter().map(|&byte| u32::from(byte)).sum();
    let sum = sum - damaged[148..156].iter().map(|&b| u32::from(b)).sum::<u32>() + 256;
    damaged[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    cases.push(case(&[("scans.tar", damaged)], ARCHIVE));
    for (rows, told) in [
        ("a/p1.png,1\nb/p2.png,2\n", true),
        ("a/Jane_Doe_HIV.png,1\na/Jane_Doe_HIV.png,1\n", true),
        ("a/p1.png,1\nb/p2.png,2\na/Jane_Doe_HIV.png,2,3\n", false),
    ] {
        let units = format!("path,unit\n{rows}").into_bytes();
        let more = "--unit units.csv --most-per-unit 2";
        let mut case = scans("scans/a/Jane_Doe_HIV.png", png(), more);
        case.files.push(("units.csv".into(), units));
        cases.push(Case { told, ..case });
    }
    let labels = array(None, &[0.0, 4711.25]);
    let npz = zip(&[("labels.npy", labels), ("images.npy", bytes_of_images())]);
    let of_arrays = "synth images scans.npz --classes 2 --public none --latent 8 --backend flex \
                     --cache-dir cache";
    cases.push(case(&[("scans.npz", npz)], of_arrays));
    cases
}

const SCHEMA: &str = r#"
[[column]]
name = "patient"
kind = "ignore"

[[column]]
name = "dose"
kind = "numeric"
min = 0
max = 10
public = true

[[column]]
name = "town"
kind = "categorical"
levels = ["Bern", "Basel"]
public = true

[[column]]
name = "ill"
kind = "label"
classes = [["no"], ["yes"]]
public = true
"#;
const TABLE: &str = "--schema schema.toml --backend flex --cache-dir cache";

/// Records of a table, and one more.
fn records(more: &str) -> String {
    let row = |i: usize| {
        let (town, ill) = (["Bern", "Basel"][i % 2], ["no", "yes"][i % 3 % 2]);
        format!("p{i},{},{town},{ill}\n", i % 10)
    };
    let rows: String = (0..30).map(row).collect();
    format!("patient,dose,town,ill\n{rows}{more}\n")
}

fn table(csv: impl Into<Vec<u8>>) -> Case {
    let files = [("table.csv", csv.into()), ("schema.toml", SCHEMA.into())];
    case(&files, format!("synth table table.csv {TABLE}"))
}

/// A table as Parquet, by the schema that also has the name and the number.
fn parquet(more: &str) -> Vec<u8> {
    let schema = SCHEMA.replace("\"Basel\"]", "\"Basel\", \"Jane_Doe_HIV\"]");
    let schema = schema.replace(
        "max = 10",
        "max = 4711.25\nedges = [10]\nspecial = [4711.25]",
    );
    let known = Schema::parse("wide", &schema).expect("a schema");
    let csv = records(more);
    let codes = known.coded_bytes("wide", csv.as_bytes()).expect("records");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("table.parquet");
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    known.write(&path, &codes.codes, rng).expect("written");
    fs::read(path).expect("a file")
}

fn of_tables() -> Vec<Case> {
    let mut cases: Vec<Case> = [
        "p,4711.25,Bern,no",
        "p,1,Jane_Doe_HIV,no",
        "p,1,Bern,4711.25",
    ]
    .into_iter()
    .map(|more| table(records(more)))
    .collect();
    cases.push(untold(table(records("p,1,Bern,no,Jane_Doe_HIV"))));
    cases.push(untold(table(
        [records("p,1,").into_bytes(), b"\xff4711.25,no\n".into()].concat(),
    )));
    cases.push(table(records("").replace(",ill", ",Jane_Doe_HIV")));
    // Without a comma.
    let draft = SCHEMA.replace("\"Bern\", \"Basel\"", "\"Jane_Doe_HIV\" \"Basel\"");
    let mut unread = table(records(""));
    unread.files[1].1 = draft.into();
    cases.push(unread);
    for more in ["p,4711.25,Bern,no", "p,1,Jane_Doe_HIV,no"] {
        let files = [
            ("table.parquet", parquet(more)),
            ("schema.toml", SCHEMA.into()),
        ];
        cases.push(case(&files, format!("synth table table.parquet {TABLE}")));
    }
    let whole = parquet("p,2,Bern,no");
    let parts = [
        ("parts/part-0.parquet", whole.clone()),
        ("parts/Jane_Doe_HIV.parquet", whole[..60].to_vec()),
        ("schema.toml", SCHEMA.into()),
    ];
    cases.push(case(&parts, format!("synth table parts {TABLE}")));
    cases.push(case(&parts, "schema parts"));
    let texts = [
        ("texts/a.csv", records("").into_bytes()),
        ("texts/Jane_Doe_HIV.csv", records("p,1").into_bytes()),
        ("schema.toml", SCHEMA.into()),
    ];
    cases.push(case(&texts, format!("synth table texts/*.csv {TABLE}")));
    cases.push(case(&texts, "schema texts/*.csv"));
    let ragged = records("p,1,Bern,no,Jane_Doe_HIV").into_bytes();
    cases.push(untold(case(&[("table.csv", ragged)], "schema table.csv")));
    cases
}

fn of_rows() -> Vec<Case> {
    let mut cases = Vec::new();
    for (more, told) in [
        ("4711.25,F,no", true),
        ("1,Jane_Doe_HIV,no", true),
        ("1,F,4711.25", true),
        ("1,F,no,Jane_Doe_HIV", false),
    ] {
        let rows = "1,F,no\n2,M,yes\n3,M,no\n4,F,yes\n".repeat(9);
        let csv = format!("x,sex,y\n{rows}{more}\n").into_bytes();
        let files = [
            ("table.csv", csv),
            ("schema.toml", crate::program::SCHEMA.into()),
        ];
        for command in [
            "fair classification --input table.csv --schema schema.toml --test-share 0.2 \
             --backend flex --cache-dir cache",
            "privatise table.csv --schema schema.toml --mechanism laplace --epsilon 1 --radius 1 \
             --label-weight 1",
        ] {
            // A sensitive column is no value of a privatised record.
            let sees = command.starts_with("fair") || !more.contains("1,Jane");
            if sees {
                let case = case(&files, command);
                cases.push(Case { told, ..case });
            }
        }
    }
    let good = "1,2,0\n2,1,1\n".repeat(20);
    for (more, told) in [("1,Jane_Doe_HIV,0", true), ("1,2,0,Jane_Doe_HIV", false)] {
        let files = [
            ("source.csv", good.clone().into_bytes()),
            ("target.csv", format!("{good}{more}\n").into_bytes()),
        ];
        let distance = "distance source.csv target.csv --radius 4 --backend flex --cache-dir cache";
        cases.push(Case {
            told,
            ..case(&files, distance)
        });
    }
    let photographs = [
        ("a/p1.png", png()),
        ("b/Jane_Doe_HIV.png", b"no image".to_vec()),
    ];
    cases.push(case(
        &photographs,
        "privatise b --side 8 --mechanism laplace --epsilon 1 --radius 1",
    ));
    cases.push(case(
        &photographs,
        "distance b b --side 8 --backend flex --cache-dir cache",
    ));
    let labels = [
        ("rows.npy", array(Some(2), &[1.0; 4])),
        ("labels.npy", array(None, &[0.0, 4711.25])),
    ];
    cases.push(case(
        &labels,
        "privatise rows.npy --label-file labels.npy --classes 2 --label-weight 1 \
         --mechanism laplace --epsilon 1 --radius 1",
    ));
    cases
}

/// A program in a folder of its own, with its output in `out`.
fn command(home: &Path, words_of: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sliver"));
    command.current_dir(home).args(words(words_of));
    command.args(["--out", "out/run"]);
    command
}

fn tells(text: &str) -> bool {
    // Lines of messages are broken anywhere.
    let whole: String = text
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '│')
        .collect();
    whole.contains(NAME) || whole.contains(NUMBER)
}

/// Runs it with `--show-private` and without: the exit code, what standard error has, once the rest was found to tell nothing.
#[track_caller]
fn twice(case: &Case) -> [(Option<i32>, String); 2] {
    ["", "--show-private"].map(|flag| {
        let home = tempfile::tempdir().expect("a folder");
        for (name, content) in &case.files {
            let path = home.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, content).expect("written");
        }
        fs::create_dir(home.path().join("out")).expect("made");
        let mut command = command(home.path(), &format!("{} {flag}", case.words));
        command.env("RUST_BACKTRACE", "1");
        let ran = (&mut command).ran();
        let (said, printed) = (text(&ran.stderr), text(&ran.stdout));
        let unmarked: Vec<&str> = said
            .lines()
            .filter(|line| flag.is_empty() || !line.starts_with("PRIVATE "))
            .collect();
        for public in [&printed, &unmarked.join("\n")] {
            assert!(!tells(public), "{} {flag}: {public}", case.words);
        }
        for place in ["out", "cache"].map(|name| home.path().join(name)) {
            if !place.is_dir() {
                continue;
            }
            for (name, content) in files(&place) {
                let name = name.display().to_string();
                let private = tells(&name) || tells(&text(&content));
                assert!(!private, "{} {flag}: {name}", case.words);
            }
        }
        (ran.status.code(), said)
    })
}

#[test]
fn a_refusal_tells_the_owner_alone_which_record_it_is() {
    for case in [of_images(), of_tables(), of_rows()].iter().flatten() {
        let [(code, said), (same, shown)] = twice(case);
        assert_eq!((code, same), (Some(2), Some(2)), "{}: {said}", case.words);
        assert!(said.contains("--show-private"), "{}: {said}", case.words);
        let mut lines = shown.lines().filter(|line| line.starts_with("PRIVATE "));
        let told = lines.any(|line| !case.told || tells(line));
        assert!(told, "{}: {shown}", case.words);
    }
}

/// Numbers out of range and records that break a rule are counted for the owner alone; names of files and of units lead to
/// nothing that is written.
#[test]
fn a_finished_run_tells_nothing() {
    let clamped = SCHEMA.replace("max = 10", "max = 10\noutside = \"clamp\"");
    let rule = "\n[[rule]]\nwhen = { column = \"dose\", min = 10 }\nthen = { column = \"ill\", values = [\"no\"] }\n";
    let csv = records("Jane_Doe_HIV,4711.25,Bern,yes\nJane_Doe_HIV,-4711.25,Bern,yes");
    let files = [
        ("table.csv", csv.into_bytes()),
        ("schema.toml", format!("{clamped}{rule}").into_bytes()),
    ];
    let units = "--unit patient --most-per-unit 2";
    for units in ["", units] {
        let words = format!("synth table table.csv {TABLE} --epsilon 1 --count 20 {units}");
        let [(code, said), (same, shown)] = twice(&case(&files, words));
        assert_eq!((code, same), (Some(0), Some(0)), "{said}");
        assert!(!said.contains("PRIVATE"), "{said}");
        for may in [
            "numbers outside of their range become its nearer end (--show-private",
            "records that break a rule count as others do (--show-private",
        ] {
            assert!(said.contains(may), "{said}");
        }
        for count in ["PRIVATE   2 numbers lay", "PRIVATE   1 records break"] {
            assert!(shown.contains(count), "{shown}");
        }
    }
    let more = "--epsilon 2 --count 4 --cells 1 --unit-from-name [A-Za-z_]+ --most-per-unit 2";
    let [(code, said), (same, _)] = twice(&scans("scans/a/Jane_Doe_HIV.png", png(), more));
    assert_eq!((code, same), (Some(0), Some(0)), "{said}");
}

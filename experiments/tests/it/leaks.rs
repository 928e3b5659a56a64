//! What a private input holds, and what its files are called, is in no message and no file of a run, unless `--show-private`
//! asks for it: then it is on standard error, in lines marked `PRIVATE`, and still in no file.

use std::io::Cursor;

use data::Schema;
use image::{ImageFormat, Rgb, RgbImage};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use tar::EntryType;

use crate::program::{Home, Ran, bytes_at, files, make_folder, npy, says, text};

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

/// A tar archive of files and links, by their names.
fn tar(entries: &[(&str, EntryType, Vec<u8>)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, kind, content) in entries {
        let mut header = tar::Header::new_ustar();
        header.set_path(name).expect("a name");
        header.set_entry_type(*kind);
        header.set_mode(0o600);
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive.append(&header, &**content).expect("written");
    }
    archive.into_inner().expect("an archive")
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
        let head = [&[20, 0, 0, 0, 0, 0, 0, 0, 33, 0][..], &sizes, &length].concat();
        archive.extend([b"PK\x03\x04", &*head, &[0, 0], name.as_bytes(), content].concat());
        index.extend([b"PK\x01\x02\x14\x00", &*head, &[0; 12], &place].concat());
        index.extend(name.as_bytes());
    }
    let count = (entries.len() as u16).to_le_bytes();
    let [size, start] = [index.len(), archive.len()].map(|n| (n as u32).to_le_bytes());
    let end = [&count[..], &count, &size, &start, &[0; 2]].concat();
    [archive, index, b"PK\x05\x06\0\0\0\0".to_vec(), end].concat()
}

/// Two grey images of 28 pixels a side as NumPy has them.
fn bytes_of_images() -> Vec<u8> {
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 28, 28), }";
    let start = [b"\x93NUMPY\x01\x00", &118_u16.to_le_bytes()[..]].concat();
    let header = format!("{header:<117}\n").into_bytes();
    [start, header, vec![7; 2 * 28 * 28]].concat()
}

const OF_IMAGES: &str = "--public none --latent 8 --backend flex --cache-dir cache";
const COLOUR: &str = "--side 28 --channels 3";
/// The name in a class, and as a class.
const IN_CLASS: &str = "a/Jane_Doe_HIV.png";
const AS_CLASS: &str = "Jane_Doe_HIV/1.png";

/// Images of two classes and of two people, in a folder or an archive, and one more.
fn scans(name: &str, content: Vec<u8>, more: &str) -> Case {
    let name = format!("scans/{name}");
    let files = [
        ("scans/a/p1.png", png()),
        ("scans/b/p2.png", png()),
        (&*name, content),
    ];
    let words = format!("synth images scans {COLOUR} {OF_IMAGES} {more}");
    case(&files, words)
}

fn archived(entries: &[(&str, EntryType, Vec<u8>)], more: &str) -> Case {
    let words = format!("synth images scans.tar {COLOUR} {OF_IMAGES} {more}");
    case(&[("scans.tar", tar(entries))], words)
}

fn of_images() -> Vec<Case> {
    let units = "--unit-from-name p([0-9]+) --most-per-unit 2";
    let mut cases = vec![
        scans(IN_CLASS, b"no image".into(), ""),
        scans(AS_CLASS, png(), "--classes a,b"),
        scans("Jane_Doe_HIV.png", png(), ""),
        scans("Jane_Doe_HIV/note.txt", Vec::new(), ""),
        scans(IN_CLASS, png(), units),
    ];
    let [first, second] = ["a/p1.png", "b/p2.png"].map(|name| (name, EntryType::Regular, png()));
    let own = (IN_CLASS, EntryType::Regular, png());
    for (entry, more) in [
        ((IN_CLASS, EntryType::Regular, b"no image".into()), ""),
        ((AS_CLASS, EntryType::Regular, png()), "--classes a,b"),
        ((IN_CLASS, EntryType::Symlink, Vec::new()), ""),
        (own.clone(), units),
    ] {
        let entries = [first.clone(), second.clone(), entry];
        cases.push(archived(&entries, more));
    }
    if cfg!(unix) {
        cases.push(scans("Jane_Doe_HIV\\1/1.png", png(), ""));
    }
    cases.push(archived(&[own.clone(), second, own.clone()], ""));
    let mut damaged = archived(&[own], "");
    let header = damaged.files[0].1.first_chunk_mut::<512>();
    let header = header.expect("a header");
    header[124..135].fill(b'x');
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    cases.push(damaged);
    for (rows, told) in [
        ("a/p1.png,1\nb/p2.png,2\n", true),
        ("a/Jane_Doe_HIV.png,1\na/Jane_Doe_HIV.png,1\n", true),
        ("a/p1.png,1\nb/p2.png,2\na/Jane_Doe_HIV.png,2,3\n", false),
    ] {
        let units = format!("path,unit\n{rows}").into_bytes();
        let more = "--unit units.csv --most-per-unit 2";
        let mut case = scans(IN_CLASS, png(), more);
        case.files.push(("units.csv".into(), units));
        cases.push(Case { told, ..case });
    }
    let labels = npy(None, &[0.0, 4711.25]);
    let npz = zip(&[("labels.npy", labels), ("images.npy", bytes_of_images())]);
    let of_arrays = format!("synth images scans.npz --classes 2 {OF_IMAGES}");
    cases.push(case(&[("scans.npz", npz)], of_arrays));
    cases
}

const SCHEMA: &str = r#"
column = [
    { name = "patient", kind = "ignore" },
    { name = "dose", kind = "numeric", min = 0, max = 10, public = true },
    { name = "town", kind = "categorical", levels = ["Bern", "Basel"], public = true },
    { name = "ill", kind = "label", classes = [["no"], ["yes"]], public = true },
]
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
    let wider = "max = 4711.25, edges = [10], special = [4711.25]";
    let schema = schema.replace("max = 10", wider);
    let known = Schema::parse("wide", &schema).expect("a schema");
    let csv = records(more);
    let codes = known.coded_bytes("wide", csv.as_bytes()).expect("records");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("table.parquet");
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    known.write(&path, &codes.codes, rng).expect("written");
    bytes_at(path)
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
        ("rows.npy", npy(Some(2), &[1.0; 4])),
        ("labels.npy", npy(None, &[0.0, 4711.25])),
    ];
    cases.push(case(
        &labels,
        "privatise rows.npy --label-file labels.npy --classes 2 --label-weight 1 \
         --mechanism laplace --epsilon 1 --radius 1",
    ));
    cases
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
        let home = Home::new();
        for (name, content) in &case.files {
            home.put(name, content);
        }
        make_folder(home.at("out"));
        let mut command = home.sliver(&format!("{} {flag} --out out/run", case.words));
        let ran = command.env("RUST_BACKTRACE", "1").ran();
        let (said, printed) = (text(&ran.stderr), text(&ran.stdout));
        let unmarked: Vec<&str> = said
            .lines()
            .filter(|line| flag.is_empty() || !line.starts_with("PRIVATE "))
            .collect();
        for public in [&printed, &unmarked.join("\n")] {
            assert!(!tells(public), "{} {flag}: {public}", case.words);
        }
        for place in ["out", "cache"].map(|name| home.at(name)) {
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
        says(&said, &["--show-private"]);
        let mut lines = shown.lines().filter(|line| line.starts_with("PRIVATE "));
        let told = lines.any(|line| !case.told || tells(line));
        assert!(told, "{}: {shown}", case.words);
    }
}

/// Numbers out of range and records that break a rule are counted for the owner alone; names of files and of units lead to
/// nothing that is written.
#[test]
fn a_finished_run_tells_nothing() {
    let clamped = SCHEMA.replace("max = 10", "max = 10, outside = \"clamp\"");
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
            says(&said, &[may]);
        }
        for count in ["PRIVATE   2 numbers lay", "PRIVATE   1 records break"] {
            says(&shown, &[count]);
        }
    }
    let more = "--epsilon 2 --count 4 --cells 1 --unit-from-name [A-Za-z_]+ --most-per-unit 2";
    let mut case = scans(IN_CLASS, png(), more);
    case.files
        .push(("scans/a/Jane_Doe_HIV.txt".into(), NUMBER.into()));
    let [(code, said), (same, shown)] = twice(&case);
    assert_eq!((code, same), (Some(0), Some(0)), "{said}");
    let may = "--input: what is no image is passed over (--show-private";
    says(&said, &[may]);
    says(&shown, &["1, the first: a/Jane_Doe_HIV.txt"]);
}

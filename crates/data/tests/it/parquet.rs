//! Tables in Parquet files: those of pyarrow are read as CSV files of the same values are, and what cannot be read is refused
//! without what it holds.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data::{DataError, Drafting, Schema};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::says;

/// The values of `types.parquet`, but for a list and bytes.
const CSV: &str = "\
whole,small,unsigned,real,single,text,word,truth,day,milli,micro,nano,money,large,nothing
1,7,4000000000,0.1,0.1,\"a, b\",red,true,1999-12-31,2020-01-01T10:30:59,2020-01-01T00:00,2020-01-01T23:59,-0.05,12345678901234567890.123,
-2,,0,,-2.5,,red,false,0001-01-01,,,,1234.50,-1.000,
,-8,,5,,é,,,,1969-12-31T23:59:00,2020-01-02T00:00,2020-01-02T00:00,,,
";

/// What `reference.py` beside it wrote with pyarrow: two groups of records, snappy, dictionaries, a null in every column.
fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

#[test]
fn files_of_pyarrow_are_read_as_csv() {
    // As public ones: no value of three records is listed otherwise.
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("types.csv");
    std::fs::write(&text, CSV).unwrap();
    let csv = Schema::of_public(&text).unwrap();
    let draft = Schema::of_public(&golden("types.parquet")).unwrap();
    for kind in [
        "name = \"micro\"\nkind = \"date\"",
        "name = \"nano\"\nkind = \"datetime\"",
        "name = \"truth\"\nkind = \"boolean\"\nzero = [\"false\"]\none = [\"true\"]",
        "name = \"list\"\nkind = \"ignore\"\nwhy = \"neither numbers",
        "name = \"bytes\"\nkind = \"ignore\"\nwhy = \"neither numbers",
    ] {
        assert!(draft.contains(kind), "{kind}\nin\n{draft}");
    }
    let blocks = |text: &str| -> Vec<String> {
        let unread = |block: &&str| !block.contains("why = \"neither");
        let blocks = text.split("\n\n").filter(unread).skip(1);
        // How a text has days and times, and what the values are, Parquet knows itself.
        let lines = |block: &str| -> String {
            let own = ["written", "stored"];
            let kept = block
                .lines()
                .filter(|line| !own.iter().any(|own| line.starts_with(own)));
            kept.collect::<Vec<_>>().join("\n")
        };
        blocks.map(lines).collect()
    };
    assert_eq!(blocks(&draft), blocks(&csv));

    // Whatever the words for missing values are, a null is the first one; by default it is the empty text.
    for missing in ["missing = [\"\"]\n", "missing = [\"?\", \"\"]\n", ""] {
        let text = draft.replace("missing = [\"\"]\n", missing);
        let text = text.replace(
            "kind = \"ignore\"\nwhy = \"nothing but",
            "kind = \"categorical\"\nlevels = [\"x\"]\nmissing = \"level\"\n# \"",
        );
        let schema = Schema::parse("types.toml", &text).unwrap();
        let read = schema.coded(&golden("types.parquet")).unwrap();
        let csv = schema.coded_bytes("f", CSV.as_bytes()).unwrap();
        assert_eq!((read.rows, read.columns, read.clamped), (3, 14, 0));
        assert_eq!(read.codes, csv.codes);
        // Every column has its null.
        for (place, column) in schema.code_columns().iter().enumerate() {
            let mut codes = read.codes.iter().skip(place).step_by(14);
            let last = column.codes.len() - 1;
            assert!(
                codes.any(|&code| usize::from(code) == last),
                "{}",
                column.name
            );
        }
    }
    let old = Schema::parse("t", WHOLE);
    let old = old.unwrap().coded(&golden("int96.parquet")).unwrap();
    assert_eq!((old.codes, old.sha256.len()), (vec![10, 7, 19], 64));
}

const TYPES: &str = "message table {
    optional boolean truth; optional binary text (STRING); optional binary code (STRING); optional binary born (STRING);
    optional int32 i8 (INTEGER(8, true)); optional int32 u8 (INTEGER(8, false)); optional int32 i16 (INTEGER(16, true));
    optional int32 i32; optional int32 u32 (INTEGER(32, false)); optional int64 i64; optional int64 u64 (INTEGER(64, false));
    optional float f32; optional double f64; optional double gaps; optional int32 money (DECIMAL(9, 2));
    optional int32 day (DATE); optional int64 midnight (TIMESTAMP(NANOS, false)); optional int64 milli (TIMESTAMP(MILLIS, true));
    optional int64 hour (TIMESTAMP(MILLIS, false));
    optional int64 micro (TIMESTAMP(MICROS, false)); optional int32 clock (TIME(MILLIS, true)); optional int64 nano (TIME(NANOS, true));
}";

/// 40 records of these types; each column begins with a null.
fn written(path: &Path) {
    let message = Arc::new(parse_message_type(TYPES).unwrap());
    let mut file = SerializedFileWriter::new(
        File::create(path).unwrap(),
        message.clone(),
        Arc::new(WriterProperties::builder().build()),
    )
    .unwrap();
    let mut group = file.next_row_group().unwrap();
    for field in message.get_fields() {
        let value = |i: i64| match field.name() {
            "day" => 18_000 + i,
            "midnight" => (18_000 + i) * 86_400_000_000_000,
            "milli" => 1_600_000_000_000 + 12_345_678 * i,
            "hour" => 1_599_998_400_000 + 3_600_000 * i,
            "micro" => 1_600_000_000_000_000 + 61_000_000 * i,
            "clock" => 60_000 * i,
            "nano" => 1_001_000_000 * i,
            "i8" => 3 * i - 60,
            "u8" => 6 * i + 15,
            "u32" => 4_000_000_000 + 7_000_000 * i,
            _ => 1 + i % 20 * 3,
        };
        let text = |i: i64| match field.name() {
            "code" => ["1", "2"][i as usize % 2].to_string(),
            "born" => format!("2020-01-{:02}", 1 + i % 28),
            _ => ["red", "blue"][i as usize % 2].to_string(),
        };
        let mut column = group.next_column().unwrap().unwrap();
        let levels: Vec<i16> = (0..40).map(|i| i16::from(i > 0)).collect();
        let levels = Some(&levels[..]);
        let values = 1..40;
        match column.untyped() {
            ColumnWriter::BoolColumnWriter(to) => {
                let values: Vec<bool> = values.map(|i| i % 3 == 0).collect();
                to.write_batch(&values, levels, None)
            }
            ColumnWriter::Int32ColumnWriter(to) => {
                let values: Vec<i32> = values.map(|i| value(i) as i32).collect();
                to.write_batch(&values, levels, None)
            }
            ColumnWriter::Int64ColumnWriter(to) => {
                let values: Vec<i64> = values.map(value).collect();
                to.write_batch(&values, levels, None)
            }
            ColumnWriter::FloatColumnWriter(to) => {
                let values: Vec<f32> = values.map(|i| i as f32 / 7.0).collect();
                to.write_batch(&values, levels, None)
            }
            ColumnWriter::DoubleColumnWriter(to) => {
                let whole = field.name() == "gaps";
                let part = if whole { 1.0 } else { 7.0 };
                let values: Vec<f64> = values.map(|i| (i % 20) as f64 / part).collect();
                to.write_batch(&values, levels, None)
            }
            ColumnWriter::ByteArrayColumnWriter(to) => {
                let values: Vec<ByteArray> = values.map(|i| text(i).into_bytes().into()).collect();
                to.write_batch(&values, levels, None)
            }
            _ => panic!("no such column"),
        }
        .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
}

/// Widths, signs, zones and parts of a second: of each column the file says of a copy what it says of the table.
#[test]
fn a_copy_has_the_types_of_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let [path, copy] = ["t.parquet", "copy.parquet"].map(|name| folder.path().join(name));
    written(&path);
    let draft = Schema::draft_of(&path, &Drafting::default()).unwrap();
    for (name, stored) in [
        ("i8", "int8"),
        ("u64", "uint64"),
        ("f32", "float32"),
        ("gaps", "float64"),
        ("money", "decimal(9, 2)"),
        ("midnight", "timestamp[ns]"),
        ("milli", "timestamp[ms, UTC]"),
        ("nano", "time[ns]"),
        ("code", "string"),
        ("born", "string"),
    ] {
        let (_, block) = draft.split_once(&format!("name = {name:?}\n")).unwrap();
        let block = block.split("\n\n").next().unwrap();
        assert!(block.contains(&format!("stored = {stored:?}")), "{block}");
    }
    let schema = Schema::parse("draft", &draft).unwrap();
    let read = schema.coded(&path).unwrap();
    assert_eq!((read.rows, read.columns, read.clamped), (40, 22, 0));
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    schema.write(&copy, &read.codes, &mut rng).unwrap();
    assert_eq!(schema.coded(&copy).unwrap().codes, read.codes);
    let types = |path: &Path| -> Vec<String> {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        let columns = schema.columns().iter();
        columns
            .map(|column| {
                let logical = column.logical_type_ref();
                // A decimal number may lie in bytes, too.
                match column.name() {
                    "money" => format!("money {logical:?}"),
                    name => format!("{name} {} {logical:?}", column.physical_type()),
                }
            })
            .collect()
    };
    assert_eq!(types(&copy), types(&path));
    // Milliseconds come back, and times on the hour have no seconds.
    let texts = schema.texts(&read.codes, &mut rng).unwrap();
    let texts_of = |name: &str| {
        let columns = schema.code_columns();
        let place = columns.iter().position(|column| column.name == name);
        texts.iter().skip(place.unwrap()).step_by(22).skip(1)
    };
    assert!(
        texts_of("milli")
            .filter(|text| text.ends_with("000"))
            .count()
            < 5
    );
    assert!(texts_of("hour").all(|text| text.ends_with(":00")));
}

const WHOLE: &str = r#"
missing = ["?"]
[[column]]
name = "whole"
kind = "integer"
min = -9
max = 9
missing = "level"
[[column]]
name = "micro"
kind = "ignore"
"#;

#[test]
fn what_is_no_parquet_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.parquet");
    let bytes = fs::read(golden("int96.parquet")).unwrap();
    let schema = Schema::parse("t", WHOLE).unwrap();
    for part in [
        &bytes[..0],
        &bytes[..4],
        &bytes[..bytes.len() - 1],
        &bytes[9..],
        b"whole,micro\n1,\n",
    ] {
        fs::write(&path, part).unwrap();
        let draft = Schema::draft_of(&path, &Drafting::default()).unwrap_err();
        for error in [schema.coded(&path).unwrap_err(), draft] {
            says(&error, &["expected a Parquet file"]);
        }
    }
    fs::remove_file(&path).unwrap();
    let none = schema.coded(&path).unwrap_err();
    assert!(matches!(none, DataError::Io { .. }));
}

/// Offsets in a footer that are negative make the crate panic.
#[test]
fn a_footer_at_which_the_crate_panics_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.parquet");
    let whole = fs::read(golden("int96.parquet")).unwrap();
    let opened = || {
        let file = SerializedFileReader::new(File::open(&path).unwrap()).ok()?;
        file.get_row_group(0).ok()?.get_column_reader(0).ok()
    };
    let mut panics = 0;
    for place in whole.len() - 300..whole.len() - 8 {
        let mut bytes = whole.clone();
        bytes[place] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let answer = Schema::draft_of(&path, &Drafting::default());
        if std::panic::catch_unwind(|| opened().is_some()).is_err() {
            says(
                &answer.unwrap_err(),
                &["damaged.parquet: expected a Parquet file"],
            );
            panics += 1;
        }
    }
    assert!(panics > 0);
}

const PEOPLE: &str = r#"
missing = ["?"]
[[column]]
name = "unit"
kind = "categorical"
levels = ["1", "20", "-3"]
[[column]]
name = "flag"
kind = "boolean"
zero = ["False", "false"]
one = ["True", "true"]
missing = "level"
[[column]]
name = "zip"
kind = "categorical"
levels = ["01", "2"]
[[column]]
name = "age"
kind = "integer"
min = 0
max = 9
missing = "level"
[[column]]
name = "size"
kind = "numeric"
min = 0
max = 1
special = [-7]
[[column]]
name = "day"
kind = "date"
min = 2020-01-01
max = 2020-01-03
[[column]]
name = "time"
kind = "datetime"
min = 2020-01-01T00:00
max = 2020-01-01T00:59
"#;

/// A copy has columns of the types that its kinds are, and of its units none is lost.
#[test]
fn columns_of_a_copy_have_their_types() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.PARQUET");
    let schema = Schema::parse("people.toml", PEOPLE).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    // A second block has a group of its own.
    let codes = [
        [0, 2, 1, 10, 0, 2, 59],
        [1, 0, 0, 3, 0, 0, 0],
        [0, 1, 0, 0, 200, 1, 1],
    ];
    let mut table = schema.writer(&path).unwrap();
    table.write(&codes[..2].concat(), &mut rng).unwrap();
    table.write(&codes[2], &mut rng).unwrap();
    assert!(!path.exists());
    table.finish().unwrap();
    assert_eq!(schema.coded(&path).unwrap().codes, codes.concat());
    let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let columns = file.metadata().file_metadata().schema_descr().columns();
    let types: Vec<String> = columns
        .iter()
        .map(|column| format!("{} {}", column.physical_type(), column.max_def_level()))
        .collect();
    assert_eq!(
        types,
        [
            "INT64 0",
            "BOOLEAN 1",
            "BYTE_ARRAY 0",
            "INT64 1",
            "DOUBLE 0",
            "INT32 0",
            "INT64 0"
        ]
    );
    assert_eq!(file.metadata().num_row_groups(), 2);

    let ignored = "kind = \"ignore\"\n[[column]]\nname = \"flag\"";
    let of_units = PEOPLE.replacen(
        "kind = \"categorical\"\nlevels = [\"1\", \"20\", \"-3\"]\n[[column]]\nname = \"flag\"",
        ignored,
        1,
    );
    let units = Schema::parse("t", &of_units).unwrap();
    assert_eq!(units.coded(&path).unwrap().columns, 6);
    let units = units.units(&path, "unit").unwrap();
    assert_eq!((units.count(), units.records()), (2, 3));
    let none = PEOPLE.replace(
        "kind = \"integer\"\nmin = 0\nmax = 9\nmissing = \"level\"",
        "kind = \"ignore\"",
    );
    let error = Schema::parse("t", &none)
        .unwrap()
        .units(&path, "age")
        .unwrap_err();
    says(&error, &["record 1, column age: expected a unit"]);
}

proptest! {
    /// A damaged file is refused, or read as another one.
    #[test]
    fn any_damage_gives_an_answer(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.parquet");
        let mut bytes = fs::read(golden("types.parquet")).unwrap();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        fs::write(&path, bytes).unwrap();
        let _ = Schema::draft_of(&path, &Drafting::default());
    }
}

//! Tables as codes: what each code is, what is refused, and that what is written is read as it was.

use data::{CodeColumn, CodedTable, DataError, Schema};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::says;

const SCHEMA: &str = r#"
missing = ["", "?"]
[[column]]
name = "age"
kind = "integer"
min = 17
max = 90
outside = "clamp"
public = true
[[column]]
name = "gain"
kind = "numeric"
min = 0
max = 99999
decimals = 1
special = [0, -1]
scale = "log"
missing = "level"
[[column]]
name = "id"
kind = "ignore"
[[column]]
name = "born"
kind = "date"
min = 1990-01-01
max = "1999-12-31"
edges = ["1992-01-01", "1996-02-29"]
[[column]]
name = "seen"
kind = "datetime"
min = 2020-01-01T00:00
max = 2020-01-01T00:59
[[column]]
name = "well"
kind = "boolean"
zero = ["no", "n"]
one = ["yes", "y"]
[[column]]
name = "town"
kind = "categorical"
levels = ["a, b", "c"]
other = "else"
public = true
[[column]]
name = "income"
kind = "label"
classes = [["low", "low."], ["high"]]
"#;

const HEADER: &str = "age,gain,id,born,seen,well,town,income\n";
const GOOD: &str = "17,0,x,1990-01-01,2020-01-01T00:00,no,\"a, b\",low.\n\
                    89,12.5,y,1996-02-28,2020-01-01 00:59:59,y,nowhere,high\n\
                    120,?,,1996-02-29,2020-01-01T00:30,n,c,low\n";

fn schema() -> Schema {
    Schema::parse("toy.toml", SCHEMA).unwrap()
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(0)
}

fn coded(lines: &str) -> Result<CodedTable, DataError> {
    schema().coded_bytes("toy.csv", format!("{HEADER}{lines}").as_bytes())
}

fn column<'a>(columns: &'a [CodeColumn], name: &str) -> &'a CodeColumn {
    columns.iter().find(|column| column.name == name).unwrap()
}

#[test]
fn codes_have_public_names() {
    let columns = schema().code_columns();
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    assert_eq!(
        names,
        ["age", "gain", "born", "seen", "well", "town", "income"]
    );
    let age = column(&columns, "age");
    assert_eq!((age.ordered, age.codes.len()), (74, 74));
    assert_eq!((&*age.codes[0], &*age.codes[73]), ("17", "90"));
    assert_eq!(age.widths, [1.0; 74]);
    let gain = column(&columns, "gain");
    assert_eq!(gain.ordered, gain.codes.len() - 3);
    assert_eq!(gain.codes[gain.ordered..], ["0", "-1", "?"]);
    assert!(gain.ordered > 50 && gain.widths.windows(2).all(|w| w[0] <= w[1] + 0.2));
    // All tenths but 0.
    assert!((gain.widths.iter().sum::<f64>() - 99_999.0).abs() < 1e-6);
    let born = column(&columns, "born");
    assert_eq!(
        born.codes,
        [
            "[1990-01-01, 1992-01-01)",
            "[1992-01-01, 1996-02-29)",
            "[1996-02-29, 1999-12-31]"
        ]
    );
    assert_eq!(born.widths, [730.0, 1520.0, 1402.0]);
    let seen = column(&columns, "seen");
    assert_eq!((seen.ordered, &*seen.codes[7]), (60, "2020-01-01T00:07"));
    assert_eq!(column(&columns, "well").codes, ["no", "yes"]);
    assert_eq!(column(&columns, "town").codes, ["a, b", "c", "else"]);
    assert_eq!(column(&columns, "town").ordered, 0);
    assert_eq!(column(&columns, "income").codes, ["low", "high"]);
    assert_eq!(
        schema().unconfirmed(),
        ["gain", "born", "seen", "well", "income"]
    );
}

#[test]
fn lines_become_codes() {
    let table = coded(GOOD).unwrap();
    let gain = column(&schema().code_columns(), "gain").clone();
    let (zero, missing) = (gain.ordered as u16, gain.ordered as u16 + 2);
    let bin = table.codes[8];
    assert_eq!(
        table.codes,
        [
            [0, zero, 0, 0, 0, 0, 0],
            [72, bin, 1, 59, 1, 2, 1],
            [73, missing, 2, 30, 0, 1, 0]
        ]
        .concat()
    );
    let name = gain.codes[usize::from(bin)].clone();
    let (start, end) = name[1..name.len() - 1].split_once(", ").unwrap();
    assert!((start.parse::<f64>().unwrap()..end.parse().unwrap()).contains(&12.5));
    assert_eq!((table.rows, table.columns, table.clamped), (3, 7, 1));
    assert_eq!(table.sha256.len(), 64);
    // As spreadsheets write it; without what is ignored; from a file.
    let text = format!("\u{feff}{HEADER}{GOOD}").replace('\n', "\r\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toy.csv");
    std::fs::write(&path, &text).unwrap();
    let same = schema().coded(&path).unwrap();
    assert_eq!((&same.codes, same.clamped), (&table.codes, 1));
    assert_eq!(
        schema().coded_bytes("f", text.as_bytes()).unwrap(),
        same,
        "sums and all"
    );
    assert_ne!(same.sha256, table.sha256);
    let bare = Schema::parse("toy.toml", &format!("header = false\n{SCHEMA}")).unwrap();
    let without = GOOD
        .replace(",x,", ",")
        .replace(",y,1", ",1")
        .replace("?,,", "?,");
    for text in [GOOD, &without] {
        let read = bare.coded_bytes("f", text.as_bytes()).unwrap();
        assert_eq!(read.codes, table.codes);
    }
}

#[test]
fn a_copy_is_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.csv");
    let codes = coded(GOOD).unwrap().codes;
    for start in [
        "",
        "header = false\n",
        "delimiter = \";\"\n",
        "comment = \"1\"\n",
    ] {
        let schema = Schema::parse("toy.toml", &format!("{start}{SCHEMA}")).unwrap();
        schema.write(&path, &codes, &mut rng()).unwrap();
        assert_eq!(schema.coded(&path).unwrap().codes, codes, "{start}");
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with("age,gain,born,seen,well,town,income\n"),
        "{text}"
    );
    assert!(text.contains("\"a, b\"") && text.contains(",?,"), "{text}");
    // In memory values are the same, by the same generator.
    schema().write(&path, &codes, &mut rng()).unwrap();
    let written = std::fs::read_to_string(&path).unwrap();
    let mut written = csv::Reader::from_reader(written.as_bytes());
    let written = written.records().flat_map(|record| {
        let record = record.unwrap();
        record.iter().map(String::from).collect::<Vec<_>>()
    });
    let texts = schema().texts(&codes, &mut rng()).unwrap();
    assert_eq!(texts, written.collect::<Vec<_>>());
    let error = schema().texts(&codes[..6], &mut rng()).unwrap_err();
    says(&error, &["a multiple of 7 columns"]);
    for (codes, words) in [
        (&codes[..6], "a multiple of 7 columns"),
        (&[], "is empty"),
        (&[0, 0, 0, 0, 0, 3, 0], "code of column 6: expected below 3"),
    ] {
        let other = folder.path().join("other.csv");
        let error = schema().write(&other, codes, &mut rng()).unwrap_err();
        says(&error, &[words]);
        assert!(!other.exists());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(schema().value(6, 2, &mut rng()), "");
    assert_eq!(schema().value(7, 0, &mut rng()), "");
}

#[test]
fn a_column_of_numbers_has_at_most_256_bins() {
    let number = |kind: &str, more: &str| {
        let text = format!("[[column]]\nname = \"x\"\nkind = \"{kind}\"\n{more}");
        Schema::parse("toy.toml", &text)
    };
    let many: Vec<String> = (1..257).map(|edge| edge.to_string()).collect();
    let many = format!("min = 0\nmax = 999\nedges = [{}]", many.join(", "));
    says(
        &number("integer", &many).unwrap_err(),
        &["257 bins: expected at most 256"],
    );
    // Bounds that no decimal fits.
    for (min, max) in [
        (-1e300, 1e300),
        (0.0, 1e-300),
        (1e15, 1e15 + 0.5),
        (0.1, 0.2),
    ] {
        let wide = number("numeric", &format!("min = {min:e}\nmax = {max:e}")).unwrap();
        let column = &wide.code_columns()[0];
        assert_eq!(column.codes.len(), column.ordered);
        for code in 0..column.ordered as u16 {
            let text = format!("x\n{}\n", wide.value(0, code, &mut rng()));
            let read = wide.coded_bytes("f", text.as_bytes()).unwrap();
            assert_eq!(read.codes, [code]);
        }
    }
}

#[test]
fn numbers_and_bounds_that_do_not_fit_their_kind_are_refused() {
    for (column, line) in [
        ("kind = \"integer\"\nmin = 1.5\nmax = 2", "2"),
        ("kind = \"integer\"\nmin = 1\nmax = 2", "1.5"),
        ("kind = \"numeric\"\nmin = -1e308\nmax = 1e308", "2"),
        (
            "kind = \"categorical\"\nlevels = [\"a\"]\nother = \"?\"",
            "a",
        ),
    ] {
        let text = format!("missing = [\"?\"]\n[[column]]\nname = \"x\"\n{column}\n");
        let read = Schema::parse("f", &text)
            .and_then(|schema| schema.coded_bytes("f", format!("x\n{line}\n").as_bytes()));
        says(&read.unwrap_err(), &["column", "x"]);
    }
}

#[test]
fn any_column_can_be_the_label() {
    let schema = schema();
    assert_eq!(schema.label(), Some(6));
    assert_eq!(schema.clone().with_label("age").unwrap().label(), Some(0));
    assert_eq!(schema.clone().with_label("born").unwrap().label(), Some(2));
    for name in ["id", "nothing"] {
        let error = schema.clone().with_label(name).unwrap_err();
        says(
            &error,
            &["toy.toml", &format!("label '{name}'"), "age, gain, born"],
        );
    }
    let none = Schema::parse(
        "t",
        "[[column]]\nname = \"x\"\nkind = \"integer\"\nmin = 0\nmax = 1",
    );
    assert_eq!(none.unwrap().label(), None);
}

/// Words that a level or a missing value may be, with all that a file has to quote.
const WORDS: [&str; 12] = [
    "red",
    "a, b",
    "say \"so\"",
    "two\nlines",
    "é;|",
    "0",
    "1",
    "-1",
    "99",
    "#x",
    "?",
    "3.50",
];

#[derive(Clone, Debug)]
struct Text(String);

fn number_column() -> impl Strategy<Value = Text> {
    let kind = prop::sample::select(vec!["integer", "numeric", "date", "datetime"]);
    let span = prop::sample::select(vec![1_i64, 2, 5, 255, 256, 257, 400, 1000, 123_456]);
    let bins = prop::sample::select(vec!["", "scale = \"log\"\n", "edges"]);
    let specials = prop::collection::btree_set(-3_i64..70, 0..4);
    (
        kind,
        -60_i64..60,
        span,
        bins,
        specials,
        0..4_u32,
        any::<bool>(),
    )
        .prop_map(|(kind, min, span, bins, specials, decimals, missing)| {
            let day = |count: i64| {
                let (month, day) = (count.div_euclid(28), count.rem_euclid(28) + 1);
                let (year, month) = (2000 + month.div_euclid(12), month.rem_euclid(12) + 1);
                let time = if kind == "datetime" { "T12:34" } else { "" };
                format!("\"{year}-{month:02}-{day:02}{time}\"")
            };
            let show = |count: i64| match kind {
                "integer" => count.to_string(),
                "numeric" => format!("{}", count as f64 / 4.0),
                _ => day(count),
            };
            let mut text = format!(
                "kind = \"{kind}\"\nmin = {}\nmax = {}\n",
                show(min),
                show(min + span)
            );
            if kind == "numeric" && decimals >= 2 {
                text += &format!("decimals = {decimals}\n");
            }
            text += &match bins {
                "edges" => format!(
                    "edges = [{}, {}]\n",
                    show(min + span / 3),
                    show(min + span / 3 + 1)
                ),
                bins => bins.into(),
            };
            let specials: Vec<String> = specials.iter().map(|&count| show(count)).collect();
            text += &format!("special = [{}]\n", specials.join(", "));
            if missing {
                text += "missing = \"level\"\n";
            }
            Text(text)
        })
}

fn word_column() -> impl Strategy<Value = Text> {
    let levels = prop::sample::subsequence(WORDS.to_vec(), 2..8);
    let kind = prop::sample::select(vec!["categorical", "boolean"]);
    (levels, kind, any::<bool>()).prop_map(|(levels, kind, other)| {
        let quoted: Vec<String> = levels.iter().map(|level| format!("{level:?}")).collect();
        let mut text = format!("kind = \"{kind}\"\nmissing = \"level\"\n");
        if kind == "boolean" {
            text += &format!(
                "zero = [{}]\none = [{}]\n",
                quoted[0],
                quoted[1..].join(", ")
            );
        } else {
            text += &format!("levels = [{}]\n", quoted.join(", "));
            if other {
                text += "other = \"else\"\n";
            }
        }
        Text(text)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The law of copies: what is written has the code it was written for, whatever the schema.
    #[test]
    fn a_value_has_its_code(
        columns in prop::collection::vec(prop_oneof![number_column(), word_column()], 2..5),
        missing in prop::sample::subsequence(vec!["", "NA", "12", "0", "2.00", "2000-01-05"], 0..4),
        form in prop::sample::select(vec![
            "", "header = false\n", "delimiter = \";\"\n", "delimiter = \"\\t\"\ncomment = \"#\"\n", "comment = \"-\"\n",
            "comment = \"1\"\nheader = false\n",
        ]),
        seed in any::<u64>(),
    ) {
        let missing: Vec<String> = missing.iter().map(|word| format!("{word:?}")).collect();
        let mut text = format!("{form}missing = [{}]\n", missing.join(", "));
        for (place, Text(column)) in columns.iter().enumerate() {
            text += &format!("[[column]]\nname = \"c{place}\"\n{column}");
        }
        // Words that are missing ones, or too few values: a schema that is refused has no codes.
        let schema = Schema::parse("t", &text);
        prop_assume!(schema.is_ok());
        let schema = schema.unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let columns = schema.code_columns();
        let rows = columns.iter().map(|column| column.codes.len()).max().unwrap();
        let codes: Vec<u16> = (0..rows)
            .flat_map(|row| columns.iter().map(move |column| (row % column.codes.len()) as u16))
            .collect();
        let folder = tempfile::tempdir().unwrap();
        for name in ["copy.csv", "copy.parquet"] {
            let path = folder.path().join(name);
            schema.write(&path, &codes, &mut rng).unwrap();
            let read = schema.coded(&path).unwrap();
            prop_assert_eq!(&read.codes, &codes, "{}\n{}", text, String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
            prop_assert_eq!(read.clamped, 0);
        }
        for (place, column) in columns.iter().enumerate() {
            prop_assert!(column.ordered <= 256 && column.widths.len() == column.ordered);
            prop_assert!(column.widths.iter().all(|&width| width > 0.0));
            for code in 0..column.codes.len() as u16 {
                let value = schema.value(place, code, &mut rng);
                prop_assert_eq!(value.trim(), &*value);
            }
        }
    }
}

#[test]
fn levels_may_be_in_order() {
    let text = "missing = [\"?\"]\n[[column]]\nname = \"grade\"\nkind = \"categorical\"\nlevels = [\"low\", \"middle\", \"high\"]\n\
                ordered = true\nmissing = \"level\"\npublic = true\n";
    let schema = Schema::parse("s", text).unwrap();
    let columns = schema.code_columns();
    assert_eq!((columns[0].ordered, columns[0].codes.len()), (3, 4));
    assert!(columns[0].widths.is_empty());
    let coded = schema.coded_bytes("t", b"grade\nhigh\nlow\n?\n").unwrap();
    assert_eq!(coded.codes, [2, 0, 3]);
    let named = Schema::parse("s", &text.replace("ordered = true\n", "")).unwrap();
    assert_eq!(named.code_columns()[0].ordered, 0);
}

//! CSV files by a schema: what is read, and each way in which a schema or a line is refused.

use data::{DataError, GroupedTable, Labels, Missing, Schema};
use proptest::prelude::*;

use crate::{says, told};

const SCHEMA: &str = r#"
comment = "|"
missing = ["?", ""]

[[column]]
name = "age"
kind = "numeric"
min = 10
max = 20.0

[[column]]
name = "colour"
kind = "categorical"
levels = ["red", "green", "light blue"]
missing = "level"

[[column]]
name = "side"
kind = "categorical"
levels = ["left", "right"]
zero = ["left"]
one = ["right"]
missing = "drop"

[[column]]
name = "id"
kind = "ignore"

[[column]]
name = "sex"
kind = "sensitive"
zero = ["F", "female"]
one = ["M"]

[[column]]
name = "income"
kind = "label"
classes = [["low", "low."], ["high", "high."]]
"#;

const HEADER: &str = "age,colour,side,id,sex,income\n";

fn schema() -> Schema {
    Schema::parse("toy.toml", SCHEMA).unwrap()
}

fn changed(from: &str, to: &str) -> Schema {
    assert!(SCHEMA.contains(from));
    Schema::parse("toy.toml", &SCHEMA.replacen(from, to, 1)).unwrap()
}

fn read(schema: &Schema, lines: &str) -> (GroupedTable, usize) {
    let read = schema
        .decode("toy.csv", format!("{HEADER}{lines}").as_bytes())
        .unwrap();
    (read.table, read.dropped)
}

fn refused(schema: &Schema, lines: &str) -> DataError {
    match schema.decode("toy.csv", format!("{HEADER}{lines}").as_bytes()) {
        Err(error) => error,
        other => panic!("{other:?}"),
    }
}

const GOOD: &str = "10,red,left,a,F,low\n 15 , light blue,right,,M, high.\n";

#[test]
fn lines_become_features() {
    let (table, dropped) = read(&schema(), GOOD);
    assert_eq!(
        table.names(),
        [
            "age",
            "colour=red",
            "colour=green",
            "colour=light blue",
            "colour=?",
            "side=left",
            "side=right"
        ]
    );
    assert_eq!(table.row(0).unwrap(), [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(table.row(1).unwrap(), [0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!((table.groups(), dropped), (&[0, 1][..], 0));
    let labels = Labels::Classes {
        count: 2,
        values: vec![0, 1],
    };
    assert_eq!(table.labels(), &labels);
    assert_eq!(schema().feature_names(), table.names());
    assert_eq!(schema().sensitive(), Some("sex"));
}

#[test]
fn columns_are_found_by_name() {
    let text = "sex,income,id,side,colour,age\nF,low,a,left,red,10\nM,high,,right,light blue,15\n";
    let read_back = schema().decode("toy.csv", text.as_bytes()).unwrap().table;
    assert_eq!(read_back, read(&schema(), GOOD).0);
    let bare = Schema::parse("toy.toml", &format!("header = false\n{SCHEMA}")).unwrap();
    assert_eq!(
        bare.decode("toy.csv", GOOD.as_bytes()).unwrap().table,
        read_back
    );
    // As spreadsheets write it: a byte order mark, other line breaks, quotes, a tab.
    let text = format!("\u{feff}{HEADER}{GOOD}")
        .replace('\n', "\r\n")
        .replace("red", "\"red\"");
    assert_eq!(
        schema().decode("toy.csv", text.as_bytes()).unwrap().table,
        read_back
    );
    let tabs = Schema::parse("toy.toml", &format!("delimiter = \"\\t\"\n{SCHEMA}")).unwrap();
    let text = format!("{HEADER}{GOOD}").replace(',', "\t");
    assert_eq!(
        tabs.decode("toy.csv", text.as_bytes()).unwrap().table,
        read_back
    );
}

#[test]
fn headers_that_do_not_fit_are_refused() {
    for (header, words) in [
        (
            "age,colour,side,id,sex",
            "'income' of the schema is missing",
        ),
        (
            "age,colour,side,id,sex,income,more",
            "field 7 names no column of the schema",
        ),
        ("age,colour,side,id,sex,income,age", "'age' is there twice"),
        ("10,red,left,a,F,low", "header = false"),
    ] {
        let text = format!("| a comment\n\n{header}\n{GOOD}");
        let error = schema().decode("toy.csv", text.as_bytes()).unwrap_err();
        says(&error, &["toy.csv, line 3", words]);
    }
}

/// A private record has no place in a message: wherever a field is wrong, what it holds is left out.
#[test]
fn no_message_quotes_a_record() {
    let secret = "123.456789";
    let good = ["12", "red", "left", "a", "F", "low"];
    for column in [0, 1, 2, 4, 5] {
        let mut fields = good;
        fields[column] = secret;
        for rule in [Missing::Refuse, Missing::Drop, Missing::Level] {
            let schema = schema().with_missing(rule);
            let error = refused(&schema, &format!("{GOOD}{}\n", fields.join(",")));
            says(&error, &["line 4, column"]);
            assert!(!format!("{error} {error:?}").contains(secret), "{error:?}");
        }
    }
    // The first record of a file whose header is missing, and a quote that swallows the rest.
    for text in [
        format!("{secret},red,left,a,F,low\n"),
        format!("{HEADER}{GOOD}12,red,left,,F,\"low\n{secret},red,left,a,F,low\n"),
        format!("{HEADER}{GOOD}{secret},red\n"),
    ] {
        let error = schema().decode("toy.csv", text.as_bytes()).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(secret), "{error:?}");
    }
}

#[test]
fn missing_values_follow_the_columns_rule() {
    let lines = format!("{GOOD}12,?,left,,M,low\n12,,left,,F,low\n12,red,?,,F,low\n");
    let (table, dropped) = read(&schema(), &lines);
    assert_eq!((table.len(), dropped), (4, 1));
    for index in [2, 3] {
        assert_eq!(table.row(index).unwrap()[1..5], [0.0, 0.0, 0.0, 1.0]);
    }
    for (line, column) in [
        ("?,red,left,,F,low", "age"),
        ("12,red,left,,?,low", "sex"),
        ("12,red,left,,F,", "income"),
    ] {
        let error = refused(&schema(), &format!("{GOOD}{line}"));
        let column = format!("line 4, column {column}");
        says(&error, &["toy.csv", &column, "expected a value", "drop"]);
    }
    // One rule for all: sensitive attributes and labels have no level of their own.
    let lines = format!("{GOOD}?,?,?,,F,low\n12,red,left,,?,low\n");
    let (table, dropped) = read(&schema().with_missing(Missing::Drop), &lines);
    assert_eq!((table.len(), table.width(), dropped), (2, 6, 2));
    let level = schema().with_missing(Missing::Level);
    says(&refused(&level, &lines), &["line 5, column sex"]);
    let (table, _) = read(&level, &lines[..lines.rfind("12,").unwrap()]);
    assert_eq!(table.names()[..2], ["age", "age=?"]);
    assert_eq!(
        table.row(2).unwrap(),
        [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    );
    assert_eq!(table.row(0).unwrap()[..2], [0.0, 0.0]);
    let refuse = schema().with_missing(Missing::Refuse);
    says(&refused(&refuse, &lines), &["line 4, column age"]);
    // A fault elsewhere in a line that is dropped is still a fault.
    let error = refused(&schema(), &format!("{GOOD}99,red,?,,F,low\n"));
    says(&error, &["line 4, column age"]);
}

#[test]
fn numbers_outside_their_range_are_refused_or_clamped() {
    for value in ["9.99", "20.001", "-1e300"] {
        let error = refused(&schema(), &format!("{GOOD}{value},red,left,,F,low\n"));
        says(
            &error,
            &[
                "toy.csv, line 4, column age",
                "a number from 10 to 20",
                "clamp",
            ],
        );
    }
    let clamp = changed("max = 20.0", "max = 20.0\noutside = \"clamp\"");
    let lines =
        format!("{GOOD}9.99,red,left,,F,low\n1e300,red,left,,F,low\n12.5,red,left,,F,low\n");
    let (table, _) = read(&clamp, &lines);
    let ages: Vec<f32> = (2..5).map(|index| table.row(index).unwrap()[0]).collect();
    assert_eq!(ages, [0.0, 1.0, 0.25]);
    for schema in [schema(), clamp] {
        for value in ["x", "nan", "inf", "-inf", "1,5", "0x10", "1 2"] {
            let line = format!("{GOOD}\"{value}\",red,left,,F,low\n");
            let error = refused(&schema, &line);
            says(&error, &["line 4, column age", "a number from 10 to 20"]);
        }
    }
}

#[test]
fn unknown_values_are_refused() {
    for (line, words) in [
        (
            "12,blue,left,,F,low",
            [
                "column colour",
                "add the level",
                "one of 'red', 'green', 'light blue'",
            ],
        ),
        (
            "12,Red,left,,F,low",
            ["column colour", "'red'", "add the level"],
        ),
        (
            "12,red,left,,F,middle",
            [
                "column income",
                "add the class",
                "'low', 'low.', 'high', 'high.'",
            ],
        ),
        (
            "12,red,left,,X,low",
            [
                "column sex",
                "two groups",
                "one of 'F', 'female' (group 0) or 'M' (group 1)",
            ],
        ),
    ] {
        let error = refused(&schema(), &format!("{GOOD}\n| between\n{line}\n"));
        says(&error, &["toy.csv, line 6"]);
        says(&error, &words);
    }
}

#[test]
fn ragged_lines_are_refused() {
    for (line, count) in [("12,red", 2), ("12,red,left,,F,low,", 7), ("x", 1)] {
        let error = refused(&schema(), &format!("{GOOD}{line}\n{GOOD}"));
        assert!(matches!(error, DataError::Record(_)));
        says(
            &error,
            &["toy.csv, line 4", &format!("{count} fields, expected 6")],
        );
    }
    // An open quote swallows the rest: the line where it opens is named.
    let error = refused(
        &schema(),
        &format!("{GOOD}12,\"red,left,,F,low\n{}", GOOD.repeat(100)),
    );
    says(&error, &["line 4"]);
    let error = refused(
        &schema(),
        &format!("{GOOD}12,red,left,,F,\"low\n{}", GOOD.repeat(100)),
    );
    says(&error, &["line 4, column income"]);
}

/// Line numbers, with blank lines, comments, breaks inside quotes, and either kind of line break.
#[test]
fn line_numbers_are_those_of_an_editor() {
    let bad = "12,red,left,,F,middle";
    let quoted = "12,red,left,\"two\nlines\",F,low\n";
    for (before, number) in [
        ("", 4),
        ("\n\n", 6),
        ("  \n", 5),
        ("| one\n| two\n\n", 7),
        (quoted, 6),
        ("\n|x\n12,red,left,\"a\n\n\nb\",F,low\n|y\n\n", 12),
    ] {
        for end in ["\n", "\r\n"] {
            let text = format!("{HEADER}{GOOD}{before}{bad}").replace('\n', end);
            let error = schema().decode("toy.csv", text.as_bytes()).unwrap_err();
            says(&error, &[&format!("line {number}, column income")]);
            let error = schema()
                .decode("toy.csv", (text + end).as_bytes())
                .unwrap_err();
            says(&error, &[&format!("line {number}, column income")]);
        }
    }
    let text = [
        HEADER.as_bytes(),
        GOOD.as_bytes(),
        b"\n12,\xff,left,,F,low\n",
    ]
    .concat();
    let error = schema().decode("toy.csv", &text).unwrap_err();
    says(&error, &["toy.csv, line 5: not text"]);
}

#[test]
fn files_without_records_or_without_a_group_are_refused() {
    for text in ["", "\n\n", HEADER, "| only a comment"] {
        let error = schema().decode("toy.csv", text.as_bytes()).unwrap_err();
        assert!(matches!(error, DataError::Request(_)), "{error}");
        says(&error, &["toy.csv"]);
    }
    let error = refused(&schema(), "12,red,left,,M,low\n13,red,left,,M,low\n");
    says(
        &error,
        &["toy.csv", "column sex", "one of 'F', 'female'", "group 0"],
    );
    let error = refused(&schema(), "12,red,left,,F,low\n");
    says(&error, &["'M' in column sex: group 1 is empty"]);
    // Dropped lines do not count.
    let all = "12,red,?,,F,low\n12,red,?,,M,low\n";
    let error = schema()
        .decode("toy.csv", format!("{HEADER}{all}").as_bytes())
        .unwrap_err();
    assert!(matches!(error, DataError::Request(_)), "{error}");
    let missing = schema().read_csv("no/such/file.csv".as_ref()).unwrap_err();
    assert!(matches!(missing, DataError::Io { .. }));
    let missing = Schema::read("no/such/file.toml".as_ref()).unwrap_err();
    says(&missing, &["file.toml"]);
}

#[test]
fn another_column_can_be_sensitive() {
    let by_side = schema().with_sensitive("side").unwrap();
    assert_eq!(by_side.sensitive(), Some("side"));
    let (table, _) = read(&by_side, GOOD);
    assert_eq!(table.names()[5..], ["sex=F", "sex=female", "sex=M"]);
    assert_eq!(table.row(1).unwrap()[5..], [0.0, 0.0, 1.0]);
    assert_eq!(table.groups(), [0, 1]);
    let error = refused(&by_side, &format!("{GOOD}12,red,middle,,F,low\n"));
    says(
        &error,
        &["column side", "'left' (group 0) or 'right' (group 1)"],
    );
    assert_eq!(by_side.with_sensitive("sex").unwrap(), schema());
    for name in ["colour", "age", "nothing"] {
        let error = schema().with_sensitive(name).unwrap_err();
        says(&error, &["toy.toml", &format!("'{name}'"), "side, sex"]);
    }
}

#[test]
fn a_label_can_be_a_number() {
    let schema = changed(
        "classes = [[\"low\", \"low.\"], [\"high\", \"high.\"]]",
        "min = -1\nmax = 1\noutside = \"clamp\"",
    );
    let (table, _) = read(&schema, "10,red,left,,F,0\n10,red,left,,M,7\n");
    let labels = Labels::Values {
        width: 1,
        values: vec![0.5, 1.0],
    };
    assert_eq!(table.labels(), &labels);
    says(&refused(&schema, GOOD), &["column income", "from -1 to 1"]);
}

#[test]
fn every_kind_of_column_is_a_feature_or_none() {
    let text = r#"
        [[column]]
        name = "born"
        kind = "date"
        min = 2000-01-01
        max = 2000-01-11
        [[column]]
        name = "seen"
        kind = "datetime"
        min = 2000-01-01T00:00
        max = 2000-01-01T10:00
        [[column]]
        name = "children"
        kind = "integer"
        min = 0
        max = 4
        special = [0]
        [[column]]
        name = "weight"
        kind = "integer"
        min = 0
        max = 4
        feature = false
        [[column]]
        name = "well"
        kind = "boolean"
        zero = ["no"]
        one = ["yes", "y"]
        [[column]]
        name = "town"
        kind = "categorical"
        levels = ["a"]
        other = "else"
        [[column]]
        name = "income"
        kind = "label"
        classes = [["low"], ["high"]]
        [[column]]
        name = "sex"
        kind = "sensitive"
        zero = ["F"]
        one = ["M"]
    "#;
    let schema = Schema::parse("toy.toml", text).unwrap();
    let lines = "born,seen,children,weight,well,town,income,sex\n\
                 2000-01-06,2000-01-01T05:00,1,nothing,y,b,low,F\n\
                 2000-01-01,2000-01-01T00:00,0,,no,a,high,M\n";
    let table = schema.decode("f", lines.as_bytes()).unwrap().table;
    let names = ["born", "seen", "children", "well", "town=a", "town=else"];
    assert_eq!(table.names(), names);
    assert_eq!(table.row(0).unwrap(), [0.5, 0.5, 0.25, 1.0, 0.0, 1.0]);
    assert_eq!(table.row(1).unwrap(), [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let by_well = schema.with_sensitive("well").unwrap();
    let table = by_well.decode("f", lines.as_bytes()).unwrap().table;
    assert_eq!((table.groups(), table.width()), (&[1, 0][..], 7));
    let error = by_well.decode("f", lines.replace(",1,", ",0.5,").as_bytes());
    says(
        &error.unwrap_err(),
        &["line 2, column children", "from 0 to 4"],
    );
}

#[test]
fn bad_schemas_are_refused() {
    let all: &[(&str, &str, &str)] = &[
        ("kind = \"ignore\"", "kind = \"unknown\"", "unknown"),
        ("kind = \"ignore\"", "kind = \"ignore\"\nwidth = 3", "width"),
        (
            "kind = \"ignore\"",
            "kind = \"ignore\"\nmissing = \"drop\"",
            "column 'id': unknown field `missing`",
        ),
        ("comment = \"|\"", "comment = \"||\"", "one ASCII character"),
        ("comment = \"|\"", "comment = \",\"", "the same"),
        ("comment = \"|\"", "delimiter = \"\\n\"", "line break"),
        ("comment = \"|\"", "delimiter = \"\"", "'delimiter' is \"\""),
        (
            "missing = [\"?\", \"\"]",
            "missing = [\"?\", \"?\"]",
            "twice",
        ),
        (
            "missing = [\"?\", \"\"]",
            "missing = [\"red\"]",
            "stands for a missing value",
        ),
        ("min = 10\n", "", "column 'age': missing field `min`"),
        ("min = 10\n", "min = 20\n", "min 20.0 and max 20.0"),
        ("min = 10\n", "min = nan\n", "min NaN"),
        ("min = 10\n", "min = -inf\n", "min -inf"),
        (
            "min = 10\n",
            "min = -1e308\nmax = 1e308\n#",
            "min -1e308 and max 1e308",
        ),
        (
            "min = 10\n",
            "min = 10\nlevels = []\n",
            "column 'age': unknown field `levels`",
        ),
        (
            "levels = [\"red\", \"green\", \"light blue\"]",
            "",
            "categorical columns need 'levels'",
        ),
        (
            "levels = [\"red\", \"green\", \"light blue\"]",
            "levels = []",
            "no levels",
        ),
        ("\"green\", ", "\"red\", ", "'red' is in 'levels' twice"),
        ("\"green\", ", "\" green\", ", "white space"),
        (
            "zero = [\"left\"]",
            "zero = [\"up\"]",
            "have to be the levels",
        ),
        ("zero = [\"left\"]\n", "", "each of 'zero' and 'one'"),
        (
            "zero = [\"F\", \"female\"]",
            "zero = []",
            "each of 'zero' and 'one'",
        ),
        (
            "zero = [\"F\", \"female\"]",
            "zero = [\"F\", \"M\"]",
            "'M' is in 'zero and one' twice",
        ),
        (
            "zero = [\"F\", \"female\"]\none = [\"M\"]",
            "",
            "column 'sex': missing field `zero`",
        ),
        (
            "kind = \"ignore\"",
            "kind = \"label\"\nmin = 0\nmax = 1",
            "2 columns of kind label",
        ),
        (
            "kind = \"ignore\"",
            "kind = \"label\"",
            "either 'classes', or 'min' and 'max'",
        ),
        (
            "classes = [[",
            "min = 0\nclasses = [[",
            "either 'classes', or 'min' and 'max'",
        ),
        ("[\"low\", \"low.\"], ", "", "1 classes"),
        ("[\"low\", \"low.\"]", "[]", "without a spelling"),
        ("\"low.\"", "\"high\"", "'high' is in 'classes' twice"),
        (
            "name = \"id\"",
            "name = \"age\"",
            "column 'age': is there twice",
        ),
        ("name = \"id\"", "name = \"\"", "expected a name"),
        ("name = \"id\"", "", "column 4: expected a name"),
    ];
    for &(from, to, words) in all {
        assert!(SCHEMA.contains(from), "{from}");
        match Schema::parse("toy.toml", &SCHEMA.replacen(from, to, 1)) {
            Err(error) => says(&error, &["toy.toml", words]),
            Ok(_) => panic!("{from} -> {to} was read"),
        }
    }
    let only = r#"
        [[column]]
        name = "sex"
        kind = "sensitive"
        zero = ["F"]
        one = ["M"]
        [[column]]
        name = "income"
        kind = "label"
        min = 0
        max = 1
    "#;
    for (schema, words) in [
        (only, "numeric or categorical"),
        (
            &*only.replace("sensitive", "boolean"),
            "0 columns of kind sensitive",
        ),
        (
            &*only.replace("kind = \"label\"", "kind = \"numeric\""),
            "0 columns of kind label",
        ),
    ] {
        // Only a table of groups asks for them.
        let schema = Schema::parse("toy.toml", schema).unwrap();
        let text = b"sex,income\nF,0\nM,1\n";
        says(&schema.decode("f", text).unwrap_err(), &["toy.toml", words]);
        assert_eq!(schema.coded_bytes("f", text).unwrap().rows, 2);
    }
    let error = Schema::parse("toy.toml", "").unwrap_err();
    says(&error, &["0 columns"]);
}

proptest! {
    /// Whatever the bytes, an answer; whatever a line, features within [0, 1].
    #[test]
    fn any_bytes_give_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200), header in any::<bool>()) {
        let start: &[u8] = if header { HEADER.as_bytes() } else { b"" };
        let _ = schema().decode("f", &[start, &bytes].concat());
    }

    #[test]
    fn features_lie_in_the_unit_interval(
        ages in prop::collection::vec(-1e6..1e6_f64, 2..40),
        seed in any::<u32>(),
    ) {
        let clamp = changed("max = 20.0", "max = 20.0\noutside = \"clamp\"");
        let mut lines = String::new();
        for (index, age) in ages.iter().enumerate() {
            let pick = (seed as usize).wrapping_mul(31).wrapping_add(index * 7);
            let colour = ["red", "green", "light blue", "?"][pick % 4];
            let sex = ["F", "M"][index % 2];
            lines += &format!("{age},{colour},left,,{sex},low\n");
        }
        let (table, _) = read(&clamp, &lines);
        prop_assert_eq!(table.len(), ages.len());
        prop_assert!(table.features().iter().all(|value| (0.0..=1.0).contains(value)));
        for index in 0..table.len() {
            let row = table.row(index).unwrap();
            prop_assert_eq!(row[1..5].iter().sum::<f32>(), 1.0);
        }
    }

    /// A line of any fields is read back as those fields, quoted or not, at its own number.
    #[test]
    fn the_line_at_fault_is_named(
        blank in prop::collection::vec(prop::sample::select(vec!["", " ", "| x", "10,red,left,,F,low"]), 0..20),
        end in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        let mut text = String::from(HEADER.trim_end());
        for line in &blank {
            text += end;
            text += line;
        }
        text += end;
        text += "10,red,left,,F,wrong";
        let error = told(&schema().decode("f", text.as_bytes()).unwrap_err());
        let number = format!("line {},", blank.len() + 2);
        prop_assert!(error.contains(&number), "{} in {}", number, error);
    }
}

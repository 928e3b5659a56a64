//! Drafts of schemas: what is guessed of a file, and that the file is read by its draft.

use data::{Drafting, OpenSchema, Schema};
use proptest::prelude::*;
use test_support::data_folder;

use crate::says;

/// 120 people: more different notes than a category has levels.
fn people() -> String {
    let mut text = String::from("name;age;zip;score;gain;born;seen;well;sex;empty;flag\n");
    for i in 0..120 {
        let sex = ["F", "M", "NA"][i % 3];
        let (age, gain) = (17 + i % 72, if i % 2 == 0 { 0 } else { 1000 * i });
        text += &format!(
            "person {i};{age};0{};{:.2};{gain};19{}-03-0{};2021-05-06 07:{:02};{};{sex};?;{}\n",
            1000 + i % 7,
            i as f64 / 100.0 - 0.5,
            50 + i % 40,
            1 + i % 9,
            i % 60,
            ["Yes", "No"][i % 2],
            i % 2,
        );
    }
    text
}

#[test]
fn a_draft_says_what_a_file_holds() {
    let text = Schema::draft("people.csv", people().as_bytes(), None).unwrap();
    says(
        &text,
        &["IT HAS SEEN THE RECORDS", "public = true", "people.csv"],
    );
    for block in [
        "delimiter = \";\"\nheader = true\nmissing = [\"?\", \"NA\"]\n",
        "name = \"name\"\nkind = \"ignore\"\nwhy = \"text of which almost every record has its own, such as aaaaaa 99: names, identifiers, notes, or numbers or dates in a form that is not known\"\n\n",
        "name = \"age\"\nkind = \"integer\"\nmin = 10\nmax = 90\noutside = \"clamp\"\npublic = false\n",
        "name = \"zip\"\nkind = \"categorical\"\nlevels = [\"01000\", \"01001\",",
        "name = \"score\"\nkind = \"numeric\"\nmin = -1.0\nmax = 1.0\ndecimals = 2\noutside",
        "name = \"gain\"\nkind = \"integer\"\nmin = 0\nmax = 200000\nspecial = [0]\noutside",
        "name = \"born\"\nkind = \"date\"\nmin = \"1950-01-01\"\nmax = \"1989-12-31\"\noutside",
        "name = \"seen\"\nkind = \"datetime\"\nmin = \"2021-01-01T00:00\"\nmax = \"2021-12-31T23:59\"\nwritten = \"%Y-%m-%d %H:%M\"\noutside",
        "name = \"well\"\nkind = \"boolean\"\nzero = [\"No\"]\none = [\"Yes\"]\npublic = false\n",
        "name = \"sex\"\nkind = \"categorical\"\nlevels = [\"F\", \"M\"]\nmissing = \"level\"\nabsent = [\"NA\"]\npublic = false\n",
        "name = \"empty\"\nkind = \"ignore\"\nwhy = \"nothing but missing values\"\n",
        "name = \"flag\"\nkind = \"boolean\"\nzero = [\"0\"]\none = [\"1\"]\n",
    ] {
        assert!(text.contains(block), "{block}\nin\n{text}");
    }
    let schema = Schema::parse("people.toml", &text).unwrap();
    assert_eq!(schema.unconfirmed().len(), 9);
    assert_eq!(schema.label(), None);
    let table = schema
        .coded_bytes("people.csv", people().as_bytes())
        .unwrap();
    assert_eq!((table.rows, table.columns, table.clamped), (120, 9, 0));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.csv");
    std::fs::write(&path, people()).unwrap();
    assert_eq!(
        Schema::draft_of(&path, &Drafting::default())
            .unwrap()
            .split_once('\n')
            .unwrap()
            .1,
        text.split_once('\n').unwrap().1
    );
    let confirmed = Schema::of_public(&path).unwrap();
    let confirmed = Schema::parse("people.csv", &confirmed).unwrap();
    assert!(confirmed.unconfirmed().is_empty());
    assert_eq!(confirmed.code_columns(), schema.code_columns());
}

#[test]
fn a_draft_has_the_label_that_was_asked_for() {
    let draft = |label| Schema::draft("people.csv", people().as_bytes(), Some(label));
    for (label, block) in [
        (
            "well",
            "kind = \"label\"\nclasses = [[\"No\"], [\"Yes\"]]\n",
        ),
        (
            "sex",
            "kind = \"label\"\nclasses = [[\"F\"], [\"M\"]]\nmissing = \"level\"\n",
        ),
        (
            "score",
            "kind = \"label\"\nmin = -1.0\nmax = 1.0\ndecimals = 2\n",
        ),
        (
            "age",
            "kind = \"label\"\nmin = 10\nmax = 90\ndecimals = 0\n",
        ),
    ] {
        let text = draft(label).unwrap();
        assert!(text.contains(block), "{block}\nin\n{text}");
        let schema = Schema::parse("t", &text).unwrap();
        assert_eq!(schema.code_columns()[schema.label().unwrap()].name, label);
    }
    for label in ["name", "born", "empty"] {
        says(
            &draft(label).unwrap_err(),
            &[&format!("label '{label}'"), "categories"],
        );
    }
    // The first line may be a record.
    let error = draft("income").unwrap_err().to_string();
    assert!(
        error.contains("label 'income'") && !error.contains("zip"),
        "{error}"
    );
    let numbered = Schema::draft("f", b"y,x\n10,a\n9,b\n1,c\n", Some("y")).unwrap();
    assert!(
        numbered.contains("classes = [[\"1\"], [\"9\"], [\"10\"]]"),
        "{numbered}"
    );
}

#[test]
fn the_form_of_a_file_is_recognised() {
    let bare = Schema::draft("f", b"1,a\n2,b\n", None).unwrap();
    assert!(
        bare.contains("header = false") && bare.contains("name = \"column2\""),
        "{bare}"
    );
    let tabs = Schema::draft("f", b"\xef\xbb\xbfx\ty\r\n1,5\t2,5\r\n", None).unwrap();
    assert!(
        tabs.contains("delimiter = \"\\t\"") && tabs.contains("name = \"x\""),
        "{tabs}"
    );
}

#[test]
fn adult_is_read_by_its_draft() {
    let Some(folder) = data_folder() else {
        return;
    };
    let path = folder.join("adult/adult.data");
    let schema = Schema::of_public(&path).unwrap();
    let schema = Schema::parse("adult.data", &schema).unwrap();
    let table = schema.coded(&path).unwrap();
    assert_eq!((table.rows, table.columns, table.clamped), (32_561, 15, 0));
    let sizes: Vec<usize> = schema
        .code_columns()
        .iter()
        .map(|c| c.codes.len())
        .collect();
    assert_eq!((sizes[1], sizes[3], sizes[9], sizes[13]), (9, 16, 2, 42));
}

/// What would be lines of a draft, were it edited as text.
const HOSTILE: [&str; 8] = [
    "a\nordered = true",
    "b\n[[column]]\nname = \"c\"",
    "\"\"\"\nmin = 3",
    "'''\nlevels = []\n'''",
    "x # no comment",
    "kind = \"label\"",
    "u\u{2028}special = [1]\u{85}v",
    "\\ \"quoted\" 'twice'",
];

/// A table with these names of columns and these records.
fn table(names: &[&str], records: &[Vec<&str>]) -> String {
    let line = |fields: &[&str]| {
        let quoted = |text: &&str| format!("\"{}\"", text.replace('"', "\"\""));
        let fields: Vec<String> = fields.iter().map(quoted).collect();
        fields.join(",") + "\n"
    };
    let records = records.iter().map(|record| line(record));
    line(names) + &records.collect::<String>()
}

#[test]
fn a_draft_quotes_whatever_names_and_categories_are() {
    let rotated = |by: usize| (0..8).map(|i| HOSTILE[(i + by) % 8]).collect();
    // Enough of each for all to be listed, but for a name in its own column: it would be one of its values.
    let records: Vec<Vec<&str>> = (0..40).filter(|by| by % 8 != 0).map(rotated).collect();
    let text = table(&HOSTILE, &records);
    let draft = Schema::draft("f", text.as_bytes(), None).unwrap();
    let read: toml::Table = draft.parse().unwrap();
    let columns = read["column"].as_array().unwrap();
    assert_eq!(columns.len(), HOSTILE.len(), "{draft}");
    for (column, name) in columns.iter().zip(HOSTILE) {
        assert_eq!(column["name"].as_str(), Some(name));
        let levels = column["levels"].as_array().unwrap().iter();
        let levels: Vec<&str> = levels.filter_map(toml::Value::as_str).collect();
        let mut others: Vec<&str> = HOSTILE.into_iter().filter(|word| *word != name).collect();
        others.sort_unstable();
        assert_eq!(levels, others);
        // Beside its kind, and that it is not confirmed.
        assert_eq!(column.as_table().unwrap().len(), 4, "{column}");
    }
    let schema = Schema::parse("f", &draft).unwrap();
    assert_eq!(schema.coded_bytes("f", text.as_bytes()).unwrap().rows, 35);
}

#[test]
fn an_open_draft_shows_names_and_kinds_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.csv");
    let names = [
        "town",
        "a\nb = 1",
        "[[column]]",
        "age",
        "born",
        "pay",
        "label",
    ];
    let draft = |records: &[Vec<&str>], label: Option<&str>| {
        std::fs::write(&path, table(&names, records)).unwrap();
        let said = Drafting {
            label: label.map(String::from),
            ..Drafting::default()
        };
        OpenSchema::draft_of(&path, &said).unwrap()
    };
    // The same kinds, and no value of the one in the other.
    let one = [
        vec![HOSTILE[0], "Yes", "F", "17", "1950-02-03", "0.5", "1"],
        vec![HOSTILE[1], "No", "T", "17", "1950-02-03", "-7.25", "0"],
        vec![HOSTILE[2], "NA", "F", "400", "1999-02-03", "", "0"],
    ];
    let other = [
        vec![HOSTILE[3], "n", "0", "-5", "2001-01-01", "100.5", "1"],
        vec![HOSTILE[4], "y", "1", "0", "2001-01-01", "1.5", "0"],
    ];
    let text = draft(&one, None);
    assert_eq!(text, draft(&other, None));
    let read: toml::Table = text.parse().unwrap();
    for (column, name) in read["column"].as_array().unwrap().iter().zip(names) {
        assert_eq!(column["name"].as_str(), Some(name));
        let fields: Vec<&String> = column.as_table().unwrap().keys().collect();
        assert_eq!(fields, ["kind", "missing", "name", "public"], "{column}");
    }
    let open = OpenSchema::parse("f", &text).unwrap();
    assert_eq!(open.unconfirmed(), names);
    assert_eq!(open.open()[0], ["age", "born", "pay"]);
    assert_eq!(open.open()[1], ["town", "a\nb = 1", "[[column]]", "label"]);
    // The classes of a label cannot be found.
    let labelled = draft(&one, Some("label"));
    assert!(
        labelled.contains("classes = [[\"0\"], [\"1\"]]"),
        "{labelled}"
    );
    assert_eq!(labelled, draft(&other, Some("label")));
    OpenSchema::parse("f", &labelled).unwrap();
}

/// A column that nobody wants is in no draft, whatever it holds, and no rule is of it.
#[test]
fn a_column_is_left_out_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.csv");
    let records = (0..40).map(|i| format!("{i},{},{}\n", i + i % 3, i % 2));
    std::fs::write(&path, format!("in,out,l\n{}", records.collect::<String>())).unwrap();
    let leaving = |name: &str| Drafting {
        leave_out: vec![name.into()],
        ..Drafting::default()
    };
    let whole = Schema::draft_of(&path, &Drafting::default()).unwrap();
    let draft = Schema::draft_of(&path, &leaving("out")).unwrap();
    let [_, without] = [&whole, &draft].map(|text| text.split_once("name = \"out\"\n").unwrap().1);
    assert!(
        without.starts_with("kind = \"ignore\"\nwhy = \"--leave-out\"\n\n[[column]]"),
        "{draft}"
    );
    let refused = Schema::draft_of(&path, &leaving("note")).unwrap_err();
    says(
        &refused,
        &["column to leave out 'note': no column has this name; choose one of the first line"],
    );
}

/// Whole numbers that are just small enough to be exact have bounds that are.
#[test]
fn bounds_of_large_numbers_are_exact() {
    let text = "a\n-9007199254740991\n7\n9007199254740991\n7\n7\n";
    let draft = Schema::draft("f", text.as_bytes(), None).unwrap();
    assert!(draft.contains("max = 9007199254740992"), "{draft}");
    let schema = Schema::parse("f", &draft).unwrap();
    assert_eq!(schema.coded_bytes("f", text.as_bytes()).unwrap().clamped, 0);
}

proptest! {
    /// Whatever a file holds, it is refused or read by its draft, with nothing outside.
    #[test]
    fn a_file_is_read_by_its_draft(
        rows in prop::collection::vec(
            (
                prop_oneof!["-?[0-9]{1,17}", "[a-c]", Just("NA".to_string())],
                prop_oneof!["-?[0-9]{1,4}\\.[0-9]{0,9}", "[0-9]e-?[0-9]{1,3}"],
                "(19|20)[0-9]{2}-0[1-9]-[12][0-8]",
                "[ -~é]{0,6}",
            ),
            1..30,
        ),
    ) {
        let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut text = String::from("a,b,c,d\n");
        for (a, b, c, d) in &rows {
            text += &format!("{a},{b},{c},{}\n", quote(d));
        }
        let Ok(draft) = Schema::draft("f", text.as_bytes(), None) else {
            return Err(TestCaseError::fail(text));
        };
        let schema = Schema::parse("f", &draft);
        prop_assert!(schema.is_ok(), "{:?}\n{}", schema, draft);
        let table = schema.unwrap().coded_bytes("f", text.as_bytes());
        prop_assert!(table.is_ok(), "{:?}\n{}\n{}", table, draft, text);
        prop_assert_eq!(table.unwrap().clamped, 0, "{}\n{}", draft, text);
    }
}

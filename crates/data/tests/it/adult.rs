//! Adult: the schema that is shipped, and the published files against a plain second reading of them
//! where `SLIVER_DATA` names a folder that holds them.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use data::{CodedTable, GroupedTable, Labels, LoadOptions, Missing, Schema, adult};
use test_support::data_folder;

use crate::published::offline;

use crate::{says, told};

const LINES: &str = "|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, Black, Male, 0, 0, 40, United-States, <=50K.
38, ?, 89814, HS-grad, 9, Married-civ-spouse, ?, Husband, White, Female, 0, 0, 50, United-States, >50K.

";

#[test]
fn the_quirks_of_the_files_are_read() {
    let read = |schema: &Schema| schema.decode("adult.test", LINES.as_bytes()).unwrap();
    let schema = adult::schema("sex").unwrap();
    let both = read(&schema).table;
    assert_eq!((both.len(), both.width()), (2, 105));
    assert_eq!(both.groups(), [1, 0]);
    let classes = Labels::Classes {
        count: 2,
        values: vec![0, 1],
    };
    assert_eq!(both.labels(), &classes);
    let feature = |index: usize, name: &str| {
        let place = both.names().iter().position(|known| known == name).unwrap();
        both.row(index).unwrap()[place]
    };
    assert_eq!(feature(0, "age"), 8.0 / 73.0);
    assert_eq!(feature(0, "education-num"), 0.4);
    assert_eq!(
        (
            feature(0, "workclass=Private"),
            feature(1, "workclass=Private")
        ),
        (1.0, 0.0)
    );
    assert_eq!(
        (feature(0, "workclass=?"), feature(1, "workclass=?")),
        (0.0, 1.0)
    );
    assert!(
        !both
            .names()
            .iter()
            .any(|name| name.starts_with("sex") || name.contains("fnlwgt"))
    );

    let by_race = read(&adult::schema("race").unwrap()).table;
    assert_eq!((by_race.groups(), by_race.width()), (&[0, 1][..], 102));
    assert!(by_race.names().contains(&"sex=Female".to_string()));

    let error = adult::schema("age").unwrap_err();
    says(&error, &["'age'", "race, sex"]);
}

#[test]
fn the_shipped_schema_is_the_one_that_loads() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/adult.toml");
    let shipped = Schema::read(&path).unwrap();
    assert_eq!(
        shipped.feature_names(),
        adult::schema("sex").unwrap().feature_names()
    );
    let Some(folder) = data_folder() else {
        return;
    };
    let loaded = adult::load("sex", Missing::Level, &offline()).unwrap();
    for (file, table) in [("adult.data", &loaded.train), ("adult.test", &loaded.test)] {
        let read = shipped.read_csv(&folder.join("adult").join(file)).unwrap();
        assert_eq!((&read.table, read.dropped), (table, 0));
    }
}

/// Counts: the README of the data, the repository's documentation (30162 and 15060 records without
/// missing values), and `cut | sort | uniq -c` of the files.
#[test]
fn the_published_files_are_what_they_are_known_to_be() {
    if data_folder().is_none() {
        return;
    }
    let classes = |table: &GroupedTable| {
        let cells = table.indices_by_group_and_class().unwrap();
        [
            cells[0].len() + cells[2].len(),
            cells[1].len() + cells[3].len(),
        ]
    };
    let all = adult::load("sex", Missing::Level, &offline()).unwrap();
    assert_eq!((all.train.len(), all.test.len()), (32_561, 16_281));
    assert_eq!(
        (classes(&all.train), classes(&all.test)),
        ([24_720, 7_841], [12_435, 3_846])
    );
    assert_eq!(all.train.group_sizes(), [10_771, 21_790]);
    assert_eq!(all.test.group_sizes(), [5_421, 10_860]);
    let race = adult::load("race", Missing::Level, &offline()).unwrap();
    assert_eq!(race.train.group_sizes(), [4_745, 27_816]);
    let whole = adult::load("sex", Missing::Drop, &offline()).unwrap();
    assert_eq!((whole.train.len(), whole.test.len()), (30_162, 15_060));
    assert_eq!(whole.train.width(), 102);
    let refused = adult::load("sex", Missing::Refuse, &offline()).unwrap_err();
    let refused = told(&refused);
    assert!(
        refused.contains("adult/adult.data, line 15, column native-country: expected a value"),
        "{refused}"
    );

    let few = LoadOptions {
        train: Some(100),
        test: Some(50),
        ..offline()
    };
    let few = adult::load("sex", Missing::Level, &few).unwrap();
    assert_eq!((few.train.len(), few.test.len()), (100, 50));
    assert_eq!(few.train.features(), &all.train.features()[..100 * 105]);
    let many = LoadOptions {
        train: Some(32_562),
        ..offline()
    };
    let error = adult::load("sex", Missing::Level, &many).unwrap_err();
    assert!(told(&error).contains("1 to 32561"), "{error}");
}

/// Counts as above; of a capital gain of 0 by `cut | sort | uniq -c`.
#[test]
fn all_columns_have_codes() {
    if data_folder().is_none() {
        return;
    }
    let (schema, train, test) = adult::tables(false, &offline()).unwrap();
    assert_eq!((train.rows, test.rows), (32_561, 16_281));
    assert!(schema.unconfirmed().is_empty());
    let columns = schema.code_columns();
    assert_eq!(
        (columns.len(), train.columns, schema.label()),
        (15, 15, Some(14))
    );
    assert_eq!(
        (columns[2].name.as_str(), columns[2].ordered),
        ("fnlwgt", 256)
    );
    let gains = &columns[10];
    let zero = gains.codes.iter().position(|code| code == "0").unwrap();
    assert!(zero == gains.ordered && zero > 30, "{zero}");
    let count = |table: &CodedTable, column: usize, code: usize| {
        let records = table.codes.chunks_exact(15);
        records
            .filter(|record| usize::from(record[column]) == code)
            .count()
    };
    assert_eq!(count(&train, 10, zero), 29_849);
    assert_eq!(count(&train, 14, 1), 7_841);
    let question = columns[1].codes.len() - 1;
    assert_eq!(
        (&*columns[1].codes[question], count(&train, 1, question)),
        ("?", 1_836)
    );
    assert_eq!((train.clamped, test.clamped), (0, 0));

    let (whole, train, test) = adult::tables(true, &offline()).unwrap();
    assert_eq!((train.rows, test.rows), (30_162, 15_060));
    assert_eq!(whole.code_columns()[1].codes.len(), question);
    let codes = train
        .codes
        .chunks_exact(15)
        .flat_map(|record| record.iter().zip(0..15));
    let sizes: Vec<usize> = whole
        .code_columns()
        .iter()
        .map(|column| column.codes.len())
        .collect();
    assert!(
        codes
            .into_iter()
            .all(|(&code, column)| usize::from(code) < sizes[column])
    );
    let few = LoadOptions {
        train: Some(100),
        ..offline()
    };
    let (_, few, _) = adult::tables(true, &few).unwrap();
    assert_eq!((few.rows, &few.codes[..]), (100, &train.codes[..1500]));
}

/// The files again, by splitting lines at ", ", with the levels of `adult.names`.
#[test]
fn a_plain_reading_gives_the_same() {
    let Some(folder) = data_folder().map(|folder| folder.join("adult")) else {
        return;
    };
    let names = fs::read_to_string(folder.join("adult.names")).unwrap();
    let columns: Vec<(&str, Vec<&str>)> = names
        .lines()
        .filter(|line| !line.starts_with('|'))
        .filter_map(|line| line.strip_suffix('.')?.split_once(": "))
        .map(|(name, levels)| (name, levels.split(", ").collect()))
        .collect();
    assert_eq!(columns.len(), 14);
    let ranges = HashMap::from([
        ("age", (17.0, 90.0)),
        ("education-num", (1.0, 16.0)),
        ("capital-gain", (0.0, 99_999.0)),
        ("capital-loss", (0.0, 5_000.0)),
        ("hours-per-week", (1.0, 99.0)),
    ]);
    for (file, sensitive, one) in [
        ("adult.data", "sex", "Male"),
        ("adult.test", "sex", "Male"),
        ("adult.test", "race", "White"),
    ] {
        let read = adult::schema(sensitive)
            .unwrap()
            .read_csv(&folder.join(file))
            .unwrap()
            .table;
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let lines = text.lines().filter(|line| line.contains(", "));
        let (mut features, mut groups, mut classes) = (Vec::new(), Vec::new(), Vec::new());
        for line in lines {
            let fields: Vec<&str> = line.trim_end_matches('.').split(", ").collect();
            for ((name, levels), field) in columns.iter().zip(&fields) {
                if *name == sensitive {
                    groups.push(u8::from(*field == one));
                } else if let Some((min, max)) = ranges.get(name) {
                    let number: f64 = field.parse().unwrap();
                    features.push(((number - min) / (max - min)) as f32);
                } else if *name != "fnlwgt" {
                    features.extend(
                        levels
                            .iter()
                            .map(|level| f32::from(u8::from(level == field))),
                    );
                    if ["workclass", "occupation", "native-country"].contains(name) {
                        features.push(f32::from(u8::from(*field == "?")));
                    }
                }
            }
            classes.push(usize::from(fields[14] == ">50K"));
        }
        assert!(features == read.features(), "{file} by {sensitive}");
        assert_eq!(groups, read.groups());
        let classes = Labels::Classes {
            count: 2,
            values: classes,
        };
        assert_eq!(&classes, read.labels());
    }
}

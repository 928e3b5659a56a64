//! Tables with a sensitive attribute: accessors, groups, and what is refused.

use data::split::Splittable;
use data::{DataError, GroupedTable, Labels, PublicShare, Split, SplitPlan};
use proptest::prelude::*;

use crate::says;

fn names(width: usize) -> Vec<String> {
    (0..width).map(|i| format!("x{i}")).collect()
}

fn classes(values: &[usize]) -> Labels {
    Labels::Classes {
        count: 2,
        values: values.to_vec(),
    }
}

/// Five records of two features, groups 1 0 1 0 0, classes 0 1 1 1 0.
fn five() -> GroupedTable {
    let features = (0..10_u8).map(f32::from).collect();
    let labels = classes(&[0, 1, 1, 1, 0]);
    GroupedTable::new(names(2), features, labels, vec![1, 0, 1, 0, 0]).unwrap()
}

fn values(width: usize, values: &[f32]) -> Labels {
    Labels::Values {
        width,
        values: values.to_vec(),
    }
}

fn points() -> GroupedTable {
    let labels = values(2, &[0.0, 0.5, 1.0, 1.5]);
    GroupedTable::new(names(1), vec![7.0, 8.0], labels, vec![0, 1]).unwrap()
}

#[test]
fn accessors_agree() {
    let table = five();
    assert_eq!((table.len(), table.width()), (5, 2));
    assert_eq!(table.names(), ["x0", "x1"]);
    assert_eq!(table.row(3), Some(&[6.0, 7.0][..]));
    assert_eq!(table.gather(&[4, 0]), Some(vec![8.0, 9.0, 0.0, 1.0]));
    assert_eq!(table.gather_labels(&[4, 2]), Some(classes(&[0, 1])));
    assert_eq!(table.group_sizes(), [3, 2]);
    assert_eq!(table.indices_by_group(), [vec![1, 3, 4], vec![0, 2]]);
    assert_eq!(
        table.indices_by_group_and_class().unwrap(),
        [vec![4], vec![1, 3], vec![0], vec![2]]
    );
    let points = points();
    assert_eq!(
        points.gather_labels(&[1, 0]),
        Some(values(2, &[1.0, 1.5, 0.0, 0.5]))
    );
    assert_eq!(points.indices_by_group_and_class(), None);
    for index in [5, usize::MAX / 2, usize::MAX] {
        assert_eq!(table.row(index), None);
        assert_eq!(table.gather(&[0, index]), None);
        assert_eq!(table.gather_labels(&[index]), None);
        assert_eq!(points.gather_labels(&[index]), None);
    }
}

#[test]
fn records_can_be_selected() {
    let table = five();
    let part = table.select(&[2, 1, 1]).unwrap();
    assert_eq!(part.features(), [4.0, 5.0, 2.0, 3.0, 2.0, 3.0]);
    assert_eq!(
        (part.groups(), part.labels()),
        (&[1, 0, 0][..], &classes(&[1, 1, 1]))
    );
    assert_eq!(
        points().select(&[1, 0]).unwrap().labels(),
        &values(2, &[1.0, 1.5, 0.0, 0.5])
    );
    for (places, words) in [
        (&[0, 5][..], "index 5 of 5 records"),
        (&[0, 2], "group 0 of the table is empty"),
        (&[], "is empty"),
    ] {
        says(&table.select(places).unwrap_err(), &[words]);
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    type Parts = (usize, Vec<f32>, Labels, Vec<u8>);
    let good = || (1, vec![0.0; 2], classes(&[0, 1]), vec![0, 1]);
    type Change = fn(&mut Parts);
    let cases: [(Change, &str); 13] = [
        (
            |p| p.0 = 0,
            "number of features: expected at least 1, found 0",
        ),
        (|p| p.0 = 2, "number of feature values: expected 4, found 2"),
        (|p| p.1[1] = f32::NAN, "finite number, found another value"),
        (
            |p| p.2 = classes(&[0]),
            "number of labels: expected 2, found 1",
        ),
        (
            |p| p.2 = classes(&[0, 2]),
            "class: expected 0 to 1, found another value",
        ),
        (
            |p| {
                p.2 = Labels::Classes {
                    count: 0,
                    values: vec![0, 0],
                };
            },
            "number of classes: expected 1 to 65536",
        ),
        (|p| p.2 = values(0, &[]), "numbers of a label"),
        (|p| p.2 = values(2, &[0.0; 3]), "expected 4, found 3"),
        (
            |p| p.2 = values(1, &[0.0, f32::INFINITY]),
            "finite number, found another value",
        ),
        (
            |p| p.3 = vec![0, 2],
            "group: expected 0 to 1, found another value",
        ),
        (|p| p.3 = vec![0; 2], "group 1 of the table is empty"),
        (|p| p.3 = vec![1; 2], "group 0 of the table is empty"),
        (|p| *p = (1, vec![], classes(&[]), vec![]), "is empty"),
    ];
    for (change, words) in cases {
        let mut parts = good();
        change(&mut parts);
        let error = GroupedTable::new(names(parts.0), parts.1, parts.2, parts.3).unwrap_err();
        assert!(matches!(error, DataError::Request(_)));
        says(&error, &[words]);
    }
}

#[test]
fn the_sum_is_of_all_that_records_hold() {
    let sum = |table: &GroupedTable| table.sha256().unwrap();
    let table = five();
    let mut features = table.features().to_vec();
    features[3] = 99.0;
    let groups = table.groups().to_vec();
    let labels = table.labels().clone();
    let make = |features, labels, groups| GroupedTable::new(names(2), features, labels, groups);
    let same = make(table.features().to_vec(), labels.clone(), groups.clone()).unwrap();
    assert_eq!(sum(&same), sum(&table));
    let changed = make(features, labels.clone(), groups.clone()).unwrap();
    assert_ne!(sum(&changed), sum(&table));
    let all = table.features().to_vec();
    let changed = make(all.clone(), classes(&[0, 1, 1, 0, 0]), groups).unwrap();
    assert_ne!(sum(&changed), sum(&table));
    let changed = make(all, labels, vec![1, 0, 1, 0, 1]).unwrap();
    assert_ne!(sum(&changed), sum(&table));
    assert_eq!(points().strata(), Some(vec![0, 1]));
    assert_eq!(table.strata(), Some(vec![2, 1, 3, 1, 0]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Group and class sizes of the halves are those of the whole, halved.
    #[test]
    fn a_stratified_split_keeps_the_groups(cells in prop::collection::vec(0_usize..4, 20..80)) {
        let groups: Vec<u8> = cells.iter().map(|&cell| (cell / 2) as u8).collect();
        prop_assume!(groups.contains(&0) && groups.contains(&1));
        let labels = classes(&cells.iter().map(|&cell| cell % 2).collect::<Vec<_>>());
        let features = (0..cells.len()).map(|i| i as f32).collect();
        let table = GroupedTable::new(names(1), features, labels, groups).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let plan = SplitPlan { share: PublicShare::Fraction(0.5), seed: 4, stratified: true };
        let split = Split::load_or_create(folder.path(), "table", &table, &plan).unwrap();
        for (cell, whole) in table.indices_by_group_and_class().unwrap().iter().enumerate() {
            let public = split.public().iter().filter(|&&i| cells[i] == cell).count();
            prop_assert!((2 * public).abs_diff(whole.len()) <= 1);
        }
    }
}

const SCHEMA: &str = r#"
    missing = ["?"]
    [[column]]
    name = "x"
    kind = "numeric"
    min = 0
    max = 1000
    [[column]]
    name = "sex"
    kind = "sensitive"
    zero = ["F"]
    one = ["M"]
    missing = "drop"
    [[column]]
    name = "y"
    kind = "label"
    classes = [["no"], ["yes"]]
"#;

/// Rows that tell their number, `x`.
fn rows(count: usize) -> Vec<String> {
    let row = |i: usize| format!("{i},{},{}\n", ["F", "M"][i % 2], ["no", "yes"][i % 3 % 2]);
    (0..count).map(row).collect()
}

/// The numbers of the private and of the public rows.
fn split(rows: &[String]) -> [Vec<usize>; 2] {
    let folder = tempfile::tempdir().unwrap();
    let [csv, schema] = ["mine.csv", "mine.toml"].map(|name| folder.path().join(name));
    std::fs::write(&csv, format!("x,sex,y\n{}", rows.concat())).unwrap();
    std::fs::write(&schema, SCHEMA).unwrap();
    let table = data::Schema::read(&schema).unwrap().read_csv(&csv).unwrap();
    let (private, public) = table.split_by_row(0.2).unwrap();
    [private, public].map(|table| {
        let number = |x: &f32| (x * 1000.0).round() as usize;
        table.features().iter().map(number).collect()
    })
}

/// A record that is public in one run must not be private in another.
#[test]
fn a_row_moves_no_other_to_the_other_side() {
    let whole = split(&rows(100));
    assert_eq!((whole[0].len(), whole[1].len()), (82, 18));
    for dropped in [0, 2, 57, 99] {
        let mut others = rows(100);
        others[dropped] = format!("{dropped},?,no\n");
        let without = whole.clone().map(|mut side| {
            side.retain(|&row| row != dropped);
            side
        });
        assert_eq!(split(&others), without, "row {dropped}");
    }
    let longer = split(&rows(130));
    for (side, longer) in whole.iter().zip(&longer) {
        assert_eq!(side[..], longer[..side.len()]);
    }
}

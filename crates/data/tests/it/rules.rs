//! Rules between the columns of a copy: which codes they leave, that values keep them, and what is no rule.

use std::collections::BTreeSet;

use data::Schema;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use test_support::says;

const SCHEMA: &str = r#"
missing = ["?"]
[[column]]
name = "id"
kind = "ignore"
[[column]]
name = "age"
kind = "integer"
min = 0
max = 99
edges = [10, 20, 60]
special = [-1]
missing = "level"
[[column]]
name = "married"
kind = "categorical"
levels = ["no", "yes", "once"]
missing = "level"
[[column]]
name = "came"
kind = "date"
min = 2020-01-01
max = 2020-12-31
edges = [2020-03-01, 2020-06-01]
[[column]]
name = "went"
kind = "date"
min = 2020-02-01
max = 2021-06-30
edges = [2020-03-01, 2020-05-15]
special = ["9999-01-01"]
[[column]]
name = "paid"
kind = "date"
min = 2020-01-01
max = 2021-12-31
edges = ["2020-02-15"]
missing = "level"
[[column]]
name = "score"
kind = "numeric"
min = 0
max = 1
decimals = 1
[[column]]
name = "income"
kind = "label"
classes = [["low", "low."], ["high"]]
"#;

const RULES: &str = r#"
[[rule]]
at_most = ["came", "went"]
[[rule]]
at_most = ["went", "paid"]
[[rule]]
when = { column = "age", max = 15 }
then = { column = "married", values = ["no"] }
[[rule]]
when = { column = "income", values = ["low."] }
then = { column = "age", max = 25 }
"#;

fn schema(rules: &str) -> Schema {
    Schema::parse("toy.toml", &format!("{SCHEMA}{rules}")).unwrap()
}

/// Bins of ages are 0 to 9, to 19, to 59, and from there; then -1, and a missing value.
#[test]
fn codes_are_possible_together_or_not() {
    let schema = schema(RULES);
    let rules = schema.rules();
    let columns: Vec<[usize; 2]> = rules.pairs().iter().map(|rule| rule.columns()).collect();
    assert_eq!(columns, [[2, 3], [2, 4], [3, 4], [0, 1], [6, 0]]);
    let record = |age, married, came, went, paid, income| {
        rules.keep(&[age, married, came, went, paid, 0, income])
    };
    // (age, married), of high income: the first two bins hold an age of at most 15.
    for (age, allowed) in [
        (0, [true, false, false, true]),
        (1, [true, false, false, true]),
        (2, [true; 4]),
        (4, [true; 4]),
        (5, [true; 4]),
    ] {
        for (married, allowed) in (0..).zip(allowed) {
            assert_eq!(record(age, married, 0, 1, 1, 1), allowed, "{age} {married}");
        }
    }
    // Of low income all ages of a bin have to be at most 25.
    for (age, allowed) in [
        (0, true),
        (1, true),
        (2, false),
        (3, false),
        (4, true),
        (5, true),
    ] {
        assert_eq!(record(age, 0, 0, 1, 1, 0), allowed, "{age}");
    }
    // (came, went): only from June on is too late for before the middle of May.
    for (came, allowed) in [
        (0, [true; 4]),
        (1, [false, true, true, true]),
        (2, [false, false, true, true]),
    ] {
        for (went, allowed) in (0..).zip(allowed) {
            assert_eq!(record(3, 0, came, went, 1, 1), allowed, "{came} {went}");
        }
    }
    // Paid before the middle of February: so it was, and what follows; a missing date breaks nothing, and hides nothing.
    assert!(record(3, 0, 0, 0, 0, 1) && !record(3, 0, 0, 1, 0, 1));
    assert!(
        !record(3, 0, 1, 3, 0, 1),
        "what follows, where the middle is none"
    );
    assert!(record(3, 0, 2, 2, 2, 1) && !record(3, 0, 2, 0, 2, 1));
    assert!(
        Schema::parse("t", SCHEMA)
            .unwrap()
            .rules()
            .pairs()
            .is_empty()
    );
}

#[test]
fn records_that_break_rules_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.csv");
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    let good = [3, 0, 0, 1, 1, 0, 1];
    let bad = [3, 0, 2, 0, 1, 0, 1];
    let codes = [good, bad].concat();
    let error = schema(RULES).write(&path, &codes, &mut rng).unwrap_err();
    says(&error, &["record 2: expected one that keeps the rules"]);
    assert!(!path.exists());
    schema("").write(&path, &codes, &mut rng).unwrap();
}

/// 6 is at most 5 or 7 is at most 6: pairs are possible, and all three together are not, because 6 is a value of its own.
#[test]
fn pairs_are_not_all_that_is_looked_at() {
    let column = |name: &str, min, max, more: &str| {
        format!(
            "[[column]]\nname = \"{name}\"\nkind = \"integer\"\nmin = {min}\nmax = {max}\n{more}\n"
        )
    };
    let text = [
        column("a", 6, 8, "edges = [7]"),
        column("b", 5, 8, "edges = [8]\nspecial = [6]"),
        column("c", 4, 8, "edges = [7]"),
        "[[rule]]\nat_most = [\"a\", \"b\"]\n[[rule]]\nat_most = [\"b\", \"c\"]\n".into(),
    ];
    let schema = Schema::parse("t", &text.concat()).unwrap();
    let rules = schema.rules();
    let allows = |rule: &data::table::Rule| rule.allows(0, 0);
    assert!(rules.pairs().iter().all(allows) && rules.pairs().len() == 3);
    assert!(!rules.keep(&[0, 0, 0]) && rules.keep(&[0, 2, 0]) && rules.keep(&[0, 0, 1]));
}

/// A column of numbers of one kind for all: its least and largest one, where bins start, its special values, in halves of a
/// unit, and whether a value may be missing.
type Numbers = (i64, i64, BTreeSet<i64>, BTreeSet<i64>, bool);

fn numbers() -> impl Strategy<Value = Numbers> {
    let edges = prop::collection::btree_set(1_i64..8, 0..4);
    let special = prop_oneof![9 => (0_i64..22).prop_map(|whole| 2 * whole), 1 => 0_i64..44];
    let specials = prop::collection::btree_set(special, 0..3);
    (2_i64..8, 4_i64..9, edges, specials, any::<bool>())
}

/// A number, in halves of a unit, as `kind` writes it.
fn shown(kind: &str, halves: i64) -> String {
    match kind {
        "integer" => (halves / 2).to_string(),
        "date" => format!("\"2000-01-{:02}\"", halves / 2 + 1),
        _ => format!("{}", halves as f64 / 20.0),
    }
}

/// A text as a number that compares as it does, if it is one.
fn value(text: &str) -> Option<f64> {
    text.rsplit('-').next()?.parse().ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The law of rules, against all values that codes have: codes are kept where some values of theirs keep `at_most`, and each
    /// pair of values of theirs keeps `when` and `then`; what is written keeps all, and has the same codes.
    #[test]
    fn written_values_keep_the_rules(
        columns in prop::collection::vec(numbers(), 3..5),
        edges in prop::collection::btree_set((0_usize..4, 0_usize..4), 1..5),
        order in Just([0_usize, 1, 2, 3]).prop_shuffle(),
        condition in prop::option::of((0_usize..3, 4_i64..20, 0_usize..3, 4_i64..20)),
        kind in prop::sample::select(vec!["integer", "date", "numeric"]),
        missing in prop::sample::subsequence(vec!["?", "5", "0.7", "2000-01-06", "2000-01-09"], 0..5),
        seed in any::<u64>(),
    ) {
        let count = columns.len();
        let edges: Vec<[usize; 2]> = edges
            .into_iter()
            .filter(|&(a, b)| a < b)
            .map(|(a, b)| [order[a], order[b]])
            .filter(|edge| edge.iter().all(|&column| column < count))
            .collect();
        let condition = condition.filter(|(when, _, then, _)| when != then);
        let mut text = format!("missing = {missing:?}\n");
        for (place, (min, span, edges, specials, missing)) in columns.iter().enumerate() {
            let list = |halves: Vec<i64>| {
                let texts: BTreeSet<String> = halves.into_iter().map(|value| shown(kind, value)).collect();
                texts.into_iter().collect::<Vec<_>>().join(", ")
            };
            let edges: Vec<String> = edges.iter().filter(|&edge| edge < span).map(|edge| shown(kind, 2 * (min + edge))).collect();
            text += &format!(
                "[[column]]\nname = \"c{place}\"\nkind = \"{kind}\"\nmin = {}\nmax = {}\nedges = [{}]\nspecial = [{}]\n",
                shown(kind, 2 * min), shown(kind, 2 * (min + span)), edges.join(", "), list(specials.iter().copied().collect()),
            );
            if kind == "numeric" {
                text += "decimals = 1\n";
            }
            if *missing {
                text += "missing = \"level\"\n";
            }
        }
        let bare = Schema::parse("t", &text);
        prop_assume!(bare.is_ok());
        let bare = bare.unwrap();
        for [a, b] in &edges {
            text += &format!("[[rule]]\nat_most = [\"c{a}\", \"c{b}\"]\n");
        }
        if let Some((when, low, then, high)) = condition {
            text += &format!(
                "[[rule]]\nwhen = {{ column = \"c{when}\", min = {} }}\nthen = {{ column = \"c{then}\", max = {} }}\n",
                shown(kind, 2 * low), shown(kind, 2 * high),
            );
        }
        // Rules that leave no value.
        let schema = Schema::parse("t", &text);
        prop_assume!(schema.is_ok());
        let schema = schema.unwrap();

        // All numbers in range by their codes: whatever a line may say that a record is.
        let names = schema.code_columns();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let others: Vec<String> = (0..count).map(|place| bare.value(place, 0, &mut rng)).collect();
        let mut numbers: Vec<Vec<Vec<f64>>> = names.iter().map(|column| vec![Vec::new(); column.codes.len()]).collect();
        let header = names.iter().map(|column| &*column.name).collect::<Vec<_>>().join(",");
        for (place, (min, span, ..)) in columns.iter().enumerate() {
            for halves in 2 * min..=2 * (min + span) {
                let field = shown(kind, halves).replace('"', "");
                let is_special = names[place].codes[names[place].ordered..].contains(&field);
                let read = |field: &str| {
                    let mut fields = others.clone();
                    fields[place] = field.into();
                    bare.coded_bytes("f", format!("{header}\n{}\n", fields.join(",")).as_bytes())
                };
                if missing.contains(&&*field) || (halves % 2 == 1 && !is_special) {
                    continue;
                }
                if let Ok(table) = read(&field) {
                    let own = &mut numbers[place][usize::from(table.codes[place])];
                    let number = value(&field).unwrap();
                    if !own.contains(&number) {
                        own.push(number);
                    }
                }
            }
        }
        prop_assume!(numbers.iter().flatten().any(|own| !own.is_empty()));
        let bound = |halves| value(shown(kind, halves).trim_matches('"')).unwrap();
        let breaks = |record: &[Option<f64>]| condition.is_some_and(|(when, low, then, high)| {
            record[when].is_some_and(|x| x >= bound(2 * low)) && record[then].is_some_and(|x| x > bound(2 * high))
        });
        // Also where the middle of a chain is missing.
        let mut closed = edges.clone();
        for _ in 0..count {
            for [a, b] in closed.clone() {
                closed.extend(edges.iter().filter(|edge| edge[0] == b).map(|edge| [a, edge[1]]));
            }
            closed.sort_unstable();
            closed.dedup();
        }
        let is_ordered = |record: &[Option<f64>]| closed.iter().all(|&[a, b]| {
            record[a].zip(record[b]).is_none_or(|(a, b)| a <= b)
        });

        let mut kept = Vec::new();
        for _ in 0..60 {
            let record: Vec<u16> = names.iter().map(|column| rng.random_range(0..column.codes.len()) as u16).collect();
            let mut all: Vec<Vec<Option<f64>>> = vec![Vec::new()];
            for (own, &code) in numbers.iter().zip(&record) {
                let own: Vec<Option<f64>> = match own[usize::from(code)].as_slice() {
                    [] => vec![None],
                    numbers => numbers.iter().copied().map(Some).collect(),
                };
                all = all.iter().flat_map(|before| own.iter().map(move |&number| [&before[..], &[number]].concat())).collect();
            }
            let expected = all.iter().any(|record| is_ordered(record)) && !all.iter().any(|record| breaks(record));
            prop_assert_eq!(schema.rules().keep(&record), expected, "{}\n{:?}", text, record);
            if expected {
                kept.extend(record);
            }
        }
        if kept.is_empty() {
            return Ok(());
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.csv");
        schema.write(&path, &kept, &mut rng).unwrap();
        let written = std::fs::read_to_string(&path).unwrap();
        prop_assert_eq!(&schema.coded(&path).unwrap().codes, &kept, "{}\n{}", text, written);
        for (line, codes) in written.lines().skip(1).zip(kept.chunks(count)) {
            let numbers: Vec<Option<f64>> = line
                .split(',')
                .zip(codes)
                .zip(&numbers)
                .map(|((field, &code), numbers)| value(field).filter(|value| numbers[usize::from(code)].contains(value)))
                .collect();
            prop_assert!(is_ordered(&numbers) && !breaks(&numbers), "{}\n{}", text, line);
        }
        // The same of a Parquet file, by a schema in which each number has a code of its own.
        let path = folder.path().join("copy.parquet");
        schema.write(&path, &kept, &mut rng).unwrap();
        prop_assert_eq!(&schema.coded(&path).unwrap().codes, &kept, "{}", text);
        let alone: Vec<&str> = text.lines().filter(|line| !line.starts_with("edges")).collect();
        let alone = Schema::parse("alone", &alone.join("\n")).unwrap();
        let values = alone.coded(&path).unwrap().codes;
        prop_assert!(values.chunks(count).all(|record| alone.rules().keep(record)), "{}", text);
    }
}

//! The scores against plain second ways to compute them, and on Adult.

mod adult;

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::EvaluateError;

/// The total variation distance between the records of two tables in the columns `subset`.
fn tvd(copy: &CodedRecords<'_>, real: &CodedRecords<'_>, subset: &[usize]) -> f64 {
    let mut shares: HashMap<Vec<u16>, f64> = HashMap::new();
    for (table, sign) in [(copy, 1.0), (real, -1.0)] {
        for record in table.codes.chunks_exact(table.columns()) {
            let cell = subset.iter().map(|&at| record[at]).collect();
            *shares.entry(cell).or_default() += sign / table.records() as f64;
        }
    }
    shares.values().map(|d| d.abs()).sum::<f64>() / 2.0
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Codes of tables of four columns.
fn tables() -> impl Strategy<Value = ([usize; 4], Vec<u16>, Vec<u16>)> {
    let sizes = prop::array::uniform4(1_usize..5);
    sizes.prop_flat_map(|sizes| {
        let record = || sizes.map(|size| 0..size as u16);
        let codes = move || {
            let records = prop::collection::vec(record(), 1..30);
            records.prop_map(|records| records.into_iter().flatten().collect::<Vec<u16>>())
        };
        (Just(sizes), codes(), codes())
    })
}

proptest! {
    #[test]
    fn distances_are_those_of_plain_counts((sizes, copy, real) in tables(), label in 0_usize..4) {
        let copy = CodedRecords::new(&copy, &sizes, &[0; 4]).unwrap();
        let real = CodedRecords::new(&real, &sizes, &[0; 4]).unwrap();
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;

        let single = mean((0..4).map(|a| tvd(&copy, &real, &[a])));
        prop_assert!(near(single_tvd(&copy, &real).unwrap(), single));

        let pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
        let pairs = mean(pairs.iter().map(|pair| tvd(&copy, &real, pair)));
        prop_assert!(near(pairs_tvd(&copy, &real).unwrap().unwrap(), pairs));

        let all = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]];
        let triples = |with: &dyn Fn(&[usize; 3]) -> bool| {
            mean(all.iter().filter(|t| with(t)).map(|triple| tvd(&copy, &real, triple)))
        };
        let found = |label| triples_tvd(&copy, &real, label).unwrap().unwrap();
        prop_assert!(near(found(None), triples(&|_| true)));
        prop_assert!(near(found(Some(label)), triples(&|t| t.contains(&label))));
    }
}

#[test]
fn distances_of_many_cells_are_those_of_plain_counts() {
    // 5000 x 4000 cells: more than are counted one by one.
    let codes = |step: u16| -> Vec<u16> {
        let record = |i: u16| [i * step % 5000, i % 7 * 500];
        (0..3000).flat_map(record).collect()
    };
    let (copy, real) = (codes(1), codes(3));
    let copy = CodedRecords::new(&copy, &[5000, 4000], &[0, 0]).unwrap();
    let real = CodedRecords::new(&real[..2000], &[5000, 4000], &[0, 0]).unwrap();
    let found = pairs_tvd(&copy, &real).unwrap().unwrap();
    assert!((found - tvd(&copy, &real, &[0, 1])).abs() < 1e-12);
    assert!((0.1..0.999).contains(&found), "{found}");
}

/// `n` records of three columns and a label of `classes`, from a recurrence: the label follows from the first two, but
/// for one record in five.
fn learnable(n: usize, classes: u16, mut state: u32) -> Vec<u16> {
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as u16
    };
    (0..n)
        .flat_map(|_| {
            let (a, b, c) = (next() % 6, next() % 6, next() % 3);
            let label = if next() % 5 == 0 {
                next()
            } else {
                (a * 5 % 6) + b
            };
            [a, b, c, label % classes]
        })
        .collect()
}

#[test]
fn trees_find_what_no_column_tells_by_itself() {
    for (classes, least) in [(2, 0.85), (3, 0.85)] {
        let (train, test) = (learnable(4000, classes, 1), learnable(2000, classes, 2));
        let sizes = [6, 6, 3, usize::from(classes)];
        let train = CodedRecords::new(&train, &sizes, &[0, 6, 0, 0]).unwrap();
        let test = CodedRecords::new(&test, &sizes, &[0, 6, 0, 0]).unwrap();
        let trees = learned_auc(Learner::Trees, &train, &test, 3)
            .unwrap()
            .unwrap();
        let logistic = learned_auc(Learner::Logistic, &train, &test, 3)
            .unwrap()
            .unwrap();
        // The parity of a sum is not linear in anything, so only trees find it.
        assert!((least..0.95).contains(&trees), "{classes}: {trees}");
        assert!((0.4..0.65).contains(&logistic), "{classes}: {logistic}");
    }
}

#[test]
fn a_copy_that_lost_a_class_or_its_signal_ranks_by_chance() {
    let real = learnable(2000, 2, 2);
    let sizes = [6, 6, 3, 2];
    let with = |of: fn(bool, u16) -> u16| -> Vec<u16> {
        let codes = real.iter().enumerate();
        codes.map(|(i, &code)| of(i % 4 == 3, code)).collect()
    };
    let one_class = with(|label, code| if label { 0 } else { code });
    let constant = with(|label, code| if label { code } else { 0 });
    let table = |codes| CodedRecords::new(codes, &sizes, &[0; 4]).unwrap();
    let real = table(&real);
    for copy in [table(&one_class), table(&constant)] {
        assert_eq!(
            learned_auc(Learner::Trees, &copy, &real, 3).unwrap(),
            Some(0.5)
        );
        // Weights are 0 up to what Newton's method leaves.
        let logistic = learned_auc(Learner::Logistic, &copy, &real, 3)
            .unwrap()
            .unwrap();
        assert!((logistic - 0.5).abs() < 0.02, "{logistic}");
    }
    // Real records of one class cannot be told apart.
    assert_eq!(
        learned_auc(Learner::Trees, &real, &table(&one_class), 3).unwrap(),
        None
    );
    assert_eq!(
        learned_auc(Learner::Logistic, &real, &table(&one_class), 3).unwrap(),
        None
    );
}

#[test]
fn scores_are_the_same_for_any_number_of_threads() {
    let (copy, real) = (learnable(20_000, 2, 1), learnable(10_000, 2, 2));
    let sizes = [6, 6, 3, 2];
    let copy = CodedRecords::new(&copy, &sizes, &[0, 6, 0, 0]).unwrap();
    let real = CodedRecords::new(&real, &sizes, &[0, 6, 0, 0]).unwrap();
    let scores = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        pool.install(|| score_tables(&copy, &real, Some(3)).unwrap())
    };
    let found = scores(1);
    assert_eq!(found, scores(3));
    assert_eq!((found.copy_records, found.real_records), (20_000, 10_000));
}

#[test]
fn what_needs_a_label_or_more_columns_is_none_without() {
    let one = CodedRecords::new(&[0, 1, 0], &[2], &[0]).unwrap();
    let scores = score_tables(&one, &one, None).unwrap();
    assert_eq!(scores.single_tvd, 0.0);
    assert_eq!((scores.pairs_tvd, scores.triples_tvd), (None, None));
    assert_eq!((scores.trees_auc, scores.logistic_auc), (None, None));
    let labelled = score_tables(&one, &one, Some(0)).unwrap();
    let aucs = [labelled.trees_auc, labelled.logistic_auc];
    assert_eq!(aucs, [Some(0.5); 2]);
    let wide = CodedRecords::new(&[0; 26], &[1; 13], &[0; 13]).unwrap();
    assert_eq!(triples_tvd(&wide, &wide, None).unwrap(), None);
    assert_eq!(triples_tvd(&wide, &wide, Some(12)).unwrap(), Some(0.0));
}

#[test]
fn tables_that_do_not_fit_are_refused_by_every_score() {
    let table = |codes, sizes| CodedRecords::new(codes, sizes, &[0, 0]).unwrap();
    let (good, empty) = (table(&[0, 1], &[3, 2]), table(&[], &[3, 2]));
    let other = table(&[0, 1], &[3, 4]);
    let in_order = CodedRecords::new(&[0, 1], &[3, 2], &[1, 0]).unwrap();
    let three = CodedRecords::new(&[0, 0, 0], &[3, 2, 1], &[0; 3]).unwrap();
    type Score = fn(&CodedRecords<'_>, &CodedRecords<'_>) -> Result<(), EvaluateError>;
    let scores: [Score; 5] = [
        |a, b| single_tvd(a, b).map(drop),
        |a, b| pairs_tvd(a, b).map(drop),
        |a, b| triples_tvd(a, b, None).map(drop),
        |a, b| learned_auc(Learner::Trees, a, b, 1).map(drop),
        |a, b| learned_auc(Learner::Logistic, a, b, 1).map(drop),
    ];
    for score in scores {
        assert!(score(&good, &good).is_ok());
        for (one, other) in [(&good, &empty), (&empty, &good)] {
            let refused = score(one, other);
            assert!(matches!(refused, Err(EvaluateError::Table(_))));
        }
        for (other, expected) in [(&other, 4), (&three, 3), (&in_order, 1)] {
            let refused = score(&good, other);
            let message = refused.unwrap_err().to_string();
            assert!(
                message.contains(&format!("is {expected}, expected")),
                "{message}"
            );
        }
    }
    for label in [2, usize::MAX] {
        let refused = score_tables(&good, &good, Some(label));
        let message = refused.unwrap_err().to_string();
        assert!(message.starts_with("label is "), "{message}");
    }
}

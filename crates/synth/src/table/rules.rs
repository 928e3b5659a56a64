//! Makes a copy keep the rules between columns of its schema: all of it is post-processing.

use std::collections::HashMap;

use data::Rules;
use data::table::Rule;
use private_queries::NoisyCounts;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use super::bins::Bins;
use crate::{SynthError, Watch, Work};

/// The maximum number of exchanges of a value that are tried for a record.
const TRIES: usize = 100;
/// Among this many sampled records or more, one in a thousand must keep the rules. It also bounds the records that are sampled
/// at once, unless a copy has more.
const ENOUGH: usize = 10_000;
const LEAST_SHARE: f64 = 0.001;

/// Sets noisy counts of groups of two columns to 0 if the rules allow none of their pairs of values.
pub(super) fn zero(tables: &mut [NoisyCounts], bins: &[Bins], rules: &Rules) {
    for rule in rules.pairs() {
        let [first, second] = rule.columns().map(|column| &bins[column]);
        let mut possible = vec![false; first.count() * second.count()];
        for a in 0..first.values() {
            let row = usize::from(first.group(a)) * second.count();
            for b in 0..second.values() {
                possible[row + usize::from(second.group(b))] |= rule.allows(a, b);
            }
        }
        for table in tables.iter_mut() {
            let place = |column| table.columns.iter().position(|&own| own == column);
            let [Some(a), Some(b)] = rule.columns().map(place) else {
                continue;
            };
            let sizes: Vec<usize> = table.columns.iter().map(|&own| bins[own].count()).collect();
            for (cell, count) in table.counts.iter_mut().enumerate() {
                // The last column varies fastest.
                let group =
                    |at: usize| cell / sizes[at + 1..].iter().product::<usize>() % sizes[at];
                if !possible[group(a) * second.count() + group(b)] {
                    *count = 0.0;
                }
            }
        }
    }
}

/// Samples `records` records, `[n, columns]` in rows and in random order, that keep the rules.
///
/// `sampled` gives groups of values, and values for them. If values break a rule, records of the same group exchange one. So
/// each column keeps its counts of values, and all columns together keep the counts of groups. If no exchange helps, for example
/// because the groups are impossible together, the record is sampled anew.
///
/// # Errors
/// Returns [`SynthError::Rules`] if fewer than one record in a thousand keeps the rules, and the errors of `watch`.
pub(super) fn kept<R: Rng, W: Watch>(
    rules: &Rules,
    records: usize,
    sampled: impl Fn(usize, &mut R) -> (Vec<u16>, Vec<u16>),
    rng: &mut R,
    watch: &mut W,
) -> Result<Vec<u16>, W::Error> {
    let (mut kept, mut all): (Vec<Vec<u16>>, usize) = (Vec::new(), 0);
    while kept.len() < records {
        watch.go_on(Work::Sampling)?;
        let share = kept.len().max(1) as f64 / all.max(1) as f64;
        if all >= ENOUGH && share < LEAST_SHARE {
            let (kept, sampled) = (kept.len(), all);
            return Err(W::failed(SynthError::Rules { kept, sampled }));
        }
        let batch = ((records - kept.len()) as f64 / share).ceil() as usize;
        let batch = batch.min(records.max(ENOUGH));
        let (groups, rows) = sampled(batch, rng);
        let columns = groups.len() / batch;
        let mut rows: Vec<Vec<u16>> = rows.chunks_exact(columns).map(<[u16]>::to_vec).collect();
        exchange(&mut rows, &groups, rules, rng);
        rows.retain(|record| rules.keep(record));
        kept.extend(rows);
        all += batch;
    }
    // There may be more records than needed, with those that were sampled anew at the end.
    kept.shuffle(rng);
    kept.truncate(records);
    Ok(kept.concat())
}

/// Exchanges a value of each record that breaks a rule with one of the same group and column, if fewer rules are then broken.
fn exchange(rows: &mut [Vec<u16>], groups: &[u16], rules: &Rules, rng: &mut impl Rng) {
    let rules = rules.pairs();
    let allows = |rule: &Rule, record: &[u16]| {
        let [first, second] = rule.columns().map(|column| record[column]);
        rule.allows(first, second)
    };
    let broken = |record: &[u16]| rules.iter().filter(|rule| !allows(rule, record)).count();
    // The records of each group, for each column that has rules.
    let width = groups.len() / rows.len();
    let mut members: Vec<HashMap<u16, Vec<usize>>> = vec![HashMap::new(); width];
    for column in rules.iter().flat_map(Rule::columns) {
        if members[column].is_empty() {
            let groups = groups.iter().skip(column).step_by(width).enumerate();
            groups.for_each(|(record, &group)| {
                members[column].entry(group).or_default().push(record);
            });
        }
    }
    for record in 0..rows.len() {
        for _ in 0..TRIES {
            let Some(rule) = rules.iter().find(|rule| !allows(rule, &rows[record])) else {
                break;
            };
            let column = rule.columns()[rng.random_range(0..2)];
            let same = &members[column][&groups[record * width + column]];
            let other = same[rng.random_range(0..same.len())];
            let before = broken(&rows[record]) + broken(&rows[other]);
            let [own, its] = [record, other].map(|record| rows[record][column]);
            (rows[record][column], rows[other][column]) = (its, own);
            if broken(&rows[record]) + broken(&rows[other]) >= before {
                (rows[record][column], rows[other][column]) = (own, its);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::{Unwatched, seeded};
    use data::Schema;

    fn noisy(columns: &[usize], counts: Vec<f64>) -> NoisyCounts {
        NoisyCounts {
            columns: columns.to_vec(),
            counts,
            deviation: 1.0,
            joined: Vec::new(),
        }
    }

    /// Two groups each of `a`, 0 to 3, and of `b`, 0 to 3, by two; then a label. Only values of the second group of `a` are all above
    /// those of the first one of `b`.
    #[test]
    fn counts_of_impossible_groups_are_0() {
        let number =
            |name| format!("[[column]]\nname = \"{name}\"\nkind = \"integer\"\nmin = 0\nmax = 3\n");
        let text = number("a")
            + "[[column]]\nname = \"c\"\nkind = \"label\"\nclasses = [[\"no\"], [\"yes\"]]\n"
            + &number("b")
            + "[[rule]]\nat_most = [\"a\", \"b\"]\n\
               [[rule]]\nwhen = { column = \"c\", values = [\"yes\"] }\nthen = { column = \"b\", max = 1 }\n";
        let schema = Schema::parse("t", &text).expect("a schema");
        let four = Bins::of(&noisy(&[0], vec![10.0; 4]), 4, 2.0);
        let bins = [
            four.clone(),
            Bins::of_label(&noisy(&[1], vec![10.0; 2]), 0, 2.0),
            four,
        ];
        let of = |columns: &[usize]| {
            let cells = columns.iter().map(|&column| bins[column].count()).product();
            noisy(columns, vec![7.0; cells])
        };
        let mut tables = [
            of(&[0]),
            of(&[0, 1]),
            of(&[0, 2]),
            of(&[2, 0]),
            of(&[1, 2]),
            of(&[0, 2, 1]),
        ];
        zero(&mut tables, &bins, schema.rules());
        let zeros = tables.map(|table| {
            let zero = |cell: &usize| table.counts[*cell] == 0.0;
            (0..table.counts.len()).filter(zero).collect::<Vec<_>>()
        });
        assert_eq!(
            zeros,
            [vec![], vec![], vec![2], vec![1], vec![3], vec![3, 4, 5, 7]]
        );
    }

    /// Values from 0 to 9 of two columns of one group each, of which the first is below 5 mostly: a tenth or more of pairs break
    /// the rule at first, and columns keep their counts all the same.
    #[test]
    fn records_keep_the_rules_and_columns_their_counts() {
        let schema = |rules: &str| {
            let number = |name| {
                format!("[[column]]\nname = \"{name}\"\nkind = \"integer\"\nmin = 0\nmax = 9\n")
            };
            let text = number("a") + &number("b") + rules;
            Schema::parse("t", &text).expect("a schema")
        };
        let of = |rules: &str, records| {
            let sampled = |records: usize, rng: &mut ChaCha20Rng| {
                let mut rows = vec![0; 2 * records];
                for row in rows.chunks_mut(2) {
                    row[0] = rng.random_range(0..6);
                    row[1] = rng.random_range(2..10);
                }
                (vec![0; 2 * records], rows)
            };
            let schema = schema(rules);
            kept(
                schema.rules(),
                records,
                sampled,
                &mut seeded(),
                &mut Unwatched,
            )
        };
        let at_most = "[[rule]]\nat_most = [\"a\", \"b\"]\n";
        let rows = of(at_most, 10_000).expect("records");
        assert!(rows.len() == 20_000 && rows.chunks(2).all(|row| row[0] <= row[1]));
        // Six deviations, also of the half of a file that comes first: false alarms one in a million. Of records that were sampled
        // until they keep the rule 30 % less had a 5.
        for (all, rows) in [(10_000.0, &rows[..]), (5000.0, &rows[..10_000])] {
            let found = rows.iter().step_by(2).filter(|&&a| a == 5).count() as f64;
            let expected: f64 = all / 6.0;
            assert!(
                (found - expected).abs() < 6.0 * expected.sqrt(),
                "{found} of {all}"
            );
        }
        // Whatever a is, b is 0, and never is.
        let never =
            "[[rule]]\nwhen = { column = \"a\", min = 0 }\nthen = { column = \"b\", max = 1 }\n";
        for records in [1, 20_000] {
            let said = of(never, records).expect_err("none keeps them").to_string();
            assert!(
                said.contains("0 of ") && said.contains("keep the rules"),
                "{said}"
            );
        }
    }
}

//! A copy keeps the rules between columns of its schema: all of it is post-processing.

use data::Rules;
use lab::diagnostic::Failure;
use lab::interrupt::Interrupt;
use private_queries::NoisyCounts;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;

use super::bins::Bins;

/// How often values are sampled for the groups of a record, at most.
const TRIES: usize = 20;
/// Records that are sampled at once, at most, where the copy has no more.
const AT_ONCE: usize = 100_000;
/// Of so many records or more one in a thousand keeps the rules, or none are made.
const ENOUGH: usize = 10_000;
const LEAST_SHARE: f64 = 0.001;

/// Makes noisy counts 0 that are of groups of two columns of which the rules allow no pair of values.
pub(super) fn zero(tables: &mut [NoisyCounts], bins: &[Bins], rules: &Rules) {
    for rule in rules.pairs() {
        let [first, second] = rule.columns().map(|column| &bins[column]);
        let mut possible = vec![false; first.count * second.count];
        for a in 0..first.values() {
            let row = usize::from(first.group(a)) * second.count;
            for b in 0..second.values() {
                possible[row + usize::from(second.group(b))] |= rule.allows(a, b);
            }
        }
        for table in tables.iter_mut() {
            let place = |column| table.columns.iter().position(|&own| own == column);
            let [Some(a), Some(b)] = rule.columns().map(place) else {
                continue;
            };
            let sizes: Vec<usize> = table.columns.iter().map(|&own| bins[own].count).collect();
            for (cell, count) in table.counts.iter_mut().enumerate() {
                // The last column varies fastest.
                let group =
                    |at: usize| cell / sizes[at + 1..].iter().product::<usize>() % sizes[at];
                if !possible[group(a) * second.count + group(b)] {
                    *count = 0.0;
                }
            }
        }
    }
}

/// So many records, `[n, columns]` in rows and in random order, that `keep` the rules.
///
/// Groups of values are `sampled`, and `values` for them, until the values keep the rules: so groups stay as they were sampled,
/// wherever some of their values go together. A record is sampled anew where twenty tries find none.
///
/// # Errors
/// Where fewer than one record in a thousand keeps the rules; an interrupt.
pub(super) fn kept(
    records: usize,
    columns: usize,
    sampled: impl Fn(usize, &mut ChaCha20Rng) -> Vec<u16>,
    values: impl Fn(&mut [u16], &mut ChaCha20Rng),
    keep: impl Fn(&[u16]) -> bool,
    rng: &mut ChaCha20Rng,
    interrupt: &Interrupt,
) -> Result<Vec<u16>, Failure> {
    let (mut rows, mut kept, mut all) = (Vec::new(), 0, 0);
    while kept < records {
        interrupt.check("records were sampled")?;
        let share = kept.max(1) as f64 / all.max(1) as f64;
        if all >= ENOUGH && share < LEAST_SHARE {
            return Err(Failure::Failed {
                message: format!(
                    "{kept} of {all} sampled records keep the rules between columns of the schema: expected one in 1000 or more"
                ),
                help: Some("rules may contradict each other, or the records: remove some".into()),
            });
        }
        let batch = ((records - kept) as f64 / share).ceil() as usize;
        let batch = batch.min(records.max(AT_ONCE));
        let mut groups = sampled(batch, rng);
        for _ in 0..TRIES {
            let mut tried = groups.clone();
            values(&mut tried, rng);
            let mut left = Vec::new();
            for (tried, groups) in tried
                .chunks_exact(columns)
                .zip(groups.chunks_exact(columns))
            {
                match keep(tried) {
                    true => rows.extend_from_slice(tried),
                    false => left.extend_from_slice(groups),
                }
            }
            groups = left;
        }
        all += batch;
        kept = rows.len() / columns;
    }
    // Who needed more tries came later.
    let mut order: Vec<usize> = (0..kept).collect();
    order.shuffle(rng);
    let of = |place: usize| &rows[place * columns..(place + 1) * columns];
    Ok(order[..records]
        .iter()
        .flat_map(|&place| of(place))
        .copied()
        .collect())
}

#[cfg(test)]
mod tests {
    use data::Schema;
    use rand::RngExt;

    use super::*;
    use crate::random::stream;

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
            let cells = columns.iter().map(|&column| bins[column].count).product();
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

    /// One group goes with half of its values, and one with all: both stay as many as they were sampled; of a third one no value
    /// does.
    #[test]
    fn records_keep_the_rules_and_groups_stay_as_many() {
        let groups = |records: usize, rng: &mut ChaCha20Rng| -> Vec<u16> {
            (0..records).map(|_| 10 * rng.random_range(0..3)).collect()
        };
        let values = |rows: &mut [u16], rng: &mut ChaCha20Rng| {
            rows.iter_mut()
                .for_each(|row| *row += rng.random_range(0..4));
        };
        let keep = |record: &[u16]| record[0] < 2 || (10..20).contains(&record[0]);
        let mut rng = stream(1, 1);
        let interrupt = Interrupt::default();
        let rows = kept(10_000, 1, groups, values, keep, &mut rng, &interrupt).expect("records");
        assert!(rows.len() == 10_000 && rows.iter().all(|&row| keep(&[row])));
        // Five deviations, also of the half of a file that comes first: false alarms one in a million.
        for (all, rows) in [(10_000.0, &rows[..]), (5000.0, &rows[..5000])] {
            let first = rows.iter().filter(|&&row| row < 10).count() as f64;
            assert!(
                (first - all / 2.0_f64).abs() < 2.5 * all.sqrt(),
                "{first} of {all}"
            );
        }
        for records in [1, 300, 20_000] {
            let never = kept(records, 1, groups, values, |_| false, &mut rng, &interrupt);
            let said = never.expect_err("none keeps them").to_string();
            assert!(
                said.contains("0 of ") && said.contains("keep the rules"),
                "{said}"
            );
        }
    }
}

//! All counts as they were released, with the deviation of their noise, as a file of the copy.

use lab::diagnostic::{Failure, OrFailed};
use private_queries::NoisyCounts;
use private_synth::table::Bins;

use super::run::TableCopy;

/// Counts of a file, at most; of more, those of single columns alone.
const MOST: usize = 1_000_000;
/// Columns of a table, at most.
const COLUMNS: usize = 3;

/// Lines `column1, value1, column2, value2, column3, value3, count, deviation`, a count each.
pub(super) fn csv(run: &TableCopy) -> Result<Vec<u8>, Failure> {
    let columns = run.input.records.columns();
    let released = run.released()?;
    let alone: Vec<Vec<String>> = columns.iter().map(|column| column.codes.clone()).collect();
    let together: Vec<Vec<String>> = released
        .bins
        .iter()
        .zip(columns)
        .map(|(bins, column)| names(bins, &column.codes, column.ordered))
        .collect();
    let mut lines = csv::Writer::from_writer(Vec::new());
    let head = (1..=COLUMNS).flat_map(|at| [format!("column{at}"), format!("value{at}")]);
    let head = head.chain(["count".into(), "deviation".into()]);
    lines.write_record(head).or_failed()?;
    let counts = |tables: &[NoisyCounts]| tables.iter().map(|t| t.counts.len()).sum::<usize>();
    let all = counts(&released.columns) + counts(&released.pairs) <= MOST;
    let pairs: &[NoisyCounts] = if all { &released.pairs } else { &[] };
    for (tables, names) in [(&released.columns[..], &alone), (pairs, &together)] {
        for table in tables {
            for (cell, count) in table.counts.iter().enumerate() {
                let mut values = vec![""; table.columns.len()];
                let mut rest = cell;
                for (value, &column) in values.iter_mut().zip(&table.columns).rev() {
                    let names = &names[column];
                    *value = &names[rest % names.len()];
                    rest /= names.len();
                }
                let of = |(&column, value): (&usize, &str)| {
                    [columns[column].name.clone(), value.to_string()]
                };
                let mut line: Vec<String> = table.columns.iter().zip(values).flat_map(of).collect();
                line.resize(2 * COLUMNS, String::new());
                line.extend([format!("{count:.2}"), format!("{:.2}", table.deviation)]);
                lines.write_record(&line).or_failed()?;
            }
        }
    }
    lines.into_inner().or_failed()
}

/// What the groups of a column hold.
fn names(bins: &Bins, codes: &[String], ordered: usize) -> Vec<String> {
    let group = |group: usize| {
        let own: Vec<usize> = (0..codes.len())
            .filter(|&code| usize::from(bins.group(code as u16)) == group)
            .collect();
        match own[..] {
            [first, .., last] if last < ordered => format!("{} to {}", codes[first], codes[last]),
            _ => own
                .iter()
                .map(|&code| codes[code].as_str())
                .collect::<Vec<_>>()
                .join(" | "),
        }
    };
    (0..bins.count()).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_say_what_they_hold() {
        let noisy = NoisyCounts {
            columns: vec![0],
            counts: vec![30.0, 30.0, -4.0, 100.0, 500.0, 12.0, 3.0, 90.0],
            deviation: 10.0,
            joined: Vec::new(),
        };
        let codes = ["[0, 5)", "[5, 9)", "9", "10", "?", "a", "b", "c"].map(str::to_string);
        let names = names(&Bins::of(&noisy, 4, 10.0), &codes, 4);
        assert_eq!(names, ["[0, 5) to [5, 9)", "9 to 10", "?", "c", "a | b"]);
    }
}

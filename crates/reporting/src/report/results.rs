//! The results of several runs, by name.

use super::page::Row;
use super::record::RunRecord;
use super::run_file::Better;

/// One result of several runs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    pub name: String,
    pub better: Option<Better>,
    /// Of each run; absent where the run does not have it.
    pub values: Vec<Option<Row>>,
    numbers: Vec<Option<f64>>,
}

/// All results that any of the runs has, in the order in which they first appear.
pub(super) fn results(records: &[RunRecord]) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for (run, record) in records.iter().enumerate() {
        for metric in record.results() {
            let index = match all.iter().position(|shown| shown.name == metric.name) {
                Some(index) => index,
                None => {
                    all.push(Shown {
                        name: metric.name.clone(),
                        better: metric.better,
                        values: vec![None; records.len()],
                        numbers: vec![None; records.len()],
                    });
                    all.len() - 1
                }
            };
            all[index].values[run] = Some(Row::of(&metric));
            all[index].numbers[run] = metric.value.filter(|v| v.is_finite());
        }
    }
    all
}

impl Shown {
    /// The runs with the best value, where it is known what is better and not all are equal.
    pub(super) fn best(&self) -> Vec<usize> {
        let numbers = || self.numbers.iter().flatten().copied();
        let best = match self.better {
            Some(Better::Higher) => numbers().reduce(f64::max),
            Some(Better::Lower) => numbers().reduce(f64::min),
            None => None,
        };
        let runs: Vec<usize> = (0..self.numbers.len())
            .filter(|&run| self.numbers[run].is_some() && self.numbers[run] == best)
            .collect();
        if runs.len() == numbers().count() {
            Vec::new()
        } else {
            runs
        }
    }

    /// Which way it is better, in words.
    pub(super) fn better_in_words(&self) -> &'static str {
        let row = self.values.iter().flatten().next();
        row.map_or("", |row| row.better)
    }
}

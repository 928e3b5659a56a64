//! The table of results.

use serde::Serialize;

use super::number::shown;
use super::run_file::{Better, Metric};

/// The results of a run. The metric `WHOSE: SCORE` is shown in the row of `SCORE`, in a column `WHOSE`.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    /// The heading of the first column of values.
    own: &'static str,
    /// The headings of the other columns of values.
    others: Vec<String>,
    rows: Vec<Row>,
    has_paper: bool,
    has_source: bool,
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    pub name: String,
    pub better: &'static str,
    pub ours: String,
    /// The values of the other columns, as many as there are columns.
    others: Vec<Option<String>>,
    pub paper: Option<String>,
    pub source: Option<String>,
}

impl Row {
    pub(super) fn of(metric: &Metric) -> Self {
        let unit = metric
            .unit
            .as_deref()
            .map_or(String::new(), |u| format!(" {u}"));
        let with_unit = |value: f64| format!("{}{unit}", shown(value));
        Self {
            name: metric.name.clone(),
            better: match metric.better {
                Some(Better::Higher) => "higher is better",
                Some(Better::Lower) => "lower is better",
                None => "",
            },
            ours: metric.value.map_or_else(|| "not finite".into(), with_unit),
            others: Vec::new(),
            paper: metric.paper.map(with_unit),
            source: metric.source.clone(),
        }
    }
}

impl Results {
    pub(super) fn of(metrics: &[Metric]) -> Self {
        let (mut others, mut rows) = (Vec::<String>::new(), Vec::<Row>::new());
        for row in metrics.iter().map(Row::of) {
            let parts = row.name.split_once(": ");
            let of_other = parts.and_then(|(whose, score)| {
                let same = |own: &Row| own.name.eq_ignore_ascii_case(score);
                Some((whose.to_string(), rows.iter_mut().find(|own| same(own))?))
            });
            let Some((whose, own)) = of_other else {
                rows.push(row);
                continue;
            };
            let known = others.iter().position(|other| *other == whose);
            let place = known.unwrap_or_else(|| {
                others.push(whose);
                others.len() - 1
            });
            own.others.resize(place, None);
            own.others.push(Some(row.ours));
        }
        for row in &mut rows {
            row.others.resize(others.len(), None);
        }
        let has_paper = rows.iter().any(|row| row.paper.is_some());
        Self {
            own: match has_paper || !others.is_empty() {
                true => "This run",
                false => "Value",
            },
            has_source: rows.iter().any(|row| row.source.is_some()),
            others,
            rows,
            has_paper,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_score_of_others_stands_beside() {
        let metric = |name: &str, value: f64| Metric::new(name, value);
        let results = Results::of(&[
            metric("Distance, pairs", 0.123_456),
            metric("Accuracy", 0.5),
            metric("Columns alone: distance, pairs", 0.25),
            metric("Real records: accuracy", 0.75),
            metric("Real records: noise", 1.0),
        ]);
        assert_eq!(results.others, ["Columns alone", "Real records"]);
        let rows: Vec<_> = results
            .rows
            .iter()
            .map(|row| {
                let others = row.others.iter().map(|o| o.as_deref().unwrap_or("-"));
                format!(
                    "{} {} {}",
                    row.name,
                    row.ours,
                    others.collect::<Vec<_>>().join(" ")
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                "Distance, pairs 0.1235 0.25 -",
                "Accuracy 0.5 - 0.75",
                "Real records: noise 1 - -"
            ]
        );
    }
}

//! What is shown of a copy.

use lab::diagnostic::Failure;
use lab::evaluate::tabular::{CodedRecords, TableScores, score_tables};
use lab::report::{Better, Metric};
use lab::session::Report;

use super::model::independent;
use super::pictures::pictures;
use super::run::TableCopy;
use crate::random::stream;
use crate::scores::READS_PRIVATE;

pub(super) fn report(run: &TableCopy) -> Result<Report, Failure> {
    let (sizes, ordered) = (run.input.sizes(), run.input.ordered());
    let mut metrics = Vec::new();
    if let Some(test) = &run.input.test {
        let scored = |codes: &[u16]| {
            let [copy, test] = [codes, &test.codes].map(|c| CodedRecords::new(c, &sizes, &ordered));
            score_tables(&copy?, &test?, run.input.label)
        };
        let scored = |codes: &[u16]| scored(codes).map_err(Failure::failed);
        let alone = independent(&run.columns, run.rows(), &mut stream(run.settings.seed, 73));
        let prefix = |name: &str| format!("{name}: ");
        metrics.extend(named("", &scored(&run.made)?));
        metrics.extend(named(
            &prefix("Columns alone, the baseline"),
            &scored(&alone)?,
        ));
        if run.ceilings {
            metrics.extend(named(
                &prefix(&format!("{READS_PRIVATE}, the ceiling")),
                &scored(&run.input.records.codes)?,
            ));
        }
    }
    Ok(Report {
        pictures: pictures(run)?,
        metrics,
        warnings: warnings(run),
        ..Report::default()
    })
}

/// The scores of a copy, or of what it is compared with.
fn named(whose: &str, scores: &TableScores) -> Vec<Metric> {
    let distance = "mean total variation distance to test records";
    let area = "area under the ROC curve on test records";
    let all = [
        (
            format!("{distance}, single columns"),
            Some(scores.single_tvd),
            Better::Lower,
        ),
        (
            format!("{distance}, pairs of columns"),
            scores.pairs_tvd,
            Better::Lower,
        ),
        (
            format!("{distance}, pairs with the label"),
            scores.triples_tvd,
            Better::Lower,
        ),
        (
            format!("{area}, boosted trees"),
            scores.trees_auc,
            Better::Higher,
        ),
        (
            format!("{area}, logistic regression"),
            scores.logistic_auc,
            Better::Higher,
        ),
    ];
    let known = all
        .into_iter()
        .filter_map(|(name, value, better)| Some((name, value?, better)));
    known
        .map(|(name, value, better)| Metric::new(capital(whose, &name), value).better(better))
        .collect()
}

fn capital(whose: &str, name: &str) -> String {
    match whose {
        "" => name[..1].to_uppercase() + &name[1..],
        whose => format!("{whose}{name}"),
    }
}

/// Columns of which noise left nothing.
fn warnings(run: &TableCopy) -> Vec<String> {
    let columns = run.input.columns.iter().zip(&run.bins).zip(&run.columns);
    let silent = columns.filter(|((column, bins), _)| bins.count == 1 && column.codes.len() > 1);
    silent
        .map(|((column, _), noisy)| {
            format!(
                "The budget left nothing of how the column '{}' depends on others: its {} values have noise of deviation {:.0} \
                 on counts of {} records.",
                column.name,
                column.codes.len(),
                noisy.deviation,
                run.input.records.rows
            )
        })
        .collect()
}

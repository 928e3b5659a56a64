//! What is shown of a model of a table.

use lab::evaluate::tabular::{CodedRecords, auc};
use lab::prelude::*;
use private_queries::Query;
use private_synth::table::{Influence, Released};
use serde_json::json;

use super::run::ClassifyTable;
use crate::classify::model::{Kind, Learned, Model};
use crate::classify::score::{self, OF_PRIVATE, OF_TEST, SCORE, Score};
use crate::records::file_name;
use crate::tables;

/// Columns whose influence is shown, at most.
const SHOWN: usize = 10;

/// Keeps the model, and scores it.
pub(super) fn report(run: &mut ClassifyTable, session: &mut Session) -> Result<Report, Failure> {
    let (label, classes) = run.label()?;
    let classes = classes.to_vec();
    let columns = run.input.records.columns();
    let name = columns[label].name.clone();
    let classifier = run.learned()?.clone();
    let learned = Learned::Table {
        schema: tables::kept(&run.input.text)?,
        model: classifier.model.clone(),
    };
    let kind = Kind::Table {
        label: name.clone(),
    };
    Model::new(kind, classes.clone(), None, learned).write(session.folder.path())?;
    let learner = classifier.model.learner();
    let mut report = Report {
        title: Some(format!(
            "Model of {name} in {}",
            file_name(&run.settings.input)
        )),
        warnings: run.warnings.clone(),
        ..Report::default()
    };
    let knowledge = format!("Public: {}.", run.input.public);
    report.more.push(("public_knowledge", json!(knowledge)));
    report.more.push(("learner", json!(learner.name())));
    report.more.push(("samples", json!(classifier.samples)));
    let found = match &run.input.test {
        Some(test) => {
            let (sizes, ordered) = (run.input.records.sizes(), run.input.records.ordered());
            let coded = CodedRecords::new(&test.codes, &sizes, &ordered).or_failed()?;
            let area = auc(&classifier.model, &coded).or_failed()?;
            let area = area.map(|area| {
                let name = format!("Area under the ROC curve on {OF_TEST}");
                Metric::new(name, area).better(Better::Higher)
            });
            report.metrics.extend(area);
            let score = Score::exactly(&run.codes(&test.codes)?, classes.len())?;
            Some((score, OF_TEST))
        }
        None if run.score_share > 0.0 => {
            let (records, count) = (&run.input.records, classes.len());
            let (most, neighbours) = (records.most_per_unit(), records.neighbours());
            let query = score::query(count, most)?;
            let tables = session.release(run, SCORE, &query, |run, _| {
                query.measure(&run.codes_of_private()?).or_failed()
            })?;
            Some((Score::of(&tables, count, neighbours), OF_PRIVATE))
        }
        None => None,
    };
    if let Some((score, of)) = found {
        report.metrics.extend(score.metrics(of, &classes));
        report.pictures = vec![score.picture(of, &classes)?];
        report.more.push(("score", score.counts()));
    }
    for (learner, loss) in &classifier.losses {
        let name = format!(
            "Mean of -ln p(label) of {}, learned from one half of the noise, on samples of the other",
            learner.name()
        );
        report
            .metrics
            .push(Metric::new(name, *loss).better(Better::Lower));
    }
    let mut influences = classifier.influences;
    influences.sort_by(|a, b| b.loss.total_cmp(&a.loss));
    let columns = run.input.records.columns();
    let of = |influence: &Influence| columns[influence.column].name.clone();
    report
        .metrics
        .extend(influences.iter().take(SHOWN).map(|influence| {
            let name = format!(
                "Rise of the mean of -ln p(label) when values of {} change places, on samples",
                of(influence)
            );
            let mut metric = Metric::new(name, influence.loss);
            metric.unit = Some(format!("+- {:.4} by noise", influence.deviation));
            metric
        }));
    let all = influences.iter().map(|influence| {
        json!({
            "column": of(influence),
            "loss": influence.loss,
            "deviation": influence.deviation,
        })
    });
    let all: Vec<_> = all.collect();
    report.more.push(("influences", json!(all)));
    Ok(report)
}

/// Columns of which noise left nothing, or little.
pub(super) fn warnings(released: &Released) -> Vec<String> {
    let drowned = released.drowned.iter().map(|name| {
        format!(
            "The budget found no values of '{name}': the model learned nothing of it. Say them in the schema, or give a larger \
             --private-schema."
        )
    });
    let rough = released.rough.iter().map(|name| {
        format!(
            "The budget told the range of '{name}' roughly alone: the model's bins are wide. Say it in the schema, or give a larger \
             --private-schema."
        )
    });
    drowned.chain(rough).collect()
}

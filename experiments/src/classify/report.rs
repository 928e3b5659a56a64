//! The model that a run leaves, and what is shown of it.

use lab::prelude::*;
use private_classifiers::Head;
use private_queries::Query;
use serde_json::{Value, json};

use super::model::{DESCRIPTION, Description, Kind, Learned, Model, SCHEMA, TENSORS};
use super::run::{Classify, MODEL};
use super::score::{self, OF_PRIVATE, OF_TEST, SCORE, Score};
use super::values::{self, Error, Range, Sums};
use crate::export::{Card, Contents, Destination, Loading};
use crate::records::file_name;

/// Keeps the model, and scores it.
pub(super) fn report(run: &mut Classify, session: &mut Session) -> Result<Report, Failure> {
    let (head, features) = (run.head(), run.features.clone());
    let learned = Learned::Head {
        features: features.clone(),
        head: head.clone(),
    };
    let (classes, range) = (run.input.classes.clone(), run.range());
    let model = Model::new(run.kind.clone(), classes, range, learned);
    model.write(session.folder.path())?;
    let mut report = Report {
        title: Some(match range {
            Some(_) => format!("Model of {}", file_name(&run.settings.input)),
            None => format!("Classifier of {}", file_name(&run.settings.input)),
        }),
        more: vec![("public_knowledge", json!(run.knowledge))],
        warnings: run
            .input
            .passed
            .iter()
            .map(|what| format!("Not learned from: {what}"))
            .collect(),
        ..Report::default()
    };
    match range {
        Some(range) => score_number(run, session, &head, range, &mut report)?,
        None => score_classes(run, session, &head, &mut report)?,
    }
    report.metrics.extend(run.mean_weight().map(|mean| {
        let name = "Mean weight of a record by --balance: noise weighs as if so large a share of the records were there";
        Metric::new(name, mean)
    }));
    Ok(report)
}

/// How good a classifier is.
fn score_classes(
    run: &mut Classify,
    session: &mut Session,
    head: &Head,
    report: &mut Report,
) -> Result<(), Failure> {
    let classes = run.input.classes.len();
    let (score, of) = match &run.input.test {
        Some(test) => {
            let codes = score::codes_of(&run.features, head, test, &session.interrupt)?;
            (Score::exactly(&codes, classes)?, OF_TEST)
        }
        None if run.score_share > 0.0 => {
            let query = score::query(classes, run.settings.most())?;
            let tables = session.release(run, SCORE, &query, |run, _| {
                let examples = run.examples()?;
                let labels = examples.labels().iter().copied();
                let probabilities = head.probabilities(examples.rows()).or_failed()?;
                let codes = score::codes(&probabilities, classes, labels);
                query.measure(&codes).or_failed()
            })?;
            (Score::of(&tables, classes, run.input.units), OF_PRIVATE)
        }
        None => return Ok(()),
    };
    let names = &run.input.classes;
    report.metrics = score.metrics(of, names);
    report.pictures = vec![score.picture(of, names)?];
    report.more.push(("score", score.counts()));
    Ok(())
}

/// How good a model of a number is.
fn score_number(
    run: &mut Classify,
    session: &mut Session,
    head: &Head,
    range: Range,
    report: &mut Report,
) -> Result<(), Failure> {
    let (error, of) = match (&run.input.test, &run.numbers) {
        (Some(test), Some(numbers)) => {
            let mut found = Vec::new();
            values::answers(&run.features, head, range, test, |number| {
                found.push(number);
                session.interrupt.check("records were looked at")
            })?;
            let labels: Vec<f64> = numbers.test.iter().map(|&label| label.into()).collect();
            (Error::exactly(&found, &labels), OF_TEST)
        }
        _ if run.score_share > 0.0 => {
            let most_per_unit = run.settings.most_per_unit;
            let query = Sums { most_per_unit };
            let sums = session.release(run, SCORE, &query, |run, _| {
                let pairs = values::pairs(head, run.examples()?)?;
                query.measure(&pairs).or_failed()
            })?;
            (Error::of(&sums, range, run.input.units), values::OF_PRIVATE)
        }
        _ => return Ok(()),
    };
    report.metrics = error.metrics(of);
    Ok(())
}

/// The model of a finished run in a folder of its own, with a card, unless it is there: it may be published.
pub(super) fn publish(folder: &RunFolder) -> Result<(), Failure> {
    let to = folder.file(MODEL);
    if to.exists() {
        return Ok(());
    }
    let record = RunRecord::read(folder.path())?;
    let run = record.run.clone().unwrap_or_default();
    let model = Model::read(folder.path())?;
    let knowledge = run.more.get("public_knowledge").and_then(Value::as_str);
    let records = match model.learned {
        Learned::Table { .. } => "new.csv",
        Learned::Head { .. } => "new-records/",
    };
    let contents = Contents {
        what: format!("{}, a private model", record.title()),
        facts: match &model.description.range {
            Some(range) => json!({"range": range, "features": model.description.features}),
            None => {
                json!({"classes": model.description.classes, "features": model.description.features})
            }
        },
        lead: lead(&model.description),
        public_knowledge: knowledge.unwrap_or_default().into(),
        scores_are_of: "this model".into(),
        kept_back: &[
            "input",
            "labels",
            "schema",
            "schema-from",
            "unit",
            "unit-from-name",
            "test",
            "test-labels",
            "public",
        ],
        loading: vec![Loading {
            program: "sliver",
            language: "sh",
            code: format!("sliver predict export {records} --out predictions.csv\n"),
        }],
    };
    let card = Card::new(&record, folder, contents, 0)?;
    let place = Destination::new(&to, false, 0)?;
    model.write(place.path())?;
    card.finish(place, &model.files(), None, "the model")
}

fn lead(description: &Description) -> String {
    let (tells, schema) = match &description.features {
        Kind::Table { label } => (
            format!("It tells `{label}` from the other columns; "),
            format!(", [{SCHEMA}]({SCHEMA}) what the columns hold"),
        ),
        _ => (String::new(), String::new()),
    };
    format!(
        "{tells}[{DESCRIPTION}]({DESCRIPTION}) has its classes and what it sees of a record{schema}, [{TENSORS}]({TENSORS}) its \
         weights. {}.\n\n",
        match &description.range {
            Some(range) => format!("It says a number from {range}"),
            None => format!("The classes are: {}", description.classes.join(", ")),
        }
    )
}

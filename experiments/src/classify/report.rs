//! The model that a run leaves, and what is shown of it.

use lab::prelude::*;
use private_queries::Query;
use serde_json::{Value, json};

use super::model::{DESCRIPTION, Description, Kind, Learned, Model, SCHEMA, TENSORS};
use super::run::{Classify, MODEL};
use super::score::{self, OF_PRIVATE, OF_TEST, SCORE, Score};
use crate::export::{Card, Contents, Destination, Loading};
use crate::records::file_name;

/// Keeps the model, and scores it.
pub(super) fn report(run: &mut Classify, session: &mut Session) -> Result<Report, Failure> {
    let (head, features) = (run.head(), run.features.clone());
    let learned = Learned::Head {
        features: features.clone(),
        head: head.clone(),
    };
    let classes = run.input.classes.len();
    let model = Model::new(run.kind.clone(), run.input.classes.clone(), learned);
    model.write(session.folder.path())?;
    let found = match &run.input.test {
        Some(test) => {
            let codes = score::codes_of(&features, &head, test, &session.interrupt)?;
            Some((Score::exactly(&codes, classes)?, OF_TEST))
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
            Some((Score::of(&tables, classes, run.input.units), OF_PRIVATE))
        }
        None => None,
    };
    let mut report = Report {
        title: Some(format!("Classifier of {}", file_name(&run.settings.input))),
        more: vec![("public_knowledge", json!(run.knowledge))],
        warnings: run
            .input
            .passed
            .iter()
            .map(|what| format!("Not learned from: {what}"))
            .collect(),
        ..Report::default()
    };
    if let Some((score, of)) = found {
        let names = &run.input.classes;
        report.metrics = score.metrics(of, names);
        report.pictures = vec![score.picture(of, names)?];
        report.more.push(("score", score.counts()));
    }
    Ok(report)
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
        facts: json!({"classes": model.description.classes, "features": model.description.features}),
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
         weights. The classes are: {}.\n\n",
        description.classes.join(", ")
    )
}

//! The model that a run leaves, and what is shown of it.

use std::path::Path;

use dp_core::mechanism::NoisyVector;
use lab::prelude::*;
use private_queries::Query;
use serde_json::{Value, json};

use super::model::{DESCRIPTION, Description, Model, TENSORS};
use super::run::{Classify, MODEL};
use super::score::{self, SCORE, Score};
use crate::export::{Card, Contents, Destination, Loading};
use crate::records::file_name;

/// Keeps the model, and scores it.
pub(super) fn report(run: &mut Classify, session: &mut Session) -> Result<Report, Failure> {
    let head = run.head();
    let model = Model::new(
        run.kind.clone(),
        run.input.classes.clone(),
        run.features.clone(),
        head.clone(),
    );
    model.write(session.folder.path())?;
    let (classes, features) = (run.input.classes.len(), run.features.clone());
    let found = match &run.input.test {
        Some(test) => {
            let codes = score::codes_of(&features, &head, test, &session.interrupt)?;
            let query = score::query(classes, 1)?;
            let exact = NoisyVector::without_privacy(query.measure(&codes).or_failed()?);
            let tables = query.read(&exact).or_failed()?;
            Some((
                Score::of(&tables, classes, test.len()),
                "public test records",
            ))
        }
        None if run.score_share > 0.0 => {
            let query = score::query(classes, run.settings.most())?;
            let tables = session.release(run, SCORE, &query, |run, _| {
                let examples = run.examples()?;
                let labels = examples.labels().iter().copied();
                let codes = score::codes(&head, examples.rows(), labels)?;
                query.measure(&codes).or_failed()
            })?;
            let score = Score::of(&tables, classes, run.input.units);
            Some((
                score,
                "the private records that it learned from, by noisy counts",
            ))
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

/// The model of a finished run in a folder of its own, with a card: it may be published.
pub(super) fn publish(folder: &RunFolder, to: &Path) -> Result<(), Failure> {
    let record = RunRecord::read(folder.path())?;
    let run = record.run.clone().unwrap_or_default();
    let model = Model::read(folder.path())?;
    let knowledge = run.more.get("public_knowledge").and_then(Value::as_str);
    let contents = Contents {
        what: format!("{}, a private model", record.title()),
        facts: json!({"classes": model.description.classes, "features": model.description.features}),
        lead: lead(&model.description),
        public_knowledge: knowledge.unwrap_or_default().into(),
        scores_are_of: "this model".into(),
        kept_back: &[
            "input",
            "labels",
            "unit",
            "unit-from-name",
            "test",
            "test-labels",
            "public",
        ],
        loading: vec![Loading {
            program: "sliver",
            language: "sh",
            code: "sliver predict export new-records/ --out predictions.csv\n".into(),
        }],
    };
    let card = Card::new(&record, folder, contents, 0)?;
    let place = Destination::new(to, false, 0)?;
    model.write(place.path())?;
    card.finish(place, &[DESCRIPTION, TENSORS], None, "the model")
}

fn lead(description: &Description) -> String {
    format!(
        "[{DESCRIPTION}]({DESCRIPTION}) has its classes and what it sees of a record, [{TENSORS}]({TENSORS}) its weights. The \
         classes are: {}.\n\n",
        description.classes.join(", ")
    )
}

/// Where the model of a run lies that may be published.
pub(super) fn place(folder: &RunFolder) -> std::path::PathBuf {
    folder.file(MODEL)
}

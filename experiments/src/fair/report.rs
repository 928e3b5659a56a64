//! What is shown of a run.

use lab::figures::{Scale, histogram, scatter};
use lab::prelude::*;

use super::settings::Notion;
use super::table;
use super::train::Fair;

const POINTS: usize = 3000;

impl Fair {
    /// Scores and pictures of predictions of test records.
    pub(super) fn report_of(
        &self,
        session: &Session,
        predicted: &Predictions,
    ) -> Result<Report, Failure> {
        let mut pictures = self.groups(predicted)?;
        let curves = ["objective", "loss", "penalty"].map(|key| (key, key));
        let caption = "Objective, loss and penalty over the steps";
        let y = Scale::linear("on test records");
        pictures.push(curve(&session.folder, y, &curves, caption)?);
        Ok(Report {
            pictures,
            ..self.scores_of(predicted)?.report()
        })
    }

    fn groups(&self, predicted: &Predictions) -> Result<Vec<Picture>, Failure> {
        let (test, notion) = (&self.steps.records.public, self.settings.notion());
        let d = self.settings.task.penalised();
        if d > 1 {
            let count = test.len().min(POINTS);
            let classes: Vec<usize> = test.groups()[..count].iter().map(|&g| g.into()).collect();
            let points = &predicted.activations[..count * d];
            let radius = points.iter().fold(0.1f32, |r, x| r.max(x.abs()));
            let bytes = scatter(points, d, &classes, radius)?;
            let caption = format!("{count} test records by sensitive attribute");
            return Ok(vec![("group.svg", caption, bytes)]);
        }
        let mut pictures = Vec::new();
        let groups = table::groups(test, notion);
        let names = ["group.svg", "group-class-1.svg"];
        for (class, (pair, name)) in groups.chunks_exact(2).zip(names).enumerate() {
            let values = |group: &Vec<usize>| {
                let value = |&i: &usize| f64::from(predicted.activations[i]);
                group.iter().map(value).collect()
            };
            let of = match notion {
                Notion::Sp => String::new(),
                Notion::Eo => format!(", Y = {class}"),
            };
            let named = |a: usize| (format!("A = {a}{of}"), values(&pair[a]));
            let range = self.settings.task.classifies().then_some([0.0, 1.0]);
            let chart = histogram("output", &[0, 1].map(named), range)?;
            let caption = format!("Outputs on test records by group{of}");
            pictures.push((name, caption, chart.bytes));
        }
        Ok(pictures)
    }
}

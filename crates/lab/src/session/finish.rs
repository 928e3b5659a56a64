//! The end of a run: pictures, `run.json`, its page, and last lines.

use std::time::SystemTime;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Experiment, Session, promise, spent};
use crate::diagnostic::{Failure, OrFailed};
use crate::report::{FigureFile, RunFile, timestamp};
use crate::run_folder::RunFolder;

/// The training time that an earlier `run.json` tells, 0 without one.
pub(super) fn seconds_before(folder: &RunFolder) -> f64 {
    std::fs::read_to_string(folder.file("run.json"))
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok())
        .and_then(|run| run["training_seconds"].as_f64())
        .unwrap_or(0.0)
}

/// Settings as `run.json` has them.
pub(super) fn resolved(settings: &impl Serialize) -> Result<Map<String, Value>, Failure> {
    let mut resolved = match serde_json::to_value(settings).or_failed()? {
        Value::Object(resolved) => resolved,
        _ => Map::new(),
    };
    resolved.retain(|_, value| !value.is_null());
    Ok(resolved)
}

impl Session {
    /// Writes the pictures, `run.json` and `report.html`, and says where.
    pub(super) fn finish<E: Experiment>(
        &mut self,
        experiment: &mut E,
        settings: &E::Settings,
    ) -> Result<(), Failure> {
        if let Some(training) = experiment.training() {
            training.save(&self.folder)?;
        }
        experiment.release_last(self)?;
        let report = experiment.report(self)?;
        let mut figures = Vec::new();
        for (name, caption, bytes) in &report.pictures {
            self.folder.write(name, bytes)?;
            figures.push(FigureFile::new(*name, caption));
        }
        let promise = promise(experiment, self.records, settings, &self.elsewhere);
        let spent = spent(promise.plan, &self.ledger)?;
        let privacy = promise.sentence(&self.ledger, spent);
        let elsewhere = (!self.elsewhere.is_empty()).then(|| ("elsewhere", json!(self.elsewhere)));
        let mut warnings = promise.warnings();
        warnings.extend(self.warnings.iter().cloned().chain(report.warnings));
        let file = RunFile {
            experiment: E::NAME.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            commit: option_env!("SLIVER_COMMIT").map(String::from),
            device: self.chosen.description.clone(),
            settings: resolved(settings)?,
            records: Some(self.records as u64),
            privacy: privacy.clone(),
            private: promise.promises(),
            plan: promise.in_run_file(),
            releases: Some(self.ledger.releases()),
            training_seconds: Some(self.seconds),
            command: Some(self.folder.command()),
            figures,
            metrics: report.metrics,
            test: report.test,
            warnings,
            finished: Some(timestamp(SystemTime::now())),
            more: std::iter::once(("epsilon_spent_upper", json!(spent)))
                .chain(elsewhere)
                .chain(report.more)
                .map(|(name, value)| (name.to_string(), value))
                .collect(),
            ..RunFile::default()
        };
        // Last of what the run computes: its presence says that the run is done.
        self.folder.write_json("run.json", &file)?;
        let page = crate::report::write_in(&self.folder)?;
        for metric in &file.metrics {
            let value = metric.value.unwrap_or(f64::NAN);
            println!("score     {}: {value:.4}", metric.name);
        }
        println!("time      {:.1} s", self.seconds);
        println!("privacy   {privacy}");
        for figure in &file.figures {
            println!("picture   {}", self.folder.file(&figure.file).display());
        }
        println!("report    {}", page.display());
        Ok(())
    }
}

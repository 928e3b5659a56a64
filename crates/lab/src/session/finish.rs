//! The end of a run: pictures, `run.json`, its page, and last lines.

use std::time::{Instant, SystemTime};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Experiment, Running, Session, promise, spent};
use crate::diagnostic::{Failure, OrFailed};
use crate::report::{FigureFile, RunFile, Took, duration, timestamp};
use crate::run_folder::RunFolder;

const RUN: &str = "run.json";

/// What knows how long a run takes.
pub(super) enum Clock {
    /// It runs since then.
    Since { began: Instant, resumed: bool },
    /// It is known; nothing if an earlier version made the run.
    Known(Option<Took>),
}

impl Clock {
    fn took(&self) -> Option<Took> {
        match *self {
            Self::Since { began, resumed } => Some(Took {
                seconds: began.elapsed().as_secs_f64(),
                resumed,
            }),
            Self::Known(took) => took,
        }
    }
}

/// What an earlier `run.json` tells; nothing without one.
pub(super) fn before(folder: &RunFolder) -> RunFile {
    let text = std::fs::read_to_string(folder.file(RUN)).ok();
    let run = text.and_then(|text| serde_json::from_str(&text).ok());
    run.unwrap_or_default()
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

/// Prints what a run found, if --json asks for it.
pub(super) fn told(running: &Running, folder: &RunFolder) -> Result<(), Failure> {
    if running.json {
        let run = before(folder);
        let metrics = run.metrics.into_iter();
        let found = match run.test.is_empty() {
            true => metrics.map(|m| (m.name, json!(m.value))).collect(),
            false => run.test,
        };
        println!("{}", Value::Object(found));
    }
    Ok(())
}

impl Session {
    /// Writes the pictures, `run.json` and `report.html`, and says where.
    pub(super) fn finish<E: Experiment>(
        &mut self,
        experiment: &mut E,
        settings: &E::Settings,
    ) -> Result<RunFile, Failure> {
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
            title: report.title,
            took: self.clock.took(),
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
        };
        // Last of what the run computes: its presence says that the run is done.
        self.folder.write_json(RUN, &file)?;
        let page = crate::report::write_in(&self.folder)?;
        for metric in &file.metrics {
            let value = metric.value.unwrap_or(f64::NAN);
            println!("score     {}: {value:.4}", metric.name);
        }
        println!("privacy   {privacy}");
        for figure in &file.figures {
            println!("picture   {}", self.folder.file(&figure.file).display());
        }
        println!("report    {}", page.display());
        Ok(file)
    }

    /// Says how long all of a run took, once nothing is left to do, in `run.json` and on the page too.
    pub(super) fn took(&self, mut file: RunFile) -> Result<(), Failure> {
        file.took = self.clock.took();
        self.folder.write_json(RUN, &file)?;
        crate::report::write_in(&self.folder)?;
        if let Some(took) = file.took {
            let since = ["", " since it was resumed"][usize::from(took.resumed)];
            println!("time      {}{since}", duration(took.seconds));
        }
        Ok(())
    }
}

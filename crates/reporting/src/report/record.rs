//! Reading a run folder back.

use std::path::{Path, PathBuf};

use super::ledger::LedgerSummary;
use super::metrics::Metrics;
use super::read::{ADVICE, at, read_text};
use super::run_file::{FigureFile, Metric, RunFile};
use super::settings::Settings;
use crate::diagnostic::Failure;

/// The content of a run folder.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// The folder.
    pub folder: PathBuf,
    /// The content of `run.json`; absent if the run did not finish.
    pub run: Option<RunFile>,
    /// The settings, from `run.json` or else from `config.toml`.
    pub settings: Settings,
    /// The content of `ledger.jsonl`.
    pub ledger: LedgerSummary,
    /// The content of `metrics.jsonl`.
    pub metrics: Metrics,
}

impl RunRecord {
    /// Reads a run folder.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a path that is no run folder, or for a file that cannot be read; it names the file, and the
    /// field or line.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        if !Self::is_run(folder) {
            return Err(Failure::input(
                format!("{}: this is no run folder", folder.display()),
                "name a folder that holds config.toml or run.json, such as runs/swae/NAME",
            ));
        }
        let run: Option<RunFile> = read_text(&folder.join("run.json"))?
            .map(|text| {
                let mut source = serde_json::Deserializer::from_str(&text);
                serde_path_to_error::deserialize(&mut source)
                    .map_err(|error| at(&folder.join("run.json"), "", &error))
            })
            .transpose()?;
        let settings = match &run {
            Some(run) if !run.settings.is_empty() => Settings::from_json(&run.settings),
            _ => {
                let path = folder.join("config.toml");
                let table: Result<toml::Table, _> = read_text(&path)?.unwrap_or_default().parse();
                Settings::from_toml(table.map_err(|e| {
                    Failure::input(format!("{}: {}", path.display(), e.message()), ADVICE)
                })?)
            }
        };
        Ok(Self {
            folder: folder.to_path_buf(),
            run,
            settings,
            ledger: LedgerSummary::read(&folder.join("ledger.jsonl"))?,
            metrics: Metrics::read(&folder.join("metrics.jsonl"))?,
        })
    }

    /// Whether a path is a folder that a run left behind.
    pub fn is_run(folder: &Path) -> bool {
        ["run.json", "config.toml"]
            .iter()
            .any(|name| folder.join(name).is_file())
    }

    /// Returns the folder's own name.
    pub fn name(&self) -> String {
        let own = self.folder.file_name();
        own.map_or_else(
            || self.folder.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Returns the name of the experiment in `run.json`, or else that of the parent folder.
    pub fn experiment(&self) -> String {
        if let Some(run) = &self.run {
            return run.experiment.clone();
        }
        let above = self.folder.parent().and_then(Path::file_name);
        above.map_or_else(
            || "a run".to_string(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Returns the heading of the run's page.
    pub fn title(&self) -> String {
        if let Some(title) = self.run.as_ref().and_then(|run| run.title.clone()) {
            return title;
        }
        match self.settings.get("dataset") {
            Some(dataset) => format!("{} on {dataset}", self.experiment()),
            None => self.experiment(),
        }
    }

    /// Returns the results: `metrics` of `run.json`, or else the numbers of `test`.
    pub fn results(&self) -> Vec<Metric> {
        let Some(run) = &self.run else {
            return Vec::new();
        };
        if !run.metrics.is_empty() {
            return run.metrics.clone();
        }
        let tests = run.test.iter();
        tests
            .filter_map(|(name, value)| {
                Some(Metric::new(
                    format!("test {}", name.replace('_', " ")),
                    value.as_f64()?,
                ))
            })
            .collect()
    }

    /// Returns the pictures: `figures` of `run.json`, or else the PNG files in the folder.
    pub fn figures(&self) -> Vec<FigureFile> {
        if let Some(run) = &self.run
            && !run.figures.is_empty()
        {
            return run.figures.clone();
        }
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".png"))
            .collect();
        names.sort();
        names
            .into_iter()
            .map(|name| {
                let caption = name.trim_end_matches(".png").replace(['-', '_'], " ");
                FigureFile::new(name, caption)
            })
            .collect()
    }

    /// Returns a number that an experiment added to its `run.json`.
    pub(super) fn more(&self, name: &str) -> Option<f64> {
        self.run.as_ref()?.more.get(name)?.as_f64()
    }
}

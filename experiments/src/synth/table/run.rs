//! The run: two releases of all private records, and the copy that they make.

use dp_core::mechanism::Releaser;
use dp_core::plan::{CheckedPlan, Noise, ReleaseNoise, TrainingPlan};
use dp_core::sampling::FixedSizeSampler;
use lab::backend::Chosen;
use lab::checkpoint::hex;
use lab::diagnostic::Failure;
use lab::interrupt::Interrupt;
use lab::run_folder::RunFolder;
use lab::session::{
    Arguments, DataSummary, Experiment, Fingerprint, Releases, Report, Session, Wording, bounded,
    releaser,
};
use private_queries::{Contingency, NoisyCounts, Query};
use serde_json::json;

use super::bins::Bins;
use super::input::Input;
use super::model::{Counts, Signal};
use super::settings::{Flags, Settings};
use super::{copy, measured, model, report};
use crate::random::stream;

/// Counts of columns, and those of pairs, by their names in the plan.
const COLUMNS: &str = "columns";
const PAIRS: &str = "pairs";
/// Counts of pairs, at most: 400 MB.
const MOST_VALUES: usize = 50_000_000;
/// Groups of the bins of a number, at least, and of a label.
const LEAST_BINS: f64 = 4.0;
const BINS_OF_LABEL: f64 = 8.0;
/// What is public of the records of a run, kept before the first release.
const PUBLIC: &str = "public.json";

/// A private copy of a table.
pub(crate) struct TableCopy {
    pub(super) input: Input,
    pub(super) settings: Settings,
    pub(super) ceilings: bool,
    releaser: Option<Releaser>,
    signal: Signal,
    /// Groups of the bins of a number, at most.
    most_bins: f64,
    /// Noisy counts of the columns.
    pub(super) columns: Vec<NoisyCounts>,
    /// Their groups in pairs.
    pub(super) bins: Vec<Bins>,
    /// Noisy counts of pairs of groups.
    pub(super) pairs: Vec<NoisyCounts>,
    /// The copy, `[rows, columns]`.
    pub(super) made: Vec<u16>,
}

impl TableCopy {
    /// Records of the copy.
    pub(super) fn rows(&self) -> usize {
        self.settings.rows.unwrap_or(self.input.records.rows)
    }

    fn planned(settings: &Settings, records: usize) -> Result<Option<TrainingPlan>, Failure> {
        let Some(epsilon) = settings.epsilon else {
            return Ok(None);
        };
        let all = FixedSizeSampler::new(records, records).map_err(Failure::failed)?;
        let delta = settings.delta.unwrap_or(0.1 / records as f64);
        let plan = TrainingPlan::of(Noise::TargetEpsilon(epsilon), delta, 0, all);
        let plan = plan.and(COLUMNS, ReleaseNoise::Share(measured::COLUMNS_SHARE));
        Ok(Some(plan.and(
            PAIRS,
            ReleaseNoise::Share(1.0 - measured::COLUMNS_SHARE),
        )))
    }

    /// Refuses to resume a run of another table, as far as what is public tells: what was released is of that.
    fn same_table(&self, session: &Session) -> Result<(), Failure> {
        let here = json!({
            "records": self.input.records.rows,
            "schema": hex(self.input.text.as_bytes()),
            "label": self.input.label,
        });
        let path = session.folder.file(PUBLIC);
        if !path.exists() {
            return session.folder.write_json(PUBLIC, &here).map(drop);
        }
        let bytes = std::fs::read(&path).map_err(Failure::failed)?;
        match serde_json::from_slice::<serde_json::Value>(&bytes).ok() == Some(here) {
            true => Ok(()),
            false => Err(Failure::input(
                format!(
                    "{}: the table is another than the one that the run began with",
                    path.display()
                ),
                "put it back, or start a new run",
            )),
        }
    }

    fn release(
        &mut self,
        name: &str,
        query: &Contingency,
        records: impl FnOnce(&Self) -> Vec<u16>,
        session: &mut Session,
    ) -> Result<Vec<NoisyCounts>, Failure> {
        session.release(self, name, query, |run, _| {
            query.measure(&records(run)).map_err(Failure::failed)
        })
    }

    /// The groups of the values of each column.
    fn joined(&self) -> Vec<Bins> {
        let label = self.input.label;
        let bins = self.columns.iter().zip(self.input.ordered()).enumerate();
        bins.map(|(place, (noisy, ordered))| {
            let most = match label == Some(place) {
                true => self.most_bins.min(BINS_OF_LABEL),
                false => self.most_bins,
            };
            Bins::of(noisy, ordered, most)
        })
        .collect()
    }
}

/// Counts of pairs, with the label and without, where numbers have so many bins; no fewer than there will be.
fn values_upper(input: &Input, bins: f64) -> usize {
    // A group more for what is left over.
    let most = |place: usize, bins: f64| {
        let column = &input.columns[place];
        let others = column.codes.len() - column.ordered;
        column.ordered.min(bins as usize + 1) + others
    };
    let classes = input.label.map_or(1, |label| most(label, BINS_OF_LABEL));
    let sizes: Vec<usize> = (0..input.columns.len())
        .map(|place| most(place, bins))
        .collect();
    let sum: usize = sizes.iter().sum();
    let squares: usize = sizes.iter().map(|size| size * size).sum();
    (sum * sum - squares) / 2 * (1 + classes)
}

impl Releases for TableCopy {
    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }
}

impl Experiment for TableCopy {
    const NAME: &'static str = "synth";
    const KIND: Option<(&'static str, &'static str)> = Some(("kind", "table"));
    const ABOUT: &'static str = "Make a private copy of a table: a CSV file in, a CSV file out that has the counts of all pairs \
                                 of columns and may be published. Every record is private, and public is only what the \
                                 schema says.";
    const STORED: &'static [&'static str] = &[COLUMNS, PAIRS];
    type Settings = Settings;

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        _: &Chosen,
    ) -> Result<Self, Failure> {
        let input = Input::load(settings, arguments.running.data_dir.as_deref())?;
        let plan = Self::planned(settings, input.records.rows)?;
        let releaser = releaser(plan, settings.insecure_noise_seed)?;
        let noise = releaser
            .as_ref()
            .map_or(0.0, |r| r.plan().noise_multiplier());
        let signal = Signal::of(input.records.rows, noise);
        let fits = |bins: f64| values_upper(&input, bins) <= MOST_VALUES;
        let mut most_bins = signal.bins();
        while most_bins > LEAST_BINS && !fits(most_bins) {
            most_bins = (most_bins / 2.0).max(LEAST_BINS);
        }
        let bound = format!(
            "a table of columns and values whose pairs have at most {MOST_VALUES} counts, found {}: ignore columns, or join \
             values",
            values_upper(&input, most_bins)
        );
        bounded("input", &settings.input, fits(most_bins), &bound)?;
        Ok(Self {
            input,
            settings: settings.clone(),
            ceilings: arguments.own.ceilings,
            releaser,
            signal,
            most_bins,
            columns: Vec::new(),
            bins: Vec::new(),
            pairs: Vec::new(),
            made: Vec::new(),
        })
    }

    fn data(&self) -> DataSummary {
        DataSummary {
            name: self.input.used[0].what.clone(),
            private: self.input.records.rows,
            test: self.input.test.as_ref().map_or(0, |test| test.rows),
            used: self.input.used.clone(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.releaser.as_ref().map(Releaser::plan)
    }

    fn wording(&self) -> Wording {
        Wording {
            releases: "all that is read of the private records".into(),
            public: self.input.public.clone(),
            without_noise: "Not private: --no-privacy adds no noise.".into(),
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let columns = &self.input.columns;
        let values: usize = self.input.sizes().iter().sum();
        let label = self.input.label.map_or("no label".into(), |place| {
            format!("label {}", columns[place].name)
        });
        Ok(vec![
            format!("public    {}", self.input.public),
            format!(
                "copy      {} records of {} columns with {values} values, {label}; {} components",
                self.rows(),
                columns.len(),
                self.signal.fit().components
            ),
        ])
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.same_table(session)?;
        let query = measured::columns(&self.input.sizes()).map_err(Failure::failed)?;
        let codes = |run: &Self| run.input.records.codes.clone();
        self.columns = self.release(COLUMNS, &query, codes, session)?;
        self.bins = self.joined();
        let query = measured::pairs(&self.bins, self.input.label).map_err(Failure::failed)?;
        let groups = |run: &Self| {
            let codes = run.input.records.codes.chunks_exact(run.bins.len());
            let codes = codes.flat_map(|record| record.iter().zip(&run.bins));
            codes.map(|(&code, bins)| bins.group(code)).collect()
        };
        self.pairs = self.release(PAIRS, &query, groups, session)?;
        let counts = Counts {
            columns: &self.columns,
            pairs: &self.pairs,
            bins: &self.bins,
            label: self.input.label,
        };
        self.made = model::sampled(
            &counts,
            self.input.records.rows,
            self.rows(),
            self.signal,
            &mut stream(self.settings.seed, 71),
            &session.interrupt,
        )?;
        Ok(())
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        let codes = self.input.records.codes.iter();
        let bytes: Vec<u8> = codes.flat_map(|code| code.to_le_bytes()).collect();
        Ok(Fingerprint::of(&bytes))
    }

    fn afterwards(
        _: &Arguments<Flags>,
        folder: &RunFolder,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        copy::write(folder, interrupt)
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        copy::keep(self, &session.folder)?;
        report::report(self)
    }
}

//! The run: two releases of all private records, and the copy that they make.

use std::path::{Path, PathBuf};

use clap::Id;
use data::{CodedTable, Part};
use dp_core::delta::default_delta;
use dp_core::mechanism::Releaser;
use dp_core::plan::{CheckedPlan, Noise, ReleaseNoise, TrainingPlan};
use dp_core::sampling::FixedSizeSampler;
use lab::backend::Chosen;
use lab::checkpoint::hex;
use lab::diagnostic::{Failure, OrFailed};
use lab::evaluate::tabular::{CodedRecords, trees_predictor};
use lab::interrupt::Interrupt;
use lab::ranks::Crew;
use lab::run_folder::RunFolder;
use lab::session::{
    Arguments, DataSummary, Experiment, Fingerprint, Releases, Report, Session, Wording, bounded,
    flags_of, releaser,
};
use private_queries::{NoisyCounts, Query};
use serde_json::json;

use super::bins::{Bins, CATEGORIES};
use super::input::Input;
use super::model::{Counts, Model, Signal};
use super::settings::{Beside, Flags, Settings};
use super::{bought, copy, measured, report};
use crate::apart;
use crate::random::stream;
use crate::synth::private_score::{self, SCORE};
use crate::synth::same_input;

/// Counts of columns, and those of pairs, by their names in the plan.
const COLUMNS: &str = "columns";
const PAIRS: &str = "pairs";
/// Classes of a label that is scored, at most: trees learn one against the rest.
pub(super) const SCORED_CLASSES: usize = 20;
/// Counts of pairs, at most: 400 MB.
const MOST_VALUES: usize = 50_000_000;
/// Groups of the bins of a number, at least, and of a label.
const LEAST_BINS: f64 = 4.0;
const BINS_OF_LABEL: f64 = 8.0;

/// A private copy of a table.
pub(crate) struct TableCopy {
    pub(super) input: Input,
    pub(super) settings: Settings,
    pub(super) ceilings: bool,
    /// A copy that something else made.
    pub(super) compared: Option<CodedTable>,
    compare: Option<PathBuf>,
    /// The share of the budget that the accuracy on private records gets; 0 where there is none.
    score_share: f64,
    releaser: Option<Releaser>,
    signal: Signal,
    /// Groups of the bins of a number, at most.
    most_bins: f64,
    pub(super) columns: Vec<NoisyCounts>,
    /// Their groups in pairs.
    pub(super) bins: Vec<Bins>,
    /// Noisy counts of pairs of groups.
    pub(super) pairs: Vec<NoisyCounts>,
    /// What the copy is sampled from.
    pub(super) model: Option<Model>,
    /// The copy, `[rows, columns]`.
    pub(super) made: Vec<u16>,
    /// Columns whose values the schema leaves open, and of which noise has left none.
    pub(super) drowned: Vec<String>,
}

impl TableCopy {
    /// The private records: how many there are where that is public, and what noisy counts say where units are.
    pub(super) fn records(&self) -> usize {
        if self.input.units.is_none() {
            return self.input.rows;
        }
        let sums = self
            .columns
            .iter()
            .map(|noisy| noisy.counts.iter().sum::<f64>());
        let mean = sums.sum::<f64>() / self.columns.len().max(1) as f64;
        (mean.round() as usize).max(1)
    }

    /// Records of the copy.
    pub(super) fn rows(&self) -> usize {
        self.settings.count.unwrap_or(self.records())
    }

    /// Records of a unit that count, at most.
    pub(super) fn most(&self) -> usize {
        self.settings.most_per_unit.unwrap_or(1)
    }

    fn planned(
        settings: &Settings,
        input: &Input,
        score: f64,
    ) -> Result<Option<TrainingPlan>, Failure> {
        let Some(epsilon) = settings.epsilon else {
            return Ok(None);
        };
        let neighbours = input.neighbours();
        let all = FixedSizeSampler::new(neighbours, neighbours).or_failed()?;
        let delta = settings.delta.unwrap_or(default_delta(neighbours as f64));
        let found = settings.private_schema.unwrap_or(0.0);
        let share = |share: f64| ReleaseNoise::Share(share * (1.0 - score - found));
        let plan = TrainingPlan::of(Noise::TargetEpsilon(epsilon), delta, 0, all);
        let plan = bought::planned(plan, input, found)
            .and(COLUMNS, share(measured::COLUMNS_SHARE))
            .and(PAIRS, share(1.0 - measured::COLUMNS_SHARE));
        Ok(Some(match score {
            0.0 => plan,
            score => plan.and(SCORE, ReleaseNoise::Share(score)),
        }))
    }

    /// How many private records of each class trees know that learned from the copy, with noise, and how many they do not: a
    /// share of the budget. None where there is a public test, or no budget for it.
    pub(super) fn score_privately(
        &mut self,
        session: &mut Session,
    ) -> Result<Option<Vec<f64>>, Failure> {
        let Some(label) = self.input.label.filter(|_| self.score_share > 0.0) else {
            return Ok(None);
        };
        let (sizes, ordered) = (self.input.sizes(), self.input.ordered());
        let table = private_score::query(sizes[label], self.most())?;
        let counts = session.release(self, SCORE, &table, |run, _| {
            let copy = report::few(&run.made, sizes.len());
            let copy = CodedRecords::new(copy, &sizes, &ordered).or_failed()?;
            let class = trees_predictor(&copy, label).or_failed()?;
            let mut cells = Vec::new();
            for block in run.input.records.blocks() {
                let block = block.or_failed()?;
                let records = CodedRecords::new(&block, &sizes, &ordered);
                let found = records
                    .and_then(|records| class(&records))
                    .or_failed()?
                    .into_iter()
                    .map(usize::from);
                let labels = block.iter().skip(label).step_by(sizes.len());
                let labels = labels.map(|&label| label.into());
                cells.extend(private_score::cells(labels, found));
            }
            table.measure(&cells).or_failed()
        })?;
        Ok(Some(counts))
    }

    /// What the noise alone makes of that accuracy: a bound on its standard deviation.
    pub(super) fn score_deviation_upper(&self) -> f64 {
        let label = self.input.label;
        let classes = label.map_or(1, |place| self.input.columns[place].codes.len());
        // Each unit has a record, or more.
        let (releaser, least) = (self.releaser.as_ref(), self.input.neighbours());
        private_score::deviation_upper(releaser, self.score_share, classes, self.most(), least)
    }

    /// Refuses to resume a run of another table, as far as what is public tells: what was released is of that.
    fn same_table(&self, session: &Session) -> Result<(), Failure> {
        let here = json!({
            "neighbours": self.input.neighbours(),
            "schema": hex(self.input.text.as_bytes()),
            "label": self.input.label,
        });
        same_input::check(session, "the table", &here)
    }

    /// The two releases: counts of columns, and of pairs of columns whose values were joined by them.
    fn measured(&mut self, session: &mut Session) -> Result<(), Failure> {
        let most = self.most();
        let query = measured::columns(&self.input.sizes()).or_failed()?;
        let query = query.of_units(most);
        self.columns = session.release(self, COLUMNS, &query, |run, _| {
            run.input.measured(&query, None)
        })?;
        self.bins = self.joined();
        let query = measured::pairs(&self.bins, self.input.label).or_failed()?;
        let query = query.of_units(most);
        self.pairs = session.release(self, PAIRS, &query, |run, _| {
            run.input.measured(&query, Some(&run.bins))
        })?;
        Ok(())
    }

    /// What follows from the values of the columns.
    fn settle(&mut self) -> Result<(), Failure> {
        let compared = self.compare.as_deref().map(|path| {
            apart::check_table("compare", path, Path::new(&self.settings.input))?;
            self.input.compared(path)
        });
        self.compared = compared.transpose()?;
        let fits = |bins: f64| values_upper(&self.input, bins) <= MOST_VALUES;
        let mut bins = self.signal.bins();
        while bins > LEAST_BINS && !fits(bins) {
            bins = (bins / 2.0).max(LEAST_BINS);
        }
        let bound = format!(
            "a table of columns and values whose pairs have at most {MOST_VALUES} counts, found {}: ignore columns, or join \
             values",
            values_upper(&self.input, bins)
        );
        bounded("input", &self.settings.input, fits(bins), &bound)?;
        self.most_bins = bins;
        Ok(())
    }

    /// The groups of the values of each column.
    fn joined(&self) -> Vec<Bins> {
        let label = self.input.label;
        let bins = self.columns.iter().zip(self.input.ordered()).enumerate();
        bins.map(|(place, (noisy, ordered))| match label == Some(place) {
            true => Bins::of_label(noisy, ordered, self.most_bins.min(BINS_OF_LABEL)),
            false => Bins::of(noisy, ordered, self.most_bins),
        })
        .collect()
    }
}

/// Records by the groups of their values.
pub(super) fn grouped(codes: &[u16], bins: &[Bins]) -> Vec<u16> {
    let mut groups = codes.to_vec();
    for record in groups.chunks_exact_mut(bins.len()) {
        let values = record.iter_mut().zip(bins);
        values.for_each(|(code, bins)| *code = bins.group(*code));
    }
    groups
}

/// Counts of pairs, with the label and without, where numbers have so many bins; no fewer than there will be.
fn values_upper(input: &Input, bins: f64) -> usize {
    // A group more for what is left over, of categories two.
    let most = |place: usize, bins: f64| {
        let column = &input.columns[place];
        let others = column.codes.len() - column.ordered;
        let others = match input.label == Some(place) {
            true => others,
            false => others.min(CATEGORIES + 2),
        };
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
    const ABOUT: &'static str = "Make a private copy of a table: a CSV or Parquet file in, one like it out that has the counts \
                                 of all pairs of columns and may be published. Every record is private, and public is only what the \
                                 schema says.";
    const STORED: &'static [&'static str] =
        &[bought::RANGES[0], bought::RANGES[1], COLUMNS, PAIRS, SCORE];
    const FLAGS_OF_A_PROCESS: &'static [fn() -> Vec<Id>] = &[flags_of::<Beside>];
    type Settings = Settings;

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        _: &Chosen,
    ) -> Result<Self, Failure> {
        let running = &arguments.running;
        let part = Part {
            of: running.ranks.map_or(1, |ranks| ranks as usize),
            number: running.rank,
        };
        let input = Input::load(settings, running.data_dir.as_deref(), part)?;
        let classes = input.label.map(|place| input.columns[place].codes.len());
        let scored = input.test.is_none()
            && settings.epsilon.is_some()
            && classes.is_some_and(|classes| (2..=SCORED_CLASSES).contains(&classes));
        let score_share = if scored { settings.score_share } else { 0.0 };
        let plan = Self::planned(settings, &input, score_share)?;
        let releaser = releaser(plan, settings.insecure_noise_seed)?;
        let noise = releaser
            .as_ref()
            .map_or(0.0, |r| r.plan().noise_multiplier());
        let mut run = Self {
            signal: Signal::of(input.neighbours(), noise),
            input,
            settings: settings.clone(),
            ceilings: arguments.own.beside.ceilings,
            compared: None,
            compare: arguments.own.beside.compare.clone(),
            score_share,
            releaser,
            most_bins: LEAST_BINS,
            columns: Vec::new(),
            bins: Vec::new(),
            pairs: Vec::new(),
            model: None,
            made: Vec::new(),
            drowned: Vec::new(),
        };
        if run.input.open.is_none() {
            run.settle()?;
        }
        Ok(run)
    }

    fn data(&self) -> DataSummary {
        DataSummary {
            name: self.input.used[0].what.clone(),
            private: self.input.neighbours(),
            test: self.input.test.as_ref().map_or(0, |test| test.rows),
            used: self.input.used.clone(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.releaser.as_ref().map(Releaser::plan)
    }

    fn wording(&self) -> Wording {
        let unit = self.input.units.map(|_| {
            format!(
                "all records of one unit, {} of which count at most",
                self.most()
            )
        });
        Wording {
            unit,
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
        let rows = match (self.settings.count, self.input.units) {
            (None, Some(_)) => "as many records as noisy counts say".to_string(),
            _ => format!("{} records", self.rows()),
        };
        Ok(vec![
            format!("public    {}", self.input.public),
            format!(
                "copy      {rows} of {}, {label}; {} components",
                match &self.input.open {
                    None => format!("{} columns with {values} values", columns.len()),
                    Some(open) => format!(
                        "columns of which {} have values that are found with noise",
                        open.schema.open().concat().len()
                    ),
                },
                self.signal.fit().components
            ),
        ])
    }

    fn join(&mut self, crew: &Crew) -> Result<(), Failure> {
        let refused =
            |what: &str, help: &str| Err(Failure::input(format!("--ranks: {what}"), help));
        if self.input.open.is_some() {
            return refused(
                "columns that the schema leaves open are looked for in one process",
                "give their values in the schema",
            );
        }
        if self.score_share > 0.0 || self.ceilings {
            return refused(
                "private records score the copy in one process",
                "give --test, or --score-share 0, and no --ceilings",
            );
        }
        crew.holds_records(self.input.rows)
    }

    fn serve(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.measured(session)
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.same_table(session)?;
        if self.input.open.is_some() {
            self.drowned = self.find_open(session)?;
            self.settle()?;
        }
        self.measured(session)?;
        let counts = Counts {
            columns: &self.columns,
            pairs: &self.pairs,
            bins: &self.bins,
            label: self.input.label,
            rules: self.input.schema.rules(),
        };
        let (rng, interrupt) = (&mut stream(self.settings.seed, 71), &session.interrupt);
        let model = Model::fitted(&counts, self.records(), self.signal, rng, interrupt)?;
        self.made = model.sample(counts.rules, self.rows(), rng, interrupt)?;
        self.model = Some(model);
        Ok(())
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        // Which of the file's records count, and as what, the settings and the schema say.
        let Input { records, text, .. } = &self.input;
        let of = format!("{} {}", records.sha256, hex(text.as_bytes()));
        Ok(Fingerprint::of(of.as_bytes()))
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
        report::report(self, session)
    }
}

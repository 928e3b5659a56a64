//! The run: the releases of all private records, and the copy that they make.

use std::path::Path;

use clap::Id;
use data::{CodedTable, Part};
use dp_core::mechanism::Releaser;

use lab::prelude::*;
use private_classifiers::{CodedRecords, Learner, TableModel};
use private_synth::table::{Aim, COLUMNS, Model, PAIRS, RANGES, Released, Signal, pair_noise};

use super::settings::{Beside, Flags, Settings};
use super::{copy, report};
use crate::apart;
use crate::in_run::Watched;
use crate::random::stream;
use crate::synth::private_score::{self, Bought, SCORE};
use crate::tables::{self, Input};

/// Classes of a label that is scored, at most: trees learn one against the rest.
pub(super) const SCORED_CLASSES: usize = 20;
/// Noise on the counts of pairs that leaves little of them, as a share of all records.
const MOST_NOISE: f64 = 0.1;

/// A private copy of a table.
pub(crate) struct TableCopy {
    pub(super) input: Input,
    pub(super) settings: Settings,
    pub(super) beside: Beside,
    /// A copy that something else made.
    pub(super) compared: Option<CodedTable>,
    /// The share of the budget that the accuracy on private records gets; 0 if there is none.
    score_share: f64,
    releaser: Option<Releaser>,
    /// What was released.
    released: Option<Released>,
    /// What the copy is sampled from.
    pub(super) model: Option<Model>,
    /// The copy, `[rows, columns]`.
    pub(super) made: Vec<u16>,
}

impl TableCopy {
    /// What was released, once it was.
    ///
    /// # Errors
    /// [`Failure::Failed`] before that.
    pub(super) fn released(&self) -> Result<&Released, Failure> {
        let released = self.released.as_ref();
        released.ok_or_else(|| Failure::failed("nothing was released yet"))
    }

    /// The number of private records if it is public; what noisy counts say if neighbours are units.
    pub(super) fn records(&self) -> usize {
        let records = &self.input.records;
        let released = self.released.as_ref();
        released.map_or(records.neighbours(), |released| released.records(records))
    }

    /// Records of the copy.
    pub(super) fn rows(&self) -> usize {
        self.settings.count.unwrap_or(self.records())
    }

    fn signal(&self) -> Signal {
        self.input.signal(self.releaser.as_ref())
    }

    /// What is said of a table with many columns for its records and its budget.
    fn crowded(&self) -> Option<String> {
        let records = &self.input.records;
        let (columns, neighbours) = (records.columns().len(), records.neighbours());
        let noise = pair_noise(
            columns,
            records.label().is_some(),
            tables::noise(self.releaser.as_ref()),
        );
        (noise > MOST_NOISE * neighbours as f64).then(|| {
            let pairs = columns * (columns - 1) / 2;
            format!(
                "The {pairs} pairs of {columns} columns share the budget: noise of deviation {noise:.0} on each count tells little of \
                 {neighbours} {}. Name columns to leave out (--leave-out NAME), or take a larger epsilon.",
                records.units().map_or("records", |_| "units")
            )
        })
    }

    /// The accuracy on private records of trees that learned from the copy, if there is no public test and a budget for it.
    pub(super) fn score_privately(
        &mut self,
        session: &mut Session,
    ) -> Result<Vec<Metric>, Failure> {
        let records = &self.input.records;
        let (sizes, ordered) = (records.sizes(), records.ordered());
        let Some(label) = records.label() else {
            return Ok(Vec::new());
        };
        let bought = Bought {
            share: self.score_share,
            classes: sizes[label],
            most: records.most_per_unit(),
            // Each unit has a record, or more.
            records: records.neighbours(),
            classifier: "boosted trees that learned from the copy".into(),
        };
        bought.metrics(self, session, |run, _| {
            let copy = report::few(&run.made, sizes.len());
            let copy = CodedRecords::new(copy, &sizes, &ordered).or_failed()?;
            let trees = TableModel::learn(Learner::Trees, &copy, label).or_failed()?;
            let mut codes = Vec::new();
            for block in run.input.records.table().blocks() {
                let block = block.or_failed()?;
                let records = CodedRecords::new(&block, &sizes, &ordered);
                let found = records
                    .and_then(|records| trees.predict(&records))
                    .or_failed()?;
                let labels = block.iter().skip(label).step_by(sizes.len());
                codes.extend(private_score::codes(labels.copied(), found));
            }
            Ok(codes)
        })
    }

    /// All releases.
    fn release(&mut self, session: &mut Session) -> Result<(), Failure> {
        let (asked, releaser) = (self.settings.asked(), self.releaser.as_mut());
        let (released, was_open) = self.input.release(&asked, Aim::Copy, releaser, session)?;
        self.released = Some(released);
        if was_open {
            self.settle()?;
        }
        Ok(())
    }

    /// What follows from the values of the columns.
    fn settle(&mut self) -> Result<(), Failure> {
        let compared = self.beside.compare.as_deref().map(|path| {
            apart::check_table("compare", path, Path::new(&self.settings.input))?;
            self.input.compared(path)
        });
        self.compared = compared.transpose()?;
        self.input.check_size(self.releaser.as_ref())
    }
}

impl Experiment for TableCopy {
    const NAME: &'static str = "synth";
    const KIND: Option<(&'static str, &'static str)> = Some(("kind", "table"));
    const ABOUT: &'static str = "Make a private copy of a table: a CSV or Parquet file in, one like it out that has the counts \
                                 of all pairs of columns and may be published. Every record is private, and public is only what the \
                                 schema says.";
    const STORED: &'static [&'static str] = &[RANGES[0], RANGES[1], COLUMNS, PAIRS, SCORE];
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
        let input = Input::load(&settings.asked(), running.data_dir.as_deref(), part)?;
        let records = &input.records;
        let classes = records.label().map(|label| records.sizes()[label]);
        let scored = input.test.is_none()
            && settings.epsilon.is_some()
            && classes.is_some_and(|classes| (2..=SCORED_CLASSES).contains(&classes));
        let score_share = if scored { settings.score_share } else { 0.0 };
        let budget = [settings.epsilon, settings.delta];
        let plan = input.plan(budget, &settings.asked(), (SCORE, score_share))?;
        let releaser = releaser(plan, settings.insecure_noise_seed)?;
        let mut run = Self {
            input,
            settings: settings.clone(),
            beside: arguments.own.beside.clone(),
            compared: None,
            score_share,
            releaser,
            released: None,
            model: None,
            made: Vec::new(),
        };
        if !run.input.records.is_open() {
            run.settle()?;
        }
        Ok(run)
    }

    fn data(&mut self) -> DataSummary {
        self.input.summary()
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }

    fn wording(&self) -> Wording {
        Wording {
            cautions: self.crowded().into_iter().collect(),
            ..self.input.wording()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let records = &self.input.records;
        let columns = records.columns();
        let values: usize = records.sizes().iter().sum();
        let label = records.label().map_or("no label".into(), |place| {
            format!("label {}", columns[place].name)
        });
        let rows = match (self.settings.count, records.units()) {
            (None, Some(_)) => "as many records as noisy counts say".to_string(),
            _ => format!("{} records", self.rows()),
        };
        Ok(vec![
            format!("public    {}", self.input.public),
            format!(
                "copy      {rows} of {}, {label}; {} components",
                match records.is_open() {
                    false => format!("{} columns with {values} values", columns.len()),
                    true => format!(
                        "columns of which {} have values that are found with noise",
                        records.open().concat().len()
                    ),
                },
                self.signal().components()
            ),
        ])
    }

    fn join(&mut self, crew: &Crew) -> Result<(), Failure> {
        let refused =
            |what: &str, help: &str| Err(Failure::input(format!("--ranks: {what}"), help));
        if self.input.records.is_open() {
            return refused(
                "columns that the schema leaves open are looked for in one process",
                "give their values in the schema",
            );
        }
        if self.score_share > 0.0 || self.beside.ceilings {
            return refused(
                "private records score the copy in one process",
                "give --test, or --score-share 0, and no --ceilings",
            );
        }
        crew.holds_records(self.input.records.rows())
    }

    fn serve(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.release(session)
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.input.check_same(session)?;
        self.release(session)?;
        let (records, rng) = (&self.input.records, &mut stream(self.settings.seed, 71));
        let watch = &mut Watched::new(&session.interrupt);
        let model = self.released()?.fit(records, rng, watch)?;
        let rules = records.schema().rules();
        self.made = model.sample(rules, self.rows(), rng, watch)?;
        self.model = Some(model);
        Ok(())
    }

    fn fingerprint(&mut self) -> Result<Fingerprint, Failure> {
        Ok(self.input.fingerprint())
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

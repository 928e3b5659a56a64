//! The run: the releases of all private records, and the model that is learned from them.

use std::path::Path;

use data::Part;
use dp_core::mechanism::Releaser;
use lab::prelude::*;
use private_classifiers::CodedRecords;
use private_synth::table::{
    Aim, CLASSES, COLUMNS, Classifier, PAIRS, RANGES, Released, check_classes,
};

use super::report;
use super::settings::{Flags, Settings};

use crate::classify::score::{self, SCORE};
use crate::classify::{finished, publish};
use crate::in_run::{self, Watched};
use crate::random::stream;
use crate::tables::Input;

/// A private model of a column of a table.
pub(crate) struct ClassifyTable {
    pub(super) input: Input,
    pub(super) settings: Settings,
    /// The share of the budget for a score on private records; 0 if there is none.
    pub(super) score_share: f64,
    releaser: Option<Releaser>,
    /// What was learned.
    learned: Option<Classifier>,
    /// What the releases said of the columns that the schema leaves open, to those who read the page.
    pub(super) warnings: Vec<String>,
}

impl ClassifyTable {
    /// What was learned, once it was.
    pub(super) fn learned(&self) -> Result<&Classifier, Failure> {
        let learned = self.learned.as_ref();
        learned.ok_or_else(|| Failure::failed("nothing was learned yet"))
    }

    /// The place of the label and the names of its classes.
    pub(super) fn label(&self) -> Result<(usize, &[String]), Failure> {
        let records = &self.input.records;
        let unlabelled = || in_run::refused(private_synth::SynthError::Unlabelled);
        let label = records.label().ok_or_else(unlabelled)?;
        Ok((label, &records.columns()[label].codes))
    }

    /// Whether the categories of the label are found with noise. A number whose range is found would have too many bins, and is refused.
    fn label_is_open(&self) -> Result<bool, Failure> {
        let (label, _) = self.label()?;
        let name = &self.input.records.columns()[label].name;
        let [numbers, categories] = self.input.records.open();
        let bound = "a column whose values or bins the schema has; a range that is found with noise has too many of them";
        bounded("label", name, !numbers.contains(name), bound)?;
        Ok(categories.contains(name))
    }

    /// Refuses a label that no classifier tells, as far as the schema has it.
    fn check_label(&self) -> Result<(), Failure> {
        if self.label_is_open()? {
            return Ok(());
        }
        let (label, classes) = self.label()?;
        let (name, count) = (&self.input.records.columns()[label].name, classes.len());
        let (least, most) = (CLASSES.start(), CLASSES.end());
        let bound = format!(
            "a column of {least} to {most} values, not {count}; join values of a category or widen the bins of a number in the schema"
        );
        bounded("label", name, CLASSES.contains(&count), &bound)
    }

    /// All releases but the score.
    fn release(&mut self, session: &mut Session) -> Result<Released, Failure> {
        let (asked, releaser) = (self.settings.asked(), self.releaser.as_mut());
        let (released, was_open) = self.input.release(&asked, Aim::Model, releaser, session)?;
        if was_open {
            self.check_label()?;
            self.input.check_size(self.releaser.as_ref())?;
        }
        self.warnings = report::warnings(&released);
        Ok(released)
    }

    /// The codes of the score of all private records. **Private.**
    pub(super) fn codes_of_private(&self) -> Result<Vec<u16>, Failure> {
        let mut codes = Vec::new();
        for block in self.input.records.table().blocks() {
            codes.extend(self.codes(&block.or_failed()?)?);
        }
        Ok(codes)
    }

    /// The codes of the score of some records.
    pub(super) fn codes(&self, records: &[u16]) -> Result<Vec<u16>, Failure> {
        let (sizes, ordered) = (self.input.records.sizes(), self.input.records.ordered());
        let model = &self.learned()?.model;
        let coded = CodedRecords::new(records, &sizes, &ordered).or_failed()?;
        let probabilities = model.probabilities(&coded).or_failed()?;
        let labels = coded.column(model.label());
        Ok(score::codes(&probabilities, model.classes(), labels))
    }
}

impl Experiment for ClassifyTable {
    const NAME: &'static str = "classify";
    const KIND: Option<(&'static str, &'static str)> = Some(("kind", "table"));
    const ABOUT: &'static str = "Learn a private model of one column of a table, given the others, which may be published. Every record is \
                                 private, and public is only what the schema says.";
    const STORED: &'static [&'static str] = &[RANGES[0], RANGES[1], COLUMNS, PAIRS, SCORE];
    type Settings = Settings;

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        _: &Chosen,
    ) -> Result<Self, Failure> {
        let input = Input::load(
            &settings.asked(),
            arguments.running.data_dir.as_deref(),
            Part::ALL,
        )?;
        let scored = input.test.is_none() && settings.epsilon.is_some();
        let score_share = if scored { settings.score_share } else { 0.0 };
        let budget = [settings.epsilon, settings.delta];
        let plan = input.plan(budget, &settings.asked(), (SCORE, score_share))?;
        let releaser = releaser(plan, settings.insecure_noise_seed)?;
        let run = Self {
            input,
            settings: settings.clone(),
            score_share,
            releaser,
            learned: None,
            warnings: Vec::new(),
        };
        run.check_label()?;
        if run.releaser.is_some() && !settings.rare_classes && !run.label_is_open()? {
            let (signal, rng) = (
                run.input.signal(run.releaser.as_ref()),
                &mut stream(settings.seed, 77),
            );
            let told = check_classes(run.label()?.1.len(), signal, rng);
            told.map_err(in_run::refused)?;
        }
        if !run.input.records.is_open() {
            run.input.check_size(run.releaser.as_ref())?;
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
        self.input.wording()
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let records = &self.input.records;
        let (label, classes) = self.label()?;
        let columns = records.columns();
        let name = &columns[label].name;
        let classes = match self.label_is_open()? {
            true => "classes that the budget finds".to_string(),
            false => format!("{} classes", classes.len()),
        };
        Ok(vec![
            format!("public    {}", self.input.public),
            format!(
                "model     of {name}, {classes}, by {} other columns",
                columns.len() - 1
            ),
            "          logistic regression or boosted trees, on samples of what is fitted to noisy counts".into(),
        ])
    }

    fn join(&mut self, _: &Crew) -> Result<(), Failure> {
        Err(Failure::input(
            "--ranks: a model of a table is learned in one process",
            "leave --ranks out",
        ))
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.input.check_same(session)?;
        let released = self.release(session)?;
        let (records, rng) = (&self.input.records, &mut stream(self.settings.seed, 76));
        let watch = &mut Watched::new(&session.interrupt);
        self.learned = Some(released.classifier(records, rng, watch)?);
        Ok(())
    }

    fn fingerprint(&mut self) -> Result<Fingerprint, Failure> {
        Ok(self.input.fingerprint())
    }

    fn when_done(run: &Path, word: &str) -> String {
        finished(run, word)
    }

    fn afterwards(_: &Arguments<Flags>, folder: &RunFolder, _: &Interrupt) -> Result<(), Failure> {
        publish(folder)
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        report::report(self, session)
    }
}

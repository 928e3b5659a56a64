//! The run: steps of private gradient descent on public features.

use std::collections::BTreeMap;
use std::path::Path;

use dp_core::delta::default_delta;
use dp_core::ledger::Ledger;
use dp_core::mechanism::Releaser;
use dp_core::plan::{ReleaseNoise, TrainingPlan};
use dp_core::sampling::Sampler;
use lab::prelude::*;
use private_classifiers::{ClassWeights, Descent, Examples, Features, Head, HeadConfig, ValueLoss};
use private_queries::{Contingency, Query};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::input::{self, Numbers};
use super::model::Kind;
use super::report;
use super::score::SCORE;
use super::settings::{Flags, Loss, Settings};
use super::values::Range;
use crate::apart;
use crate::images::{Input, names_data_set};
use crate::random::stream;

/// Where the model lies in the run's folder.
pub(super) const MODEL: &str = "model";
/// What a checkpoint keeps.
const STATE: &str = "head.json";
/// The name in the plan of the counts of classes.
const CLASSES: &str = "classes";

/// A private model of labels.
pub(crate) struct Classify {
    pub(super) settings: Settings,
    pub(super) input: Input,
    pub(super) kind: Kind,
    pub(super) features: Features,
    /// The labels of a model of a number.
    pub(super) numbers: Option<Numbers>,
    /// What public records taught, in words.
    pub(super) knowledge: String,
    /// The features of private records, with their labels, once they are computed.
    pub(super) examples: Option<Examples>,
    config: HeadConfig,
    descent: Descent,
    /// What the classes weigh, once they are counted.
    balance: Option<ClassWeights>,
    /// The accuracy that noise leaves if the records of a class are all alike.
    best_case: Option<f64>,
    releaser: Option<Releaser>,
    /// The share of the budget for a score on private records; 0 if there is none.
    pub(super) score_share: f64,
}

#[derive(Serialize, Deserialize)]
struct State {
    step: u64,
    values: [Vec<f64>; 3],
}

impl Classify {
    /// The head that was learned.
    pub(super) fn head(&self) -> Head {
        self.descent.head()
    }

    /// The mean weight of a record, if classes are weighed.
    pub(super) fn mean_weight(&self) -> Option<f64> {
        self.balance.as_ref().map(ClassWeights::mean)
    }

    /// What a number lies between.
    pub(super) fn range(&self) -> Option<Range> {
        self.numbers.as_ref().map(|numbers| numbers.range)
    }

    /// What the head says of a row: a probability of each class, or one number.
    fn outputs(&self) -> usize {
        self.numbers
            .as_ref()
            .map_or(self.input.classes.len(), |_| 1)
    }

    /// A descent that has made no step.
    fn start(&self) -> Result<Descent, Failure> {
        let descent = Descent::new(self.config, self.features.width(), self.outputs());
        let descent = descent.or_failed()?;
        match self.balance.clone() {
            Some(balance) => descent.balanced(balance).or_failed(),
            None => Ok(descent),
        }
    }

    /// Counts the classes with noise, and lets each weigh as much as any other.
    fn count_classes(&mut self, session: &mut Session) -> Result<(), Failure> {
        let classes = self.input.classes.len();
        let query = Contingency::new([classes], [(vec![0], 1.0)]).or_failed()?;
        let query = query.of_units(self.settings.most());
        let tables = session.release(self, CLASSES, &query, |run, _| {
            query.measure(run.examples()?.labels()).or_failed()
        })?;
        let (counts, deviation) = (&tables[0].counts, tables[0].deviation);
        self.balance = Some(ClassWeights::of_counts(counts, deviation).or_failed()?);
        self.descent = self.start()?;
        Ok(())
    }

    pub(super) fn examples(&self) -> Result<&Examples, Failure> {
        let none = || Failure::failed("features are not computed yet");
        self.examples.as_ref().ok_or_else(none)
    }
}

/// The loss of a head.
fn loss(loss: Loss) -> ValueLoss {
    match loss {
        Loss::Squared => ValueLoss::Squared,
        Loss::Absolute => ValueLoss::Absolute,
    }
}

/// What is said to somebody who resumes a run that is done.
pub(super) fn finished(run: &Path, word: &str) -> String {
    format!(
        "`sliver predict {} RECORDS --out CSV` uses its model; leave {word} out here, or name another folder",
        run.display()
    )
}

/// The plan: all steps, and what else is bought with a share of the budget.
fn plan(
    settings: &Settings,
    sampler: &Sampler,
    steps: u64,
    bought: &[(&str, f64)],
) -> Option<TrainingPlan> {
    let delta = settings.delta;
    let delta = delta.unwrap_or(default_delta(sampler.presumed_records()));
    let plan = TrainingPlan::for_epsilon(settings.epsilon?, delta, steps, sampler.clone());
    let left = 1.0 - bought.iter().map(|(_, share)| share).sum::<f64>();
    let bought = bought.iter().filter(|(_, share)| *share > 0.0);
    Some(bought.fold(plan, |plan, (name, share)| {
        // Of the `1 / z^2` of each of the steps.
        plan.with_release(*name, ReleaseNoise::Share(steps as f64 * share / left))
    }))
}

impl Experiment for Classify {
    const NAME: &'static str = "classify";
    const KIND: Option<(&'static str, &'static str)> = Some(("kind", "images"));
    const ABOUT: &'static str = "Learn a private classifier of labelled images or of embeddings, or a model of a number, which may be \
                                 published. Every record is private, and public is only what a flag says.";
    const STORED: &'static [&'static str] = &[CLASSES, SCORE];
    type Settings = Settings;

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        _: &Chosen,
    ) -> Result<Self, Failure> {
        let data_dir = arguments.running.data_dir.as_deref();
        if !names_data_set(&settings.input) {
            apart::check_output(&arguments.running, Path::new(&settings.input))?;
        }
        let (mut input, numbers) = input::load(settings, data_dir)?;
        let sampler = Sampler::all(input.units)
            .map_err(|e| Failure::input(e.to_string(), "give more records"))?;
        let scored = input.test.is_none() && settings.epsilon.is_some();
        let score_share = if scored { settings.score_share } else { 0.0 };
        let kind = input::kind(settings, &input);
        let balance = settings.balance.filter(|_| settings.epsilon.is_some());
        let suited = match &numbers {
            None => HeadConfig::suited(input.units, settings.epsilon),
            Some(numbers) => {
                let loss = loss(numbers.loss);
                HeadConfig::suited_to_values(input.units, settings.epsilon, loss)
            }
        };
        let config = HeadConfig {
            max_grad_norm: settings.max_grad_norm.unwrap_or(suited.max_grad_norm),
            rate: settings.learning_rate.unwrap_or(suited.rate),
            steps: settings.steps.unwrap_or(suited.steps),
            most_per_unit: settings.most(),
        };
        // Before features are computed, which takes long.
        let releaser = releaser(
            plan(
                settings,
                &sampler,
                config.steps,
                &[(CLASSES, balance.unwrap_or(0.0)), (SCORE, score_share)],
            ),
            settings.insecure_noise_seed,
        )?;
        let best_case = match (&releaser, &numbers) {
            (Some(releaser), None) => {
                let (noise, rng) = (
                    releaser.plan().noise_multiplier(),
                    &mut stream(settings.seed, 77),
                );
                let told = config.check_classes(input.classes.len(), input.units, noise, rng);
                let advice = "join classes, give more records or a larger --epsilon, or say --rare-classes if some are rare or absent";
                match told {
                    Err(_) if settings.rare_classes => None,
                    told => Some(told.map_err(|e| Failure::input(e.to_string(), advice))?),
                }
            }
            _ => None,
        };
        let (features, knowledge) = input::features(settings, &mut input, data_dir)?;
        let outputs = numbers.as_ref().map_or(input.classes.len(), |_| 1);
        Ok(Self {
            examples: None,
            descent: Descent::new(config, features.width(), outputs).or_failed()?,
            balance: None,
            best_case,
            numbers,
            settings: settings.clone(),
            kind,
            features,
            knowledge,
            config,
            releaser,
            score_share,
            input,
        })
    }

    fn data(&mut self) -> DataSummary {
        DataSummary {
            name: self.input.used[0].what.clone(),
            private: self.input.units,
            test: self.input.test.as_ref().map_or(0, |test| test.len()),
            used: self.input.used.clone(),
        }
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }

    fn wording(&self) -> Wording {
        let what = if self.settings.labels.is_some() {
            "rows"
        } else {
            "images"
        };
        let unit = |most: usize| format!("all {what} of one unit, {most} of which count at most");
        Wording {
            unit: self.settings.most_per_unit.map(unit),
            releases: "all that is read of the private records and of their labels".into(),
            public: self.input.public.clone(),
            without_noise: "Not private: --no-privacy adds no noise.".into(),
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let HeadConfig {
            max_grad_norm,
            rate,
            steps,
            ..
        } = self.config;
        let (width, classes) = (self.features.width(), self.input.classes.len());
        let model = match &self.numbers {
            None => format!("softmax regression of {classes} classes on {width} features"),
            Some(Numbers { range, loss, .. }) => {
                let loss = match loss {
                    Loss::Squared => "squared",
                    Loss::Absolute => "absolute",
                };
                format!(
                    "linear regression of a number from {range} on {width} features, {loss} loss"
                )
            }
        };
        let best_case = self.best_case.map(|accuracy| {
            format!(
                "noise     leaves an accuracy of {accuracy:.3} if the records of a class are all alike and classes equally frequent; chance has {:.3}",
                1.0 / classes as f64
            )
        });
        let lines = [
            format!("public    {}", self.input.public),
            format!("          {}", self.knowledge),
            format!("model     {model}"),
            format!(
                "          {steps} steps over all records, clipping norm {max_grad_norm}, rate {rate}"
            ),
        ];
        Ok(lines.into_iter().chain(best_case).collect())
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        const BLOCK: usize = 2000;
        let images = &self.input.images;
        let mut rows = Vec::with_capacity(images.len() * self.features.width());
        // How many images there are is private where there are units.
        let progress = Progress::reading();
        for block in images.blocks(BLOCK) {
            session.interrupt.check("features were computed")?;
            let values = block.or_failed()?.values().or_failed()?;
            rows.extend(self.features.rows(&values).or_failed()?);
            progress.step();
        }
        progress.finish();
        let examples = match &self.numbers {
            Some(numbers) => {
                let values = numbers.range.coded(&numbers.own);
                Examples::of_values(rows, values, loss(numbers.loss))
            }
            None => {
                let labels = images.labels().iter().map(|&label| label.into());
                Examples::new(rows, labels.collect(), self.input.classes.len())
            }
        };
        self.examples = Some(examples.or_failed()?);
        if self.settings.balance.is_some() {
            self.count_classes(session)?;
        }
        Ok(())
    }

    fn fingerprint(&mut self) -> Result<Fingerprint, Failure> {
        let whitening = self.features.whitening();
        let whitening = whitening.map(|whitening| whitening.map().to_vec());
        // In parts: of all rows at once there would be a copy.
        const PART: usize = 1 << 22;
        let parts = self.examples()?.rows().chunks(PART);
        // The labels of rows have no part in the checksum of rows.
        let labels = self.examples()?.labels().iter().map(|&label| label.into());
        let labels: Vec<f32> = labels.collect();
        let parts = parts.chain([&labels[..], self.examples()?.values()]);
        let sums = parts.map(|part| hex(&floats_to_bytes(part))).collect();
        Ok(Fingerprint {
            records: self.input.images.sha256().or_failed()?,
            encoded: Some((whitening.unwrap_or_default(), sums)),
        })
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        Some(self)
    }

    fn steps(&mut self) -> u64 {
        self.config.steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        let measured = self.descent.measure(self.examples()?, self.input.units);
        let measured = measured.or_failed()?;
        let units = self.input.units;
        let batch = SampledBatch::next(self.releaser.as_mut(), || vec![(0..units).collect()])?;
        let released = batch.release(self.releaser.as_mut(), measured, &mut session.ledger)?;
        self.descent.update(&released, units);
        Ok(())
    }

    fn evaluate(&mut self, _: &Session) -> Result<Evaluation, Failure> {
        let weights = self.descent.values()[0].iter();
        let norm = weights.map(|weight| weight * weight).sum::<f64>().sqrt();
        Ok(Evaluation {
            scores: json!({"norm_of_weights": norm}),
            message: format!("norm of weights {norm:.3}"),
            accounted: true,
        })
    }

    fn when_done(run: &Path, word: &str) -> String {
        finished(run, word)
    }

    fn afterwards(_: &Arguments<Flags>, folder: &RunFolder, _: &Interrupt) -> Result<(), Failure> {
        report::publish(folder)
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        report::report(self, session)
    }
}

impl RunState for Classify {
    fn files(&mut self, _: &Ledger) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let state = State {
            step: self.descent.step(),
            values: self.descent.values().map(<[f64]>::to_vec),
        };
        let state = serde_json::to_vec(&state).or_failed()?;
        Ok([(STATE.to_string(), state)].into())
    }

    fn restore(&mut self, checkpoint: &RestoredCheckpoint, _: &Ledger) -> Result<(), Failure> {
        let State { step, values } = checkpoint.json(STATE)?;
        self.descent = self
            .start()?
            .resumed(step, values)
            .map_err(|e| checkpoint.damaged(&e))?;
        Ok(())
    }
}

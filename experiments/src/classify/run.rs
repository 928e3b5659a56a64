//! The run: steps of private gradient descent on public features.

use std::collections::BTreeMap;
use std::path::Path;

use dp_core::delta::default_delta;
use dp_core::ledger::Ledger;
use dp_core::mechanism::Releaser;
use dp_core::plan::{ReleaseNoise, TrainingPlan};
use dp_core::sampling::Sampler;
use lab::prelude::*;
use private_classifiers::{Descent, Examples, Features, Head, HeadConfig};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::input;
use super::model::Kind;
use super::report;
use super::score::SCORE;
use super::settings::{Flags, Settings};
use crate::apart;
use crate::images::{Input, names_data_set};

/// Where the model lies in the run's folder.
pub(super) const MODEL: &str = "model";
/// What a checkpoint keeps.
const STATE: &str = "head.json";

/// A private classifier.
pub(crate) struct Classify {
    pub(super) settings: Settings,
    pub(super) input: Input,
    pub(super) kind: Kind,
    pub(super) features: Features,
    /// What public records taught, in words.
    pub(super) knowledge: String,
    /// The features of private records, with their labels, once they are computed.
    pub(super) examples: Option<Examples>,
    config: HeadConfig,
    descent: Descent,
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

    pub(super) fn examples(&self) -> Result<&Examples, Failure> {
        let none = || Failure::failed("features are not computed yet");
        self.examples.as_ref().ok_or_else(none)
    }
}

/// What is said to somebody who resumes a run that is done.
pub(super) fn finished(run: &Path, word: &str) -> String {
    format!(
        "`sliver predict {} RECORDS --out CSV` uses its model; leave {word} out here, or name another folder",
        run.display()
    )
}

/// The plan: all steps, and the score.
fn plan(
    settings: &Settings,
    sampler: &Sampler,
    steps: u64,
    score_share: f64,
) -> Option<TrainingPlan> {
    let delta = settings.delta;
    let delta = delta.unwrap_or(default_delta(sampler.presumed_records()));
    let plan = TrainingPlan::for_epsilon(settings.epsilon?, delta, steps, sampler.clone());
    Some(match score_share {
        0.0 => plan,
        // Of the `1 / z^2` of each of the steps.
        share => {
            let share = ReleaseNoise::Share(steps as f64 * share / (1.0 - share));
            plan.with_release(SCORE, share)
        }
    })
}

impl Experiment for Classify {
    const NAME: &'static str = "classify";
    const KIND: Option<(&'static str, &'static str)> = Some(("kind", "images"));
    const ABOUT: &'static str = "Learn a private classifier of labelled images or of embeddings, which may be published. Every record is \
                                 private, and public is only what a flag says.";
    const STORED: &'static [&'static str] = &[SCORE];
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
        let mut input = input::load(settings, data_dir)?;
        let sampler = Sampler::all(input.units)
            .map_err(|e| Failure::input(e.to_string(), "give more records"))?;
        let scored = input.test.is_none() && settings.epsilon.is_some();
        let score_share = if scored { settings.score_share } else { 0.0 };
        let kind = input::kind(settings, &input);
        let (width, classes) = (kind.features()?.width(), input.classes.len());
        let suited = HeadConfig::suited(input.units, settings.epsilon);
        let config = HeadConfig {
            max_grad_norm: settings.max_grad_norm.unwrap_or(suited.max_grad_norm),
            rate: settings.learning_rate.unwrap_or(suited.rate),
            steps: settings.steps.unwrap_or(suited.steps),
            most_per_unit: settings.most(),
        };
        // Before features are computed, which takes long.
        let releaser = releaser(
            plan(settings, &sampler, config.steps, score_share),
            settings.insecure_noise_seed,
        )?;
        let (features, knowledge) = input::features(settings, &mut input, data_dir)?;
        Ok(Self {
            examples: None,
            descent: Descent::new(config, width, classes).or_failed()?,
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
        let unit = |most: usize| format!("all images of one unit, {most} of which count at most");
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
        Ok(vec![
            format!("public    {}", self.input.public),
            format!("          {}", self.knowledge),
            format!("model     softmax regression of {classes} classes on {width} features"),
            format!(
                "          {steps} steps over all records, clipping norm {max_grad_norm}, rate {rate}"
            ),
        ])
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
        let labels = images.labels().iter().map(|&label| label.into());
        let classes = self.input.classes.len();
        let examples = Examples::new(rows, labels.collect(), classes);
        self.examples = Some(examples.or_failed()?);
        Ok(())
    }

    fn fingerprint(&mut self) -> Result<Fingerprint, Failure> {
        let whitening = self.features.whitening();
        let whitening = whitening.map(|whitening| whitening.map().to_vec());
        // In parts: of all rows at once there would be a copy.
        const PART: usize = 1 << 22;
        let parts = self.examples()?.rows().chunks(PART);
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
        let (width, classes) = (self.features.width(), self.input.classes.len());
        let descent = Descent::new(self.config, width, classes).or_failed()?;
        self.descent = descent
            .resumed(step, values)
            .map_err(|e| checkpoint.damaged(&e))?;
        Ok(())
    }
}

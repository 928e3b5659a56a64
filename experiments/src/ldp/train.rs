//! The run: its records, one step of the generator, and what checkpoints keep.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Id;
use data::privatised::NoiseSeed;
use data::split::Records as _;
use dp_core::delta::default_delta;
use dp_core::ledger::Ledger;
use dp_core::mechanism::Releaser;
use dp_core::plan::CheckedPlan;
use lab::backend::Chosen;
use lab::checkpoint::RestoredCheckpoint;
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{
    Arguments, DataSummary, Evaluation, Experiment, Fingerprint, Report, RunState, Session,
    Wording, bounded, flags_of, name_of, releaser,
};
use model::latent::ImageShape;
use private_synth::images::{Architecture, Code, Generator, Size};
use private_training::{RngState, cosine};
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use super::loss::PreparedLoss;
use super::noise_model::NoiseModel;
use super::plan::{mechanism, plan, preprocessing};
use super::private::{Privatised, header_of};
use super::report;
use super::settings::{Flags, NetworkKind, Settings};
use super::sources::{Clean, stream as records};
use crate::generators;
use crate::privatise::{Preprocessing, promise};
use crate::random::stream;
use crate::scores::ScoreFlags;

/// A generator and the privatised records that it learns from.
pub struct Ldp {
    pub(super) settings: Settings,
    pub(super) clean: Clean,
    pub(super) preprocessing: Preprocessing,
    pub(super) noise_model: NoiseModel,
    pub(super) model: Generator,
    /// How samples are scored.
    pub(super) score: ScoreFlags,
    releaser: Option<Releaser>,
    /// After the first look at the records.
    pub(super) learned: Option<Learned>,
    /// Public randomness.
    public: ChaCha20Rng,
    loss: f64,
    /// Steps whose transport did not converge.
    pub(super) unconverged: u64,
}

pub(crate) struct Learned {
    pub(super) private: Privatised,
    objective: PreparedLoss,
}

impl Ldp {
    /// The file that was privatised before.
    fn input(&self) -> Option<&Path> {
        self.settings.input.as_deref()
    }

    /// Generated rows of each class at a step.
    pub(super) fn each(&self) -> usize {
        (self.settings.batch / self.model.groups()).max(2)
    }

    /// Reads the private records for the only time, or a file that was privatised before.
    fn privatised(&mut self, session: &mut Session) -> Result<Privatised, Failure> {
        let header = &self.noise_model.header;
        let Some(private) = &self.clean.private else {
            return Privatised::load(self.input().unwrap_or(Path::new("")), header);
        };
        let (private, how) = (records(private), &self.preprocessing);
        match &mut self.releaser {
            Some(releaser) => Privatised::of(private, (how, header), releaser, session),
            None => Privatised::without_noise(private, how),
        }
    }

    fn learn(&mut self, session: &mut Session) -> Result<Learned, Failure> {
        Ok(Learned {
            private: self.privatised(session)?,
            objective: PreparedLoss::new(&self.settings, &self.noise_model)?,
        })
    }

    /// What a file's header promises, where the records were privatised before.
    fn promised_before(&self) -> Option<String> {
        self.input()?;
        let lines = promise(&self.noise_model.header).ok()?.into_iter();
        let lines = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let lines = lines.collect::<Vec<_>>().join("; ");
        Some(format!(
            "No private record is read; the input says: {lines}"
        ))
    }
}

impl Experiment for Ldp {
    const NAME: &'static str = "ldp";
    const ABOUT: &'static str = "Privatise every image alone, then learn from what is left the distribution that the images \
                                 had before. Values come from a preset, and a flag wins over the preset.";
    const FLAGS_OF_A_PROCESS: &'static [fn() -> Vec<Id>] = &[flags_of::<ScoreFlags>];
    type Settings = Settings;

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let clean = Clean::load(settings, arguments.running.data_dir.as_deref())?;
        let input = settings.input.as_deref();
        let score = &arguments.own.score;
        let records = clean.private_len().max(1);
        let delta = settings.delta.unwrap_or(default_delta(records as f64));
        let mechanism = mechanism(settings, delta)?;
        let form = clean.form();
        let preprocessing = preprocessing(settings, &form, mechanism)?;
        if let (Some(_), Some(flag)) = (input, score.reads_private()) {
            return Err(Failure::input(
                format!("{flag}: no private record is read with --input"),
                "leave it out",
            ));
        }
        let (header, releaser) = match input {
            Some(input) => (header_of(input)?, None),
            None => {
                let noisy = settings.epsilon.is_some();
                let plan = noisy.then(|| plan(settings, &mechanism, delta));
                let mut releaser = releaser(plan.transpose()?, settings.insecure_noise_seed)?;
                let secret = releaser.as_mut().is_some_and(|r| r.noise().is_secret());
                (preprocessing.header(&form, secret)?, releaser)
            }
        };
        let noise_model = NoiseModel::new(header, settings.epsilon.is_some(), &chosen.device)?;
        let (found, expected) = (form.width, noise_model.pixels());
        let bound = format!("of records of {expected} values, as the input has");
        let holds = found == expected;
        bounded("dataset", &settings.dataset, holds, &bound)?;
        let shape = ImageShape {
            channels: 1,
            side: clean.test.width(),
        };
        let architecture = match settings.network {
            NetworkKind::Dcgan => Architecture::Dcgan(shape),
            NetworkKind::Perceptron => Architecture::Perceptron(shape),
        };
        let size = Size {
            code: Code::Uniform(settings.latent),
            classes: noise_model.classes(),
        };
        let (rng, device) = (&mut stream(settings.seed, 1), &chosen.device);
        Ok(Self {
            settings: settings.clone(),
            clean,
            preprocessing,
            noise_model,
            model: generators::untrained(architecture, size, settings.ema, rng, device)?,
            score: score.clone(),
            releaser,
            learned: None,
            public: stream(settings.seed, 4),
            loss: f64::NAN,
            unconverged: 0,
        })
    }

    fn data(&self) -> DataSummary {
        let name = match self.input() {
            None => self.clean.name.clone(),
            Some(input) => {
                let records = self.noise_model.header.records;
                format!("{}: {records} privatised records", input.display())
            }
        };
        DataSummary {
            name,
            private: self.clean.private_len(),
            test: self.clean.test.len(),
            used: self.clean.used.clone(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.releaser.as_ref().map(Releaser::plan)
    }

    fn wording(&self) -> Wording {
        let before = self.promised_before();
        let secret = self.noise_model.header.noise_seed == NoiseSeed::Secret;
        Wording {
            releases: "each record with its class, privatised alone before anything else reads it: local privacy, \
                       against whoever holds all other records and sees every privatised one"
                .into(),
            reads_nothing: before.is_some() && secret,
            without_noise: before.unwrap_or("Not private: --no-privacy adds no noise.".into()),
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        // The session says what is promised.
        let mut lines = promise(&self.noise_model.header)?;
        lines.truncate(if self.settings.epsilon.is_some() {
            2
        } else {
            0
        });
        let Settings { loss, steps, .. } = &self.settings;
        let (loss, batch) = (name_of(*loss), self.settings.batch);
        lines.push(format!(
            "loss      {loss}, {steps} steps of {batch} records"
        ));
        Ok(lines)
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.learned = Some(self.learn(session)?);
        Ok(())
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        let records = match (&self.clean.private, self.input()) {
            (Some(private), _) => private.sha256().or_failed()?.into_bytes(),
            (None, Some(input)) => std::fs::read(input).or_failed()?,
            (None, None) => Vec::new(),
        };
        Ok(Fingerprint::of(&records))
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        Some(self)
    }

    fn steps(&self) -> u64 {
        self.settings.steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        let decay = cosine(session.step, self.settings.steps, 0.0);
        let rate = self.settings.learning_rate * decay;
        let points = self.each() * self.model.groups();
        let made = self.model.make(self.each(), &mut self.public);
        let made = self.noise_model.laid_out(made.rows, self.each());
        let learned = self.learned.as_ref();
        let learned = learned.ok_or_else(|| Failure::failed("a step before the records"))?;
        let noisy = learned.private.batch(points, &mut self.public);
        let device = &session.chosen.device;
        let (loss, converged) = learned.objective.of(made, noisy, device)?;
        self.unconverged += u64::from(!converged);
        self.loss = f64::from(loss.clone().into_scalar::<f32>());
        self.model.descend(loss, rate);
        Ok(())
    }

    fn evaluate(&mut self, _: &Session) -> Result<Evaluation, Failure> {
        Ok(Evaluation {
            scores: json!({"loss": self.loss, "unconverged_steps": self.unconverged}),
            message: format!("loss {:.4}", self.loss),
            accounted: false,
        })
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        report::report(self, session)
    }
}

impl RunState for Ldp {
    fn files(&mut self, _: &Ledger) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let random = RngState::of(&self.public);
        generators::files(&self.model, &(random, self.unconverged))
    }

    fn restore(&mut self, checkpoint: &RestoredCheckpoint, _: &Ledger) -> Result<(), Failure> {
        let (random, unconverged): (RngState, u64) =
            generators::restore(&mut self.model, checkpoint)?;
        self.public = checkpoint.rng(&random)?;
        self.unconverged = unconverged;
        Ok(())
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        // Steps towards what was privatised once release nothing.
        None
    }
}

//! The run: its records, one step of the generator, and what checkpoints keep.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Id;
use data::privatised::NoiseSeed;
use dp_core::delta::default_delta;
use dp_core::ledger::Ledger;
use dp_core::mechanism::Releaser;
use dp_core::plan::CheckedPlan;
use lab::backend::Chosen;
use lab::checkpoint::RestoredCheckpoint;
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{
    Arguments, DataSummary, Evaluation, Experiment, Fingerprint, FlagsOf, Report, RunState,
    Session, Wording, bounded, flags_of, name_of, releaser,
};
use private_training::{RngState, cosine};
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use super::baseline::denoise;
use super::images::NetworkKind;
use super::loss::PreparedLoss;
use super::noise_model::NoiseModel;
use super::plan::{mechanism, plan, preprocessing};
use super::points::Judged;
use super::private::{Privatised, header_of};
use super::report;
use super::settings::{Kind, Loss, Settings, Shared};
use super::sources::{Clean, Rows};
use crate::generators::{Architecture, Code, Generator, Size};
use crate::privatise::{Preprocessing, promise};
use crate::random::stream;
use crate::scores::ScoreFlags;

/// A generator and the privatised records that it learns from.
pub struct Ldp<K: Kind> {
    pub(super) settings: Shared,
    kind: K,
    pub(super) clean: Clean,
    pub(super) preprocessing: Preprocessing,
    pub(super) noise_model: NoiseModel,
    pub(super) model: Generator,
    /// Samples that are judged.
    pub(super) samples: usize,
    /// How images are scored.
    pub(super) score: Option<ScoreFlags>,
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
    /// What was taken off first, in words.
    pub(super) denoised: Option<String>,
}

impl<K: Kind> Ldp<K> {
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
        let (private, how) = (private.stream(), &self.preprocessing);
        match &mut self.releaser {
            Some(releaser) => Privatised::of(private, (how, header), releaser, session),
            None => Privatised::without_noise(private, how),
        }
    }

    fn learn(&mut self, session: &mut Session) -> Result<Learned, Failure> {
        let mut private = self.privatised(session)?;
        let mut denoised = None;
        if self.kind.images().is_some_and(|images| images.denoise) {
            let (clean, rng) = (&self.clean.test, &mut stream(self.settings.seed, 2));
            let words = denoise(&mut private, clean, &self.noise_model, rng)?;
            println!("wavelets  {words}");
            denoised = Some(words);
        }
        let points = self.each() * self.model.groups();
        let (noise_model, rng) = (&self.noise_model, &mut stream(self.settings.seed, 3));
        let objective = PreparedLoss::new(&self.settings, (noise_model, &private), points, rng)?;
        Ok(Learned {
            private,
            objective,
            denoised,
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

impl<K: Kind> Experiment for Ldp<K> {
    const NAME: &'static str = "ldp";
    const KIND: Option<(&'static str, &'static str)> = Some(("kind", K::NAME));
    const ABOUT: &'static str = K::ABOUT;
    const FLAGS_OF_A_PROCESS: &'static [fn() -> Vec<Id>] =
        &[flags_of::<ScoreFlags>, flags_of::<Judged>];
    type Settings = Settings<K>;

    fn load(
        Settings { shared, own }: &Settings<K>,
        arguments: &Arguments<FlagsOf<Self>>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let clean = own.load(shared, arguments.running.data_dir.as_deref())?;
        let images = own.images();
        let input = shared.input.as_deref();
        let score = K::score(&arguments.own.own);
        let records = clean.private.as_ref().map_or(1, Rows::len);
        let delta = shared.delta.unwrap_or(default_delta(records as f64));
        let mechanism = mechanism(shared, delta)?;
        let form = clean.test.form();
        let preprocessing = preprocessing((shared, images), &form, mechanism)?;
        if let (Some(_), Some(flag)) = (input, score.and_then(ScoreFlags::reads_private)) {
            return Err(Failure::input(
                format!("{flag}: no private record is read with --input"),
                "leave it out",
            ));
        }
        let (header, releaser) = match input {
            Some(input) => (header_of(input)?, None),
            None => {
                let noisy = shared.epsilon.is_some();
                let plan = noisy.then(|| plan(shared, &mechanism, delta)).transpose()?;
                let mut releaser = releaser(plan, shared.insecure_noise_seed)?;
                let secret = releaser.as_mut().is_some_and(|r| r.noise().is_secret());
                (preprocessing.header(&form, secret)?, releaser)
            }
        };
        let noise_model = NoiseModel::new(header, shared.epsilon.is_some(), &chosen.device)?;
        let (found, expected) = (form.width, noise_model.pixels());
        let bound = format!("of records of {expected} values, as the input has");
        let holds = found == expected;
        bounded("dataset", own.dataset(), holds, &bound)?;
        let architecture = match (clean.test.shape(), images.map(|images| images.network)) {
            (Some(shape), Some(NetworkKind::Dcgan)) => Architecture::Dcgan(shape),
            (Some(shape), _) => Architecture::Perceptron(shape),
            (None, _) => Architecture::Points(expected),
        };
        let size = Size {
            code: Code::Uniform(shared.latent),
            classes: noise_model.classes(),
        };
        let (rng, device) = (&mut stream(shared.seed, 1), &chosen.device);
        Ok(Self {
            settings: shared.clone(),
            kind: own.clone(),
            clean,
            preprocessing,
            noise_model,
            model: Generator::new(architecture, size, shared.ema, rng, device)?,
            samples: K::samples(&arguments.own.own),
            score: score.cloned(),
            releaser,
            learned: None,
            public: stream(shared.seed, 4),
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
            private: self.clean.private.as_ref().map_or(0, Rows::len),
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
        let Shared { loss, steps, .. } = &self.settings;
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
            (Some(private), _) => private.fingerprint()?.into_bytes(),
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
        let noisy = match self.settings.loss {
            Loss::Sliced => Vec::new(),
            _ => learned.private.batch(points, &mut self.public),
        };
        let device = &session.chosen.device;
        let (loss, converged) = learned
            .objective
            .of(made, noisy, device, &mut self.public)?;
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

impl<K: Kind> RunState for Ldp<K> {
    fn files(&mut self, _: &Ledger) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let random = RngState::of(&self.public);
        self.model.files(&(random, self.unconverged))
    }

    fn restore(&mut self, checkpoint: &RestoredCheckpoint, _: &Ledger) -> Result<(), Failure> {
        let (random, unconverged): (RngState, u64) = self.model.restore(checkpoint)?;
        self.public = checkpoint.rng(&random)?;
        self.unconverged = unconverged;
        Ok(())
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        // Steps towards what was privatised once release nothing.
        None
    }
}

//! The run: its records, one step of the generator, and what checkpoints keep.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Id;
use data::Records;
use data::privatised::{NoiseSeed, Privatised};
use dp_core::ledger::Ledger;
use lab::prelude::*;
use model::latent::ImageShape;
use private_synth::images::{Architecture, Code, Generator, Size};
use private_training::{RngState, cosine};
use rand::seq::index::sample;
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use super::loss::PreparedLoss;
use super::noise_model::NoiseModel;
use super::report;
use super::settings::{Flags, NetworkKind, Settings};
use crate::generators;
use crate::privatise::{Preprocessing, promise};
use crate::random::stream;
use crate::records::{kind, load_private, load_test};
use crate::scores::ScoreFlags;

/// A generator and the privatised records that it learns from.
pub struct Ldp {
    pub(super) settings: Settings,
    pub(super) file: Privatised,
    /// Public records, by which the result is judged.
    pub(super) test: Arc<Records>,
    /// Private records, if a score was asked for that reads them.
    pub(super) private: Option<Arc<Records>>,
    pub(super) preprocessing: Preprocessing,
    pub(super) noise_model: NoiseModel,
    pub(super) model: Generator,
    objective: PreparedLoss,
    pub(super) score: ScoreFlags,
    public: ChaCha20Rng,
    loss: f64,
    /// Steps whose transport did not converge.
    pub(super) unconverged: u64,
}

impl Ldp {
    /// Generated rows of each class at a step.
    pub(super) fn each(&self) -> usize {
        (self.settings.batch / self.model.groups()).max(2)
    }
}

impl Experiment for Ldp {
    const NAME: &'static str = "ldp";
    const ABOUT: &'static str = "Learn from privatised images the distribution that they had before their noise. The images are a \
                                 file of `sliver privatise`, and nothing more is spent. Values come from a preset, and a flag wins over \
                                 the preset.";
    const FLAGS_OF_A_PROCESS: &'static [fn() -> Vec<Id>] = &[flags_of::<ScoreFlags>];
    type Settings = Settings;

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let (kind, seed) = (kind("dataset", &settings.dataset)?, settings.seed);
        let data_dir = arguments.running.data_dir.as_deref();
        let score = &arguments.own.score;
        let advice = "give a file that `sliver privatise` wrote";
        let file = Privatised::load(&settings.input);
        let file = file.map_err(|e| Failure::input(e.to_string(), advice))?;
        let name = settings.input.display().to_string();
        let preprocessing = Preprocessing::of(&name, &file.header)?;
        let noise_model = NoiseModel::new(file.header.clone(), &chosen.device)?;
        let (private, test) = match score.reads_private() {
            None => (None, load_test(kind, seed, data_dir)?),
            Some(_) => {
                let records = Some(file.header.records as usize);
                let (data, _) = load_private(kind, seed, records, data_dir)?;
                (Some(Arc::new(data.train)), data.test)
            }
        };
        let (found, expected) = (test.image_size(), noise_model.pixels());
        let bound = format!("of records of {expected} values, as the input has");
        bounded("dataset", &settings.dataset, found == expected, &bound)?;
        let shape = ImageShape {
            channels: 1,
            side: test.width(),
        };
        let architecture = match settings.network {
            NetworkKind::Dcgan => Architecture::Dcgan(shape),
            NetworkKind::Perceptron => Architecture::Perceptron(shape),
        };
        let size = Size {
            code: Code::Uniform(settings.latent),
            classes: file.header.classes(),
        };
        let (rng, device) = (&mut stream(settings.seed, 1), &chosen.device);
        Ok(Self {
            settings: settings.clone(),
            objective: PreparedLoss::new(settings, &noise_model)?,
            file,
            test: Arc::new(test),
            private,
            preprocessing,
            noise_model,
            model: Generator::new(architecture, size, settings.ema, rng, device)
                .map_err(generators::refused)?,
            score: score.clone(),
            public: stream(settings.seed, 4),
            loss: f64::NAN,
            unconverged: 0,
        })
    }

    fn data(&mut self) -> DataSummary {
        let (input, records) = (self.settings.input.display(), self.file.header.records);
        DataSummary {
            name: format!("{input}: {records} privatised records"),
            private: self.private.as_ref().map_or(0, |private| private.len()),
            test: self.test.len(),
            used: Vec::new(),
        }
    }

    fn wording(&self) -> Wording {
        let read = match self.score.reads_private() {
            None => "No private record is read".into(),
            Some(flag) => format!("Private records are read by {flag} alone"),
        };
        // A header was checked when it was read, and so has a promise.
        let lines = promise(&self.file.header).unwrap_or_default();
        let lines = lines
            .iter()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let lines = lines.collect::<Vec<_>>().join("; ");
        Wording {
            reads_nothing: self.file.header.noise_seed == NoiseSeed::Secret,
            without_noise: format!("{read}; the input says: {lines}"),
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let Settings { loss, steps, .. } = &self.settings;
        let (loss, batch) = (name_of(*loss), self.settings.batch);
        Ok(vec![format!(
            "loss      {loss}, {steps} steps of {batch} records"
        )])
    }

    fn fingerprint(&mut self) -> Result<Fingerprint, Failure> {
        let file = std::fs::read(&self.settings.input);
        Ok(Fingerprint::of(&file.or_failed()?))
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        Some(self)
    }

    fn steps(&mut self) -> u64 {
        self.settings.steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        let decay = cosine(session.step, self.settings.steps, 0.0);
        let rate = self.settings.learning_rate * decay;
        let points = self.each() * self.model.groups();
        let made = self.model.make(self.each(), &mut self.public);
        let made = self.noise_model.laid_out(made.rows, self.each());
        let noisy = batch(&self.file, points, &mut self.public);
        let (loss, converged) = self.objective.of(made, noisy, &session.chosen.device)?;
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
        let random = RngState::from_rng(&self.public);
        generators::files(&self.model, &(random, self.unconverged))
    }

    fn restore(&mut self, checkpoint: &RestoredCheckpoint, _: &Ledger) -> Result<(), Failure> {
        let (random, unconverged): (RngState, u64) =
            generators::restore(&mut self.model, checkpoint)?;
        self.public = checkpoint.rng(&random)?;
        self.unconverged = unconverged;
        Ok(())
    }
}

/// Some of the records, without one twice while there are enough.
fn batch(file: &Privatised, size: usize, rng: &mut ChaCha20Rng) -> Vec<f32> {
    let (records, width) = (file.header.records as usize, file.header.width);
    let chosen = sample(rng, records, size.min(records)).into_vec();
    let row = |place: usize| &file.values[place * width..][..width];
    let chosen = chosen.into_iter().cycle().take(size);
    chosen.flat_map(row).copied().collect()
}

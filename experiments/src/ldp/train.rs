//! The run: its records, one step of the generator, and what checkpoints keep.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use burn::tensor::{Tensor, TensorData};
use dp_core::local::{LocalMechanism, LocalNoise};
use dp_core::mechanism::Releaser;
use dp_core::plan::CheckedPlan;
use lab::backend::Chosen;
use lab::checkpoint::{Checkpoint, GeneratorState};
use lab::diagnostic::Failure;
use lab::session::{
    Arguments, DataSummary, Evaluation, Experiment, Fingerprint, Report, RunState, Session,
    Wording, releaser,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use serde_json::json;
use swd::Slices;

use super::baseline::{choose, denoise};
use super::loss::Objective;
use super::plan::{RELEASE, mechanism, plan};
use super::private::{Layout, Privatised};
use super::report;
use super::settings::{Flags, Loss, Network, Settings};
use super::sources::Clean;
use crate::generators::{Architecture, Code, Generator, Size};
use crate::scores::ScoreFlags;

const STATE: &str = "state.json";

/// A generator and the privatised records that it learns from.
pub struct Ldp {
    pub(super) settings: Settings,
    pub(super) clean: Clean,
    pub(super) mechanism: Option<LocalMechanism>,
    pub(super) layout: Layout,
    pub(super) model: Generator,
    pub(super) score: ScoreFlags,
    releaser: Option<Releaser>,
    /// After the first look at the private records.
    pub(super) learned: Option<Learned>,
    /// Public randomness.
    public: ChaCha20Rng,
    loss: f64,
    /// Steps whose transport did not converge.
    pub(super) unconverged: u64,
}

/// What is learned from.
pub struct Learned {
    pub(super) private: Privatised,
    objective: Objective,
    /// What was taken off first, in words.
    pub(super) denoised: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct State {
    public: GeneratorState,
    unconverged: u64,
}

impl Ldp {
    fn stream(&self, stream: u64) -> ChaCha20Rng {
        let mut rng = ChaCha20Rng::seed_from_u64(self.settings.seed);
        rng.set_stream(stream);
        rng
    }

    /// Generated rows of each class at a step.
    pub(super) fn each(&self) -> usize {
        (self.settings.batch / self.model.groups()).max(2)
    }

    /// Generated rows as privatised records are laid out: their classes behind them.
    fn laid_out(&self, rows: Tensor<2>) -> Tensor<2> {
        let (each, groups) = (self.each(), self.model.groups());
        if self.layout.classes == 0 {
            return rows;
        }
        let classes = (0..groups).flat_map(|g| std::iter::repeat_n(g, each));
        let classes: Vec<f32> = classes.flat_map(|g| self.layout.class(g)).collect();
        let data = TensorData::new(classes, [each * groups, self.layout.classes]);
        let classes = Tensor::from_data(data, &rows.device());
        Tensor::cat(vec![rows, classes], 1)
    }

    /// Slices of privatised records: smooth over an image, with a share of its class.
    fn directions(&self, rng: &mut ChaCha20Rng) -> Result<Slices, Failure> {
        let (count, width) = (self.settings.slices, self.layout.width());
        let Some(shape) = self.clean.test.shape() else {
            return Slices::iid(width, count, rng).map_err(Failure::failed);
        };
        let smooth = Slices::smooth([shape.channels, shape.side, shape.side], count, rng);
        let smooth = smooth.map_err(Failure::failed)?;
        if self.layout.classes == 0 {
            return Ok(smooth);
        }
        let mut directions = Vec::with_capacity(count * width);
        for l in 0..count {
            // From almost all image to almost all class.
            let share: f64 = rng.random_range(0.0..1.0);
            let class: Vec<f64> = (0..self.layout.classes)
                .map(|_| StandardNormal.sample(rng))
                .collect();
            let norm = class.iter().map(|x: &f64| x * x).sum::<f64>().sqrt();
            directions.extend(smooth.direction(l).iter().map(|x| (1.0 - share).sqrt() * x));
            directions.extend(class.iter().map(|x| share.sqrt() * x / norm));
        }
        Slices::from_directions(width, &directions).map_err(Failure::failed)
    }

    /// Reads the private records for the only time.
    fn learn(&mut self, session: &mut Session) -> Result<Learned, Failure> {
        let (layout, mechanism) = (self.layout, self.mechanism);
        let records = &self.clean.private;
        let mut private = Privatised::of(records, layout, mechanism, &mut self.releaser, session)?;
        let mut denoised = None;
        if self.settings.denoise {
            let shape = self.clean.test.shape();
            let side = shape.map_or(0, |shape| shape.side);
            let mut rng = self.stream(2);
            let law = (private.noise, private.scale);
            let (denoiser, distance) = choose(&self.clean.test.first(1000), side, law, &mut rng);
            denoise(&mut private, side, denoiser);
            let words = format!(
                "{}, {} levels, threshold {:.3}; a public image is {distance:.2} off after it",
                denoiser.wavelet.name(),
                denoiser.levels,
                denoiser.threshold
            );
            println!("wavelets  {words}");
            denoised = Some(words);
        }
        let mut rng = self.stream(3);
        let points = self.each() * self.model.groups();
        let mut directions = || self.directions(&mut rng);
        let objective = Objective::new(&self.settings, &private, points, &mut directions)?;
        Ok(Learned {
            private,
            objective,
            denoised,
        })
    }
}

impl Experiment for Ldp {
    const NAME: &'static str = "ldp";
    const ABOUT: &'static str = "Privatise every record alone, then learn from what is left the law that the records \
                                 had before. Values come from the data set's preset, and a flag wins over the preset.";
    const FLAGS_OF_A_PROCESS: &'static [&'static str] = &["ScoreFlags"];
    const STORED: &'static [&'static str] = &[RELEASE];
    type Settings = Settings;

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let clean = Clean::load(settings, arguments.running.data_dir.as_deref())?;
        let mechanism = mechanism(settings)?;
        let plan = mechanism.map(|m| plan(settings, &m)).transpose()?;
        let classes = match settings.label_weight > 0.0 {
            true => clean.private.classes(),
            false => 0,
        };
        let layout = Layout {
            values: clean.private.width(),
            classes,
            weight: settings.label_weight,
        };
        let architecture = match (clean.private.shape(), settings.network) {
            (Some(shape), Network::Dcgan) => Architecture::Dcgan(shape),
            (Some(shape), Network::Perceptron) => Architecture::Perceptron(shape),
            (None, _) => Architecture::Points(layout.values),
        };
        let size = Size {
            code: Code::Uniform(settings.latent),
            classes,
        };
        let mut rng = ChaCha20Rng::seed_from_u64(settings.seed);
        rng.set_stream(1);
        let model = Generator::new(architecture, size, settings.ema, &mut rng, &chosen.device)?;
        let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
        public.set_stream(4);
        Ok(Self {
            releaser: releaser(plan, settings.insecure_noise_seed)?,
            settings: settings.clone(),
            clean,
            mechanism,
            layout,
            model,
            score: arguments.own.score.clone(),
            learned: None,
            public,
            loss: f64::NAN,
            unconverged: 0,
        })
    }

    fn data(&self) -> DataSummary {
        DataSummary {
            name: self.clean.name.clone(),
            private: self.clean.private.len(),
            test: self.clean.test.len(),
            used: self.clean.used.clone(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.releaser.as_ref().map(Releaser::plan)
    }

    fn wording(&self) -> Wording {
        Wording {
            releases: "each record with its class, privatised alone before anything else reads it: local privacy, \
                       against whoever holds all other records and sees every privatised one"
                .into(),
            without_noise: "Not private: --no-privacy adds no noise.",
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let mut lines = Vec::new();
        if let Some(mechanism) = &self.mechanism {
            let (noise, norm) = match mechanism.noise() {
                LocalNoise::Gaussian => ("Gaussian noise of deviation", "Euclidean norm"),
                LocalNoise::Laplace => ("Laplace noise of scale", "sum of absolute values"),
            };
            lines.push(format!(
                "local     {noise} {:.4} on each value; {norm} at most {}",
                mechanism.scale(),
                mechanism.radius()
            ));
        }
        let Settings { loss, steps, .. } = &self.settings;
        let (loss, batch) = (lab::session::name_of(*loss), self.settings.batch);
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
        Ok(Fingerprint {
            records: self.clean.private.fingerprint(),
            encoded: None,
        })
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        Some(self)
    }

    fn steps(&self) -> u64 {
        self.settings.steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        let progress = session.step as f64 / self.settings.steps as f64;
        let rate = self.settings.learning_rate * 0.5 * (1.0 + (PI * progress).cos());
        let made = self.model.make(self.each(), &mut self.public);
        let made = self.laid_out(made.rows);
        let learned = self.learned.as_ref();
        let learned = learned.ok_or_else(|| Failure::failed("a step before the records"))?;
        let noisy = match self.settings.loss {
            Loss::Sliced => Vec::new(),
            _ => learned.private.batch(self.settings.batch, &mut self.public),
        };
        let device = &session.chosen.device;
        let found = learned
            .objective
            .of(made, noisy, device, &mut self.public)?;
        self.unconverged += u64::from(!found.converged);
        self.loss = f64::from(found.loss.clone().into_scalar::<f32>());
        self.model.descend(found.loss, rate);
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
    fn files(&mut self) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let state = State {
            public: GeneratorState::of(&self.public),
            unconverged: self.unconverged,
        };
        let mut files = self.model.files();
        let state = serde_json::to_vec(&state).map_err(Failure::failed)?;
        files.insert(STATE.into(), state);
        Ok(files)
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        let state: State = checkpoint.json(STATE)?;
        self.model.restore(checkpoint)?;
        self.public = state.public.generator()?;
        self.unconverged = state.unconverged;
        Ok(())
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        // Steps towards what was privatised once release nothing.
        None
    }
}

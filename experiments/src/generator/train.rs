//! The run: its records, one step of the generator, and what checkpoints keep.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use data::LabelledImages;
use dp_core::ledger::Ledger;
use dp_core::mechanism::Releaser;
use dp_core::plan::CheckedPlan;
use dp_core::sampling::BatchSampler;
use lab::backend::Chosen;
use lab::checkpoint::Checkpoint;
use lab::diagnostic::Failure;
use lab::interrupt::Interrupt;
use lab::run_folder::RunFolder;
use lab::session::{
    Arguments, DataSummary, Evaluation, Experiment, Fingerprint, Releases, Report, RunState,
    Session, Used, Wording, bounded, releaser,
};
use model::latent::ImageShape;
use private_training::{RngState, cosine};
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};
use serde_json::json;
use swd::flow::StepSize;
use swd::{FlowTarget, Particles};

use super::plan::{RELEASE, plan, sampler};
use super::report;
use super::settings::{Flags, Settings};
use super::targets::Target;
use crate::flow::load_photographs;
use crate::generators::{Architecture, Code, Generator, Size};
use crate::records::{Records, Source, load_private};
use crate::scores::ScoreFlags;

const STATE: &str = "state.json";

/// A generator of images and what it is trained on.
pub struct Generate {
    pub(super) settings: Settings,
    /// The private records.
    pub(super) records: Records,
    /// Their classes.
    pub(super) labels: Vec<usize>,
    pub(super) classes: usize,
    /// Public test records.
    pub(super) test: Records,
    pub(super) sampler: BatchSampler,
    pub(super) releaser: Option<Releaser>,
    pub(super) model: Generator,
    /// Batches of a run without privacy.
    pub(super) non_private: ChaCha20Rng,
    pub(super) score: ScoreFlags,
    /// Public randomness.
    public: ChaCha20Rng,
    /// What was released once, a class each.
    targets: Vec<Target>,
    /// The squared distance to the release at the last step.
    distance: f64,
    name: String,
    used: Vec<Used>,
}

#[derive(Serialize, Deserialize)]
struct State {
    public: RngState,
    non_private: RngState,
}

/// The records of a run.
struct Data {
    name: String,
    records: Records,
    test: Records,
    classes: usize,
    used: Vec<Used>,
}

/// Labelled images, whose training records are all private.
fn labelled(settings: &Settings, data_dir: Option<&Path>) -> Result<Data, Failure> {
    let (seed, records) = (settings.seed, settings.records);
    let (data, used) = load_private(settings.kind()?, seed, records, data_dir)?;
    let all = |images: LabelledImages| {
        let indices = (0..images.len()).collect();
        Records::new(Source::Labelled(Arc::new(images)), indices, None)
    };
    Ok(Data {
        name: data.name,
        classes: data.train.classes(),
        records: all(data.train),
        test: all(data.test),
        used: vec![used],
    })
}

/// A folder of photographs, of which half is private and another part is the test.
fn photographs(
    settings: &Settings,
    data_dir: Option<&Path>,
    cache: &Path,
) -> Result<Data, Failure> {
    let split = load_photographs([settings.records, None], data_dir, cache)?;
    if let Some(asked) = settings.records {
        let found = split.private.len();
        bounded(
            "records",
            asked,
            asked == found && asked > 0,
            &format!("at most {found}"),
        )?;
    }
    Ok(Data {
        name: settings.dataset.clone(),
        records: split.private,
        test: split.test,
        classes: 0,
        used: split.used,
    })
}

/// The generator of the settings before its first step.
pub(crate) fn untrained(
    settings: &Settings,
    classes: usize,
    shape: ImageShape,
    ema: Option<f64>,
    rng: &mut ChaCha20Rng,
    device: &Device,
) -> Result<Generator, Failure> {
    let size = Size {
        code: Code::Gaussian(settings.noise),
        classes,
    };
    let architecture = match shape.channels {
        1 => Architecture::Upsampled(shape),
        _ => Architecture::Dcgan(shape),
    };
    Generator::new(architecture, size, ema, rng, device)
}

impl Generate {
    /// Images of each class at a step.
    pub(super) fn each(&self) -> usize {
        self.settings.points / self.model.groups()
    }

    /// The gradient in `points`, `[n, d]` in rows, of the squared distance to a target in some of its slices, and
    /// that distance.
    fn cotangent(
        &mut self,
        points: &[f32],
        target: &Target,
        chosen: &[usize],
    ) -> Result<(Vec<f32>, f64), Failure> {
        let d = target.slices().dim();
        let mut particles = Particles::new(points, d).map_err(Failure::failed)?;
        // A step of a flow moves points against the gradient, by h n / 2 of it.
        let size = StepSize {
            step: d as f64,
            diffusion: 0.0,
        };
        let squared = particles.step(target, chosen, size, &mut self.public);
        let squared = squared.map_err(Failure::failed)?;
        let scale = 2.0 / (points.len() as f64) as f32;
        let moved = particles.rows();
        let gradient = points
            .iter()
            .zip(&moved)
            .map(|(x, moved)| scale * (x - moved));
        Ok((gradient.collect(), squared))
    }

    /// The gradient in the pixels of images, class after class, and the mean squared distance.
    fn gradient(
        &mut self,
        pixels: &[f32],
        session: &mut Session,
    ) -> Result<(Vec<f32>, f64), Failure> {
        let (count, some) = (self.settings.slices, self.settings.slices_per_step);
        let chosen = match some {
            Some(some) if some < count => sample(&mut self.public, count, some).into_vec(),
            _ => (0..count).collect(),
        };
        let (groups, each) = (self.model.groups(), self.each());
        let size = self.records.shape().values();
        if self.settings.releases_each_step() {
            let target = self.projections(session.step, &mut session.ledger)?;
            let labels = (0..groups).flat_map(|group| std::iter::repeat_n(group, each));
            let rows = self.rows(pixels, &labels.collect::<Vec<_>>());
            let (gradient, squared) = self.cotangent(&rows, &target, &chosen)?;
            let gradient = gradient.chunks_exact(self.row_width());
            let gradient = gradient.flat_map(|row| row[..size].iter().copied());
            return Ok((gradient.collect(), squared));
        }
        let targets = std::mem::take(&mut self.targets);
        let mut gradient = Vec::with_capacity(pixels.len());
        let mut mean = 0.0;
        for (images, target) in pixels.chunks_exact(each * size).zip(&targets) {
            let (of_class, squared) = self.cotangent(images, target, &chosen)?;
            gradient.extend(of_class);
            mean += squared / groups as f64;
        }
        self.targets = targets;
        Ok((gradient, mean))
    }
}

impl Releases for Generate {
    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }
}

impl Experiment for Generate {
    const NAME: &'static str = "generator";
    const ABOUT: &'static str = "Train a class-conditional generator of images on released projections of private \
                                 records. Values come from the preset of what is released, and a flag wins over the \
                                 preset.";
    const FLAGS_OF_A_PROCESS: &'static [&'static str] =
        &["ScoreFlags", "ExportFlags", "ExportRequest"];
    const STORED: &'static [&'static str] = &[RELEASE];
    type Settings = Settings;

    fn afterwards(
        arguments: &Arguments<Flags>,
        folder: &RunFolder,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        arguments.own.export.of(folder, interrupt)
    }

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let data_dir = arguments.running.data_dir.as_deref();
        let Data {
            name,
            records,
            test,
            classes,
            used,
        } = match settings.photographs() {
            true => photographs(settings, data_dir, &arguments.running.cache()?)?,
            false => labelled(settings, data_dir)?,
        };
        let (shape, export) = (records.shape(), &arguments.own.export);
        export.check(shape, classes > 0, None)?;
        let width = shape.values();
        settings.check_slices(
            width
                + if settings.releases_each_step() {
                    classes
                } else {
                    0
                },
        )?;
        let sampler = sampler(settings, records.len())?;
        let plan = plan(settings, sampler.clone())?;
        let stream = |stream| {
            let mut rng = ChaCha20Rng::seed_from_u64(settings.seed);
            rng.set_stream(stream);
            rng
        };
        let (rng, device) = (&mut stream(1), &chosen.device);
        let model = untrained(settings, classes, shape, settings.ema, rng, device)?;
        Ok(Self {
            releaser: releaser(plan, settings.insecure_noise_seed)?,
            settings: settings.clone(),
            labels: records.labels(),
            records,
            classes,
            test,
            sampler,
            model,
            non_private: stream(2),
            score: arguments.own.score.clone(),
            public: stream(3),
            targets: Vec::new(),
            distance: 0.0,
            name,
            used,
        })
    }

    fn data(&self) -> DataSummary {
        DataSummary {
            name: self.name.clone(),
            private: self.records.len(),
            test: self.test.len(),
            used: self.used.clone(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.releaser.as_ref().map(Releaser::plan)
    }

    fn wording(&self) -> Wording {
        Wording {
            releases: "all that is read of the private records and their labels".into(),
            without_noise: "Not private: --no-privacy adds no noise.".into(),
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let settings = &self.settings;
        let (k, steps, name) = (settings.slices, settings.steps, settings.release.name());
        let of = match settings.batch {
            Some(batch) => format!("batches of {batch} records, at each step"),
            None => "all records, once".to_string(),
        };
        Ok(vec![
            format!("release   {name} of {of}, on {k} slices"),
            format!("steps     {steps} of {} generated images", settings.points),
        ])
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        if !self.settings.releases_each_step() {
            self.targets = self.marginals(session)?;
        }
        Ok(())
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        Ok(Fingerprint {
            records: self.records.fingerprint()?,
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
        let decay = cosine(session.step, self.settings.steps, 0.0);
        let rate = self.settings.learning_rate * decay;
        let each = self.each();
        let made = self.model.make(each, &mut self.public);
        let (cotangent, distance) = self.gradient(&made.values(), session)?;
        self.model.pull(made, cotangent, rate);
        self.distance = distance;
        Ok(())
    }

    fn evaluate(&mut self, _: &Session) -> Result<Evaluation, Failure> {
        Ok(Evaluation {
            scores: json!({"sliced_w2_squared_to_release": self.distance}),
            message: format!("distance {:.5}", self.distance),
            accounted: self.settings.releases_each_step(),
        })
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        report::report(self, session)
    }
}

impl RunState for Generate {
    fn files(&mut self, _: &Ledger) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let state = State {
            public: RngState::of(&self.public),
            non_private: RngState::of(&self.non_private),
        };
        let mut files = self.model.files();
        let state = serde_json::to_vec(&state).map_err(Failure::failed)?;
        files.insert(STATE.into(), state);
        Ok(files)
    }

    fn restore(&mut self, checkpoint: &Checkpoint, _: &Ledger) -> Result<(), Failure> {
        let state: State = checkpoint.json(STATE)?;
        self.model.restore(checkpoint)?;
        self.public = state
            .public
            .generator()
            .map_err(|e| checkpoint.damaged(&e))?;
        self.non_private = state
            .non_private
            .generator()
            .map_err(|e| checkpoint.damaged(&e))?;
        Ok(())
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        // Steps towards what was released once release nothing.
        match self.settings.releases_each_step() {
            true => self.releaser.as_mut(),
            false => None,
        }
    }
}

//! The run: its records, one step of the generator, and what checkpoints keep.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use clap::Id;
use data::LabelledImages;
use dp_core::delta::default_delta;
use dp_core::ledger::Ledger;
use dp_core::mechanism::Releaser;
use dp_core::plan::{CheckedPlan, ReleaseNoise, TrainingPlan};
use dp_core::sampling::{BatchSampler, FixedSizeSampler};
use lab::backend::Chosen;
use lab::checkpoint::RestoredCheckpoint;
use lab::diagnostic::{Failure, OrFailed};
use lab::interrupt::Interrupt;
use lab::run_folder::RunFolder;
use lab::session::{
    Arguments, DataSummary, Evaluation, Experiment, Fingerprint, FlagsOf, Releases, Report,
    RunState, Session, Used, Wording, bounded, flags_of, releaser,
};
use model::latent::ImageShape;
use private_synth::images::{Architecture, Code, Generator, Size};
use private_training::{RngState, cosine};
use rand::seq::index::sample;
use rand_chacha::ChaCha20Rng;
use serde_json::json;
use swd::flow::StepSize;
use swd::{FlowTarget, Particles, Region};

use super::release::Release;
use super::report;
use super::settings::{Settings, Shared};
use crate::apart;
use crate::export::ExportFlags;
use crate::flow::load_photographs;
use crate::generators;
use crate::random::stream;
use crate::records::{Records, Source, kind, load_private};
use crate::scores::ScoreFlags;

/// The one release of all records, by its name in the plan.
pub(super) const RELEASE: &str = "release";
/// The streams of the seed that slices are sampled from: one for the release of all records, and one for each step.
const SLICES: u64 = 16;

/// A generator of images and what it is trained on.
pub struct Generate<R: Release> {
    pub(super) settings: Shared,
    pub(super) release: R,
    pub(super) data: Data,
    /// The classes of the private records, 0 without classes.
    pub(super) labels: Vec<usize>,
    pub(super) sampler: BatchSampler,
    pub(super) releaser: Option<Releaser>,
    pub(super) model: Generator,
    /// Batches of a run without privacy.
    pub(super) non_private: ChaCha20Rng,
    pub(super) score: ScoreFlags,
    /// Public randomness.
    public: ChaCha20Rng,
    /// What was released last.
    targets: Vec<Box<dyn FlowTarget>>,
    /// The squared distance to the release at the last step.
    distance: f64,
}

/// The records of a run.
pub(super) struct Data {
    name: String,
    /// The private ones.
    pub(super) records: Records,
    /// Public ones.
    pub(super) test: Records,
    pub(super) classes: usize,
    used: Vec<Used>,
}

/// Labelled images, whose training records are all private.
fn labelled(settings: &Shared, data_dir: Option<&Path>) -> Result<Data, Failure> {
    let (kind, records) = (kind("dataset", &settings.dataset)?, settings.records);
    let (data, used) = load_private(kind, settings.seed, records, data_dir)?;
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

/// A folder of photographs, beside one of public ones, of which a part is the test.
fn photographs(settings: &Shared, data_dir: Option<&Path>) -> Result<Data, Failure> {
    let public = settings.public.as_deref().unwrap_or(Path::new(""));
    let split = load_photographs([settings.records, None], data_dir, public)?;
    Ok(Data {
        name: settings.dataset.clone(),
        records: split.private,
        test: split.test,
        classes: 0,
        used: split.used,
    })
}

/// The generator of the settings before its first step.
pub(super) fn untrained(
    settings: &Shared,
    classes: usize,
    shape: ImageShape,
    ema: Option<f64>,
    rng: &mut ChaCha20Rng,
    device: &Device,
) -> Result<Generator, Failure> {
    let size = Size {
        code: Code::Gaussian(settings.latent),
        classes,
    };
    let architecture = match shape.channels {
        1 => Architecture::Upsampled(shape),
        _ => Architecture::Dcgan(shape),
    };
    generators::untrained(architecture, size, ema, rng, device)
}

impl<R: Release> Generate<R> {
    /// Images of each class at a step.
    pub(super) fn each(&self) -> usize {
        self.settings.points / self.model.groups()
    }

    pub(super) fn region(&self) -> Result<Region, Failure> {
        Region::ball(self.settings.radius).or_failed()
    }

    /// What slices are sampled from: those of all records, at 0, or of a step.
    pub(super) fn slices(&self, of: u64) -> ChaCha20Rng {
        stream(self.settings.seed, SLICES + of)
    }

    /// The width of a row of [`Generate::rows`].
    pub(super) fn row_width(&self) -> usize {
        let classes = self.release.label_weight().map_or(0, |_| self.data.classes);
        self.data.records.shape().values() + classes
    }

    /// Images as targets see them: `(image, weight * one-hot class)`, or alone.
    pub(super) fn rows(&self, pixels: &[f32], labels: impl Iterator<Item = usize>) -> Vec<f32> {
        let (size, width) = (self.data.records.shape().values(), self.row_width());
        let weight = self.release.label_weight().unwrap_or(0.0) as f32;
        let mut rows = Vec::with_capacity(pixels.len() / size * width);
        for (image, label) in pixels.chunks_exact(size).zip(labels) {
            rows.extend_from_slice(image);
            rows.extend((0..width - size).map(|class| if class == label { weight } else { 0.0 }));
        }
        rows
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
        if self.release.batch().is_some() {
            self.targets = R::targets(self, session)?;
        }
        let targets = std::mem::take(&mut self.targets);
        let (groups, each) = (self.model.groups(), self.each());
        let labels = (0..groups).flat_map(|group| std::iter::repeat_n(group, each));
        let rows = self.rows(pixels, labels);
        let (size, width) = (self.data.records.shape().values(), self.row_width());
        // A step of a flow moves points against the gradient, by h n / 2 of it.
        let step = StepSize {
            step: width as f64,
            diffusion: 0.0,
        };
        let (mut gradient, mut mean) = (Vec::with_capacity(pixels.len()), 0.0);
        for part in rows.chunks_exact(rows.len() / targets.len()).zip(&targets) {
            let (rows, target) = part;
            let mut particles = Particles::new(rows, width).or_failed()?;
            let squared = particles.step(target, &chosen, step, &mut self.public);
            mean += squared.or_failed()? / targets.len() as f64;
            let scale = 2.0 / (rows.len() as f64) as f32;
            let moved = particles.rows();
            for (row, moved) in rows.chunks_exact(width).zip(moved.chunks_exact(width)) {
                let pixels = row[..size].iter().zip(moved);
                gradient.extend(pixels.map(|(x, moved)| scale * (x - moved)));
            }
        }
        self.targets = targets;
        Ok((gradient, mean))
    }
}

impl<R: Release> Releases for Generate<R> {
    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }
}

impl<R: Release> Experiment for Generate<R> {
    const NAME: &'static str = "generator";
    const KIND: Option<(&'static str, &'static str)> = Some(("release", R::NAME));
    const ABOUT: &'static str = R::ABOUT;
    const FLAGS_OF_A_PROCESS: &'static [fn() -> Vec<Id>] =
        &[flags_of::<ScoreFlags>, flags_of::<ExportFlags>];
    const FLAGS_AFTERWARDS: &'static [fn() -> Vec<Id>] = &[flags_of::<ExportFlags>];
    const STORED: &'static [&'static str] = &[RELEASE];
    type Settings = Settings<R>;

    fn afterwards(
        arguments: &Arguments<FlagsOf<Self>>,
        folder: &RunFolder,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        arguments.own.shared.export.of(folder, interrupt)
    }

    fn load(
        Settings { shared, own }: &Settings<R>,
        arguments: &Arguments<FlagsOf<Self>>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let data_dir = arguments.running.data_dir.as_deref();
        let data = match shared.photographs() {
            true => {
                let root = data_dir.unwrap_or(Path::new(""));
                apart::check_output(&arguments.running, root)?;
                photographs(shared, data_dir)?
            }
            false => labelled(shared, data_dir)?,
        };
        let (shape, flags) = (data.records.shape(), &arguments.own.shared);
        flags.export.check(shape, data.classes > 0, None)?;
        let records = data.records.len();
        let batch = own.batch().unwrap_or(records);
        let refuse = |e| {
            Failure::input(
                format!("--batch {batch}: {e}"),
                format!("choose --batch between 1 and {records}"),
            )
        };
        let sampler: BatchSampler = FixedSizeSampler::new(records, batch)
            .map_err(refuse)?
            .into();
        let few = default_delta(records as f64);
        let (delta, steps) = (shared.delta.unwrap_or(few), shared.steps);
        let plan = shared.epsilon.map(|epsilon| match own.batch() {
            Some(_) => TrainingPlan::within(epsilon, delta, steps, sampler.clone()),
            None => TrainingPlan::within(epsilon, delta, 0, sampler.clone())
                .and(RELEASE, ReleaseNoise::Share(1.0)),
        });
        let (rng, device) = (&mut stream(shared.seed, 1), &chosen.device);
        let run = Self {
            releaser: releaser(plan, shared.insecure_noise_seed)?,
            model: untrained(shared, data.classes, shape, shared.ema, rng, device)?,
            labels: match data.classes {
                0 => vec![0; records],
                _ => data.records.labels(),
            },
            data,
            sampler,
            non_private: stream(shared.seed, 2),
            score: flags.score.clone(),
            public: stream(shared.seed, 3),
            targets: Vec::new(),
            distance: 0.0,
            settings: shared.clone(),
            release: own.clone(),
        };
        let (k, dim) = (shared.slices, run.row_width());
        let holds = own.batch().is_none() || (k >= dim && k.is_power_of_two());
        let bound = format!("a power of two of at least {dim} for projections");
        bounded("slices", k, holds, &bound)?;
        Ok(run)
    }

    fn data(&self) -> DataSummary {
        DataSummary {
            name: self.data.name.clone(),
            private: self.data.records.len(),
            test: self.data.test.len(),
            used: self.data.used.clone(),
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
        let (k, steps, name) = (settings.slices, settings.steps, R::NAME);
        let of = match self.release.batch() {
            Some(batch) => format!("batches of {batch} records, at each step"),
            None => "all records, once".to_string(),
        };
        Ok(vec![
            format!("release   {name} of {of}, on {k} slices"),
            format!("steps     {steps} of {} generated images", settings.points),
        ])
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        if self.release.batch().is_none() {
            self.targets = R::targets(self, session)?;
        }
        Ok(())
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        let records = self.data.records.fingerprint()?;
        Ok(Fingerprint::of(records.as_bytes()))
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
            accounted: self.release.batch().is_some(),
        })
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        report::report(self, session)
    }
}

impl<R: Release> RunState for Generate<R> {
    fn files(&mut self, _: &Ledger) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let random = [&self.public, &self.non_private].map(RngState::of);
        generators::files(&self.model, &random)
    }

    fn restore(&mut self, checkpoint: &RestoredCheckpoint, _: &Ledger) -> Result<(), Failure> {
        let [public, non_private]: [RngState; 2] =
            generators::restore(&mut self.model, checkpoint)?;
        self.public = checkpoint.rng(&public)?;
        self.non_private = checkpoint.rng(&non_private)?;
        Ok(())
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        // Steps towards what was released once release nothing.
        self.release.batch()?;
        self.releaser.as_mut()
    }
}

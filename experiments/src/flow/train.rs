//! The run: its records, what comes before the flow, one step, and what checkpoints keep.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use burn::tensor::Device;
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
    Session, Wording, bounded, releaser,
};
use private_training::RngState;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::particles::share;
use crate::scores::ScoreFlags;

use super::data_split::DataSplit;
use super::groups::Groups;
use super::mechanisms::{Moved, Snapshot};
use super::plan::{MOMENTS, RELEASE, plan, sampler};
use super::settings::{Flags, Mechanism, Settings, Start};
use super::space::Space;
use super::{report, space, toy};

/// A flow in the latent space of a public autoencoder.
pub struct Flow {
    pub(super) settings: Settings,
    pub(super) split: DataSplit,
    pub(super) sampler: BatchSampler,
    pub(super) releaser: Option<Releaser>,
    /// Public randomness.
    pub(super) public: ChaCha20Rng,
    /// Batches of a run without privacy.
    pub(super) non_private: ChaCha20Rng,
    /// Where networks compute.
    pub(super) device: Device,
    pub(super) score: ScoreFlags,
    /// The public autoencoder; none before it is trained.
    pub(super) space: Option<Space>,
    pub(super) public_seconds: f64,
    /// Private latents; none before they are encoded.
    pub(super) groups: Groups,
    /// Latents of public records, of each cell of each class or of all, where they are looked at.
    pub(super) public_groups: Vec<Vec<f32>>,
    /// Particles of each group; of released sizes once they are.
    pub(super) particles: Vec<usize>,
    pub(super) moved: Moved,
    /// The same few particles at some steps.
    pub(super) strip: Vec<Snapshot>,
    /// The squared sliced distance to the target at the last step.
    pub(super) distance: f64,
    cache: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct State {
    public: RngState,
    non_private: RngState,
    strip: Vec<(u64, Vec<f32>)>,
}

fn group_sizes(settings: &Settings, split: &DataSplit) -> Vec<usize> {
    if !settings.within_classes() {
        return vec![split.private.len()];
    }
    let mut sizes = vec![0; split.classes];
    for label in split.private.labels() {
        sizes[label] += 1;
    }
    sizes.retain(|&size| size > 0);
    sizes
}

/// Public records whose latents are looked at, at least, where there are as many.
const PUBLIC_LATENTS: usize = 30_000;

impl Flow {
    /// Keeps the public latents by their class, where they are looked at.
    fn keep_public(&mut self, space: &Space, session: &Session) -> Result<(), Failure> {
        let settings = &self.settings;
        if settings.start != Start::Public {
            return Ok(());
        }
        let public = &self.split.public;
        let most = public.len().min(PUBLIC_LATENTS.max(self.total_particles()));
        let first = public.only(&(0..most).collect::<Vec<_>>());
        let latents = space.encode_records(&first, session)?;
        let (labels, classes) = match settings.public_classes() {
            true => (first.labels(), self.split.classes),
            false => (vec![0; most], 1),
        };
        let rows = latents.chunks_exact(settings.latent).zip(&labels);
        self.public_groups = vec![Vec::new(); classes];
        rows.for_each(|(row, &label)| self.public_groups[label].extend_from_slice(row));
        Ok(())
    }
}

impl Experiment for Flow {
    const NAME: &'static str = "flow";
    const ABOUT: &'static str = "Generate images by a private flow in the latent space of a public \
                                 autoencoder, or of cosines. Values come from the mechanism's preset, and a flag wins \
                                 over the preset.";
    const FLAGS_OF_A_PROCESS: &'static [&'static str] =
        &["ScoreFlags", "ExportFlags", "ExportRequest"];
    const STORED: &'static [&'static str] = &[MOMENTS, RELEASE];
    type Settings = Settings;

    fn instead(arguments: &Arguments<Flags>) -> Option<Result<(), Failure>> {
        let toy = arguments.own.dataset.as_deref() == Some(toy::NAME);
        toy.then(|| toy::run(arguments))
    }

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
        let cache = arguments.running.cache()?;
        let split = DataSplit::load(settings, arguments.running.data_dir.as_deref(), &cache)?;
        let sizes = group_sizes(settings, &split);
        let particles = settings.particles.unwrap_or(split.private.len());
        let groups = settings.cells
            * if settings.conditional {
                split.classes
            } else {
                1
            };
        let holds = particles >= groups || !settings.sizes_released();
        let bound = format!("at least {groups}: one a class and cell");
        bounded("particles", particles, holds, &bound)?;
        let most = match settings.sizes_released() {
            true => particles,
            false => share(&sizes, particles).iter().sum(),
        };
        let export = &arguments.own.export;
        let most = (!settings.variation().any()).then_some(most);
        export.check(split.test.shape(), settings.conditional, most)?;
        let sampler = sampler(settings, &sizes)?;
        let plan = plan(settings, sampler.clone())?;
        let stream = |stream| {
            let mut rng = ChaCha20Rng::seed_from_u64(settings.seed);
            rng.set_stream(stream);
            rng
        };
        Ok(Self {
            releaser: releaser(plan, settings.insecure_noise_seed)?,
            settings: settings.clone(),
            split,
            sampler,
            public: stream(6),
            non_private: stream(4),
            device: chosen.device.clone(),
            score: arguments.own.score.clone(),
            space: None,
            public_seconds: 0.0,
            groups: Groups::none(settings.latent),
            public_groups: Vec::new(),
            particles: Vec::new(),
            moved: Moved::Nothing,
            strip: Vec::new(),
            distance: 0.0,
            cache,
        })
    }

    fn data(&self) -> DataSummary {
        DataSummary {
            name: self.settings.dataset.clone(),
            private: self.split.private.len(),
            test: self.split.test.len(),
            used: self.split.used.clone(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.releaser.as_ref().map(Releaser::plan)
    }

    fn wording(&self) -> Wording {
        let reads_nothing = self.settings.mechanism == Mechanism::Public;
        Wording {
            groups: "classes",
            releases: match self.settings.sizes_released() {
                true => "all that is read of the private latents, of their labels and of how many each class has",
                false => "all that is read of the private latents",
            }
            .into(),
            public: format!("{}, and the test records", self.split.public_name),
            without_noise: if reads_nothing {
                "Nothing private is read: public records through the public autoencoder."
            } else {
                "Not private: --no-privacy adds no noise."
            }
            .into(),
            reads_nothing,
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let (records, name) = (self.split.public.len(), &self.split.public_name);
        let public = match self.settings.cosines() && !self.settings.refined() {
            true => name.clone(),
            false => format!("{records} records of {name}"),
        };
        Ok(vec![
            format!("public    {public}"),
            format!(
                "mechanism {}; flows run on the host",
                self.settings.mechanism.name()
            ),
        ])
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        let start = Instant::now();
        let space = space::autoencoder(&self.settings, &self.split, &self.cache, session)?;
        self.public_seconds = start.elapsed().as_secs_f64();
        let latents = space.encode_records(&self.split.private, session)?;
        self.keep_public(&space, session)?;
        let (private, classes) = (&self.split.private, self.split.classes);
        self.groups = Groups::new(&latents, private, classes, &self.settings);
        if !self.settings.sizes_released() {
            self.particles = share(&self.groups.sizes(), self.total_particles());
        }
        self.space = Some(space);
        self.start(session)
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        let weights = self.space.as_ref().map(Space::weights);
        Ok(Fingerprint {
            records: self.split.private.fingerprint()?,
            encoded: weights.map(|weights| (weights, self.groups.latents.clone())),
        })
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        // A stored release is all that the steps towards it need.
        match self.settings.mechanism.releases_each_step() {
            true => Some(self),
            false => None,
        }
    }

    fn steps(&self) -> u64 {
        self.settings.step_count(self.split.private.len())
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.picture(session.step);
        self.one_step(session)
    }

    fn evaluates_after(&self, step: u64) -> bool {
        let often = match self.settings.mechanism.releases_each_step() {
            true => (self.steps() / 200).max(1),
            false => 1,
        };
        step > 0 && step.is_multiple_of(often)
    }

    fn evaluate(&mut self, _: &Session) -> Result<Evaluation, Failure> {
        Ok(Evaluation {
            scores: json!({"sliced_w2_squared_to_release": self.distance}),
            message: format!("distance {:.5}", self.distance),
            accounted: false,
        })
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        self.picture(session.step);
        let generated = self.generated()?;
        report::report(self, session, &generated)
    }
}

impl Releases for Flow {
    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }
}

impl RunState for Flow {
    fn files(&mut self, _: &Ledger) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let strip = self.strip.iter().map(|s| (s.step, s.rows.clone()));
        let state = State {
            public: RngState::of(&self.public),
            non_private: RngState::of(&self.non_private),
            strip: strip.collect(),
        };
        let mut files = self.moved.files();
        let state = serde_json::to_vec(&state).map_err(Failure::failed)?;
        files.insert("state.json".into(), state);
        Ok(files)
    }

    fn restore(&mut self, checkpoint: &Checkpoint, _: &Ledger) -> Result<(), Failure> {
        let state: State = checkpoint.json("state.json")?;
        self.moved.restore(checkpoint, &self.device)?;
        self.public = state
            .public
            .generator()
            .map_err(|e| checkpoint.damaged(&e))?;
        self.non_private = state
            .non_private
            .generator()
            .map_err(|e| checkpoint.damaged(&e))?;
        let strip = state.strip.into_iter();
        self.strip = strip.map(|(step, rows)| Snapshot { step, rows }).collect();
        Ok(())
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }
}

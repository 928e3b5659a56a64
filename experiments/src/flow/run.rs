//! The run: its records, what comes before the flow, one step, and what checkpoints keep.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use burn::tensor::Device;
use clap::Id;
use dp_core::ledger::Ledger;
use dp_core::mechanism::Releaser;
use dp_core::plan::CheckedPlan;
use dp_core::sampling::BatchSampler;
use lab::backend::Chosen;
use lab::checkpoint::{RestoredCheckpoint, hex};
use lab::diagnostic::{Failure, OrFailed};
use lab::interrupt::Interrupt;
use lab::run_folder::RunFolder;
use lab::session::{
    Arguments, DataSummary, Evaluation, Experiment, Fingerprint, Releases, Report, RunState,
    Session, Wording, bounded, flags_of, floats_to_bytes, releaser,
};
use private_synth::images::{Encoded, Space};
use private_training::RngState;
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use crate::apart;
use crate::export::ExportFlags;
use crate::particles::share;
use crate::random::stream;
use crate::scores::ScoreFlags;
use crate::space::{self, TrainingImages};

use super::budget::{MOMENTS, RELEASE, plan, possible, sampler};
use super::data_split::DataSplit;
use super::groups::Groups;
use super::mechanisms::{Moved, ReleaseMethod, Snapshot};
use super::settings::{Flags, Settings};
use super::{report, shared};

/// A run of one mechanism in the latent space of a public autoencoder.
pub struct Run<M: ReleaseMethod> {
    pub(super) settings: Settings<M>,
    pub(super) flow: Flow,
}

/// What all mechanisms work on.
pub struct Flow {
    pub(super) shared: shared::Settings,
    /// Whether neighbours replace a record by one of its class.
    pub(super) within_classes: bool,
    /// Whether the sizes of the groups are released, and not public.
    pub(super) sizes_released: bool,
    pub(super) steps: u64,
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

/// The public random numbers, those of batches without privacy, and the strip.
type State = (RngState, RngState, Vec<(u64, Vec<f32>)>);

fn group_sizes(within_classes: bool, split: &DataSplit) -> Vec<usize> {
    if !within_classes {
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
    /// Keeps the public latents, by their class where they show those of the private records.
    pub(super) fn keep_public(&mut self, session: &Session) -> Result<(), Failure> {
        let Some(space) = &self.space else {
            return Ok(());
        };
        let public = &self.split.public;
        let most = public.len().min(PUBLIC_LATENTS.max(self.total_particles()));
        let first = public.only(&(0..most).collect::<Vec<_>>());
        let latents = space::encode_records(space, &first, session)?;
        let (labels, classes) = match self.shared.public_shows_classes() {
            true => (first.labels(), self.split.classes),
            false => (vec![0; most], 1),
        };
        let rows = latents.chunks_exact(self.shared.latent).zip(&labels);
        self.public_groups = vec![Vec::new(); classes];
        rows.for_each(|(row, &label)| self.public_groups[label].extend_from_slice(row));
        Ok(())
    }
}

impl<M: ReleaseMethod> Experiment for Run<M> {
    const NAME: &'static str = "flow";
    const KIND: Option<(&'static str, &'static str)> = Some(("mechanism", M::NAME));
    const ABOUT: &'static str = M::ABOUT;
    const FLAGS_OF_A_PROCESS: &'static [fn() -> Vec<Id>] =
        &[flags_of::<ScoreFlags>, flags_of::<ExportFlags>];
    const FLAGS_AFTERWARDS: &'static [fn() -> Vec<Id>] = &[flags_of::<ExportFlags>];
    const STORED: &'static [&'static str] = &[MOMENTS, RELEASE];
    type Settings = Settings<M>;

    fn afterwards(
        arguments: &Arguments<Flags<M>>,
        folder: &RunFolder,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        arguments.own.shared.export.of(folder, interrupt)
    }

    fn load(
        settings: &Settings<M>,
        arguments: &Arguments<Flags<M>>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let (cache, flags) = (arguments.running.cache()?, &arguments.own.shared);
        let shared = &settings.shared;
        if let (true, Some(root)) = (shared.photographs(), &arguments.running.data_dir) {
            apart::check_output(&arguments.running, root)?;
        }
        let split = DataSplit::load(
            shared,
            arguments.running.data_dir.as_deref(),
            &cache,
            |most| possible(settings, most),
        )?;
        let (within_classes, sizes_released) =
            (settings.within_classes(), settings.sizes_released());
        let sizes = group_sizes(within_classes, &split);
        let particles = shared.particles.unwrap_or(split.private.len());
        let groups = settings.own.cells()
            * match shared.conditional {
                true => split.classes,
                false => 1,
            };
        let holds = particles >= groups || !sizes_released;
        let bound = format!("at least {groups}: one a class and cell");
        bounded("particles", particles, holds, &bound)?;
        let most = match sizes_released {
            true => particles,
            false => share(&sizes, particles).iter().sum(),
        };
        let most = (!shared.variation().any()).then_some(most);
        let shape = split.test.shape();
        flags.export.check(shape, shared.conditional, most)?;
        let sampler = sampler(settings, &sizes)?;
        let plan = plan(settings, sampler.clone());
        let known = settings.budget.insecure_noise_seed;
        let flow = Flow {
            releaser: releaser(plan, known)?,
            shared: shared.clone(),
            within_classes,
            sizes_released,
            steps: settings.own.steps(split.private.len()),
            split,
            sampler,
            public: stream(shared.seed, 6),
            non_private: stream(shared.seed, 4),
            device: chosen.device.clone(),
            score: flags.score.clone(),
            space: None,
            public_seconds: 0.0,
            groups: Groups::none(shared.latent),
            public_groups: Vec::new(),
            particles: Vec::new(),
            moved: Moved::Nothing,
            strip: Vec::new(),
            distance: 0.0,
            cache,
        };
        Ok(Self {
            settings: settings.clone(),
            flow,
        })
    }

    fn data(&self) -> DataSummary {
        DataSummary {
            name: self.flow.shared.dataset.clone(),
            private: self.flow.split.private.len(),
            test: self.flow.split.test.len(),
            used: self.flow.split.used.clone(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.flow.releaser.as_ref().map(Releaser::plan)
    }

    fn wording(&self) -> Wording {
        Wording {
            releases: match self.flow.sizes_released {
                true => "all that is read of the private latents, of their labels and of how many each class has",
                false => "all that is read of the private latents",
            }
            .into(),
            public: format!("{}, and the test records", self.flow.split.public_name),
            without_noise: "Not private: --no-privacy adds no noise.".into(),
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let (records, name) = (self.flow.split.public.len(), &self.flow.split.public_name);
        let public = match self.flow.shared.cosines() && !self.flow.shared.refined() {
            true => name.clone(),
            false => format!("{records} records of {name}"),
        };
        Ok(vec![
            format!("public    {public}"),
            format!("mechanism {}; flows run on the host", M::NAME),
        ])
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        let (start, flow) = (Instant::now(), &mut self.flow);
        let split = &flow.split;
        let training_images = TrainingImages {
            records: &split.public,
            name: &split.public_name,
            epochs: flow.shared.public_epochs,
        };
        let form = flow.shared.space(split.private.shape());
        let space = space::trained(&form, &training_images, &flow.cache, session)?;
        flow.public_seconds = start.elapsed().as_secs_f64();
        let private = &flow.split.private;
        let classes = flow.shared.conditional.then_some(flow.split.classes);
        let (dim, released) = (flow.shared.latent, flow.sizes_released);
        let most = if M::ADDS_UP {
            Encoded::BLOCK
        } else {
            usize::MAX
        };
        flow.groups = Groups::new(dim, private, classes, released, most, |add| {
            space::encode_parts(&space, private, session, add)
        })?;
        if !flow.sizes_released {
            flow.particles = share(&flow.groups.sizes(), flow.total_particles());
        }
        flow.space = Some(space);
        flow.moved = self.settings.own.start(flow, session)?;
        Ok(())
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        let weights = self.flow.space.as_ref().map(Space::weights);
        let latents = self.flow.groups.whole()?.iter();
        let sums = latents.map(|rows| hex(&floats_to_bytes(rows))).collect();
        Ok(Fingerprint {
            records: self.flow.split.private.fingerprint()?,
            encoded: weights.map(|weights| (weights, sums)),
        })
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        // A stored release is all that the steps towards it need.
        match self.settings.own.batch() {
            Some(_) => Some(&mut self.flow),
            None => None,
        }
    }

    fn steps(&self) -> u64 {
        self.flow.steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.flow.picture(session.step);
        self.flow.one_step(session)
    }

    fn evaluates_after(&self, step: u64) -> bool {
        let often = match self.settings.own.batch() {
            Some(_) => (self.steps() / 200).max(1),
            None => 1,
        };
        step > 0 && step.is_multiple_of(often)
    }

    fn evaluate(&mut self, _: &Session) -> Result<Evaluation, Failure> {
        Ok(Evaluation {
            scores: json!({"sliced_w2_squared_to_release": self.flow.distance}),
            message: format!("distance {:.5}", self.flow.distance),
            accounted: false,
        })
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        self.flow.picture(session.step);
        let generated = self.flow.generated()?;
        report::report(&self.flow, session, &generated)
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
        let [public, batches] = [&self.public, &self.non_private].map(RngState::of);
        let state: State = (public, batches, strip.collect());
        let mut files = self.moved.files();
        let state = serde_json::to_vec(&state).or_failed()?;
        files.insert("state.json".into(), state);
        Ok(files)
    }

    fn restore(&mut self, checkpoint: &RestoredCheckpoint, _: &Ledger) -> Result<(), Failure> {
        let (public, batches, strip): State = checkpoint.json("state.json")?;
        self.moved.restore(checkpoint, &self.device)?;
        self.public = checkpoint.rng(&public)?;
        self.non_private = checkpoint.rng(&batches)?;
        let strip = strip.into_iter();
        self.strip = strip.map(|(step, rows)| Snapshot { step, rows }).collect();
        Ok(())
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }
}

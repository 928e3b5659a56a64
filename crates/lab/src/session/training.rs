//! A training of [`private_training`] as a value that an experiment holds: its network, its records, and its steps.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::Device;
use dp_core::decimal::upper;
use dp_core::delta::default_delta;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoiseSource, Releaser};
use dp_core::plan::{ReleaseNoise, TrainingPlan};
use dp_core::sampling::Sampler;
use files::atomic;
use files::foreign::{DAMAGED, quietly};
use private_training::{
    Batch, Checkpoint, Network, RankError, StepLosses, Training, TrainingConfig,
};
use rand_chacha::ChaCha20Rng;

use super::{DataSummary, RunState, Session, refused_plan};
use crate::backend::Chosen;
use crate::checkpoint::RestoredCheckpoint;
use crate::diagnostic::{Failure, OrFailed};
use crate::ranks::Crew;
use crate::run_folder::RunFolder;

const TRAINING: &str = "training.bin";

/// What decides any training: its budget, its steps, its seeds. [`basics!`](crate::basics) takes it from settings.
#[derive(Clone, Copy)]
pub struct Basics {
    /// The budget; none without privacy.
    pub epsilon: Option<f64>,
    /// Delta; [`default_delta`] if none is given.
    pub delta: Option<f64>,
    pub steps: u64,
    pub seed: u64,
    /// The seed of batches and noise, if it is known.
    pub insecure_noise_seed: Option<u64>,
}

/// The [`Basics`](crate::session::Basics) among the fields of settings.
#[macro_export]
macro_rules! basics {
    ($settings:expr) => {
        $crate::session::Basics {
            epsilon: $settings.epsilon,
            delta: $settings.delta.into(),
            steps: $settings.steps,
            seed: $settings.seed,
            insecure_noise_seed: $settings.insecure_noise_seed,
        }
    };
}

/// A training before its first step.
pub struct Start<N> {
    basics: Basics,
    config: TrainingConfig,
    network: N,
    sampler: Sampler,
    /// What is promised; none without privacy.
    pub plan: Option<TrainingPlan>,
    /// What samples the batches of a run without privacy.
    pub batches: ChaCha20Rng,
    /// Dimensions of the activations that are penalised.
    pub penalised: Vec<usize>,
}

impl<N: Network<2>> Start<N> {
    /// By what decides any training: the whole budget is that of its steps.
    pub fn new(basics: Basics, config: TrainingConfig, network: N, sampler: Sampler) -> Self {
        let plan = basics.epsilon.map(|epsilon| {
            let records = sampler.presumed_records();
            let delta = basics.delta.unwrap_or(default_delta(records));
            TrainingPlan::for_epsilon(epsilon, delta, basics.steps, sampler.clone())
        });
        // Runs of one seed share their batches, with a known noise seed or without privacy.
        let seed = basics.insecure_noise_seed.unwrap_or(basics.seed);
        Self {
            basics,
            config,
            network,
            plan,
            sampler,
            batches: NoiseSource::insecure(seed).rng().clone(),
            penalised: Vec::new(),
        }
    }

    /// With one more release of the same records within the budget.
    #[must_use]
    pub fn with_release(mut self, name: &str, noise: ReleaseNoise) -> Self {
        self.plan = self.plan.map(|plan| plan.with_release(name, noise));
        self
    }

    /// Checks the plan, and starts: with secret noise unless its seed is known. A device that does not support private steps is refused.
    pub fn training<R>(self, records: R, chosen: &Chosen) -> Result<TrainingSteps<N, R>, Failure> {
        if self.plan.is_some() {
            chosen.supports_private_steps()?;
        }
        let (config, network) = (self.config, self.network);
        let training = match releaser(self.plan, self.basics.insecure_noise_seed)? {
            Some(releaser) => config.start_with_noise(network, releaser),
            None => config.start_without_privacy(network, self.sampler, self.batches),
        };
        Ok(TrainingSteps {
            records,
            training: training.or_failed()?,
            losses: None,
            steps: self.basics.steps,
            penalised: self.penalised,
        })
    }
}

/// The records of a run that trains an `N`: private ones, and public ones that it is judged by.
pub trait RunRecords<N> {
    /// What they are, and how many.
    fn summary(&self) -> DataSummary;

    /// All that a step sees of private ones: noise is never used again for others.
    fn bytes(&self) -> Result<Vec<u8>, Failure>;

    /// Keeps the records of one of several ranks alone: those with the numbers `rank`, `rank + ranks`, ....
    fn keep(&mut self, rank: usize, ranks: usize) -> Result<(), Failure>;

    /// Those that were sampled, group after group; an index outside of them is refused.
    fn batch(
        &self,
        network: &N,
        sampled: &[Vec<usize>],
        device: &Device,
    ) -> Result<Batch<2>, Failure>;
}

/// A training with the records that it sees; [`Start`] makes it.
pub struct TrainingSteps<N: Network<2>, R> {
    pub records: R,
    pub training: Training<N>,
    /// Of the last step of a run without privacy.
    pub losses: Option<StepLosses>,
    steps: u64,
    penalised: Vec<usize>,
}

impl<N: Network<2>, R> TrainingSteps<N, R> {
    /// The network that is scored: the average of its weights if there is one, as it is saved.
    pub fn scored(&self) -> Result<N, Failure> {
        self.training.averaged().or_failed()
    }
}

/// What a [`TrainingSteps`] does for an experiment, whatever it trains.
pub trait Steps: RunState {
    fn data(&self) -> DataSummary;

    /// All that a step sees of private records.
    fn bytes(&self) -> Result<Vec<u8>, Failure>;

    fn releaser(&mut self) -> Option<&mut Releaser>;

    /// The steps, and their sensitivity beside the published one.
    fn announcement(&mut self) -> Result<Vec<String>, Failure>;

    fn join(&mut self, crew: &Crew) -> Result<(), Failure>;

    fn serve(&mut self, session: &Session) -> Result<(), Failure>;

    /// Tells other ranks that there are no more steps.
    fn end(&self) -> Result<(), Failure>;

    fn steps(&self) -> u64;

    /// Sampling, gradient, release, update.
    fn step(&mut self, session: &mut Session) -> Result<(), Failure>;

    /// Saves the weights that are scored as `model.bpk`, in burn's format, whole or not at all.
    fn save(&self, folder: &RunFolder) -> Result<(), Failure>;
}

impl<N: Network<2>, R: RunRecords<N>> Steps for TrainingSteps<N, R> {
    fn data(&self) -> DataSummary {
        self.records.summary()
    }

    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        self.records.bytes()
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.training.releaser()
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let training = &mut self.training;
        let sizes = training.sampler().expected_sizes();
        let sizes: Vec<String> = sizes.iter().map(f64::to_string).collect();
        let (steps, sizes) = (self.steps, sizes.join(", "));
        let mut lines = vec![format!("steps     {steps} on batches of {sizes} records")];
        if training.plan().is_some() {
            let (sampler, device) = (training.sampler().clone(), training.device());
            let network = training.network.clone();
            let gradients = training.gradients();
            // Sampled from a copy, so that the public stream of the run does not depend on a message.
            let mut public = gradients.public_rng().clone();
            let mut objective = gradients.objective().clone();
            let step = objective
                .draw(&self.penalised, &sampler, &mut public)
                .or_failed()?;
            let engine = gradients.engine_for(&network, &device).or_failed()?;
            say(gradients.notes());
            let own = step.sensitivity(engine).or_failed()?.l2_upper();
            let paper = step.published_sensitivity_upper();
            lines.push(format!(
                "step      sensitivity {} (Rodriguez-Vitores et al. 2025: {}, ratio {})",
                upper(own),
                upper(paper),
                upper(own / paper)
            ));
        }
        Ok(lines)
    }

    fn join(&mut self, crew: &Crew) -> Result<(), Failure> {
        let (rank, ranks) = (crew.rank(), crew.size());
        crew.holds_records(self.records.summary().private)?;
        self.records.keep(rank, ranks)?;
        match rank {
            0 => self.training.over(crew.ranks(), crew.ordered()),
            _ => Ok(()),
        }
        .map_err(|e| Failure::input(e.to_string(), "leave --ordered out"))
    }

    fn serve(&mut self, session: &Session) -> Result<(), Failure> {
        let Some(crew) = &session.crew else {
            return Ok(());
        };
        let (records, device) = (&self.records, &session.chosen.device);
        let training = &mut self.training;
        let served = training.serve(crew.ranks(), crew.ordered(), |network, own| {
            let batch = records.batch(network, own, device);
            batch.map_err(|e| RankError::Carrier(e.to_string()).into())
        });
        served.or_failed()
    }

    fn end(&self) -> Result<(), Failure> {
        self.training.end().or_failed()
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        let noted = self.training.notes().len();
        let step = self.training.next_step().or_failed()?;
        let step = step.ok_or_else(|| Failure::failed("all steps of the plan were made"))?;
        let (network, device) = (step.network(), &session.chosen.device);
        let batch = self.records.batch(network, step.own(), device)?;
        self.losses = step.update(&batch, &mut session.ledger).or_failed()?;
        say(&self.training.notes()[noted..]);
        Ok(())
    }

    fn save(&self, folder: &RunFolder) -> Result<(), Failure> {
        let (half, whole) = (folder.file("model.part.bpk"), folder.file("model.bpk"));
        self.scored()?
            .save_file(&half)
            .map_err(|e| Failure::failed(format!("{}: {e}", half.display())))?;
        std::fs::File::open(&half)
            .and_then(|file| file.sync_all())
            .and_then(|()| atomic::rename(&half, &whole))
            .map_err(|e| Failure::failed(format!("{}: {e}", whole.display())))
    }
}

impl<N: Network<2>, R> RunState for TrainingSteps<N, R> {
    fn files(&mut self, ledger: &Ledger) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let bytes = self.training.checkpoint(ledger).to_bytes().or_failed()?;
        Ok(BTreeMap::from([(TRAINING.to_string(), bytes)]))
    }

    fn restore(&mut self, checkpoint: &RestoredCheckpoint, ledger: &Ledger) -> Result<(), Failure> {
        Checkpoint::from_bytes(checkpoint.file(TRAINING)?)
            .and_then(|stored| self.training.restore(&stored, ledger))
            .map_err(|e| checkpoint.damaged(&e))
    }
}

/// Each note once: why steps are slower than they could be, or need fewer records at once.
fn say(notes: &[String]) {
    for note in notes {
        eprintln!("{}", note.chars().take(400).collect::<String>());
    }
}

/// A network with the weights of `model.bpk`, which are those that are scored.
pub fn load_weights<M: Module>(network: M, folder: &RunFolder) -> Result<M, Failure> {
    let path = folder.file("model.bpk");
    let loaded = quietly(|| network.try_load_file(&path).map_err(|e| e.to_string()));
    loaded.unwrap_or_else(|| Err(DAMAGED.into())).map_err(|e| {
        Failure::input(
            format!("{}: {e}", path.display()),
            "put the weights of this run back and try again",
        )
    })
}

/// What releases for a plan, with secret noise unless its seed is known; none without a plan.
pub fn releaser(
    plan: Option<TrainingPlan>,
    insecure_noise_seed: Option<u64>,
) -> Result<Option<Releaser>, Failure> {
    let plan = plan.map(TrainingPlan::check).transpose();
    let plan = plan.map_err(refused_plan)?;
    let noise = noise_source(insecure_noise_seed)?;
    Ok(plan.map(|plan| plan.releaser(noise)))
}

/// Secret noise and draws, or those of a known seed, which are not private.
pub fn noise_source(insecure_noise_seed: Option<u64>) -> Result<NoiseSource, Failure> {
    match insecure_noise_seed {
        Some(seed) => Ok(NoiseSource::insecure(seed)),
        None => NoiseSource::secret().or_failed(),
    }
}

/// Values as a checkpoint keeps them.
pub fn floats_to_bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// What [`floats_to_bytes`] wrote.
pub fn floats_of_bytes(bytes: &[u8]) -> Vec<f32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|&word| f32::from_le_bytes(word)).collect()
}

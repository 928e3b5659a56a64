//! What a checkpoint of this run holds, and how a run goes on from it.

use std::collections::BTreeMap;

use dp_core::mechanism::{NoiseSource, NoiseState};
use lab::checkpoint::{Checkpoints, GeneratorState, Identity};
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use model::adam::ModuleAdam;
use model::weights::{from_host, to_host};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::run::Run;
use super::table::targets;

const STATE: &str = "state.json";
const WEIGHTS: &str = "weights.bin";
const OPTIMIZER: &str = "optimizer.bin";
const AVERAGE: &str = "average.bin";

#[derive(Debug, Serialize, Deserialize)]
struct State {
    seconds: f64,
    public: GeneratorState,
    plain: GeneratorState,
    /// Secret: the noise to come.
    noise: Option<NoiseState>,
}

impl Run {
    /// What this run is.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the program cannot read itself.
    pub fn identity(&self) -> Result<Identity, Failure> {
        let settings = toml::to_string_pretty(&self.settings).map_err(Failure::run)?;
        let table = &self.tables.train;
        let all: Vec<usize> = (0..table.len()).collect();
        let (labels, _) = targets(table, self.settings.task, &all)?;
        let mut records = Sha256::new();
        for value in table.features().iter().chain(&labels) {
            records.update(value.to_le_bytes());
        }
        records.update(table.groups());
        let records = records.finalize();
        let records = records.iter().map(|b| format!("{b:02x}")).collect();
        Identity::of("fair", &settings, records, self.chosen.backend)
    }

    /// Writes a checkpoint of the present step.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where it cannot be written.
    pub fn save(&mut self, folder: &RunFolder, identity: &Identity) -> Result<(), Failure> {
        let state = State {
            seconds: self.seconds,
            public: GeneratorState::of(&self.public),
            plain: GeneratorState::of(&self.plain),
            noise: self.mechanism.as_mut().map(|m| m.noise().state()),
        };
        let weights = to_host(&self.network);
        let mut files = BTreeMap::from([
            (
                STATE.to_string(),
                serde_json::to_vec_pretty(&state).map_err(Failure::run)?,
            ),
            (
                WEIGHTS.to_string(),
                weights.iter().flat_map(|w| w.to_le_bytes()).collect(),
            ),
            (OPTIMIZER.to_string(), self.optimizer.to_bytes()),
        ]);
        if let Some(ema) = &self.ema {
            files.insert(AVERAGE.to_string(), ema.to_bytes());
        }
        Checkpoints::of(folder.path()).write(self.step, identity, &files)
    }

    /// Takes the place of the last checkpoint in `folder`; at the start where there is none.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names a checkpoint that is damaged or of another run.
    pub fn restore(&mut self, folder: &RunFolder, identity: &Identity) -> Result<(), Failure> {
        let Some(checkpoint) = Checkpoints::of(folder.path()).last()? else {
            println!("resume    no checkpoint was reached: from the first step");
            return Ok(());
        };
        checkpoint.check(identity)?;
        let damaged = |e: &dyn std::fmt::Display| {
            Failure::input(
                format!("the checkpoint {}: {e}", checkpoint.path.display()),
                "remove this folder to go on from the checkpoint before it",
            )
        };
        let state: State = checkpoint.json(STATE)?;
        let (weights, _) = checkpoint.file(WEIGHTS)?.as_chunks::<4>();
        let weights: Vec<f32> = weights.iter().map(|&b| f32::from_le_bytes(b)).collect();
        self.network = from_host(self.network.clone(), &weights).map_err(|e| damaged(&e))?;
        self.optimizer = ModuleAdam::from_bytes(checkpoint.file(OPTIMIZER)?, &self.chosen.device)
            .map_err(|e| damaged(&e))?;
        if let Some(ema) = &mut self.ema {
            ema.restore(checkpoint.file(AVERAGE)?)
                .map_err(|e| damaged(&e))?;
        }
        self.public = state.public.generator()?;
        self.plain = state.plain.generator()?;
        self.seconds = state.seconds;
        self.step = checkpoint.step;
        let same = identity.repeats(&checkpoint.identity, self.chosen.backend);
        if let Some(noise) = &state.noise
            && (same || !noise.is_secret())
        {
            self.mechanism = self.mechanism_with(NoiseSource::resume(noise))?;
        }
        println!("resume    from step {}", self.step);
        Ok(())
    }
}

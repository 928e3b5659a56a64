//! A training run between two steps: what a checkpoint keeps of it, and how it goes on from there.

use std::collections::BTreeMap;

use burn::module::Module;
use dp_core::mechanism::Releaser;
use model::ModelError;
use model::adam::ModuleAdam;
use model::ema::Ema;
use model::weights::{from_host, to_host};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::{Checkpoints, GeneratorState, Identity};
use crate::backend::Chosen;
use crate::diagnostic::Failure;
use crate::run_folder::RunFolder;

const STATE: &str = "state.json";
const WEIGHTS: &str = "weights.bin";
const OPTIMIZER: &str = "optimizer.bin";
const AVERAGE: &str = "average.f32";

/// What a run lends its checkpoint: all that its steps change and the next step depends on.
pub struct Training<'a, M> {
    /// Where it computes.
    pub chosen: &'a Chosen,
    /// The weights.
    pub network: &'a mut M,
    /// Their average, where there is one.
    pub ema: Option<&'a mut Ema>,
    /// The optimizer.
    pub optimizer: &'a mut ModuleAdam,
    /// Public randomness.
    pub public: &'a mut ChaCha20Rng,
    /// Batches of a run without privacy.
    pub plain: &'a mut ChaCha20Rng,
    /// What draws and adds noise; none without privacy.
    pub releaser: Option<&'a mut Releaser>,
    /// Steps done.
    pub step: &'a mut u64,
    /// Seconds of training so far.
    pub seconds: &'a mut f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct State {
    seconds: f64,
    public: GeneratorState,
    plain: GeneratorState,
}

impl<M: Module> Training<'_, M> {
    /// Writes a checkpoint of the present step, when the ledger holds so many `releases`.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where it cannot be written.
    pub fn save(
        &mut self,
        folder: &RunFolder,
        identity: &Identity,
        releases: u64,
    ) -> Result<(), Failure> {
        let state = State {
            seconds: *self.seconds,
            public: GeneratorState::of(self.public),
            plain: GeneratorState::of(self.plain),
        };
        let noise = self.releaser.as_mut().map(|r| r.noise().state());
        let weights = to_host(self.network);
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
        Checkpoints::of(folder.path()).write(*self.step, releases, identity, noise.as_ref(), &files)
    }

    /// Takes the place of the last checkpoint in `folder`; at the start where there is none.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names a checkpoint that is damaged or of another run.
    pub fn restore(mut self, folder: &RunFolder, identity: &Identity) -> Result<(), Failure> {
        let checkpoints = Checkpoints::of(folder.path());
        let noise = self.releaser.as_mut().map(|r| r.noise());
        let Some(checkpoint) = checkpoints.resume(identity, self.chosen.backend, noise)? else {
            println!("resume    no checkpoint was reached: from the first step");
            return Ok(());
        };
        let damaged = |e: ModelError| {
            Failure::input(
                format!("the checkpoint {}: {e}", checkpoint.path.display()),
                "remove this folder to go on from the checkpoint before it",
            )
        };
        let state: State = checkpoint.json(STATE)?;
        let (weights, _) = checkpoint.file(WEIGHTS)?.as_chunks::<4>();
        let weights: Vec<f32> = weights.iter().map(|&b| f32::from_le_bytes(b)).collect();
        *self.network = from_host(self.network.clone(), &weights).map_err(damaged)?;
        let optimizer = checkpoint.file(OPTIMIZER)?;
        *self.optimizer =
            ModuleAdam::from_bytes(optimizer, &self.chosen.device).map_err(damaged)?;
        if let Some(ema) = self.ema {
            ema.restore(checkpoint.file(AVERAGE)?).map_err(damaged)?;
        }
        *self.public = state.public.generator()?;
        *self.plain = state.plain.generator()?;
        *self.seconds = state.seconds;
        if let Some(releaser) = self.releaser {
            let before = releaser.at_step(checkpoint.step);
            before.map_err(|e| damaged(ModelError::Privacy(e)))?;
        }
        *self.step = checkpoint.step;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::Linear;
    use model::layers::linear;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::backend::Backend;
    use dp_core::mechanism::NoiseSource;
    use dp_core::plan::TrainingPlan;
    use dp_core::sampling::AllRecords;

    struct Run {
        chosen: Chosen,
        network: Linear,
        ema: Ema,
        optimizer: ModuleAdam,
        public: ChaCha20Rng,
        plain: ChaCha20Rng,
        releaser: Releaser,
        step: u64,
        seconds: f64,
    }

    impl Run {
        /// A run that has made `step` steps, in which everything depends on their number.
        fn after(step: u64) -> Self {
            let chosen = Backend::Flex.choose().unwrap();
            let mut public = ChaCha20Rng::seed_from_u64(step);
            let network = linear(3, 2, 1.0, &mut public, &chosen.device);
            let mut ema = Ema::new(0.5).unwrap();
            ema.update(&network);
            // One parameter of one weight.
            let (length, moment) = (1u64.to_le_bytes(), (step as f32).to_le_bytes());
            let state = [&step.to_le_bytes()[..], &length, &moment, &length, &moment].concat();
            Self {
                optimizer: ModuleAdam::from_bytes(&state, &chosen.device).unwrap(),
                chosen,
                network,
                ema,
                plain: ChaCha20Rng::seed_from_u64(step + 1),
                public,
                releaser: TrainingPlan::within(1.0, 1e-3, 8, AllRecords::new(9).unwrap())
                    .check()
                    .unwrap()
                    .releaser(NoiseSource::insecure(step)),
                step,
                seconds: step as f64,
            }
        }

        fn kept(&mut self) -> Training<'_, Linear> {
            Training {
                chosen: &self.chosen,
                network: &mut self.network,
                ema: Some(&mut self.ema),
                optimizer: &mut self.optimizer,
                public: &mut self.public,
                plain: &mut self.plain,
                releaser: Some(&mut self.releaser),
                step: &mut self.step,
                seconds: &mut self.seconds,
            }
        }
    }

    #[test]
    fn a_run_takes_the_place_of_the_one_that_stopped() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&place.path().join("run")).unwrap();
        let identity = Identity::of("test", "s", "r".into(), Backend::Flex).unwrap();
        let (mut next, mut stopped) = (Run::after(1), Run::after(7));
        next.kept().restore(&folder, &identity).unwrap();
        assert_eq!(next.step, 1, "without a checkpoint it stays where it is");
        stopped.kept().save(&folder, &identity, 7).unwrap();
        next.kept().restore(&folder, &identity).unwrap();
        assert_eq!(to_host(&next.network), to_host(&stopped.network));
        assert_eq!(next.ema.to_bytes(), stopped.ema.to_bytes());
        assert_eq!(next.optimizer.to_bytes(), stopped.optimizer.to_bytes());
        assert_eq!(next.public.next_u64(), stopped.public.next_u64());
        assert_eq!(next.plain.next_u64(), stopped.plain.next_u64());
        let noise = |run: &mut Run| run.releaser.noise().state();
        assert_eq!(noise(&mut next), noise(&mut stopped));
        assert_eq!(next.releaser.step(), 7);
        assert_eq!((next.step, next.seconds), (7, 7.0));
    }
}

//! Training by gradients: the state of a run whose steps are those of [`private_training`].

use std::collections::BTreeMap;

use burn::module::Module;
use burn::optim::{GradientsParams, SgdConfig};
use dp_core::decimal::upper;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoiseSource, Releaser};
use dp_core::plan::CheckedPlan;
use dp_core::sampling::BatchSampler;
use model::ModelError;
use model::adam::ModuleAdam;
use model::ema::Ema;
use model::weights::{from_host, to_host};
use private_training::{Batch, Gradients, GroupSizes, Network, StepLosses};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::RunState;
use crate::backend::Chosen;
use crate::checkpoint::{Checkpoint, GeneratorState};
use crate::diagnostic::Failure;
use crate::run_folder::RunFolder;

const STATE: &str = "state.json";
const WEIGHTS: &str = "weights.bin";
const OPTIMIZER: &str = "optimizer.bin";
const AVERAGE: &str = "average.f32";

/// A network in training: all that its steps change and the next step depends on.
pub struct Training<M> {
    /// The weights.
    pub network: M,
    /// The objective's gradients, with the public randomness of its steps.
    pub gradients: Gradients,
    /// What draws batches, and is accounted.
    pub sampler: BatchSampler,
    /// What draws and adds noise; none without privacy.
    pub releaser: Option<Releaser>,
    optimizer: Option<ModuleAdam>,
    ema: Option<Ema>,
    non_private: ChaCha20Rng,
    chosen: Chosen,
    noted: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct State {
    public: GeneratorState,
    non_private: GeneratorState,
}

impl<M: Module> Training<M> {
    /// A training by Adam before its first step, with secret noise but where its seed is known.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a plan on a device that does not support private steps; [`Failure::Failed`] where
    /// the operating system gives no randomness.
    pub fn new(
        network: M,
        gradients: Gradients,
        sampler: impl Into<BatchSampler>,
        plan: Option<CheckedPlan>,
        insecure_noise_seed: Option<u64>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        if plan.is_some() {
            chosen.supports_private_steps()?;
        }
        Ok(Self {
            network,
            gradients,
            sampler: sampler.into(),
            releaser: releaser(plan, insecure_noise_seed)?,
            optimizer: Some(ModuleAdam::default()),
            ema: None,
            non_private: ChaCha20Rng::seed_from_u64(0),
            chosen: chosen.clone(),
            noted: 0,
        })
    }

    /// With batches of a run without a plan as a noise source of this seed, which is no secret, draws them: runs of one
    /// seed share their batches, with a plan or without.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        self.with_batches(NoiseSource::insecure(seed).rng().clone())
    }

    /// With batches of a run without a plan from this generator; from seed 0 by default.
    #[must_use]
    pub fn with_batches(mut self, non_private: ChaCha20Rng) -> Self {
        self.non_private = non_private;
        self
    }

    /// With an average of the weights of this decay.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] for a decay outside of `[0, 1)`.
    pub fn with_average(mut self, decay: Option<f64>) -> Result<Self, Failure> {
        self.ema = decay.map(Ema::new).transpose().map_err(Failure::failed)?;
        Ok(self)
    }

    /// By plain gradient descent.
    #[must_use]
    pub fn by_descent(mut self) -> Self {
        self.optimizer = None;
        self
    }

    /// The plan; none without privacy.
    pub fn plan(&self) -> Option<&CheckedPlan> {
        self.releaser.as_ref().map(Releaser::plan)
    }

    /// Where it computes.
    pub fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    /// Draw, gradient, release, update; `batch` gathers the records of a draw, group after group. The losses are
    /// those of a run without privacy.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the ledger cannot be written; nothing has left then.
    pub fn step<const D: usize>(
        &mut self,
        rate: f64,
        ledger: &mut Ledger,
        batch: impl FnOnce(&M, &[Vec<usize>]) -> Result<Batch<D>, Failure>,
    ) -> Result<Option<StepLosses>, Failure>
    where
        M: Network<D>,
    {
        let network = self.network.clone();
        let (gradients, losses) =
            self.gradient(&network, ledger, |drawn| batch(&network, drawn))?;
        self.update(rate, gradients);
        Ok(losses)
    }

    /// Draw, gradient, release: what [`Training::step`] updates the network by. The network is given apart, since
    /// it may be a part of the whole, or see it from another side.
    ///
    /// # Errors
    ///
    /// As [`Training::step`].
    pub fn gradient<const D: usize>(
        &mut self,
        network: &impl Network<D>,
        ledger: &mut Ledger,
        batch: impl FnOnce(&[Vec<usize>]) -> Result<Batch<D>, Failure>,
    ) -> Result<(GradientsParams, Option<StepLosses>), Failure> {
        let found = match &mut self.releaser {
            Some(releaser) => {
                let draw = releaser.draw().map_err(Failure::failed)?;
                let batch = batch(draw.groups())?;
                let sizes = GroupSizes::of(&self.sampler);
                let (clipped, _) = self
                    .gradients
                    .clipped(network, &batch, sizes)
                    .map_err(Failure::failed)?;
                let bounded = clipped.of(draw).map_err(Failure::failed)?;
                let released = releaser.release(bounded, ledger).map_err(Failure::failed)?;
                (released.into_params(), None)
            }
            None => {
                let batch = batch(&self.sampler.sample(&mut self.non_private))?;
                let (gradient, losses) = self
                    .gradients
                    .without_privacy(network, &batch)
                    .map_err(Failure::failed)?;
                (gradient.into_params_without_privacy(), Some(losses))
            }
        };
        // Each note once: that steps need fewer records at once, which changes memory and time and nothing else.
        for note in &self.gradients.notes()[self.noted..] {
            eprintln!("{}", note.chars().take(400).collect::<String>());
        }
        self.noted = self.gradients.notes().len();
        Ok(found)
    }

    /// Moves the network by gradients that may be seen: released ones, and those of public records.
    pub fn update(&mut self, rate: f64, gradients: GradientsParams) {
        let network = self.network.clone();
        self.network = match &mut self.optimizer {
            Some(adam) => adam.step(rate, network, gradients),
            None => {
                let descent = &mut SgdConfig::new().init();
                descent.step(rate, network.train(), gradients).valid()
            }
        };
        if let Some(ema) = &mut self.ema {
            ema.update(&self.network);
        }
    }

    /// The batch of a step without a plan, by a known seed.
    pub fn non_private_batch(&mut self) -> Vec<Vec<usize>> {
        self.sampler.sample(&mut self.non_private)
    }

    /// The network that is scored and saved: with the average of its weights, where there is one.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] for an average of another size.
    pub fn averaged_weights(&self) -> Result<M, Failure> {
        match &self.ema {
            Some(ema) => ema.apply(self.network.clone()).map_err(Failure::failed),
            None => Ok(self.network.clone()),
        }
    }

    /// The first lines of a run: its steps, and their sensitivity beside the published one; `dims` are those of
    /// the penalised activations.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the sensitivity is refused.
    pub fn announcement<const D: usize>(
        &mut self,
        steps: u64,
        dims: &[usize],
    ) -> Result<Vec<String>, Failure>
    where
        M: Network<D>,
    {
        let sizes = self.sampler.expected_sizes();
        let sizes: Vec<String> = sizes.iter().map(f64::to_string).collect();
        let sizes = sizes.join(", ");
        let mut lines = vec![format!("steps     {steps} on batches of {sizes} records")];
        if self.releaser.is_some() {
            // A draw from a copy, so that the public stream of the run does not depend on a message.
            let mut public = self.gradients.public().clone();
            let mut objective = self.gradients.objective().clone();
            let step = objective.draw(dims, GroupSizes::of(&self.sampler), &mut public);
            let step = step.map_err(Failure::failed)?;
            let engine = self
                .gradients
                .engine_for(&self.network, &self.chosen.device);
            let engine = engine.map_err(Failure::failed)?;
            let own = step.sensitivity(engine).map_err(Failure::failed)?;
            let own = own.l2_upper();
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

    /// Saves the weights that are scored as `model.bpk`, in burn's format, whole or not at all.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] names the file and the cause.
    pub fn save_weights(&self, folder: &RunFolder) -> Result<(), Failure> {
        let (half, whole) = (folder.file("model.part.bpk"), folder.file("model.bpk"));
        self.averaged_weights()?
            .save_file(&half)
            .map_err(|e| Failure::failed(format!("{}: {e}", half.display())))?;
        std::fs::File::open(&half)
            .and_then(|file| file.sync_all())
            .and_then(|()| std::fs::rename(&half, &whole))
            .map_err(|e| Failure::failed(format!("{}: {e}", whole.display())))
    }

    /// Takes the weights of `model.bpk`, which are those that are scored.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names a file that cannot be read.
    pub fn load_weights(&mut self, folder: &RunFolder) -> Result<(), Failure> {
        self.network = load_weights(self.network.clone(), folder)?;
        self.ema = None;
        Ok(())
    }
}

/// A network with the weights of `model.bpk`, which are those that are scored.
///
/// # Errors
///
/// [`Failure::BadInput`] names a file that cannot be read.
pub fn load_weights<M: Module>(network: M, folder: &RunFolder) -> Result<M, Failure> {
    let path = folder.file("model.bpk");
    network.try_load_file(&path).map_err(|e| {
        Failure::input(
            format!("{}: {e}", path.display()),
            "put the weights of this run back and try again",
        )
    })
}

/// What releases for a plan, with secret noise but where its seed is known; none without a plan.
///
/// # Errors
///
/// [`Failure::Failed`] where the operating system gives no randomness.
pub fn releaser(
    plan: Option<CheckedPlan>,
    insecure_noise_seed: Option<u64>,
) -> Result<Option<Releaser>, Failure> {
    let noise = match insecure_noise_seed {
        Some(seed) => NoiseSource::insecure(seed),
        None => NoiseSource::secret().map_err(Failure::failed)?,
    };
    Ok(plan.map(|plan| plan.releaser(noise)))
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

impl<M: Module> RunState for Training<M> {
    fn files(&mut self) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let state = State {
            public: GeneratorState::of(self.gradients.public()),
            non_private: GeneratorState::of(&self.non_private),
        };
        let mut files = BTreeMap::from([
            (
                STATE.to_string(),
                serde_json::to_vec_pretty(&state).map_err(Failure::failed)?,
            ),
            (
                WEIGHTS.to_string(),
                floats_to_bytes(&to_host(&self.network)),
            ),
        ]);
        if let Some(optimizer) = &self.optimizer {
            files.insert(OPTIMIZER.to_string(), optimizer.to_bytes());
        }
        if let Some(ema) = &self.ema {
            files.insert(AVERAGE.to_string(), ema.to_bytes());
        }
        Ok(files)
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        let damaged = |e: ModelError| checkpoint.damaged(&e);
        let state: State = checkpoint.json(STATE)?;
        let weights = floats_of_bytes(checkpoint.file(WEIGHTS)?);
        self.network = from_host(self.network.clone(), &weights).map_err(damaged)?;
        if let Some(optimizer) = &mut self.optimizer {
            let bytes = checkpoint.file(OPTIMIZER)?;
            *optimizer = ModuleAdam::from_bytes(bytes, &self.chosen.device).map_err(damaged)?;
        }
        if let Some(ema) = &mut self.ema {
            ema.restore(checkpoint.file(AVERAGE)?).map_err(damaged)?;
        }
        *self.gradients.public() = state.public.generator()?;
        self.non_private = state.non_private.generator()?;
        Ok(())
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::Linear;
    use burn::tensor::Tensor;
    use dp_core::per_sample::nn::Chain;
    use dp_core::plan::TrainingPlan;
    use dp_core::sampling::FixedSizeSampler;
    use model::layers::linear;
    use private_training::{Forward, Loss, Objective};
    use rand::Rng;

    use super::*;
    use crate::backend::Backend;
    use crate::checkpoint::{Checkpoints, Identity};

    #[derive(Module, Debug)]
    struct Line {
        linear: Linear,
    }

    impl Network<2> for Line {
        fn forward(&self, rows: Tensor<2>) -> Forward {
            Forward::of(self.linear.forward(rows))
        }

        fn layers(&self) -> Result<Option<private_training::Layers<'_>>, dp_core::DpError> {
            private_training::Layers::chain(Chain::features(3).linear(&self.linear))
        }
    }

    fn training(seed: u64) -> Training<Line> {
        let chosen = Backend::Flex.choose().unwrap();
        let mut public = ChaCha20Rng::seed_from_u64(seed);
        let linear = linear(3, 1, 1.0, &mut public, &chosen.device);
        let sampler = FixedSizeSampler::new(9, 4).unwrap();
        let plan = TrainingPlan::within(1.0, 1e-3, 8, sampler);
        let loss = Loss::squared_error().clip(1.0);
        let gradients = Gradients::new(Objective::of([loss]));
        let (plan, known) = (Some(plan.check().unwrap()), Some(seed));
        Training::new(Line { linear }, gradients, sampler, plan, known, &chosen)
            .unwrap()
            .with_batches(public)
            .with_average(Some(0.5))
            .unwrap()
    }

    #[test]
    fn a_run_takes_the_place_of_the_one_that_stopped() {
        let place = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::create(&place.path().join("ledger.jsonl")).unwrap();
        let identity = Identity::of("test", "s", "r".into(), Backend::Flex).unwrap();
        let (mut stopped, mut next) = (training(7), training(1));
        let device = stopped.chosen.device.clone();
        let batch = |_: &Line, drawn: &[Vec<usize>]| {
            let rows = Tensor::ones([drawn.concat().len(), 3], &device);
            let targets = Tensor::zeros([drawn.concat().len(), 1], &device);
            Batch::new(rows, targets, &[drawn.concat().len()]).map_err(Failure::failed)
        };
        for _ in 0..3 {
            stopped.step(0.1, &mut ledger, batch).unwrap();
        }
        let checkpoints = Checkpoints::of(place.path());
        let noise = stopped.releaser.as_mut().map(|r| r.noise().state());
        let files = stopped.files().unwrap();
        checkpoints
            .write(3, ledger.releases(), &identity, noise.as_ref(), &files)
            .unwrap();
        let releaser = next.releaser.as_mut().map(Releaser::noise);
        let checkpoint = checkpoints.resume(&identity, Backend::Flex, releaser);
        next.restore(&checkpoint.unwrap().unwrap()).unwrap();
        assert_eq!(next.files().unwrap(), files);
        assert_eq!(next.non_private.next_u64(), stopped.non_private.next_u64());
        // The next step is the same too, from the same noise.
        next.releaser.as_mut().unwrap().at_step(3).unwrap();
        next.step(0.1, &mut ledger, batch).unwrap();
        stopped.step(0.1, &mut ledger, batch).unwrap();
        assert_eq!(to_host(&next.network), to_host(&stopped.network));
    }
}

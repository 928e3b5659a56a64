//! The training loop: a plan, an objective and a network give one noisy gradient a step.

use std::path::PathBuf;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, TensorData};
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoiseSource, ReleasedGradient, Releaser};
use dp_core::per_sample::check_norm;
use dp_core::plan::CheckedPlan;
use dp_core::sampling::{Draw, Sampler};
use rand_chacha::ChaCha20Rng;

use crate::checkpoint::{Checkpoint, RngState};
use crate::ema::Ema;
use crate::engine::{Engine, read};
use crate::error::same;
use crate::ranks::{Shared, Team, records_of};
use crate::weights::{from_host, to_host};
use crate::{
    Batch, BatchSizes, Gradients, Network, Objective, Optimizer, Schedule, StepLosses, Targets,
    TrainingError,
};

/// The settings of a training, before it starts.
///
/// See [`Training`] for an example.
pub struct TrainingConfig {
    gradients: Gradients,
    optimizer: Optimizer,
    schedule: Schedule,
    average: Option<f64>,
}

impl TrainingConfig {
    /// Creates a training that minimises `objective`, with Adam at a learning rate of 0.001 by default.
    pub fn new(objective: impl Into<Objective>) -> Self {
        Self {
            gradients: Gradients::new(objective.into()),
            optimizer: Optimizer::adam(),
            schedule: 1e-3.into(),
            average: None,
        }
    }

    /// Sets the optimizer: an [`Optimizer`], or any optimizer of burn.
    #[must_use]
    pub fn optimizer(mut self, optimizer: impl Into<Optimizer>) -> Self {
        self.optimizer = optimizer.into();
        self
    }

    /// Sets the learning rate: a number, or a [`Schedule`].
    #[must_use]
    pub fn learning_rate(mut self, rate: impl Into<Schedule>) -> Self {
        self.schedule = rate.into();
        self
    }

    /// Keeps an exponential moving average of the weights with this decay in `[0, 1)`: see [`Training::averaged`].
    #[must_use]
    pub fn average(mut self, decay: impl Into<Option<f64>>) -> Self {
        self.average = decay.into();
        self
    }

    /// Sets the generator of public randomness, which samples the slices of penalties; seed 0 by default. Noise and private
    /// batches come from the operating system, never from this generator.
    #[must_use]
    pub fn public(mut self, rng: ChaCha20Rng) -> Self {
        *self.gradients.public_rng() = rng;
        self
    }

    /// Sets the engine of the steps, for comparison; by default the fastest one that supports the network.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.gradients = self.gradients.engine(engine);
        self
    }

    /// Caps the memory, in bytes, that a step's activations and cotangents take on a device. The weights and their gradient are
    /// not counted. As many records as fit go through the network at once, and their gradients are added up, whatever the batch
    /// size.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.gradients = self.gradients.memory(bytes);
        self
    }

    /// Starts a private training on a plan, with noise from the operating system.
    ///
    /// The plan is consumed, so no two trainings share one.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OutOfRange`] for a constant out of range, [`TrainingError::Unbounded`] for a penalty with Poisson
    /// sampling, and [`TrainingError::Randomness`] if the operating system gives no randomness.
    pub fn start<M: Module>(
        self,
        network: M,
        plan: CheckedPlan,
    ) -> Result<Training<M>, TrainingError> {
        let noise = NoiseSource::secret().map_err(TrainingError::Randomness)?;
        self.start_with_noise(network, plan.releaser(noise))
    }

    /// Starts a private training with your own releaser.
    ///
    /// # Errors
    ///
    /// The same as for [`TrainingConfig::start`].
    pub fn start_with_noise<M: Module>(
        mut self,
        network: M,
        releaser: Releaser,
    ) -> Result<Training<M>, TrainingError> {
        let sizes = BatchSizes::from(releaser.plan().sampler());
        self.gradients.objective().check_for(&sizes)?;
        self.gradients.count();
        self.with(network, Batches::Private(Box::new(releaser)))
    }

    /// Starts a training **without privacy**: gradients are not clipped and get no noise. `rng` samples its batches.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OutOfRange`] if the decay of the average is out of range.
    pub fn start_without_privacy<M: Module>(
        self,
        network: M,
        sampler: Sampler,
        rng: ChaCha20Rng,
    ) -> Result<Training<M>, TrainingError> {
        let (sampler, rng) = (Box::new(sampler), Box::new(rng));
        let made = 0;
        self.with(network, Batches::Public { sampler, rng, made })
    }

    fn with<M: Module>(self, network: M, batches: Batches) -> Result<Training<M>, TrainingError> {
        Ok(Training {
            network,
            gradients: self.gradients,
            optimizer: self.optimizer,
            schedule: self.schedule,
            average: self.average.map(Ema::new).transpose()?,
            batches,
            team: None,
            written: None,
        })
    }
}

/// The source of the batches.
enum Batches {
    Private(Box<Releaser>),
    Public {
        sampler: Box<Sampler>,
        rng: Box<ChaCha20Rng>,
        made: u64,
    },
}

/// A network in training. With a plan, each step samples a batch, bounds the effect of each record and releases one noisy
/// gradient, which enters the ledger before it is released.
///
/// # Formal guarantee
///
/// All networks and gradients of a training with a plan are together `(epsilon, delta)`-differentially private, with the plan's
/// epsilon and delta, for the neighbours of its sampler: one record is replaced (within its stratum, if there are strata). With
/// Poisson sampling, one record counts or is blank while the number of records is public, or one is added or removed. The losses
/// are not covered.
///
/// ```
/// use burn::module::Module;
/// use burn::nn::{Linear, LinearConfig};
/// use burn::tensor::{Device, Int, Tensor};
/// use private_training::prelude::*;
///
/// #[derive(Module, Debug)]
/// struct Classifier {
///     linear: Linear,
/// }
///
/// impl Network<2> for Classifier {
///     fn layers(&self) -> Layers<'_, 2> {
///         Layers::chain(Chain::features(4).linear(&self.linear))
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ledger.jsonl");
/// let device = Device::flex();
/// let (records, labels) = (Tensor::<2>::ones([100, 4], &device), Tensor::<1, Int>::zeros([100], &device));
/// let model = Classifier { linear: LinearConfig::new(4, 2).init(&device) };
///
/// let plan = TrainingPlan::for_epsilon(1.0, 1e-3, 10, Sampler::fixed_size(100, 20)?).check()?;
/// let mut ledger = Ledger::create(&path)?;
/// let mut training = TrainingConfig::new(Loss::cross_entropy().max_grad_norm(1.0))
///     .optimizer(Optimizer::sgd())
///     .learning_rate(0.1)
///     .start(model, plan)?;
/// while let Some(step) = training.next_step()? {
///     step.update_from(&records, &labels, &mut ledger)?;
/// }
/// assert!(training.epsilon_spent(&ledger)? <= 1.0);
/// let model = training.network; // private
/// # Ok(())
/// # }
/// ```
pub struct Training<M> {
    /// The network after the last step.
    pub network: M,
    pub(crate) gradients: Gradients,
    optimizer: Optimizer,
    schedule: Schedule,
    pub(crate) average: Option<Ema>,
    batches: Batches,
    /// The processes that share the steps, if there are several.
    pub(crate) team: Option<Team>,
    /// The ledger of the last release, and the number of its releases then.
    written: Option<(PathBuf, u64)>,
}

impl<M: Module> Training<M> {
    /// Samples the batch of the next step, secretly. Returns `None` once all steps of the plan are made; without a plan there is
    /// always a next step. A step that is dropped releases nothing.
    ///
    /// # Errors
    ///
    /// The errors of the releaser.
    pub fn next_step(&mut self) -> Result<Option<Step<'_, M>>, TrainingError> {
        let sampled = match &mut self.batches {
            Batches::Private(releaser) if releaser.step() >= releaser.plan().steps() => {
                return Ok(None);
            }
            Batches::Private(releaser) => Sampled::Private(releaser.draw()?),
            Batches::Public { sampler, rng, made } => {
                let step = *made + 1;
                Sampled::Public(sampler.sample(step, rng))
            }
        };
        let norms = self.max_grad_norms();
        let shared = match &self.team {
            Some(team) => Some(Shared::begin(
                team,
                sampled.strata(),
                &norms,
                &to_host(&self.network),
            )?),
            None => None,
        };
        Ok(Some(Step {
            training: self,
            sampled,
            shared,
        }))
    }

    /// Returns the device of the network.
    pub fn device(&self) -> Device {
        self.network
            .devices()
            .into_iter()
            .next()
            .unwrap_or_default()
    }

    /// The number of steps made so far.
    pub fn step(&self) -> u64 {
        match &self.batches {
            Batches::Private(releaser) => releaser.step(),
            Batches::Public { made, .. } => *made,
        }
    }

    /// Returns the plan, or `None` without privacy.
    pub fn plan(&self) -> Option<&CheckedPlan> {
        match &self.batches {
            Batches::Private(releaser) => Some(releaser.plan()),
            Batches::Public { .. } => None,
        }
    }

    /// Returns the sampler of the batches.
    pub fn sampler(&self) -> &Sampler {
        match &self.batches {
            Batches::Private(releaser) => releaser.plan().sampler(),
            Batches::Public { sampler, .. } => sampler,
        }
    }

    /// Returns an upper bound on the epsilon, at the plan's delta, of all releases in `ledger`.
    ///
    /// # Errors
    ///
    /// A ledger that cannot be read, is not the one of the earlier steps, or holds fewer releases than they made;
    /// [`TrainingError::WithoutPlan`] without privacy.
    pub fn epsilon_spent(&self, ledger: &Ledger) -> Result<f64, TrainingError> {
        let plan = self.plan().ok_or(TrainingError::WithoutPlan)?;
        same_ledger(self.written.as_ref(), ledger)?;
        let entries = ledger.entries()?;
        Ok(match self.step() == plan.steps() {
            true => plan.epsilon_spent(&entries)?,
            false => plan.epsilon_so_far(&entries)?,
        })
    }

    /// Returns the releaser, for the other releases of the plan, or `None` without privacy.
    pub fn releaser(&mut self) -> Option<&mut Releaser> {
        match &mut self.batches {
            Batches::Private(releaser) => Some(releaser),
            Batches::Public { .. } => None,
        }
    }

    /// Returns the gradients of the objective, with the generator of public randomness.
    pub fn gradients(&mut self) -> &mut Gradients {
        &mut self.gradients
    }

    /// Returns the engine of the last step, or `None` before the first.
    pub fn engine(&self) -> Option<Engine> {
        self.gradients.used()
    }

    /// Returns the [adaptive](crate::Loss::adaptive_clipping) clipping norms of the next step. They are public.
    pub fn max_grad_norms(&mut self) -> Vec<f64> {
        let losses = self.gradients.adaptive();
        losses.map(|loss| loss.max_grad_norm).collect()
    }

    /// Returns sentences that say why steps are slower, or take fewer records at once, than they could.
    pub fn notes(&self) -> &[String] {
        self.gradients.notes()
    }

    /// Moves the network along gradients that may be published: released gradients, or those of public records.
    /// [`Step::update`] calls it for you.
    pub fn apply(&mut self, rate: f64, gradients: GradientsParams) {
        let network = self.network.clone();
        self.network = self.optimizer.step(rate, network, gradients);
        if let Some(average) = &mut self.average {
            average.update(&self.network);
        }
    }

    /// Returns the network with its averaged weights if an average was asked for, and the network itself otherwise.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] if the average has another size.
    pub fn averaged(&self) -> Result<M, TrainingError> {
        match &self.average {
            Some(average) => average.apply(self.network.clone()),
            None => Ok(self.network.clone()),
        }
    }

    /// Returns a checkpoint that [`Training::restore`] resumes from; nothing in it is secret.
    pub fn checkpoint(&mut self, ledger: &Ledger) -> Checkpoint {
        Checkpoint {
            step: self.step(),
            releases: ledger.releases(),
            public: RngState::from_rng(self.gradients.public_rng()),
            batches: match &self.batches {
                Batches::Private(_) => None,
                Batches::Public { rng, .. } => Some(RngState::from_rng(rng)),
            },
            weights: to_host(&self.network),
            optimizer: self.optimizer.to_bytes(),
            average: self.average.as_ref().map_or(Vec::new(), Ema::to_bytes),
            max_grad_norms: self.max_grad_norms(),
        }
    }

    /// Resumes from a checkpoint with new noise: the steps after it are made again, and the ledger counts them again.
    ///
    /// If the noise of steps is correlated, the ledger counts all steps again, unless the noise resumes too: by
    /// [`NoiseSource::resume`] of a state that was kept with the checkpoint, and is secret. Do this **only if the repeated steps
    /// are the same to the last bit**: the same records in the same order, objective, schedule and program, on host kernels and
    /// without ranks. The same noise on other values releases their difference.
    ///
    /// # Errors
    ///
    /// [`TrainingError::LostReleases`] for a ledger that holds fewer releases than the checkpoint knows of;
    /// [`TrainingError::Shape`] and [`TrainingError::Checkpoint`] for a checkpoint of another training; a step beyond the plan.
    pub fn restore(
        &mut self,
        checkpoint: &Checkpoint,
        ledger: &Ledger,
    ) -> Result<(), TrainingError> {
        holds(ledger, checkpoint.releases)?;
        // Everything is read before anything changes.
        let network = from_host(self.network.clone(), &checkpoint.weights)?;
        let optimizer = self
            .optimizer
            .restored(&checkpoint.optimizer, &network, &self.device())?;
        let mut average = self.average.clone();
        match &mut average {
            Some(average) => average.restore(&checkpoint.average)?,
            None if checkpoint.average.is_empty() => {}
            None => {
                let reason = "it has an average of the weights, and this training has none";
                return Err(TrainingError::checkpoint(reason));
            }
        }
        let public = checkpoint.public.generator()?;
        let norms = &checkpoint.max_grad_norms;
        let expected = self.max_grad_norms().len();
        same("clipping norms that move", expected, norms.len())?;
        let name = "a clipping norm of a checkpoint";
        norms.iter().try_for_each(|&norm| check_norm(name, norm))?;
        match (&mut self.batches, &checkpoint.batches) {
            (Batches::Private(releaser), None) => releaser.at_step(checkpoint.step)?,
            (Batches::Public { rng, made, .. }, Some(state)) => {
                (**rng, *made) = (state.generator()?, checkpoint.step);
            }
            _ => {
                let reason = "it is of a training with privacy and this one is not, or the reverse";
                return Err(TrainingError::checkpoint(reason));
            }
        }
        if let Some(optimizer) = optimizer {
            self.optimizer = optimizer;
        }
        self.written = Some((ledger.path().to_path_buf(), ledger.releases()));
        *self.gradients.public_rng() = public;
        self.gradients.set_max_grad_norms(norms);
        (self.network, self.average) = (network, average);
        Ok(())
    }
}

/// Refuses a ledger that has lost releases.
fn holds(ledger: &Ledger, expected: u64) -> Result<(), TrainingError> {
    let found = ledger.releases();
    if found >= expected {
        return Ok(());
    }
    let path = ledger.path().display().to_string();
    Err(TrainingError::LostReleases {
        path,
        found,
        expected,
    })
}

/// Refuses another ledger than that of the earlier releases: either one alone would show less than was spent.
fn same_ledger(written: Option<&(PathBuf, u64)>, ledger: &Ledger) -> Result<(), TrainingError> {
    match written {
        Some((path, _)) if path != ledger.path() => Err(TrainingError::OtherLedger {
            found: ledger.path().display().to_string(),
            expected: path.display().to_string(),
        }),
        Some((_, releases)) => holds(ledger, *releases),
        None => Ok(()),
    }
}

enum Sampled {
    Private(Draw),
    Public(Vec<Vec<usize>>),
}

impl Sampled {
    fn strata(&self) -> &[Vec<usize>] {
        match self {
            Self::Private(draw) => draw.strata(),
            Self::Public(strata) => strata,
        }
    }
}

fn indices(records: &[usize], device: &Device) -> Tensor<1, Int> {
    let records: Vec<i64> = records.iter().map(|&i| i as i64).collect();
    let count = records.len();
    let data = TensorData::new(records, [count]);
    Tensor::from_data(data, &device.clone().without_autodiff())
}

/// One sampled step of a [`Training`]: it is made once, or not at all.
pub struct Step<'a, M> {
    training: &'a mut Training<M>,
    sampled: Sampled,
    /// The shared batch, if its records lie on several ranks.
    shared: Option<Shared>,
}

impl<M: Module> Step<'_, M> {
    /// Returns the indices of the sampled records of each stratum; they are **secret**.
    pub fn strata(&self) -> &[Vec<usize>] {
        self.sampled.strata()
    }

    /// Returns the sampled records that this process holds, by their indices here; they are **secret**. These are all sampled
    /// records, except in a training over ranks ([`Training::over`]), whose batches are built of these records.
    pub fn own(&self) -> &[Vec<usize>] {
        match &self.shared {
            Some(shared) => shared.own(),
            None => self.strata(),
        }
    }

    /// Returns the indices of the sampled records, stratum after stratum; they are **secret**.
    pub fn records(&self) -> Vec<usize> {
        self.strata().concat()
    }

    /// Returns [`Step::records`] as a tensor of indices for `select`; they are **secret**.
    pub fn indices(&self, device: &Device) -> Tensor<1, Int> {
        indices(&self.records(), device)
    }

    /// Returns the draw, or `None` without privacy.
    pub fn draw(&self) -> Option<&Draw> {
        match &self.sampled {
            Sampled::Private(draw) => Some(draw),
            Sampled::Public(_) => None,
        }
    }

    /// Selects the sampled rows of all records, `[N, ...]`, and of their targets; both are in the sampler's order of records.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] if the tensors have another number of records than the sampler, or
    /// [`TrainingError::OtherRecords`] if that number is private.
    pub fn select<const D: usize>(
        &self,
        inputs: &Tensor<D>,
        targets: impl Into<Targets>,
    ) -> Result<Batch<D>, TrainingError> {
        let targets = targets.into();
        let sampler = self.training.sampler();
        for (what, found) in [
            ("records of the data", inputs.dims()[0]),
            ("targets of the data", targets.records()),
        ] {
            match sampler.records() {
                Some(records) => {
                    let team = self.training.team.as_ref();
                    let ranks = team.map_or(1, |team| team.ranks.size());
                    crate::error::same(what, records_of(0, ranks, records), found)?;
                }
                None if sampler.is_of(found) => {}
                None => return Err(TrainingError::OtherRecords { what }),
            }
        }
        let sampled = indices(&self.own().concat(), &inputs.device());
        let sizes: Vec<usize> = self.own().iter().map(Vec::len).collect();
        let inputs = inputs.clone().select(0, sampled.clone());
        let (classes, values) = (sampled.clone(), sampled);
        let targets = targets.map(|all| all.select(0, classes), |all| all.select(0, values));
        Batch::new(inputs, targets, &sizes)
    }

    /// Returns the network before the step.
    pub fn network(&self) -> &M {
        &self.training.network
    }

    /// Releases the noisy gradient of the objective at `network`, for your own optimizer: the gradients of the records are
    /// clipped and summed, the ledger is written and noise is added. Also returns the losses of the batch, which are **not
    /// private**, for tests and audits. `network` may be a part of the trained network or another view of it.
    ///
    /// # Errors
    ///
    /// [`TrainingError`] if the batch does not fit the draw or the network, if the network mixes records or if the device gives
    /// no answer: then nothing was released, and nothing is in the ledger. [`TrainingError::OtherLedger`] and
    /// [`TrainingError::LostReleases`] if the ledger does not hold the earlier steps; [`TrainingError::WithoutPlan`] without
    /// privacy.
    pub fn release<const D: usize>(
        self,
        network: &impl Network<D>,
        batch: &Batch<D>,
        ledger: &mut Ledger,
    ) -> Result<(ReleasedGradient, StepLosses), TrainingError> {
        let Self {
            training,
            sampled,
            shared,
        } = self;
        let (Sampled::Private(draw), Batches::Private(releaser)) = (sampled, &mut training.batches)
        else {
            return Err(TrainingError::WithoutPlan);
        };
        same_ledger(training.written.as_ref(), ledger)?;
        let sizes = BatchSizes::from(releaser.plan().sampler());
        let (clipped, losses) =
            training
                .gradients
                .clipped_over(network, batch, sizes.clone(), shared)?;
        let scale = clipped.count_scale();
        let bounded = clipped.tied_to(draw)?;
        let mut released = releaser.release(bounded, ledger)?;
        training.written = Some((ledger.path().to_path_buf(), ledger.releases()));
        if let Some(scale) = scale {
            let counts;
            (released, counts) = released.split_last();
            let counts = counts.map_or(Ok(Vec::new()), read)?;
            training.gradients.adapt(&counts, scale, &sizes);
        }
        Ok((released, losses))
    }

    /// Returns the gradient of [`Step::release`] in the form of burn's optimizers. Without a plan, returns the ordinary gradient
    /// of the batch and its losses.
    ///
    /// # Errors
    ///
    /// The same as for [`Step::release`].
    pub fn gradient<const D: usize>(
        self,
        network: &impl Network<D>,
        batch: &Batch<D>,
        ledger: &mut Ledger,
    ) -> Result<(GradientsParams, Option<StepLosses>), TrainingError> {
        if let Sampled::Private(_) = self.sampled {
            let (released, _) = self.release(network, batch, ledger)?;
            return Ok((released.into_params(), None));
        }
        let training = self.training;
        let (gradient, losses) =
            training
                .gradients
                .without_privacy_over(network, batch, self.shared)?;
        if let Batches::Public { made, .. } = &mut training.batches {
            *made += 1;
        }
        Ok((gradient.into_params_without_privacy(), Some(losses)))
    }

    /// Makes one optimizer step along the gradient of `batch`, which holds the sampled records in the order of [`Step::records`].
    /// Returns the losses if the training is without privacy.
    ///
    /// # Errors
    ///
    /// The same as for [`Step::release`].
    pub fn update<const D: usize>(
        self,
        batch: &Batch<D>,
        ledger: &mut Ledger,
    ) -> Result<Option<StepLosses>, TrainingError>
    where
        M: Network<D>,
    {
        let Self {
            training,
            sampled,
            shared,
        } = self;
        let network = training.network.clone();
        let step = Step {
            training: &mut *training,
            sampled,
            shared,
        };
        let (gradient, losses) = step.gradient(&network, batch, ledger)?;
        let rate = training.schedule.after(training.step() - 1);
        training.apply(rate, gradient);
        Ok(losses)
    }

    /// Makes the step of [`Step::update`] on the batch of [`Step::select`].
    ///
    /// # Errors
    ///
    /// The same as for [`Step::select`] and [`Step::update`].
    pub fn update_from<const D: usize>(
        self,
        inputs: &Tensor<D>,
        targets: impl Into<Targets>,
        ledger: &mut Ledger,
    ) -> Result<Option<StepLosses>, TrainingError>
    where
        M: Network<D>,
    {
        let batch = self.select(inputs, targets)?;
        self.update(&batch, ledger)
    }
}

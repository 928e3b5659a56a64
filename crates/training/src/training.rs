//! The loop: a plan, an objective and any network, to one gradient a step.

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

/// Settings of a training, before it starts.
///
/// See [`Training`] for an example.
pub struct TrainingConfig {
    gradients: Gradients,
    optimizer: Optimizer,
    schedule: Schedule,
    average: Option<f64>,
}

impl TrainingConfig {
    /// A training that minimises `objective`, by Adam at a learning rate of 0.001 unless told otherwise.
    pub fn new(objective: impl Into<Objective>) -> Self {
        Self {
            gradients: Gradients::new(objective.into()),
            optimizer: Optimizer::adam(),
            schedule: 1e-3.into(),
            average: None,
        }
    }

    /// What moves the weights: [`Optimizer`], or any optimizer of burn.
    #[must_use]
    pub fn optimizer(mut self, optimizer: impl Into<Optimizer>) -> Self {
        self.optimizer = optimizer.into();
        self
    }

    /// The learning rate: a number, or a [`Schedule`].
    #[must_use]
    pub fn learning_rate(mut self, rate: impl Into<Schedule>) -> Self {
        self.schedule = rate.into();
        self
    }

    /// The decay, in `[0, 1)`, of an exponential moving average of the weights: [`Training::averaged`].
    #[must_use]
    pub fn average(mut self, decay: impl Into<Option<f64>>) -> Self {
        self.average = decay.into();
        self
    }

    /// What public randomness, the slices of penalties, is sampled by; seed 0 unless given. Noise and private batches
    /// come from the operating system, never from here.
    #[must_use]
    pub fn public(mut self, rng: ChaCha20Rng) -> Self {
        *self.gradients.public_rng() = rng;
        self
    }

    /// The engine of the steps, for comparison; the fastest one that knows the network unless given.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.gradients = self.gradients.engine(engine);
        self
    }

    /// A cap, in bytes, on what activations and cotangents of a step take on a device, without the weights and
    /// their gradient: as many records go through the network at once as fit, and their gradients are
    /// added up, whatever the size of the batch.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.gradients = self.gradients.memory(bytes);
        self
    }

    /// Starts on a plan, with noise from the operating system.
    ///
    /// The plan is spent by it: no two trainings share one.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OutOfRange`] for constants out of range, [`TrainingError::Unbounded`] for a penalty
    /// with Poisson sampling, [`TrainingError::Randomness`].
    pub fn start<M: Module>(
        self,
        network: M,
        plan: CheckedPlan,
    ) -> Result<Training<M>, TrainingError> {
        let noise = NoiseSource::secret().map_err(TrainingError::Randomness)?;
        self.start_with_noise(network, plan.releaser(noise))
    }

    /// Starts with a releaser of the caller's own.
    ///
    /// # Errors
    ///
    /// As [`TrainingConfig::start`].
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

    /// Starts a training that promises nothing: nothing is clipped and there is no noise. `rng` samples its batches.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OutOfRange`] for the decay of an average.
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

/// Where batches come from.
enum Batches {
    Private(Box<Releaser>),
    Public {
        sampler: Box<Sampler>,
        rng: Box<ChaCha20Rng>,
        made: u64,
    },
}

/// A network in training. With a plan it samples batches as planned, bounds what each record does, and releases one
/// noisy gradient a step, each in the ledger before it is released.
///
/// # Formal guarantee
///
/// The networks and the gradients of a training with a plan, all steps together, are `(epsilon, delta)`-differentially
/// private as the plan says, for the neighbours of its sampler: replace one record (within its group, where
/// there are groups); with Poisson sampling one record counts or is blank, their number being public, or one is added or
/// removed. The losses are not part of it.
///
/// ```
/// use burn::module::Module;
/// use burn::nn::{Linear, LinearConfig};
/// use burn::tensor::{Device, Int, Tensor};
/// use dp_core::{DpError, ledger::Ledger, per_sample::nn::Chain, plan::TrainingPlan};
/// use dp_core::sampling::Sampler;
/// use private_training::{Forward, Layers, Loss, Network, Objective, Optimizer, TrainingConfig};
///
/// #[derive(Module, Debug)]
/// struct Classifier {
///     linear: Linear,
/// }
///
/// impl Network<2> for Classifier {
///     // Not needed, and many times faster.
///     fn layers(&self) -> Result<Layers<'_, 2>, LayerError> {
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
    /// The processes that take its steps, where there are several.
    pub(crate) team: Option<Team>,
    /// The ledger of the last release, and how many it held then.
    written: Option<(PathBuf, u64)>,
}

impl<M: Module> Training<M> {
    /// Samples the batch of the next step, secretly; none once all steps of the plan were made, and always one without
    /// a plan. A step that is not made is void.
    ///
    /// # Errors
    ///
    /// What the releaser refuses.
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
                sampled.groups(),
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

    /// Where the network lives.
    pub fn device(&self) -> Device {
        self.network
            .devices()
            .into_iter()
            .next()
            .unwrap_or_default()
    }

    /// Steps made so far.
    pub fn step(&self) -> u64 {
        match &self.batches {
            Batches::Private(releaser) => releaser.step(),
            Batches::Public { made, .. } => *made,
        }
    }

    /// The plan; none without privacy.
    pub fn plan(&self) -> Option<&CheckedPlan> {
        match &self.batches {
            Batches::Private(releaser) => Some(releaser.plan()),
            Batches::Public { .. } => None,
        }
    }

    /// What samples the batches.
    pub fn sampler(&self) -> &Sampler {
        match &self.batches {
            Batches::Private(releaser) => releaser.plan().sampler(),
            Batches::Public { sampler, .. } => sampler,
        }
    }

    /// An upper bound on the epsilon, at the plan's delta, of everything that `ledger` holds.
    ///
    /// # Errors
    ///
    /// A ledger that cannot be read, is not that of the steps before, or holds fewer releases than they made;
    /// [`TrainingError::WithoutPlan`].
    pub fn epsilon_spent(&self, ledger: &Ledger) -> Result<f64, TrainingError> {
        let plan = self.plan().ok_or(TrainingError::WithoutPlan)?;
        same_ledger(self.written.as_ref(), ledger)?;
        let entries = ledger.entries()?;
        Ok(match self.step() == plan.steps() {
            true => plan.epsilon_spent(&entries)?,
            false => plan.epsilon_so_far(&entries)?,
        })
    }

    /// The releaser, for the other releases of the plan; none without privacy.
    pub fn releaser(&mut self) -> Option<&mut Releaser> {
        match &mut self.batches {
            Batches::Private(releaser) => Some(releaser),
            Batches::Public { .. } => None,
        }
    }

    /// The gradients of the objective, with the generator of public randomness.
    pub fn gradients(&mut self) -> &mut Gradients {
        &mut self.gradients
    }

    /// The engine of the last step; none before the first.
    pub fn engine(&self) -> Option<Engine> {
        self.gradients.used()
    }

    /// The clipping norms that [move](crate::Loss::adaptive_clipping), as the next step has them. They are public.
    pub fn max_grad_norms(&mut self) -> Vec<f64> {
        let losses = self.gradients.adaptive();
        losses.map(|loss| loss.max_grad_norm).collect()
    }

    /// Why steps are slower than they could be, or made of fewer records at once, in sentences.
    pub fn notes(&self) -> &[String] {
        self.gradients.notes()
    }

    /// Moves the network by gradients that may be seen: released ones, and those of public records. [`Step::update`]
    /// does it by itself.
    pub fn apply(&mut self, rate: f64, gradients: GradientsParams) {
        let network = self.network.clone();
        self.network = self.optimizer.step(rate, network, gradients);
        if let Some(average) = &mut self.average {
            average.update(&self.network);
        }
    }

    /// The network with the average of its weights, where one was asked for.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] for an average of another size.
    pub fn averaged(&self) -> Result<M, TrainingError> {
        match &self.average {
            Some(average) => average.apply(self.network.clone()),
            None => Ok(self.network.clone()),
        }
    }

    /// What [`Training::restore`] goes on from; nothing in it is secret.
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

    /// Goes on from a checkpoint, with new noise: steps made after it are made again, and the ledger counts
    /// them again. Where the noise of steps is correlated, it counts all of them again, unless the noise goes on too: by
    /// [`NoiseSource::resume`] of a state that was kept with the checkpoint, and is secret. **Only where the steps are made again
    /// to the last bit**: the same records in the same order, objective, schedule and program, on host kernels and without
    /// ranks. The same noise on other values releases their difference.
    ///
    /// # Errors
    ///
    /// [`TrainingError::LostReleases`] for a ledger that holds fewer releases than the checkpoint knows of;
    /// [`TrainingError::Shape`] and [`TrainingError::Checkpoint`] for a checkpoint of another training; a step beyond
    /// the plan.
    pub fn restore(
        &mut self,
        checkpoint: &Checkpoint,
        ledger: &Ledger,
    ) -> Result<(), TrainingError> {
        holds(ledger, checkpoint.releases)?;
        // All of it is read before anything changes.
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

/// Refuses another ledger than that of the releases before: either one alone would tell of less than was spent.
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
    fn groups(&self) -> &[Vec<usize>] {
        match self {
            Self::Private(draw) => draw.groups(),
            Self::Public(groups) => groups,
        }
    }
}

fn indices(records: &[usize], device: &Device) -> Tensor<1, Int> {
    let records: Vec<i64> = records.iter().map(|&i| i as i64).collect();
    let count = records.len();
    let data = TensorData::new(records, [count]);
    Tensor::from_data(data, &device.clone().without_autodiff())
}

/// One sampled step of a [`Training`]: made once, or not at all.
pub struct Step<'a, M> {
    training: &'a mut Training<M>,
    sampled: Sampled,
    /// What is known of the batch where its records lie on several ranks.
    shared: Option<Shared>,
}

impl<M: Module> Step<'_, M> {
    /// The numbers of the sampled records of each group; they are **secret**.
    pub fn groups(&self) -> &[Vec<usize>] {
        self.sampled.groups()
    }

    /// Those that this process holds, by their numbers here: all of them but for a training over ranks
    /// ([`Training::over`]), whose batches are of these records. They are **secret**.
    pub fn own(&self) -> &[Vec<usize>] {
        match &self.shared {
            Some(shared) => shared.own(),
            None => self.groups(),
        }
    }

    /// The numbers of the sampled records, group after group; they are **secret**.
    pub fn records(&self) -> Vec<usize> {
        self.groups().concat()
    }

    /// The same as indices for `select`.
    pub fn indices(&self, device: &Device) -> Tensor<1, Int> {
        indices(&self.records(), device)
    }

    /// The draw; none without privacy.
    pub fn draw(&self) -> Option<&Draw> {
        match &self.sampled {
            Sampled::Private(draw) => Some(draw),
            Sampled::Public(_) => None,
        }
    }

    /// The sampled rows out of all records, `[N, ...]`, and their targets, in the order that the sampler counts them in.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] for tensors of another number of records than the sampler's, or
    /// [`TrainingError::OtherRecords`] where that is private.
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

    /// The network before the step.
    pub fn network(&self) -> &M {
        &self.training.network
    }

    /// The noisy gradient of the objective at `network`, which may be a part of the trained one or see it from another
    /// side, for an optimizer of one's own: clipped, summed, in the ledger, with noise; and the losses of the batch,
    /// which are **not private**, for tests and audits.
    ///
    /// # Errors
    ///
    /// [`TrainingError`] for a batch that does not fit what was sampled or the network, for a network that mixes
    /// records, for a device that gives no answer: nothing was released then, and nothing is in the ledger.
    /// [`TrainingError::OtherLedger`] and [`TrainingError::LostReleases`] for a ledger that does not hold the steps before;
    /// [`TrainingError::WithoutPlan`].
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

    /// As [`Step::release`], in the form of burn's optimizers; without a plan the ordinary gradient of the batch, with
    /// its losses.
    ///
    /// # Errors
    ///
    /// As [`Step::release`].
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

    /// One step of the optimizer along the gradient of `batch`, the sampled records in the order of [`Step::records`];
    /// gives the losses of a training without privacy.
    ///
    /// # Errors
    ///
    /// As [`Step::release`].
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

    /// [`Step::update`] on what [`Step::select`] gives.
    ///
    /// # Errors
    ///
    /// Those of both.
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

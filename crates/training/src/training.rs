//! The door: a plan, an objective, and any network, to a private gradient a step.

use std::path::Path;

use burn::optim::ModuleOptimizer;
use burn::optim::lr_scheduler::LrScheduler;
use burn::tensor::{Device, Tensor};
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoiseSource, ReleasedGradient, Releaser};
use dp_core::plan::CheckedPlan;
use dp_core::sampling::{BatchSampler, Draw};
use rand_chacha::ChaCha20Rng;

use crate::checkpoint::{Checkpoint, Generator};
use crate::engine::Engine;
use crate::{Batch, Gradients, GroupSizes, Network, Objective, StepLosses, TrainingError};

/// Settings of a private training, before it starts.
///
/// See [`PrivateTraining`] for an example.
pub struct Training {
    gradients: Gradients,
    optimizer: Option<ModuleOptimizer>,
    rate: Box<dyn LrScheduler>,
}

impl Training {
    /// A training that minimises `objective`.
    pub fn new(objective: Objective) -> Self {
        Self {
            gradients: Gradients::new(objective),
            optimizer: None,
            rate: Box::new(1e-3),
        }
    }

    /// What [`Step::update`] moves the weights by: any optimizer of burn.
    #[must_use]
    pub fn optimizer(mut self, optimizer: impl Into<ModuleOptimizer>) -> Self {
        self.optimizer = Some(optimizer.into());
        self
    }

    /// The learning rate, or one of burn's schedules; 0.001 unless given.
    #[must_use]
    pub fn learning_rate(mut self, rate: impl LrScheduler + 'static) -> Self {
        self.rate = Box::new(rate);
        self
    }

    /// What public randomness, the slices of penalties, is drawn from; seed 0 unless given. Noise and
    /// batches come from the operating system, never from here.
    #[must_use]
    pub fn public(mut self, generator: ChaCha20Rng) -> Self {
        *self.gradients.public() = generator;
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

    /// Starts on a plan, with noise from the operating system and a new ledger.
    ///
    /// The plan is spent by it: no two trainings share one.
    ///
    /// # Errors
    ///
    /// [`dp_core::DpError::Ledger`] for a ledger that is there already, or that cannot be written, and what
    /// [`Training::start_with_noise`] refuses.
    pub fn start(self, plan: CheckedPlan, ledger: &Path) -> Result<PrivateTraining, TrainingError> {
        self.check(plan.sampler())?;
        let noise = NoiseSource::secret().map_err(TrainingError::Randomness)?;
        let ledger = Ledger::create(ledger)?;
        self.start_with_noise(plan.releaser(noise), ledger)
    }

    /// Starts with a releaser and a ledger of the caller's own.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OutOfRange`] for constants out of range, [`TrainingError::Unbounded`] for a penalty
    /// with Poisson sampling.
    pub fn start_with_noise(
        self,
        releaser: Releaser,
        ledger: Ledger,
    ) -> Result<PrivateTraining, TrainingError> {
        self.check(releaser.plan().sampler())?;
        Ok(PrivateTraining {
            gradients: self.gradients,
            optimizer: self.optimizer,
            rate: self.rate,
            releaser,
            ledger,
        })
    }

    /// Goes on from a checkpoint, with new noise: steps made after it are made again, and the ledger counts
    /// them again. Restore the weights and [`PrivateTraining::optimizer`]'s record as burn has it.
    ///
    /// # Errors
    ///
    /// [`TrainingError::LostReleases`] for a ledger that holds fewer releases than the checkpoint knows of, and what
    /// [`Training::start_with_noise`] refuses.
    pub fn resume(
        mut self,
        plan: CheckedPlan,
        ledger: &Path,
        checkpoint: &Checkpoint,
    ) -> Result<PrivateTraining, TrainingError> {
        *self.gradients.public() = checkpoint.public.generator()?;
        for _ in 0..checkpoint.step {
            self.rate.step();
        }
        let noise = NoiseSource::secret().map_err(TrainingError::Randomness)?;
        let ledger = Ledger::open(ledger)?;
        if ledger.releases() < checkpoint.releases {
            return Err(TrainingError::LostReleases {
                path: ledger.path().display().to_string(),
                found: ledger.releases(),
                expected: checkpoint.releases,
            });
        }
        let mut releaser = plan.releaser(noise);
        releaser.at_step(checkpoint.step)?;
        self.start_with_noise(releaser, ledger)
    }

    fn check(&self, sampler: &BatchSampler) -> Result<(), TrainingError> {
        self.gradients
            .objective()
            .check_for(&GroupSizes::of(sampler))
    }
}

/// A private training: draws batches as planned, bounds what each record does, and releases one noisy
/// gradient a step, each in the ledger before it leaves.
///
/// # Formal guarantee
///
/// What [`Step::gradient`] and [`Step::update`] give, all steps together, is `(epsilon, delta)`-differentially
/// private as the plan says, for the neighbours of its sampler: replace one record (within its group, where
/// there are groups); with Poisson sampling one record counts or is blank, their number being public, or one is added or
/// removed. The losses are not part of it.
///
/// ```
/// use burn::module::Module;
/// use burn::nn::{Linear, LinearConfig};
/// use burn::optim::SgdConfig;
/// use burn::tensor::{Device, Tensor};
/// use dp_core::{per_sample::nn::Chain, plan::TrainingPlan, sampling::FixedSizeSampler, DpError};
/// use private_training::{Forward, Layers, Loss, Network, Objective, Training};
///
/// #[derive(Module, Debug)]
/// struct Classifier {
///     linear: Linear,
/// }
///
/// impl Network<2> for Classifier {
///     fn forward(&self, inputs: Tensor<2>) -> Forward {
///         Forward::of(self.linear.forward(inputs))
///     }
///
///     // Not needed, and many times faster.
///     fn layers(&self) -> Result<Option<Layers<'_>>, DpError> {
///         Layers::chain(Chain::features(4).linear(&self.linear))
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let ledger = folder.path().join("ledger.jsonl");
/// let device = Device::flex();
/// let (records, labels) = (Tensor::<2>::ones([100, 4], &device), Tensor::<2>::zeros([100, 1], &device));
/// let mut model = Classifier { linear: LinearConfig::new(4, 2).init(&device) };
///
/// let plan = TrainingPlan::within(1.0, 1e-3, 10, FixedSizeSampler::new(100, 20)?).check()?;
/// let mut training = Training::new(Objective::of([Loss::cross_entropy().clip(1.0)]))
///     .optimizer(SgdConfig::new().init())
///     .learning_rate(0.1)
///     .start(plan, &ledger)?;
/// while let Some(step) = training.next_step()? {
///     model = step.update_from(&model, &records, &labels)?;
/// }
/// assert!(training.epsilon_spent()? <= 1.0);
/// # Ok(())
/// # }
/// ```
pub struct PrivateTraining {
    gradients: Gradients,
    releaser: Releaser,
    ledger: Ledger,
    optimizer: Option<ModuleOptimizer>,
    rate: Box<dyn LrScheduler>,
}

impl PrivateTraining {
    /// Draws the next step, secretly; none once all steps of the plan were made. A step that was drawn and
    /// not made is void.
    ///
    /// # Errors
    ///
    /// What the releaser refuses.
    pub fn next_step(&mut self) -> Result<Option<Step<'_>>, TrainingError> {
        if self.releaser.step() >= self.releaser.plan().steps() {
            return Ok(None);
        }
        let draw = self.releaser.draw()?;
        Ok(Some(Step {
            training: self,
            draw,
        }))
    }

    /// Steps made so far.
    pub fn step(&self) -> u64 {
        self.releaser.step()
    }

    /// The plan.
    pub fn plan(&self) -> &CheckedPlan {
        self.releaser.plan()
    }

    /// An upper bound on the epsilon, at the plan's delta, of everything that the ledger holds.
    ///
    /// # Errors
    ///
    /// A ledger that cannot be read.
    pub fn epsilon_spent(&self) -> Result<f64, TrainingError> {
        let entries = self.ledger.entries()?;
        let plan = self.plan();
        Ok(match self.step() == plan.steps() {
            true => plan.epsilon_spent(&entries)?,
            false => plan.epsilon_so_far(&entries)?,
        })
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The releaser, with the ledger, for the other releases of the plan.
    pub fn releaser(&mut self) -> (&mut Releaser, &mut Ledger) {
        (&mut self.releaser, &mut self.ledger)
    }

    /// The optimizer, for its record; none where [`Step::gradient`] is used with another one.
    pub fn optimizer(&mut self) -> Option<&mut ModuleOptimizer> {
        self.optimizer.as_mut()
    }

    /// The generator of public randomness, for checkpoints.
    pub fn public(&mut self) -> &mut ChaCha20Rng {
        self.gradients.public()
    }

    /// The engine of the last step; none before the first.
    pub fn engine(&self) -> Option<Engine> {
        self.gradients.used()
    }

    /// Why steps are slower than they could be, or made of fewer records at once, in sentences.
    pub fn notes(&self) -> &[String] {
        self.gradients.notes()
    }

    /// What [`Training::resume`] starts from; nothing in it is secret.
    pub fn checkpoint(&mut self) -> Checkpoint {
        Checkpoint {
            step: self.step(),
            releases: self.ledger.releases(),
            public: Generator::of(self.gradients.public()),
        }
    }
}

/// One drawn step of a [`PrivateTraining`]: made once, or not at all.
pub struct Step<'a> {
    training: &'a mut PrivateTraining,
    draw: Draw,
}

impl Step<'_> {
    /// The numbers of the drawn records, group after group; they are **secret**.
    pub fn records(&self) -> Vec<usize> {
        self.draw.indices()
    }

    /// The same as indices for `select`.
    pub fn indices(&self, device: &Device) -> Tensor<1, burn::tensor::Int> {
        let records: Vec<i64> = self.records().into_iter().map(|i| i as i64).collect();
        let count = records.len();
        let data = burn::tensor::TensorData::new(records, [count]);
        Tensor::from_data(data, &device.clone().without_autodiff())
    }

    /// The draw.
    pub fn draw(&self) -> &Draw {
        &self.draw
    }

    /// The noisy gradient of the objective, for any optimizer: clipped, summed, in the ledger, with noise.
    ///
    /// - `inputs`: `[n, ...]`, the drawn records in the order of [`Step::records`]; `targets`: `[n, t]`.
    ///
    /// # Errors
    ///
    /// [`TrainingError`] for inputs or targets that do not fit the draw or the network, for a network that mixes
    /// records, for a device that gives no answer: nothing was released then, and nothing is in the ledger.
    pub fn gradient<const D: usize>(
        self,
        network: &impl Network<D>,
        inputs: Tensor<D>,
        targets: Tensor<2>,
    ) -> Result<ReleasedGradient, TrainingError> {
        let (gradient, _) = self.gradient_and_losses(network, inputs, targets)?;
        Ok(gradient)
    }

    /// As [`Step::gradient`], with the losses of the batch, which are **not private**: for tests and
    /// audits.
    ///
    /// # Errors
    ///
    /// As [`Step::gradient`].
    pub fn gradient_and_losses<const D: usize>(
        self,
        network: &impl Network<D>,
        inputs: Tensor<D>,
        targets: Tensor<2>,
    ) -> Result<(ReleasedGradient, StepLosses), TrainingError> {
        let Self { training, draw } = self;
        let sampler = training.releaser.plan().sampler();
        let batch = Batch::new(inputs, targets, &draw.sizes())?;
        let sizes = GroupSizes::of(sampler);
        let (clipped, losses) = training.gradients.clipped(network, &batch, sizes)?;
        let bounded = clipped.of(draw)?;
        let released = training.releaser.release(bounded, &mut training.ledger)?;
        Ok((released, losses))
    }

    /// As [`Step::update`], for the rows of this step out of all records: `[N, ...]` and `[N, t]`, in the order
    /// that the sampler counts them in.
    ///
    /// # Errors
    ///
    /// As [`Step::update`].
    pub fn update_from<const D: usize, N: Network<D>>(
        self,
        network: &N,
        inputs: &Tensor<D>,
        targets: &Tensor<2>,
    ) -> Result<N, TrainingError> {
        let sampler = self.training.plan().sampler();
        for (what, found) in [
            ("records of the data", inputs.dims()[0]),
            ("targets of the data", targets.dims()[0]),
        ] {
            match sampler.records() {
                Some(records) => crate::error::same(what, records, found)?,
                None if sampler.is_of(found) => {}
                // How many there are is private.
                None => return Err(TrainingError::OtherRecords { what }),
            }
        }
        let drawn = self.indices(&inputs.device());
        let (inputs, targets) = (inputs.clone(), targets.clone());
        let (inputs, targets) = (inputs.select(0, drawn.clone()), targets.select(0, drawn));
        self.update(network, inputs, targets)
    }

    /// The network after one step of the optimizer along the noisy gradient.
    ///
    /// # Errors
    ///
    /// As [`Step::gradient`]; [`TrainingError::NoOptimizer`].
    pub fn update<const D: usize, N: Network<D>>(
        self,
        network: &N,
        inputs: Tensor<D>,
        targets: Tensor<2>,
    ) -> Result<N, TrainingError> {
        if self.training.optimizer.is_none() {
            return Err(TrainingError::NoOptimizer);
        }
        let Self { training, draw } = self;
        let step = Step {
            training: &mut *training,
            draw,
        };
        let released = step.gradient(network, inputs, targets)?;
        let rate = training.rate.step();
        let Some(optimizer) = &mut training.optimizer else {
            return Err(TrainingError::NoOptimizer);
        };
        // burn's optimizers take modules that autodiff tracks, and no others.
        let tracked = network.devices().iter().any(Device::is_autodiff);
        let moved = optimizer.step(rate, network.clone().train(), released.into_params());
        Ok(if tracked { moved } else { moved.valid() })
    }
}

//! From a batch to its clipped gradient: the part that private and non-private trainings share.

use burn::tensor::{Device, Tensor};
use dp_core::mechanism::ParameterGradient;
use dp_core::per_sample::{LANES, LayerError, refuse_mixing};
use dp_core::sampling::Sampler;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::engine::{Engine, Pass};
use crate::ranks::Shared;
use crate::{
    Batch, BatchSizes, Clipped, Loss, Network, Objective, StepLosses, StepObjective, TrainingError,
};

/// The default cap, in bytes, on layer gradients that are formed record by record.
const FORMED: usize = 1 << 30;

/// Computes the gradients of an objective, batch after batch, by the engine that suits the network.
///
/// [`crate::Training`] uses it. By itself it serves a loop with your own releaser and ledger, or a loop without privacy.
pub struct Gradients {
    objective: Objective,
    public_rng: ChaCha20Rng,
    asked: Option<Engine>,
    memory: Option<usize>,
    used: Option<Engine>,
    notes: Vec<String>,
    /// Whether clipping norms may adapt.
    counts: bool,
    /// The dimensions of activations, once the network has been checked.
    dims: Option<Vec<usize>>,
}

impl Gradients {
    /// Creates the gradients of `objective`, with public randomness from seed 0.
    pub fn new(objective: Objective) -> Self {
        Self {
            objective,
            public_rng: ChaCha20Rng::seed_from_u64(0),
            asked: None,
            memory: None,
            used: None,
            notes: Vec::new(),
            counts: false,
            dims: None,
        }
    }

    /// Sets the engine of the steps; by default the fastest one that supports the network.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.asked = Some(engine);
        self
    }

    /// Caps the memory, in bytes, of activations and cotangents: see [`crate::TrainingConfig::memory`].
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Returns the objective.
    pub fn objective(&self) -> &Objective {
        &self.objective
    }

    /// Returns the generator of public randomness, which samples the slices of penalties and points of their distributions.
    pub fn public_rng(&mut self) -> &mut ChaCha20Rng {
        &mut self.public_rng
    }

    /// Returns the engine of the last step, or `None` before the first.
    pub fn used(&self) -> Option<Engine> {
        self.used
    }

    /// Returns sentences that say why steps are slower, or take fewer records at once, than they could.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the clipped gradient of a batch, to be tied to its draw, and the losses, which are **not private**.
    ///
    /// # Errors
    ///
    /// A network that mixes records or whose layers lack some of its parameters, shapes that do not fit, or a device that gives
    /// no answer for one record.
    pub fn clipped<const D: usize>(
        &mut self,
        network: &impl Network<D>,
        batch: &Batch<D>,
        sampler: &Sampler,
    ) -> Result<(Clipped, StepLosses), TrainingError> {
        self.clipped_over(network, batch, sampler.into(), None)
    }

    /// [`Gradients::clipped`] at the root of several ranks.
    pub(crate) fn clipped_over<const D: usize>(
        &mut self,
        network: &impl Network<D>,
        batch: &Batch<D>,
        sizes: BatchSizes,
        mut shared: Option<Shared>,
    ) -> Result<(Clipped, StepLosses), TrainingError> {
        let step = self.prepare(network, batch, sizes)?;
        if let Some(shared) = &mut shared {
            shared.agree(Some(step.parts_upper()))?;
        }
        let (shared, device) = (shared.as_ref(), device_of(network, batch));
        self.fitting_chunks(shared, |engine| {
            step.clipped_over(network, batch, engine, &device, shared)
        })
    }

    /// Returns the ordinary gradient of a batch, which is not clipped and **not private**, and the losses.
    ///
    /// # Errors
    ///
    /// The same as for [`Gradients::clipped`].
    pub fn without_privacy<const D: usize>(
        &mut self,
        network: &impl Network<D>,
        batch: &Batch<D>,
    ) -> Result<(ParameterGradient, StepLosses), TrainingError> {
        self.without_privacy_over(network, batch, None)
    }

    /// [`Gradients::without_privacy`] at the root of several ranks.
    pub(crate) fn without_privacy_over<const D: usize>(
        &mut self,
        network: &impl Network<D>,
        batch: &Batch<D>,
        shared: Option<Shared>,
    ) -> Result<(ParameterGradient, StepLosses), TrainingError> {
        let shared = shared.as_ref();
        let sizes = shared.map_or_else(|| batch.sizes(), |shared| shared.sizes().to_vec());
        let step = self.prepare(network, batch, BatchSizes::Fixed(sizes))?;
        let device = device_of(network, batch);
        self.fitting_chunks(shared, |engine| {
            let pass = Pass::new(&step, batch, false).over(shared);
            pass.run(network, engine, &device)
        })
    }

    /// Adds the records of this rank, which is not the root, to the sum of all ranks. They are clipped if there is a plan, which
    /// gives the batch sizes.
    pub(crate) fn serve<const D: usize>(
        &mut self,
        network: &impl Network<D>,
        batch: &Batch<D>,
        planned: Option<BatchSizes>,
        mut shared: Shared,
    ) -> Result<(), TrainingError> {
        let clip = planned.is_some();
        let sizes = planned.unwrap_or_else(|| BatchSizes::Fixed(shared.sizes().to_vec()));
        if self.dims.is_none() {
            self.dims = self.tried(network, batch)?;
        }
        let step = StepObjective {
            counts: self.counts,
            ..self.objective.of_rank(sizes)?
        };
        shared.agree(None)?;
        let (shared, device) = (Some(&shared), device_of(network, batch));
        self.fitting_chunks(shared, |engine| {
            let pass = Pass::new(&step, batch, clip).over(shared);
            pass.run(network, engine, &device).map(drop)
        })
    }

    /// The public part of a step; before the first one, the network is checked.
    fn prepare<const D: usize>(
        &mut self,
        network: &impl Network<D>,
        batch: &Batch<D>,
        sizes: BatchSizes,
    ) -> Result<StepObjective, TrainingError> {
        if self.dims.is_none() {
            self.dims = self.tried(network, batch)?;
        }
        let dims = match &self.dims {
            Some(dims) => dims.clone(),
            None => dimensions(network, batch)?,
        };
        let step = self
            .objective
            .draw_for(&dims, sizes, &mut self.public_rng)?;
        Ok(StepObjective {
            counts: self.counts,
            ..step
        })
    }

    /// Appends to clipped gradients, from now on, a count for each loss with an adaptive clipping norm.
    pub(crate) fn count(&mut self) {
        self.counts = true;
    }

    /// The losses with adaptive clipping norms, for the next step.
    pub(crate) fn adaptive(&mut self) -> impl Iterator<Item = &mut Loss> {
        self.objective.adaptive()
    }

    /// Sets the adaptive clipping norms.
    pub(crate) fn set_max_grad_norms(&mut self, norms: &[f64]) {
        for (loss, &norm) in self.adaptive().zip(norms) {
            loss.max_grad_norm = norm;
        }
    }

    /// Adapts clipping norms by the noisy counts of a step, each of which was multiplied by `scale`.
    pub(crate) fn adapt(&mut self, counts: &[f32], scale: f64, sizes: &BatchSizes) {
        for (loss, &count) in self.adaptive().zip(counts) {
            let share = 0.5 + f64::from(count) / scale / sizes.records(loss);
            let adaptive = loss.adaptive;
            let after = adaptive.map(|adaptive| adaptive.after(loss.max_grad_norm, share));
            loss.max_grad_norm = after.unwrap_or(loss.max_grad_norm);
        }
    }

    /// Checks the network and returns the dimensions of its activations. An empty batch, which Poisson sampling may give, shows
    /// nothing, so the next batch is checked. The engine, and so the noise, does not depend on whether a batch is empty.
    fn tried<const D: usize>(
        &mut self,
        network: &impl Network<D>,
        batch: &Batch<D>,
    ) -> Result<Option<Vec<usize>>, TrainingError> {
        if batch.records() == 0 {
            self.choose(network, batch)?;
            return Ok(None);
        }
        refuse_mixing(network)?;
        if let Some(layers) = network.layers().known()? {
            layers.check_all_of(network)?;
        }
        self.choose(network, batch)?;
        Ok(Some(dimensions(network, batch)?))
    }

    /// Returns the fastest engine that supports the network on a device; the number of records at once may still change.
    ///
    /// # Errors
    ///
    /// Layers that do not fit each other.
    pub fn engine_for<const D: usize>(
        &mut self,
        network: &impl Network<D>,
        device: &Device,
    ) -> Result<Engine, TrainingError> {
        let wanted = self.asked.unwrap_or(Engine::for_device(device));
        let furthest = self
            .objective
            .penalties()
            .iter()
            .map(|p| p.term.activation)
            .max();
        let layers = network.layers().known()?;
        let mut engine = match (&layers, furthest) {
            (None, _) if wanted != Engine::Autodiff => {
                self.note(
                    "the network is no chain of layers: each record goes through autodiff alone",
                );
                Engine::Autodiff
            }
            (Some(_), Some(1..)) if wanted != Engine::Autodiff => {
                self.note(
                    "layers have one activation, and a penalty looks at another: each record goes \
                     through autodiff alone",
                );
                Engine::Autodiff
            }
            _ => wanted,
        };
        if let (Some(layers), Engine::Host { chunk }) = (&layers, engine) {
            let on_tensors = match layers.host_bytes(&self.objective) {
                Err(LayerError::NoHostKernels { layer }) => {
                    Some(format!("layer {layer} has no host kernels"))
                }
                Err(other) => return Err(other.into()),
                Ok(each) => self.memory.and_then(|bytes| {
                    let most = bytes / (each * rayon::current_num_threads()).max(1);
                    // Host kernels take eight records side by side, even if there are fewer.
                    let chunk = chunk.min(most - most % LANES);
                    engine = Engine::Host { chunk };
                    (chunk == 0).then(|| format!("{bytes} bytes are too few for host kernels"))
                }),
            };
            if let Some(reason) = on_tensors {
                self.note(&format!("{reason}: all layers run on tensors"));
                engine = Engine::Tensor { chunk: 100 };
            }
        }
        Ok(engine)
    }

    /// Chooses the engine of all steps, within the memory that it may take.
    fn choose<const D: usize>(
        &mut self,
        network: &impl Network<D>,
        batch: &Batch<D>,
    ) -> Result<(), TrainingError> {
        let mut engine = self.engine_for(network, &device_of(network, batch))?;
        if let (Some(layers), Engine::Tensor { chunk }, 1..) =
            (network.layers().known()?, engine, batch.records())
            && (self.memory.is_some() || layers.formed())
        {
            let each = layers.bytes(&self.objective, batch.flat().inputs().clone());
            let chunk = match self.memory {
                Some(bytes) if each > bytes => {
                    return Err(TrainingError::OutOfRange {
                        name: "the cap on memory, in bytes",
                        value: bytes as f64,
                        bound: format!("at least the {each} of one record"),
                    });
                }
                Some(bytes) => bytes / each.max(1),
                // Gradients that are formed record by record are kept until their weights are known.
                None => chunk.min((FORMED / each.max(1)).max(1)),
            };
            engine = Engine::Tensor { chunk };
        }
        self.used = Some(engine);
        Ok(())
    }

    /// Notes a sentence once.
    fn note(&mut self, sentence: &str) {
        if !self.notes.iter().any(|note| note == sentence) {
            self.notes.push(sentence.to_string());
        }
    }

    /// Runs a step, in smaller chunks if the device has too little memory for larger ones.
    fn fitting_chunks<T>(
        &mut self,
        shared: Option<&Shared>,
        mut step: impl FnMut(Engine) -> Result<T, TrainingError>,
    ) -> Result<T, TrainingError> {
        let mut engine = self.used.unwrap_or(Engine::Autodiff);
        if let Some(shared) = shared {
            // Other ranks are in the middle of the step, so it is not tried again.
            return step(match shared.ordered() {
                true => engine.by_record(),
                false => engine,
            });
        }
        let notes = &mut self.notes;
        let done = engine.retry_in_smaller_chunks(
            |failure, next| notes.push(format!("{failure}: {next} records at once from now on")),
            step,
        );
        self.used = Some(engine);
        done
    }
}

/// The device of a network, or of the batch if the network has no parameters.
fn device_of<const D: usize>(network: &impl Network<D>, batch: &Batch<D>) -> Device {
    let devices = network.devices();
    let device = devices.into_iter().next();
    device.unwrap_or_else(|| batch.inputs().device())
}

/// The dimension of each activation, computed from the first record, or from one of zeros if the batch is empty.
fn dimensions<const D: usize>(
    network: &impl Network<D>,
    batch: &Batch<D>,
) -> Result<Vec<usize>, TrainingError> {
    let inputs = batch.inputs().clone().without_autodiff();
    let one = match batch.records() {
        0 => {
            let mut shape = inputs.dims();
            shape[0] = 1;
            Tensor::zeros(shape, &inputs.device())
        }
        _ => inputs.narrow(0, 0, 1),
    };
    let forward = network.valid().forward(one)?;
    let activations = forward.activations.iter();
    Ok(activations.map(|activation| activation.dims()[1]).collect())
}

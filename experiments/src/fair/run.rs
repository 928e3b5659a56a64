//! The state of a run.

use burn::module::Module;
use burn::optim::SgdConfig;
use dp_core::delta::loose_delta;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoiseSource, Releaser};
use dp_core::plan::CheckedPlan;
use dp_core::sampling::GroupSampler;
use lab::backend::{Chosen, say_notes};
use lab::diagnostic::Failure;
use model::adam::ModuleAdam;
use model::ema::Ema;
use private_training::{Engine, Gradients, GroupSizes, StepLosses};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::network::Network;
use super::settings::{Optimizer, Settings};
use super::table::{Tables, batch};

/// A run between its start and its report.
pub struct Run {
    /// The settings.
    pub settings: Settings,
    /// Where it computes.
    pub chosen: Chosen,
    /// Private and public records.
    pub tables: Tables,
    /// Where other runs use the same records otherwise, in words.
    pub elsewhere: Vec<String>,
    /// Where batches come from.
    pub sampler: GroupSampler,
    /// The weights.
    pub network: Network,
    /// Their average.
    pub ema: Option<Ema>,
    /// The optimizer.
    pub optimizer: ModuleAdam,
    /// The objective's gradients, with its public randomness: slices.
    pub gradients: Gradients,
    /// Batches of a run without privacy.
    pub plain: ChaCha20Rng,
    /// The promise, with its noise; none without privacy.
    pub releaser: Option<Releaser>,
    /// Steps done.
    pub step: u64,
    /// Seconds of training so far.
    pub seconds: f64,
    said: usize,
}

impl Run {
    /// A run before its first step.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the operating system gives no randomness.
    pub fn new(
        settings: Settings,
        chosen: Chosen,
        tables: Tables,
        sampler: GroupSampler,
        plan: Option<CheckedPlan>,
        elsewhere: Vec<String>,
    ) -> Result<Self, Failure> {
        let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
        let width = tables.train.width();
        let network = Network::new(&settings, width, &mut public, &chosen.device);
        let ema = settings.ema.map(Ema::new).transpose();
        // As the noise source without a secret, so that runs of one seed share their batches.
        let seed = settings.insecure_noise_seed.unwrap_or(settings.seed);
        let noise = match settings.insecure_noise_seed {
            Some(seed) => NoiseSource::insecure(seed),
            None => NoiseSource::secret().map_err(Failure::run)?,
        };
        let engine = match Engine::for_device(&chosen.device) {
            // Small layers: a chunk has to be large to be worth its overhead.
            Engine::Host { .. } => Engine::Host { chunk: 64 },
            _ => Engine::Tensor { chunk: 1000 },
        };
        let mut gradients = Gradients::new(settings.objective()?).engine(engine);
        *gradients.public() = public;
        Ok(Self {
            gradients,
            said: 0,
            ema: ema.map_err(Failure::run)?,
            optimizer: ModuleAdam::default(),
            plain: NoiseSource::insecure(seed).rng().clone(),
            releaser: plan.map(|plan| plan.releaser(noise)),
            step: 0,
            seconds: 0.0,
            settings,
            chosen,
            tables,
            elsewhere,
            sampler,
            network,
        })
    }

    /// The promise; none without privacy.
    pub fn plan(&self) -> Option<&CheckedPlan> {
        self.releaser.as_ref().map(Releaser::plan)
    }

    /// What the plan's delta leaves open, where that is much.
    pub fn note(&self) -> Option<String> {
        let delta = self.plan()?.delta();
        loose_delta(delta, self.tables.train.len() as f64)
    }

    /// The sensitivity of a step, and the published one.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where it is refused.
    pub fn sensitivities(&mut self) -> Result<(f64, f64), Failure> {
        // A draw of its own, so that the public stream of the run does not depend on a message.
        let (mut objective, mut public) = (
            self.gradients.objective().clone(),
            self.gradients.public().clone(),
        );
        let sizes = GroupSizes::Fixed(self.sampler.batches());
        let dims = [self.settings.task.penalised()];
        let step = objective.draw(&dims, sizes, &mut public);
        let step = step.map_err(Failure::run)?;
        let own = step.sensitivity().map_err(Failure::run)?;
        Ok((own.l2_upper(), step.published_sensitivity_upper()))
    }

    /// Sample, gradient, release, update. The losses are those of a run without privacy.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the ledger cannot be written; nothing has left then.
    pub fn one_step(&mut self, ledger: &mut Ledger) -> Result<Option<StepLosses>, Failure> {
        let device = &self.chosen.device;
        let batch =
            |drawn: &[Vec<usize>]| batch(&self.tables.train, self.settings.task, drawn, device);
        let (gradients, losses) = match &mut self.releaser {
            Some(releaser) => {
                let draw = releaser.draw().map_err(Failure::run)?;
                let batch = batch(draw.groups())?;
                let sizes = GroupSizes::Fixed(self.sampler.batches());
                let (clipped, _) = self
                    .gradients
                    .clipped(&self.network, &batch, sizes)
                    .map_err(Failure::run)?;
                let bounded = clipped.of(draw).map_err(Failure::run)?;
                let released = releaser.release(bounded, ledger).map_err(Failure::run)?;
                (released.into_params(), None)
            }
            None => {
                let batch = batch(&self.sampler.sample(&mut self.plain))?;
                let (gradient, losses) = self
                    .gradients
                    .without_privacy(&self.network, &batch)
                    .map_err(Failure::run)?;
                (gradient.into_params_without_privacy(), Some(losses))
            }
        };
        self.said = say_notes(&self.gradients, self.said);
        let rate = self.settings.rate(self.step);
        let network = self.network.clone();
        self.network = match self.settings.optimizer {
            Optimizer::Adam => self.optimizer.step(rate, network, gradients),
            Optimizer::Sgd => {
                let sgd = &mut SgdConfig::new().init();
                sgd.step(rate, network.train(), gradients).valid()
            }
        };
        if let Some(ema) = &mut self.ema {
            ema.update(&self.network);
        }
        Ok(losses)
    }

    /// The network that is scored and kept.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] for an average of another size.
    pub fn evaluated(&self) -> Result<Network, Failure> {
        match &self.ema {
            Some(ema) => ema.apply(self.network.clone()).map_err(Failure::run),
            None => Ok(self.network.clone()),
        }
    }
}

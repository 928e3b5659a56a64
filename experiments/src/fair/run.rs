//! The state of a run.

use burn::tensor::Device;
use dp_core::delta::loose_delta;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoiseSource, Releaser};
use dp_core::plan::CheckedPlan;
use dp_core::sampling::GroupSampler;
use lab::backend::{Chosen, fewer_at_once};
use lab::diagnostic::Failure;
use model::adam::ModuleAdam;
use model::descent::descend;
use model::ema::Ema;
use model::fairness::{
    Engine, Parity, StepLosses, bounded_gradient, paper_sensitivity, plain_gradient, sensitivity,
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::Slices;

use super::network::Network;
use super::settings::{Notion, Optimizer, Settings};
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
    /// Slices.
    pub public: ChaCha20Rng,
    /// Batches of a run without privacy.
    pub plain: ChaCha20Rng,
    /// The promise, with its noise; none without privacy.
    pub releaser: Option<Releaser>,
    /// Steps done.
    pub step: u64,
    /// Seconds of training so far.
    pub seconds: f64,
    engine: Engine,
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
        Ok(Self {
            engine: match Engine::for_device(&chosen.device) {
                // Small layers: a chunk has to be large to be worth its overhead.
                Engine::Host { .. } => Engine::Host { chunk: 64 },
                Engine::Tensor { .. } => Engine::Tensor { chunk: 1000 },
            },
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
            public,
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

    /// The penalty of the next step, with fresh slices.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where it is refused.
    pub fn parity(&mut self) -> Result<Parity, Failure> {
        let d = self.settings.task.penalised();
        let slices =
            Slices::tight(d, self.settings.slices, &mut self.public).map_err(Failure::run)?;
        let sizes = self.sampler.batches();
        let parity = match self.settings.notion {
            Notion::Sp => Parity::statistical([sizes[0], sizes[1]], slices),
            Notion::Eo => {
                let (pairs, _) = sizes.as_chunks::<2>();
                Parity::odds(pairs, slices)
            }
        }
        .map_err(Failure::run)?;
        Ok(if self.settings.paper_sensitivity {
            parity.with_paper_sensitivity()
        } else {
            parity
        })
    }

    /// The sensitivity of a step, and the paper's.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where it is refused.
    pub fn sensitivities(&mut self) -> Result<(f64, f64), Failure> {
        // A draw of its own, so that the public stream of the run does not depend on a message.
        let public = self.public.clone();
        let parity = self.parity()?;
        self.public = public;
        let objective = self.settings.objective()?;
        let own = sensitivity(&objective, &parity).map_err(Failure::run)?;
        Ok((own.l2_upper(), paper_sensitivity(&objective, &parity)))
    }

    /// Sample, gradient, release, update. The losses are those of a run without privacy.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the ledger cannot be written; nothing has left then.
    pub fn one_step(&mut self, ledger: &mut Ledger) -> Result<Option<StepLosses>, Failure> {
        let objective = self.settings.objective()?;
        let parity = self.parity()?;
        let batch = |drawn: &[Vec<usize>]| batch(&self.tables.train, self.settings.task, drawn);
        let device: &Device = &self.chosen.device;
        let terms = (self.settings.task.loss(), &parity);
        let stages = self.network.stages();
        let (gradients, losses) = match &mut self.releaser {
            Some(releaser) => {
                let draw = releaser.draw().map_err(Failure::run)?;
                let batch = batch(draw.groups())?;
                let (clipped, _) = self
                    .engine
                    .carry(fewer_at_once, |engine| {
                        bounded_gradient(&stages, &batch, terms, &objective, engine, device)
                    })
                    .map_err(Failure::run)?;
                let bounded = clipped.of(draw).map_err(Failure::run)?;
                let released = releaser.release(bounded, ledger).map_err(Failure::run)?;
                (released.into_params(), None)
            }
            None => {
                let batch = batch(&self.sampler.sample(&mut self.plain))?;
                let (gradient, losses) = self
                    .engine
                    .carry(fewer_at_once, |engine| {
                        plain_gradient(&stages, &batch, terms, &objective, engine, device)
                    })
                    .map_err(Failure::run)?;
                (gradient.into_params_without_privacy(), Some(losses))
            }
        };
        let rate = self.settings.rate(self.step);
        let network = self.network.clone();
        self.network = match self.settings.optimizer {
            Optimizer::Adam => self.optimizer.step(rate, network, gradients),
            Optimizer::Sgd => descend(rate, network, gradients),
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

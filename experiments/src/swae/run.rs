//! The state of a run, and what it says before it starts.

use std::sync::Arc;

use data::Dataset;
use dp_core::delta::loose_delta;
use dp_core::mechanism::{NoiseSource, Releaser};
use dp_core::plan::CheckedPlan;
use lab::backend::Chosen;
use lab::diagnostic::Failure;
use lab::report::upper;
use model::adam::ModuleAdam;
use model::ema::Ema;
use model::swae::{Swae, SwaeConfig, framework_initialisation};
use private_training::{Gradients, GroupSizes, StepObjective};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::not_private::not_private;

use super::Settings;
use super::batches::Batches;
use super::plan::neighbours;
use super::settings::Initialisation;

/// A run between its start and its report.
pub struct Run {
    /// The settings.
    pub settings: Settings,
    /// Where it computes.
    pub chosen: Chosen,
    /// Private training records and public test records.
    pub data: Arc<Dataset>,
    /// Where other runs use the same records otherwise, in words.
    pub elsewhere: Vec<String>,
    /// Where batches come from.
    pub batches: Batches,
    /// The weights.
    pub model: Swae,
    /// Their average.
    pub ema: Option<Ema>,
    /// The optimizer.
    pub optimizer: ModuleAdam,
    /// The objective's gradients, with its public randomness: slices and prior samples.
    pub gradients: Gradients,
    /// Notes of theirs that have been said.
    pub said: usize,
    /// Batches of a run without privacy.
    pub plain: ChaCha20Rng,
    /// The promise, with its noise; none without privacy.
    pub releaser: Option<Releaser>,
    /// Steps done.
    pub step: u64,
    /// Seconds of training so far.
    pub seconds: f64,
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
        data: Dataset,
        batches: Batches,
        plan: Option<CheckedPlan>,
        elsewhere: Vec<String>,
    ) -> Result<Self, Failure> {
        let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
        let config = SwaeConfig {
            latent: settings.latent,
            classes: if settings.conditional {
                data.train.classes()
            } else {
                0
            },
        };
        let mut model = config.init(&mut public, &chosen.device);
        if settings.initialisation == Initialisation::Framework {
            model = framework_initialisation(model, &mut public);
        }
        let ema = settings
            .ema
            .map(Ema::new)
            .transpose()
            .map_err(Failure::run)?;
        let mut plain = ChaCha20Rng::seed_from_u64(settings.seed);
        plain.set_stream(1);
        let noise = match settings.insecure_noise_seed {
            Some(seed) => NoiseSource::insecure(seed),
            None => NoiseSource::secret().map_err(Failure::run)?,
        };
        let mut gradients = Gradients::new(settings.objective()?);
        *gradients.public() = public;
        Ok(Self {
            gradients,
            said: 0,
            optimizer: ModuleAdam::default(),
            settings,
            chosen,
            data: Arc::new(data),
            elsewhere,
            batches,
            model,
            ema,
            plain,
            releaser: plan.map(|plan| plan.releaser(noise)),
            step: 0,
            seconds: 0.0,
        })
    }

    /// The promise; none without privacy.
    pub fn plan(&self) -> Option<&CheckedPlan> {
        self.releaser.as_ref().map(Releaser::plan)
    }

    /// A step's public side, drawn from a copy of the public stream: the run does not depend on it.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the transport refuses.
    pub fn sample_step(&mut self) -> Result<StepObjective, Failure> {
        let (mut objective, mut public) = (
            self.gradients.objective().clone(),
            self.gradients.public().clone(),
        );
        let sizes = GroupSizes::Fixed(self.batches.matched());
        let dims = [self.settings.latent];
        objective
            .draw(&dims, sizes, &mut public)
            .map_err(Failure::run)
    }

    /// Says what will be done and what it promises, before anything is done.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the sensitivity is refused.
    pub fn announce(&mut self) -> Result<(), Failure> {
        println!(
            "data      {}: {} private records, {} test records (public)",
            self.data.name,
            self.data.train.len(),
            self.data.test.len()
        );
        println!("device    {}", self.chosen.description);
        println!(
            "steps     {} on batches of {}",
            self.settings.steps, self.settings.batch
        );
        let Some(plan) = self.plan() else {
            println!("privacy   NONE: --no-privacy trains without clipping and without noise");
            return Ok(());
        };
        println!(
            "privacy   {}epsilon {} at delta {}; neighbours: {}; accountant: {}",
            not_private(self.settings.insecure_noise_seed, None).unwrap_or_default(),
            upper(plan.epsilon_upper()),
            upper(plan.delta()),
            neighbours(plan.neighbours()),
            plan.accountant()
        );
        println!("noise     multiplier {}", plan.noise_multiplier());
        let step = self.sample_step()?;
        let n = self.settings.batch as f64;
        let ours = step.sensitivity().map_err(Failure::run)?.l2_upper() * n;
        let paper = step.published_sensitivity_upper() * n;
        println!(
            "step      batch times sensitivity {} (the paper's bound: {}, ratio {})",
            upper(ours),
            upper(paper),
            upper(ours / paper)
        );
        if let Some(note) = self.note() {
            println!("note      {note}");
        }
        Ok(())
    }

    /// What the plan's delta leaves open, where that is much.
    pub fn note(&self) -> Option<String> {
        let delta = self.plan()?.delta();
        loose_delta(delta, self.data.train.len() as f64)
    }

    /// The weights that are evaluated and kept.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the average does not fit the model.
    pub fn evaluated(&self) -> Result<Swae, Failure> {
        match &self.ema {
            Some(ema) => ema.apply(self.model.clone()).map_err(Failure::run),
            None => Ok(self.model.clone()),
        }
    }
}

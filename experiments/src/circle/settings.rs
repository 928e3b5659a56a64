//! A run's settings: the method's preset, then flags, then checks; and what they promise each side.

use dp_core::accounting::{Event, PldAccountant, noise_multiplier_for};
use dp_core::delta::default_delta;
use dp_core::per_sample::JacobianClip;
use dp_core::plan::{Noise, TrainingPlan};
use dp_core::sampling::{BatchSampler, FixedSizeSampler, GroupSampler};
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{
    self, Arguments, Basics, Ends, Part, bounded, budget_name, by_name, norm, refused_plan, within,
};
use private_training::penalty::ToSample;
use private_training::{Clipping, Objective, Penalty};
use serde::{Deserialize, Serialize};
use swd::Cost;

use crate::objective::{Preset, refused};

/// Whose points are private.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Protect {
    /// The points that the network is fed.
    Source,
    /// The points of the circle.
    Target,
}

lab::settings! {
    /// What both methods have.
    struct Shared, SharedFlags;
    common {
        records: usize, epsilon: Option<f64>, delta: Option<f64>, steps: u64, learning_rate: f64,
        slices: usize, seed: u64, insecure_noise_seed: Option<u64>,
    }
    preset {
        /// The method, by its name.
        method: String,
    }
    flags {
        /// Points of each side in a batch, or of the circle in the one sub-sample.
        batch: usize,
        /// The share of the learning rate that is left at the last step; it falls along a line.
        final_rate: f64,
        /// M: the public bound on points, generated and of the circle.
        clip_activation: f64,
    }
    optional {
        /// Score, and keep, an exponential moving average of the weights with this decay: free of budget.
        ema: f64,
    }
}

lab::settings! {
    /// The gradient of the sliced distance is private, its activations and Jacobians clipped.
    struct Gradients, GradientsFlags;
    common {}
    flags {
        /// Whose budget --epsilon is: the `target`, the circle, or the `source` that is fed, which costs more than twice it.
        #[flag(value_enum)]
        protect: Protect,
        /// How Jacobians are clipped: by `rows` as in the paper, or `spectral`, by singular values.
        #[flag(value_parser = by_name::<JacobianClip>)]
        clip: JacobianClip,
        /// L: the bound on Jacobians.
        clip_jacobian: f64,
        /// What moving a point costs: `square`, `huber:T`, `log-cosh:T`, `pseudo-huber:T`, or `power:P` from 2 to 16.
        #[setting(default = "square")]
        cost: String,
    }
    switches {
        /// Where values that no flag gives come from: `assets/circle`, `gradients.toml` or `paper.toml`.
        #[arg(long, value_enum, default_value = "tuned")]
        preset: Preset,
    }
}

lab::settings! {
    /// The distance is private: noisy projections of one sub-sample of the circle, released once.
    struct Smoothed, SmoothedFlags;
    common {}
    flags {
        /// Combine the noisy projections of a point (not part of the published baseline).
        #[flag(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        #[setting(default)]
        combine: bool,
    }
}

lab::settings! {
    parts <M: Method> {
        /// The method's own.
        own: M,
        /// What both methods have.
        shared: Shared,
    }
}

/// What is private of a step, by the settings that it alone has.
pub(crate) trait Method: Part {
    /// Its name on the command line.
    const NAME: &'static str;
    /// What it does, for `--help`.
    const ABOUT: &'static str;

    /// The values that no flag gives.
    fn preset(flags: &Self::Flags) -> &'static str;
}

impl Method for Gradients {
    const NAME: &'static str = "gradients";
    const ABOUT: &'static str = "Follow private gradients of the sliced distance to the circle";

    fn preset(flags: &GradientsFlags) -> &'static str {
        match flags.preset {
            Preset::Tuned => include_str!("../../../assets/circle/gradients.toml"),
            Preset::Paper => include_str!("../../../assets/circle/paper.toml"),
        }
    }
}

impl Method for Smoothed {
    const NAME: &'static str = "smoothed";
    const ABOUT: &'static str = "Follow the smoothed distance to one private release of the circle";

    fn preset(_: &SmoothedFlags) -> &'static str {
        include_str!("../../../assets/circle/smoothed.toml")
    }
}

impl Gradients {
    fn cost(&self) -> Result<Cost, Failure> {
        let help = "choose another cost";
        let cost: Cost = self
            .cost
            .parse()
            .map_err(|e| Failure::input(format!("--cost: {e}"), help))?;
        let whole = !matches!(cost, Cost::Power(p) if p < 2.0);
        bounded(
            "cost",
            cost,
            whole,
            "a power of at least 2: the circle's points are private",
        )?;
        Ok(cost)
    }

    /// The distance to the circle with its clipping; a constant that is refused is named.
    pub(super) fn objective(&self, shared: &Shared, share: f64) -> Result<Objective, Failure> {
        let clipping = Clipping {
            activation: shared.clip_activation,
            jacobian: self.clip_jacobian,
            mode: self.clip,
        };
        let distance = Penalty::to_private_sample(share).slices(shared.slices);
        let distance = distance.cost(self.cost()?);
        let objective = Objective::default().penalty(distance.clipping(clipping));
        objective.check().map_err(refused)?;
        Ok(objective)
    }
}

fn square() -> String {
    Cost::Square.to_string()
}

impl<M: Method> Settings<M> {
    /// The settings of private gradients, where the steps are such.
    pub(super) fn gradients(&self) -> Option<&Gradients> {
        self.own.get()
    }

    /// What draws the private points of a step: of both sides by private gradients, of the circle otherwise.
    pub(super) fn sampler(&self) -> Result<BatchSampler, Failure> {
        let (n, batch) = (self.shared.records, self.shared.batch);
        match self.gradients() {
            Some(_) => {
                let sides = vec![(0..n).collect(), (n..2 * n).collect()];
                GroupSampler::new(sides, &[batch, batch]).map(Into::into)
            }
            None => FixedSizeSampler::new(n, batch).map(Into::into),
        }
        .or_failed()
    }

    /// How much less a point of the circle moves a step than what is declared.
    pub(super) fn share(&self) -> Result<f64, Failure> {
        let batch = self.shared.batch;
        match self.gradients() {
            Some(own) => {
                let radius = self.shared.clip_activation;
                ToSample::share(own.cost()?, radius, 2, batch, batch).or_failed()
            }
            None => Ok(1.0),
        }
    }

    /// Releases after `step` steps of a run that was never killed.
    pub(super) fn planned(&self, step: u64) -> u64 {
        self.gradients().map_or(1, |_| step)
    }

    /// So many releases as they reach a point of the circle, where those of the source have multiplier `z`.
    pub(super) fn event_of_target(&self, share: f64, z: f64, releases: u64) -> Event {
        let (n, batch) = (self.shared.records as u64, self.shared.batch as u64);
        Event::dp_sgd(n, batch, releases, z / share)
    }

    /// The plan, by the budget of the side that it is of; none without privacy.
    pub(super) fn plan(&self) -> Result<Option<TrainingPlan>, Failure> {
        let Some(epsilon) = self.shared.epsilon else {
            return Ok(None);
        };
        let (sampler, releases) = (self.sampler()?, self.planned(self.shared.steps));
        // Of private points: of both sides by private gradients.
        let few = default_delta(sampler.presumed_records());
        let delta = self.shared.delta.unwrap_or(few);
        let mut plan = TrainingPlan::within(epsilon, delta, releases, sampler);
        if let Some(Protect::Target) = self.gradients().map(|own| own.protect) {
            let share = self.share()?;
            let event = |z| self.event_of_target(share, z, releases);
            let noise = noise_multiplier_for(&PldAccountant::default(), epsilon, delta, event);
            plan.noise = Noise::Multiplier(noise.map_err(|e| refused_plan(e.into()))?);
        }
        Ok(Some(plan))
    }
}

impl<M: Method> session::Settings for Settings<M> {
    type Flags = Flags<M>;

    fn resolve(arguments: &Arguments<Flags<M>>) -> Result<Self, Failure> {
        arguments.over(M::preset(&arguments.own.own))
    }

    fn name(&self) -> String {
        format!("{}-{}", M::NAME, budget_name(self.shared.epsilon))
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.shared.insecure_noise_seed
    }

    fn check(&self) -> Result<(), Failure> {
        let shared = &self.shared;
        lab::basics!(shared).check()?;
        Basics::check_batch(shared.batch, shared.records)?;
        within("final-rate", shared.final_rate, 0.0, 1.0, Ends::BOTH)?;
        norm("clip-activation", shared.clip_activation)?;
        let slices = shared.slices;
        bounded("slices", slices, slices > 1, "at least 2, the dimension")?;
        let objective = self.gradients().map(|own| own.objective(shared, 1.0));
        objective.transpose().map(drop)
    }
}

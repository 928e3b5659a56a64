//! A run's settings: preset, then flags, then checks.

use data::DatasetKind;
use dp_core::per_sample::JacobianClip;
use lab::diagnostic::Failure;
use lab::session::{
    self, Arguments, Ends, bounded, budget_name, by_name, positive, text_in, within,
};
use private_training::{Clipping, Loss, Objective, Penalty, Prior};
use serde::{Deserialize, Serialize};

use crate::objective::{refused, weight};
use crate::records::kind;

use super::report::Judging;
use super::start;
use crate::variation::Variation;

/// The presets in `assets/swae`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PresetName {
    /// A few minutes on two cores.
    Quick,
    /// The settings of Rodriguez-Vitores, Lalanne and Loubes 2025 (arXiv 2502.01701), section 6.
    Paper,
    /// From public weights, with private marginals of the latents as the sampler.
    Tuned,
}

impl PresetName {
    fn text(self) -> &'static str {
        match self {
            Self::Quick => include_str!("../../../assets/swae/quick.toml"),
            Self::Paper => include_str!("../../../assets/swae/paper.toml"),
            Self::Tuned => include_str!("../../../assets/swae/tuned.toml"),
        }
    }
}

/// What a conditional model is sampled by, after its training.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SampledBy {
    /// A Gaussian of each class, from released moments.
    #[default]
    Moments,
    /// Particles of each class, from released moments and marginals.
    Marginals,
}

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        records: Option<usize>, epsilon: Option<f64>, delta: Option<f64>, steps: u64, learning_rate: f64, slices: usize,
        seed: u64, insecure_noise_seed: Option<u64>,
    }
    preset {
        /// Labels at the decoder.
        conditional: bool,
    }
    flags {
        /// Data set: mnist, fashion-mnist or usps, or glyphs, which needs no file.
        #[setting(default = "glyphs")]
        dataset: String,
        /// Records in a batch, sampled afresh without replacement.
        batch: usize,
        /// Weight of the transport term, between 0 and 1.
        alpha: f64,
        /// Dimension of the latent space.
        latent: usize,
        /// How record Jacobians are clipped: `rows` or `spectral`.
        #[flag(value_parser = by_name::<JacobianClip>)]
        clip: JacobianClip,
        /// M: radius of the ball onto which latents are projected.
        clip_activation: f64,
        /// L: spectral norm of record Jacobians.
        clip_jacobian: f64,
        /// C: norm of record reconstruction gradients.
        max_grad_norm: f64,
        /// Steps of 100 synthetic records that the weights start from: `--start-from public` alone.
        #[setting(default = "public_steps")]
        public_steps: u64,
        /// What a conditional model is sampled by: released class moments, or marginals of the latents around them.
        #[flag(value_enum)]
        #[setting(default)]
        sampler: SampledBy,
        /// Share of the budget, in 1/z^2 of its Gaussian mechanism, for the releases of `--sampler marginals`.
        #[setting(default = "quarter")]
        marginals_share: f64,
        /// Slices of a class whose marginals are released: `--sampler marginals` alone.
        #[setting(default = "class_slices")]
        class_slices: usize,
        /// Bins of a marginal, a power of two: `--sampler marginals` alone.
        #[setting(default = "bins")]
        bins: usize,
    }
    optional {
        /// How much samples turn, stretch, move and bend, 0 for not at all (default: 1 for digits beside glyphs).
        vary_pose: f64,
        /// How much their brightness and fabric vary (default: 1 where the program draws the public records).
        vary_texture: f64,
        /// How much their tone varies at random, 0 for not at all (the default).
        vary_tone: f64,
        /// Public weights to start from: trained on `public` synthetic records, `glyphs` or `shapes`, or a run on glyphs.
        #[flag(value_name = "public|RUN")]
        start_from: String,
        /// Particles over all classes (default: as many as private records): `--sampler marginals` alone.
        particles: usize,
        /// Evaluate an exponential moving average of the weights with this decay.
        ema: f64,
    }
    switches {
        /// Preset to start from; `paper` takes an hour on a CPU.
        #[arg(long, value_enum, default_value_t = PresetName::Quick)]
        preset: PresetName,
        /// Show the decoder the label, match each class, sample from private class moments.
        #[arg(long, overrides_with = "unconditional")]
        conditional: bool,
        /// The opposite of --conditional: the form of Rodriguez-Vitores et al. (2025).
        #[arg(long)]
        unconditional: bool,
        /// How the run is judged.
        #[command(flatten)]
        judging: Judging,
    }
}

fn public_steps() -> u64 {
    6000
}

fn quarter() -> f64 {
    0.25
}

fn class_slices() -> usize {
    144
}

fn bins() -> usize {
    32
}

fn glyphs() -> String {
    DatasetKind::Glyphs.name().to_string()
}

impl Settings {
    /// Whether class moments are released after the training.
    pub fn releases_moments(&self) -> bool {
        self.conditional
    }

    /// Whether marginals are released after the moments.
    pub fn releases_marginals(&self) -> bool {
        self.sampler == SampledBy::Marginals
    }

    /// How much samples vary; folders of runs from before that was a setting have what suits them.
    pub fn variation(&self) -> Variation {
        let digits = start::draws_digits(self).is_ok_and(|digits| digits);
        let suited = Variation::suited(digits, self.start_from.is_some(), false);
        suited.or(self.vary_pose, self.vary_texture, self.vary_tone)
    }

    /// Refuses flags of a sampler that is not asked for: a value that is passed over deceives.
    fn check_unused(&self, own: &Flags) -> Result<(), Failure> {
        let given = [
            ("marginals-share", own.marginals_share.is_some()),
            ("class-slices", own.class_slices.is_some()),
            ("bins", own.bins.is_some()),
            ("particles", own.particles.is_some()),
        ];
        match given.into_iter().find(|&(_, given)| given) {
            Some((flag, _)) if !self.releases_marginals() => Err(Failure::input(
                format!("--{flag}: --sampler moments does not use it"),
                "leave it out, or say --sampler marginals",
            )),
            _ => Ok(()),
        }
    }

    fn check_marginals(&self) -> Result<(), Failure> {
        let holds = !self.releases_marginals() || self.releases_moments();
        let bound = "moments without --conditional";
        bounded("sampler", "marginals", holds, bound)?;
        within(
            "marginals-share",
            self.marginals_share,
            0.0,
            1.0,
            Ends::NEITHER,
        )?;
        let holds = self.bins.is_power_of_two() && self.bins >= 2;
        bounded("bins", self.bins, holds, "a power of two of at least 2")?;
        let holds = !self.releases_marginals() || self.class_slices >= self.latent;
        let bound = format!("at least the latent dimension, {}", self.latent);
        bounded("class-slices", self.class_slices, holds, &bound)?;
        bounded("particles", 0, self.particles != Some(0), "at least 1")
    }

    /// The objective with its clipping.
    pub fn objective(&self) -> Result<Objective, Failure> {
        let [loss_weight, penalty_weight] = weight(self.alpha)?;
        let loss = Loss::binary_cross_entropy_with_logits()
            .weight(loss_weight)
            .max_grad_norm(self.max_grad_norm);
        let penalty = Penalty::to(Prior::UniformBall).weight(penalty_weight);
        let penalty = penalty.slices(self.slices).clipping(Clipping {
            activation: self.clip_activation,
            jacobian: self.clip_jacobian,
            mode: self.clip,
        });
        let objective = Objective::of([loss]).penalty(penalty);
        objective.check().map_err(refused)?;
        Ok(objective)
    }
}

impl session::Settings for Settings {
    type Flags = Flags;

    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        let own = &arguments.own;
        let preset = own.preset.text();
        let mut settings: Self = arguments.over(preset)?;
        settings.dataset = kind("dataset", &settings.dataset)?.name().to_string();
        if text_in(preset, "dataset").unwrap_or_else(glyphs) != settings.dataset {
            settings.records = own.records;
        }
        settings.conditional = (settings.conditional || own.conditional) && !own.unconditional;
        settings.check_unused(own)?;
        settings.start_from = start::resolve(&settings, own.public_steps.is_some())?;
        let suited = settings.variation();
        settings.vary_pose = own.vary_pose.or(Some(suited.pose));
        settings.vary_texture = own.vary_texture.or(Some(suited.texture));
        settings.vary_tone = own.vary_tone.or(Some(suited.tone));
        Ok(settings)
    }

    fn name(&self) -> String {
        format!("{}-{}", self.dataset, budget_name(self.epsilon))
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.insecure_noise_seed
    }

    fn check(&self) -> Result<(), Failure> {
        kind("dataset", &self.dataset)?;
        positive("epsilon", self.epsilon.unwrap_or(1.0))?;
        let delta = self.delta.unwrap_or(0.5);
        let bound = "above 0 and below 1/n for n records";
        bounded("delta", delta, delta > 0.0 && delta < 1.0, bound)?;
        bounded("steps", self.steps, self.steps > 0, "at least 1")?;
        bounded("batch", self.batch, self.batch > 0, "at least 1")?;
        positive("learning-rate", self.learning_rate)?;
        let latent = self.latent;
        let holds = (1..=128).contains(&latent);
        bounded("latent", latent, holds, "between 1 and 128")?;
        let holds = self.slices >= latent;
        let bound = format!("at least the latent dimension, {latent}, for a tight frame");
        bounded("slices", self.slices, holds, &bound)?;
        let decay = self.ema.unwrap_or(0.0);
        let bound = "at least 0 and below 1";
        bounded("ema", decay, (0.0..1.0).contains(&decay), bound)?;
        let public = self.public_steps;
        let holds = (1..=1_000_000).contains(&public);
        bounded("public-steps", public, holds, "between 1 and 1000000")?;
        self.check_marginals()?;
        self.variation().check()?;
        self.objective().map(drop)
    }
}

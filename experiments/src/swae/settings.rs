//! A run's settings: preset, then flags, then checks.

use dp_core::per_sample::JacobianClip;
use lab::prelude::*;
use private_training::{Clipping, Loss, Objective, Penalty, Prior};

use crate::objective::objective;
use crate::records::kind;

use super::report::Judging;
use crate::variation::Variation;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PresetName {
    /// A few minutes on two cores.
    Quick,
    /// The settings of Rodriguez-Vitores, Lalanne and Loubes 2025 (arXiv 2502.01701), section 6.
    Paper,
}

impl PresetName {
    fn text(self) -> &'static str {
        match self {
            Self::Quick => include_str!("../../../assets/swae/quick.toml"),
            Self::Paper => include_str!("../../../assets/swae/paper.toml"),
        }
    }
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
        dataset: String,
        /// Records in a batch, sampled afresh without replacement.
        #[bound(at_least(1))]
        batch: usize,
        /// Weight of the transport term, between 0 and 1.
        #[bound(between(0.0, 1.0))]
        alpha: f64,
        /// Dimension of the latent space.
        #[bound(between(1, 128))]
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
        /// How much samples turn, stretch, move and bend, 0 for not at all (the default).
        #[setting(default)]
        #[bound(within(0.0..=3.0))]
        vary_pose: f64,
        /// How much their brightness and fabric vary, 0 for not at all (the default).
        #[setting(default)]
        #[bound(within(0.0..=3.0))]
        vary_texture: f64,
        /// How much their tone varies at random, 0 for not at all (the default).
        #[setting(default)]
        #[bound(within(0.0..=3.0))]
        vary_tone: f64,
    }
    optional {
        /// Evaluate an exponential moving average of the weights with this decay.
        #[bound(within(0.0..1.0))]
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

impl Settings {
    pub fn variation(&self) -> Variation {
        Variation {
            pose: self.vary_pose,
            texture: self.vary_texture,
            tone: self.vary_tone,
        }
    }

    pub fn objective(&self) -> Result<Objective, Failure> {
        let clipping = Clipping {
            activation: self.clip_activation,
            jacobian: self.clip_jacobian,
            mode: self.clip,
        };
        let loss = (Loss::binary_cross_entropy_with_logits(), self.max_grad_norm);
        let penalty = (Penalty::to(Prior::UniformBall), self.slices);
        objective(loss, self.alpha, penalty, clipping)
    }
}

impl lab::session::Settings for Settings {
    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        let own = &arguments.own;
        let preset = own.preset.text();
        let mut settings: Self = arguments.over(preset)?;
        settings.dataset = kind("dataset", &settings.dataset)?.name().to_string();
        if text_in(preset, "dataset").as_ref() != Some(&settings.dataset) {
            settings.records = own.records;
        }
        settings.conditional = (settings.conditional || own.conditional) && !own.unconditional;
        Ok(settings)
    }

    fn name(&self) -> String {
        format!("{}-{}", self.dataset, budget_name(self.epsilon))
    }

    fn check(&self) -> Result<(), Failure> {
        kind("dataset", &self.dataset)?;
        let latent = self.latent;
        let bound = format!("at least the latent dimension, {latent}, for a tight frame");
        bounded("slices", self.slices, self.slices >= latent, &bound)?;
        self.objective().map(drop)
    }
}

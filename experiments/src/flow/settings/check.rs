//! What settings are refused.

use lab::diagnostic::Failure;
use lab::session::{bounded, positive};

use crate::records::{COSINES, SHAPES};

use super::{Mechanism, Part, Settings, Start};

impl Settings {
    pub(super) fn check_all(&self) -> Result<(), Failure> {
        positive("epsilon", self.epsilon.unwrap_or(1.0))?;
        positive("noise-multiplier", self.noise_multiplier.unwrap_or(1.0))?;
        self.variation().check()?;
        positive("step-size", self.step_size)?;
        positive("learning-rate", self.learning_rate)?;
        let diffusion = self.diffusion;
        let holds = diffusion.is_finite() && diffusion >= 0.0;
        bounded("diffusion", diffusion, holds, "at least 0 and finite")?;
        let delta = self.delta;
        let bound = "above 0 and below 1/n for n private records";
        bounded("delta", delta, delta > 0.0 && delta < 1.0, bound)?;
        let last = self.final_step;
        let bound = "above 0 and at most 1";
        bounded("final-step", last, last > 0.0 && last <= 1.0, bound)?;
        bounded("width", self.width, self.width > 0, "at least 1")?;
        if self.photographs() && self.conditional {
            return Err(Failure::input(
                "--conditional: photographs in a folder have no classes".to_string(),
                "leave it out",
            ));
        }
        let holds =
            self.public != SHAPES || self.mechanism != Mechanism::Public || !self.conditional;
        let bound =
            "a data set for --mechanism public: shapes have no classes; or say --unconditional";
        bounded("public", &self.public, holds, bound)?;
        let looks = self.mechanism == Mechanism::Public || self.start == Start::Public;
        let holds = !(looks && self.public == COSINES);
        let bound = "public records for --mechanism public and --start public: cosines have none";
        bounded("public", &self.public, holds, bound)?;
        let holds = !self.photographs() || self.public == "half";
        bounded("public", &self.public, holds, "half for photographs")?;
        let holds = !(self.photographs() && self.cosines());
        bounded("encoder", "cosines", holds, "learned for photographs")?;
        let holds = self.private_part == Part::Half || self.public != "half";
        bounded("private-part", "all", holds, "half for --public half")?;
        let cells = self.cells;
        bounded(
            "cells",
            cells,
            (1..=64).contains(&cells),
            "between 1 and 64",
        )?;
        let holds = self.start == Start::Sphere || self.moments_first();
        let bound = "sphere where no moments are released first (--moments-share 0)";
        bounded("start", "other", holds, bound)?;
        let latent = self.latent;
        let holds = (2..=128).contains(&latent);
        bounded("latent", latent, holds, "between 2 and 128")?;
        let epochs = self.public_epochs;
        bounded("public-epochs", epochs, epochs > 0, "at least 1")?;
        let slices = self.flow_slices();
        let holds = !self.mechanism.moves() || slices >= latent;
        let bound = format!("at least the latent dimension, {latent}, for a tight frame");
        bounded("slices", slices, holds, &bound)?;
        let some = self.slices_per_step.unwrap_or(1);
        let bound = format!("between 1 and the slices of a release, {slices}");
        bounded(
            "slices-per-step",
            some,
            (1..=slices).contains(&some),
            &bound,
        )?;
        let share = self.moments_share;
        let bound = "at least 0 and below 1";
        bounded("moments-share", share, (0.0..1.0).contains(&share), bound)?;
        let holds = (share > 0.0) == self.moments_first();
        let bound = match self.mechanism {
            Mechanism::Mixture => "above 0 for mixture".into(),
            other => format!("0 for {}", other.name()),
        };
        bounded("moments-share", share, holds, &bound)?;
        let holds = self.bins.is_power_of_two() && self.bins >= 2;
        bounded("bins", self.bins, holds, "a power of two of at least 2")?;
        for (flag, value) in [("particles", self.particles), ("batch", self.batch)] {
            bounded(flag, 0, value != Some(0), "at least 1")?;
        }
        let holds = !self.mechanism.releases_each_step() || self.batch.is_some();
        bounded("batch", "(none)", holds, "given for this mechanism")?;
        let holds = !self.mechanism.moves() || self.step_count(1).max(self.epochs.unwrap_or(0)) > 0;
        bounded("steps", 0, holds, "at least 1")
    }
}

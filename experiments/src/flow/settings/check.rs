//! What settings are refused, and the published noise in terms of ours.

use lab::diagnostic::Failure;

use super::{Frame, Mechanism, Norm, Settings};

impl Settings {
    /// The noise multiplier of a deviation of `share` times the published `w(k, delta)` (Sebag et al. 2023,
    /// arXiv 2312.08227, equation 23, its quantile at `1 - delta`), over the proved sensitivity of a tight frame,
    /// `sqrt(k/d)` in the same units.
    pub(super) fn published(&self, share: f64) -> Result<f64, Failure> {
        let refuse = |why: String| {
            Failure::input(
                format!("--paper-noise {share}: {why}"),
                "leave it out, and give --epsilon or --noise-multiplier",
            )
        };
        if !(share.is_finite() && share > 0.0) {
            return Err(refuse("it must be positive and finite".into()));
        }
        if !self.mechanism.releases_each_step() {
            let name = self.mechanism.name();
            return Err(refuse(format!(
                "published for resampled and generator, not for {name}"
            )));
        }
        if self.frame != Frame::Tight || self.sensitivity != Norm::Proved {
            return Err(refuse(
                "the frame must be tight and the sensitivity proved".into(),
            ));
        }
        let (k, d) = (self.flow_slices(), self.latent);
        let paper =
            swd::smoothed::paper::paper_clt(k, d, self.delta).map_err(|e| refuse(e.to_string()))?;
        let proved =
            swd::smoothed::tight_frame_sensitivity(k, d, 1.0).map_err(|e| refuse(e.to_string()))?;
        Ok(share * paper.for_radius(1.0).map_err(Failure::run)? / proved)
    }

    pub(super) fn check(&self) -> Result<(), Failure> {
        let refuse = |flag: &str, value: String, bound: &str| {
            Err(Failure::input(
                format!("--{flag} {value}: it must be {bound}"),
                format!("give --{flag} another value, or leave it to the preset"),
            ))
        };
        for (flag, value) in [
            ("epsilon", self.epsilon.unwrap_or(1.0)),
            ("noise-multiplier", self.noise_multiplier.unwrap_or(1.0)),
            ("step-size", self.step_size),
            ("learning-rate", self.learning_rate),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return refuse(flag, value.to_string(), "positive and finite");
            }
        }
        if !(self.diffusion.is_finite() && self.diffusion >= 0.0) {
            return refuse(
                "diffusion",
                self.diffusion.to_string(),
                "at least 0 and finite",
            );
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            let bound = "above 0 and below 1/n for n private records";
            return refuse("delta", self.delta.to_string(), bound);
        }
        if !(self.final_step > 0.0 && self.final_step <= 1.0) {
            let bound = "above 0 and at most 1";
            return refuse("final-step", self.final_step.to_string(), bound);
        }
        if self.width == 0 {
            return refuse("width", "0".into(), "at least 1");
        }
        if self.photographs() && self.conditional {
            return Err(Failure::input(
                "--conditional: photographs in a folder have no classes".to_string(),
                "leave it out",
            ));
        }
        if self.photographs() && self.public != "half" {
            return Err(Failure::input(
                format!(
                    "--public {}: photographs need public photographs",
                    self.public
                ),
                "say --public half",
            ));
        }
        if !(2..=128).contains(&self.latent) {
            return refuse("latent", self.latent.to_string(), "between 2 and 128");
        }
        if self.public_epochs == 0 {
            return refuse("public-epochs", "0".into(), "at least 1");
        }
        let slices = self.flow_slices();
        if slices == 0 || (self.frame == Frame::Tight && slices < self.latent) {
            let bound = format!(
                "at least the latent dimension, {}, for a tight frame",
                self.latent
            );
            return refuse("slices", slices.to_string(), &bound);
        }
        if let Some(some) = self.slices_per_step
            && !(1..=slices).contains(&some)
        {
            let bound = format!("between 1 and the slices of a release, {slices}");
            return refuse("slices-per-step", some.to_string(), &bound);
        }
        if !(0.0..1.0).contains(&self.moments_share) {
            let bound = "at least 0 and below 1";
            return refuse("moments-share", self.moments_share.to_string(), bound);
        }
        if self.moments_share > 0.0 && self.mechanism != Mechanism::Marginals {
            let bound = format!("0 for {}", self.mechanism.name());
            return refuse("moments-share", self.moments_share.to_string(), &bound);
        }
        if !self.bins.is_power_of_two() || self.bins < 2 {
            return refuse(
                "bins",
                self.bins.to_string(),
                "a power of two of at least 2",
            );
        }
        for (flag, value) in [("particles", self.particles), ("batch", self.batch)] {
            if value == Some(0) {
                return refuse(flag, "0".into(), "at least 1");
            }
        }
        if self.mechanism.releases_each_step() && self.batch.is_none() {
            return refuse("batch", "(none)".into(), "given for this mechanism");
        }
        if self.sensitivity != Norm::Proved && self.mechanism == Mechanism::Marginals {
            return refuse("sensitivity", "of the papers".into(), "proved for counts");
        }
        if self.sensitivity != Norm::Proved && self.frame == Frame::Tight {
            return refuse("frame", "tight".into(), "iid for the papers' sensitivities");
        }
        if !matches!(self.mechanism, Mechanism::Gaussian | Mechanism::Public)
            && self.step_count(1).max(self.epochs.unwrap_or(0)) == 0
        {
            return refuse("steps", "0".into(), "at least 1");
        }
        Ok(())
    }
}

//! Planned releases while the noise of the steps is not yet known.

use super::{PlannedRelease, ReleaseNoise, out_of_range};
use crate::DpError;
use crate::accounting::{Event, GaussianAccountant, noise_multiplier_for};

/// A planned release; a share of it waits for the plan's noise.
pub(super) struct Due {
    pub(super) name: String,
    noise: DueNoise,
}

enum DueNoise {
    Event(Event),
    Share(f64),
}

impl Due {
    pub(super) fn of(planned: PlannedRelease) -> Result<Self, DpError> {
        let positive = |name, value: f64| {
            if value.is_finite() && value > 0.0 {
                Ok(value)
            } else {
                Err(out_of_range(name, value, "positive and finite"))
            }
        };
        let noise = match planned.noise {
            ReleaseNoise::GaussianWithin { epsilon, delta } => {
                let z = noise_multiplier_for(&GaussianAccountant, epsilon, delta, gaussian)?;
                DueNoise::Event(gaussian(z))
            }
            ReleaseNoise::Gaussian { noise_multiplier } => {
                let z = positive("noise multiplier of a release", noise_multiplier)?;
                DueNoise::Event(gaussian(z))
            }
            ReleaseNoise::Laplace { epsilon } => DueNoise::Event(Event::Laplace {
                noise_multiplier: 1.0 / positive("epsilon of a release", epsilon)?,
            }),
            ReleaseNoise::Share(share) if share > 0.0 && share <= 1.0 => DueNoise::Share(share),
            ReleaseNoise::Share(share) => {
                let (name, bound) = ("share of a release", "above 0 and at most 1");
                return Err(out_of_range(name, share, bound));
            }
        };
        Ok(Self {
            name: planned.name,
            noise,
        })
    }

    pub(super) fn is_laplace(&self) -> bool {
        matches!(self.noise, DueNoise::Event(Event::Laplace { .. }))
    }

    /// The event where the plan's noise multiplier is `z`.
    pub(super) fn event(&self, z: f64) -> Event {
        match &self.noise {
            DueNoise::Event(event) => event.clone(),
            DueNoise::Share(share) => gaussian(z / share.sqrt()),
        }
    }
}

pub(super) fn gaussian(noise_multiplier: f64) -> Event {
    Event::Gaussian { noise_multiplier }
}

//! Releases that are made once: as planned, and before the noise of the steps is known.

use crate::DpError;
use crate::accounting::{Event, GaussianAccountant, noise_multiplier_for};

/// The name of a share in errors.
const SHARE: &str = "share of a release";

/// The noise of a release that is made once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReleaseNoise {
    /// Gaussian noise with this multiplier.
    Gaussian {
        /// The standard deviation divided by the L2 sensitivity.
        noise_multiplier: f64,
    },
    /// The least Gaussian noise that keeps this release alone within a separate budget.
    GaussianWithin {
        /// The epsilon of the release alone.
        epsilon: f64,
        /// The delta of the release alone.
        delta: f64,
    },
    /// Gaussian noise with multiplier `z / sqrt(share)` for the plan's multiplier `z`: this share of the `1/z^2` of a release
    /// at `z`. Releases whose shares add up to 1 cost as much as one release at `z`; beside many steps at `z`, a release may have a share
    /// above 1, and less noise than a step.
    Share(f64),
    /// Gaussian noise of a share on counts of names, of which those above a threshold are released. A name that occurs in one
    /// record alone is released with probability at most `delta`.
    Threshold {
        /// The share, as in [`ReleaseNoise::Share`].
        share: f64,
        /// The part of the plan's delta.
        delta: f64,
    },
    /// Laplace noise of scale `L1 sensitivity / epsilon`.
    Laplace {
        /// The epsilon of the release alone.
        epsilon: f64,
    },
}

/// A release that is made once from all records, such as moments, counts or a histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRelease {
    /// The name by which the release is requested.
    pub name: String,
    /// The noise of the release.
    pub noise: ReleaseNoise,
}

impl PlannedRelease {
    /// Creates a release with this name and noise.
    pub fn new(name: impl Into<String>, noise: ReleaseNoise) -> Self {
        Self {
            name: name.into(),
            noise,
        }
    }
}

/// A planned release; the noise of a share depends on the plan's noise.
pub(super) struct Due {
    pub(super) name: String,
    noise: DueNoise,
}

enum DueNoise {
    Event(Event),
    /// A share, with the probability of a failure.
    Share(f64, Option<f64>),
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
            ReleaseNoise::Share(share) => DueNoise::Share(positive(SHARE, share)?, None),
            ReleaseNoise::Threshold { share, delta } if delta > 0.0 && delta < 1.0 => {
                DueNoise::Share(positive(SHARE, share)?, Some(delta))
            }
            ReleaseNoise::Threshold { delta, .. } => {
                return Err(out_of_range("delta of a release", delta, "in (0, 1)"));
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

    /// Returns the event if the plan's noise multiplier is `z`.
    pub(super) fn event(&self, z: f64) -> Event {
        match &self.noise {
            DueNoise::Event(event) => event.clone(),
            DueNoise::Share(share, failure) => {
                let noise = gaussian(z / share.sqrt());
                match *failure {
                    None => noise,
                    Some(delta) => Event::Composed {
                        events: vec![noise, Event::Failure { delta }],
                    },
                }
            }
        }
    }
}

pub(super) fn gaussian(noise_multiplier: f64) -> Event {
    Event::Gaussian { noise_multiplier }
}

pub(super) fn out_of_range(name: &'static str, value: f64, bound: impl Into<String>) -> DpError {
    DpError::OutOfRange {
        name,
        value,
        bound: bound.into(),
    }
}

//! Mechanisms before sampling: the step that a release is, and the pair of distributions that dominates it.

use crate::accounting::error::{Result, check};
use crate::accounting::event::Event;
use crate::numerics::normal::{central, density};

/// The largest rho that is covered, that of Gaussian noise with multiplier `1e-3`.
const LARGEST_RHO: f64 = 5e5;

/// A mechanism, scaled to sensitivity 1.
///
/// It is dominated by a pair `(P, Q)` over a coordinate `x` in which the privacy loss `ln dP/dQ` is a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mechanism {
    /// `N(mu, 1)` against `N(0, 1)`.
    Gaussian { mu: f64 },
    /// Laplace noise of this scale, `P` centred at 1 and `Q` at 0. Outside of `[0, 1]` the loss is constant: atoms at the ends.
    Laplace { scale: f64 },
    /// The pair of all exponential mechanisms of this range: losses in `[-epsilon, epsilon]` of density
    /// `e^(loss / 2) / (4 sinh(epsilon / 2))`.
    Exponential { epsilon: f64 },
    /// Randomised response, the pair of all that is purely epsilon-private: two atoms, at the ends of `[0, 1]`.
    Pure { epsilon: f64 },
}

impl Mechanism {
    /// The mechanism of an event that is neither composed nor sampled, for neighbours that differ in `records` records.
    pub(super) fn of_release(event: &Event, records: u64) -> Result<Self> {
        let records = records as f64;
        let noise = |z: f64| {
            let z = z / records;
            let ok = (1e-3..=1e9).contains(&z);
            check("noise multiplier", z, ok, "between 1e-3 and 1e9").map(|()| z)
        };
        let pure = |e: f64| {
            let e = e * records;
            let ok = (1e-9..=1e3).contains(&e);
            check("epsilon", e, ok, "between 1e-9 and 1e3").map(|()| e)
        };
        Ok(match *event {
            Event::ExponentialMechanism { epsilon } => Self::Exponential {
                epsilon: pure(epsilon)?,
            },
            Event::Pure { epsilon } => Self::Pure {
                epsilon: pure(epsilon)?,
            },
            Event::Laplace { noise_multiplier } => Self::Laplace {
                scale: noise(noise_multiplier)?,
            },
            Event::Gaussian { noise_multiplier } | Event::DiscreteGaussian { noise_multiplier } => {
                Self::Gaussian {
                    mu: 1.0 / noise(noise_multiplier)?,
                }
            }
            // No order has a larger divergence than Gaussian noise of this mu.
            Event::Zcdp { rho } => {
                let rho = rho * records * records;
                check_rho(rho)?;
                let mu = (2.0 * rho).sqrt();
                Self::Gaussian {
                    mu: if mu == 0.0 { 0.0 } else { mu.next_up() },
                }
            }
            // Only called for the kinds above.
            _ => Self::Gaussian { mu: 0.0 },
        })
    }

    /// The largest loss.
    pub(crate) fn loss_supremum(self) -> f64 {
        match self {
            Self::Gaussian { .. } => f64::INFINITY,
            Self::Laplace { scale } => 1.0 / scale,
            Self::Exponential { epsilon } | Self::Pure { epsilon } => epsilon,
        }
    }

    /// Total variation of the pair, `1 - 2 Q(loss > 0)` with atoms at 0 in halves.
    pub(crate) fn total_variation(self) -> f64 {
        match self {
            Self::Gaussian { mu } => central(0.5 * mu),
            Self::Laplace { scale } => -(-0.5 / scale).exp_m1(),
            Self::Exponential { epsilon } => (0.25 * epsilon).tanh(),
            Self::Pure { epsilon } => (0.5 * epsilon).tanh(),
        }
    }

    /// The rho for which it is rho-zCDP.
    pub(crate) fn rho(self) -> f64 {
        match self {
            Self::Gaussian { mu } => 0.5 * mu * mu,
            Self::Laplace { scale } => 0.5 / (scale * scale),
            Self::Exponential { epsilon } => 0.125 * epsilon * epsilon,
            Self::Pure { epsilon } => 0.5 * epsilon * epsilon,
        }
    }

    /// The loss as `slope x + intercept`: (slope, intercept).
    pub(crate) fn loss_line(self) -> (f64, f64) {
        match self {
            Self::Gaussian { mu } => (mu, -0.5 * mu * mu),
            Self::Laplace { scale } => (2.0 / scale, -1.0 / scale),
            Self::Exponential { epsilon } | Self::Pure { epsilon } => (2.0 * epsilon, -epsilon),
        }
    }

    /// The densities at `x`: (of `Q`, of `P`).
    pub(crate) fn densities(self, x: f64) -> (f64, f64) {
        match self {
            Self::Gaussian { mu } => (density(x), density(x - mu)),
            Self::Laplace { scale } => (
                0.5 / scale * (-x / scale).exp(),
                0.5 / scale * ((x - 1.0) / scale).exp(),
            ),
            Self::Exponential { epsilon } => {
                let scale = epsilon / -(-epsilon).exp_m1();
                let at = |x: f64| scale * (-epsilon * x).exp();
                (at(x), at(1.0 - x))
            }
            Self::Pure { .. } => (0.0, 0.0),
        }
    }

    /// The masses of the atom at the largest loss: (of `P`, of `Q`). At the smallest loss they are exchanged.
    pub(crate) fn end_masses(self) -> Option<(f64, f64)> {
        match self {
            Self::Gaussian { .. } | Self::Exponential { .. } => None,
            Self::Laplace { scale } => Some((0.5, 0.5 * (-1.0 / scale).exp())),
            Self::Pure { epsilon } => {
                let near = 1.0 / (1.0 + (-epsilon).exp());
                Some((near, near * (-epsilon).exp()))
            }
        }
    }

    /// A length in `x` over which density and loss change little.
    pub(crate) fn smooth_length(self, x: f64) -> f64 {
        match self {
            Self::Gaussian { mu } => 1.0 / (1.0 + x.abs().max((x - mu).abs()) + mu),
            // A tilt looks at its ends, where it has no atoms.
            Self::Exponential { epsilon } => {
                let end = x.min(1.0 - x).max(0.0);
                (0.5 / epsilon).min(0.2 * end + 1e-4)
            }
            _ => (0.5 / self.loss_supremum()).min(1.0),
        }
    }

    /// A number for the kind, and its parameter: what tells two mechanisms apart.
    pub(super) fn key(self) -> (u8, u64) {
        let (kind, parameter) = match self {
            Self::Gaussian { mu } => (0, mu),
            Self::Laplace { scale } => (1, scale),
            Self::Exponential { epsilon } => (2, epsilon),
            Self::Pure { epsilon } => (3, epsilon),
        };
        (kind, parameter.to_bits())
    }
}

pub(crate) fn check_rho(rho: f64) -> Result<()> {
    let ok = (0.0..=LARGEST_RHO).contains(&rho);
    check("rho", rho, ok, "in [0, 5e5]")
}

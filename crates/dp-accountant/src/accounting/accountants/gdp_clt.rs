//! Gaussian approximations by the central limit theorem: **not upper bounds**, for comparison only.

use super::Accountant;
use super::gaussian::{delta_of, epsilon_of};
use crate::accounting::error::{AccountingError, Result, check_delta, check_epsilon};
use crate::accounting::event::Event;
use crate::accounting::steps::{Mechanism, Sampling, Steps, worst};
use crate::numerics::normal::{central, upper_tail};

/// Which limit is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Uniform,
    Poisson,
}

/// An approximation by the `mu` that many sampled Gaussian steps tend to. **Not an upper bound.**
///
/// With few steps or little noise the true epsilon is larger. The formula of one sampler's limit is applied to every sampled
/// Gaussian event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GdpCltAccountant {
    limit: Limit,
}

impl GdpCltAccountant {
    /// The limit for batches without replacement,
    /// `mu^2 = 2 p^2 T (e^(1/z^2) Phi(3/(2z)) + 3 Phi(-1/(2z)) - 2)`
    /// (Dong, Roth and Su 2019, corollary 4).
    pub fn uniform() -> Self {
        Self {
            limit: Limit::Uniform,
        }
    }

    /// The limit for Poisson samples, `mu^2 = p^2 T (e^(1/z^2) - 1)` (Bu, Dong, Long and Su 2019, theorem 5).
    pub fn poisson() -> Self {
        Self {
            limit: Limit::Poisson,
        }
    }

    fn mu(&self, steps: &Steps) -> Result<f64> {
        let mut square = 0.0;
        for (step, count) in &steps.counted {
            let Mechanism::Gaussian { mu } = step.mechanism else {
                return Err(AccountingError::NotCovered {
                    accountant: self.name(),
                    event: "a release without Gaussian noise".into(),
                    reason: "its formula is for Gaussian noise; use pld",
                });
            };
            square += *count as f64
                * match step.sampling {
                    Sampling::None => mu * mu,
                    Sampling::Fixed { rate } | Sampling::Poisson { rate } => {
                        rate * rate * self.variance(mu)
                    }
                    Sampling::PoissonGroup { .. } | Sampling::Allocation { .. } => f64::INFINITY,
                };
        }
        Ok(square.sqrt())
    }

    /// Squared `mu` of one step over the squared rate.
    fn variance(&self, mu: f64) -> f64 {
        match self.limit {
            Limit::Poisson => (mu * mu).exp_m1(),
            Limit::Uniform => {
                // e^(mu^2) Phi(1.5 mu) + 3 Phi(-mu/2) - 2, with the parts near 1 taken out.
                let half = central(0.5 * mu);
                let large = upper_tail(-1.5 * mu);
                let above = 0.5 * central(1.5 * mu);
                2.0 * ((mu * mu).exp_m1() * large + above - 1.5 * half)
            }
        }
    }
}

impl Accountant for GdpCltAccountant {
    fn name(&self) -> &'static str {
        match self.limit {
            Limit::Uniform => "gdp-clt-uniform",
            Limit::Poisson => "gdp-clt-poisson",
        }
    }

    fn is_upper_bound(&self) -> bool {
        false
    }

    fn epsilon(&self, event: &Event, delta: f64) -> Result<f64> {
        check_delta(delta)?;
        worst(event, self.name(), |steps| {
            Ok(epsilon_of(steps, self.mu(steps)?, delta))
        })
    }

    fn delta(&self, event: &Event, epsilon: f64) -> Result<f64> {
        check_epsilon(epsilon)?;
        worst(event, self.name(), |steps| {
            Ok(delta_of(steps, self.mu(steps)?, epsilon))
        })
    }
}

//! Gaussian approximations by the central limit theorem: **not upper bounds**, for comparison only.

use super::accountant::Accountant;
use super::error::{AccountingError, Result, check_delta, check_epsilon};
use super::event::Event;
use super::gaussian;
use super::normal::upper_tail;
use super::steps::{Base, Sampling, Steps, alternatives};

/// Which limit is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Uniform,
    Poisson,
}

/// Reports the `mu` that many sampled Gaussian steps tend to, as if it were reached.
///
/// It is not an upper bound: with few steps or little noise the truth is larger. The limit's
/// formula is applied to any sampled Gaussian event, whatever its sampler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GdpCltAccountant {
    limit: Limit,
}

impl GdpCltAccountant {
    /// Batches without replacement:
    /// `mu^2 = 2 p^2 T (e^(1/z^2) Phi(3/(2z)) + 3 Phi(-1/(2z)) - 2)`
    /// (Dong, Roth and Su 2019, corollary 4).
    pub fn uniform() -> Self {
        Self {
            limit: Limit::Uniform,
        }
    }

    /// Poisson samples: `mu^2 = p^2 T (e^(1/z^2) - 1)` (Bu, Dong, Long and Su 2019, theorem 5).
    pub fn poisson() -> Self {
        Self {
            limit: Limit::Poisson,
        }
    }

    fn mu(&self, steps: &Steps) -> Result<f64> {
        let mut square = 0.0;
        for (step, count) in &steps.counted {
            let Base::Gaussian { mu } = step.base else {
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
                let half = libm::erf(0.5 * mu * std::f64::consts::FRAC_1_SQRT_2);
                let large = upper_tail(-1.5 * mu);
                let above = 0.5 * libm::erf(1.5 * mu * std::f64::consts::FRAC_1_SQRT_2);
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
        let mut worst = 0.0_f64;
        for steps in alternatives(event, self.name())? {
            let mu = self.mu(&steps)?;
            worst = worst.max(match steps.left(delta) {
                _ if delta == 1.0 => 0.0,
                Some(left) if !steps.non_private && mu < f64::INFINITY => {
                    gaussian::epsilon(mu, left)
                }
                _ => f64::INFINITY,
            });
        }
        Ok(worst)
    }

    fn delta(&self, event: &Event, epsilon: f64) -> Result<f64> {
        check_epsilon(epsilon)?;
        let mut worst = 0.0_f64;
        for steps in alternatives(event, self.name())? {
            let mu = self.mu(&steps)?;
            worst = worst.max(if steps.non_private || mu == f64::INFINITY {
                1.0
            } else {
                steps.with_failure(gaussian::delta(mu, epsilon))
            });
        }
        Ok(worst)
    }
}

//! What is claimed of a mechanism, as the curve of all that a test may reach.

use dp_accountant::accounting::error::{Result, check, check_delta, check_epsilon};
use dp_accountant::accounting::normal::{upper_quantile, upper_tail};
use dp_accountant::accounting::{Accountant, Event, gaussian, trade_off};

/// Values of epsilon, in units of mu, of the lines by which a Gaussian claim is tested.
const LINES: [f64; 7] = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0];

/// A trade-off curve that a mechanism is claimed to keep: for any test, the probability of recognising the record
/// (power) is bounded by that of a false alarm (level).
///
/// ```
/// use dp_accountant::accounting::{Event, PldAccountant};
/// use dp_audit::Claim;
///
/// let training = Event::dp_sgd(60_000, 600, 1_000, 1.0);
/// let claim = Claim::of(&PldAccountant::default(), &training)?;
/// // Whoever recognises half of the records raises false alarms for at least 9 % of the others.
/// assert!(claim.least_level(0.5) > 0.09);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    curve: Curve,
}

#[derive(Debug, Clone, PartialEq)]
enum Curve {
    Gaussian {
        mu: f64,
    },
    /// The mechanism is `(epsilon, delta)`-differentially private for each pair.
    Lines(Vec<(f64, f64)>),
}

impl Claim {
    /// That a mechanism hides the record as well as Gaussian noise of standard deviation 1 hides a shift of `mu`.
    ///
    /// # Errors
    /// A `mu` that is negative or not finite.
    pub fn gaussian(mu: f64) -> Result<Self> {
        check(
            "mu",
            mu,
            mu >= 0.0 && mu.is_finite(),
            "at least 0 and finite",
        )?;
        Ok(Self {
            curve: Curve::Gaussian { mu },
        })
    }

    /// That a mechanism is `(epsilon, delta)`-differentially private, and nothing more.
    ///
    /// # Errors
    /// A negative epsilon, or a delta outside of `[0, 1]`.
    pub fn approximate(epsilon: f64, delta: f64) -> Result<Self> {
        check_epsilon(epsilon)?;
        check_delta(delta)?;
        Ok(Self {
            curve: Curve::Lines(vec![(epsilon, delta)]),
        })
    }

    /// All that an accountant promises of an event, as lines of its profile.
    ///
    /// # Errors
    /// As [`Accountant::profile`].
    pub fn of(accountant: &dyn Accountant, event: &Event) -> Result<Self> {
        let epsilons = trade_off::grid(accountant.epsilon(event, 1e-13)?);
        let deltas = accountant.profile(event, &epsilons)?;
        Ok(Self {
            curve: Curve::Lines(epsilons.into_iter().zip(deltas).collect()),
        })
    }

    /// Its shift, where it is a Gaussian claim.
    pub fn mu(&self) -> Option<f64> {
        match self.curve {
            Curve::Gaussian { mu } => Some(mu),
            Curve::Lines(_) => None,
        }
    }

    /// The least probability of a false alarm of any test with this `power` in `[0, 1]`, never above the exact one:
    /// `Phi(Phi^-1(power) - mu)` for a Gaussian claim, and
    /// `max(exp(-epsilon) (power - delta), 1 - delta - exp(epsilon) (1 - power), 0)` for each pair of others.
    pub fn least_level(&self, power: f64) -> f64 {
        match &self.curve {
            Curve::Gaussian { mu } => upper_tail(upper_quantile(power) + mu),
            Curve::Lines(lines) => {
                let level = |(epsilon, delta): &(f64, f64)| {
                    let flat = (-epsilon).exp() * (power - delta);
                    let steep = 1.0 - delta - epsilon.exp() * (1.0 - power);
                    // An infinite epsilon claims nothing: NaN is not the larger.
                    flat.max(steep).max(0.0)
                };
                lines.iter().map(level).fold(0.0, f64::max)
            }
        }
    }

    /// Pairs `(epsilon, delta)` that are claimed, a few over the whole range.
    pub(super) fn pairs(&self) -> Vec<(f64, f64)> {
        match &self.curve {
            Curve::Gaussian { mu } => {
                let pair = |times| (times * mu, gaussian::delta(*mu, times * mu));
                LINES.iter().map(|times| pair(*times)).collect()
            }
            Curve::Lines(lines) => {
                let finite = |(epsilon, _): &&(f64, f64)| epsilon.is_finite();
                let every = lines.len().div_ceil(16).max(1);
                lines
                    .iter()
                    .step_by(every)
                    .filter(finite)
                    .copied()
                    .collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_accountant::accounting::{GaussianAccountant, PldAccountant};

    #[test]
    fn lines_of_a_gaussian_event_are_just_below_its_curve() {
        let event = Event::Gaussian {
            noise_multiplier: 0.8,
        };
        let exact = Claim::gaussian(1.25).unwrap();
        let pld = PldAccountant::default();
        for accountant in [&GaussianAccountant as &dyn Accountant, &pld] {
            let lines = Claim::of(accountant, &event).unwrap();
            for power in [0.0, 1e-6, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0] {
                let (level, lines) = (exact.least_level(power), lines.least_level(power));
                let least = level - 1e-6 - 2e-3 * level;
                assert!(least <= lines && lines <= level + 1e-12, "{power}: {lines}");
            }
        }
    }

    #[test]
    fn no_privacy_claims_nothing() {
        let claim = Claim::approximate(f64::INFINITY, 0.0).unwrap();
        assert_eq!(claim.least_level(0.99), 0.0);
        let claim = Claim::of(&PldAccountant::default(), &Event::NonPrivate).unwrap();
        assert_eq!(claim.least_level(0.99), 0.0);
        assert!(Claim::gaussian(-1.0).is_err() && Claim::approximate(1.0, 2.0).is_err());
    }
}

//! Claims on a mechanism, as trade-off curves.

use dp_accountant::accounting::error::{Result, check, check_delta, check_epsilon};
use dp_accountant::accounting::normal::{upper_quantile, upper_tail};
use dp_accountant::accounting::{Accountant, Event, gaussian, trade_off};

/// Values of epsilon, in units of mu, of the lines by which a Gaussian claim is tested.
const LINES: [f64; 7] = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0];

/// A claimed trade-off curve: a bound, for each test, on its power by its level.
///
/// The power of a test is the probability that it recognises the record, and its level that of a false alarm.
///
/// ```
/// use dp_accountant::accounting::{Event, PldAccountant};
/// use dp_audit::Claim;
///
/// let training = Event::dp_sgd(60_000, 600, 1_000, 1.0);
/// let claim = Claim::promised_by(&PldAccountant::default(), &training)?;
/// // A test that recognises half of the records raises false alarms for at least 9 % of the others.
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
    /// The claim that a mechanism is `mu`-Gaussian differentially private: no test separates neighbours better than `N(mu, 1)`
    /// from `N(0, 1)`.
    ///
    /// # Errors
    /// A `mu` that is negative or not finite.
    pub fn gaussian(mu: f64) -> Result<Self> {
        let ok = mu >= 0.0 && mu.is_finite();
        check("mu", mu, ok, "at least 0 and finite")?;
        Ok(Self {
            curve: Curve::Gaussian { mu },
        })
    }

    /// The claim that a mechanism is `(epsilon, delta)`-differentially private.
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

    /// The claim that an accountant makes for an event: all lines of its profile.
    ///
    /// # Errors
    /// As [`Accountant::profile`].
    pub fn promised_by(accountant: &dyn Accountant, event: &Event) -> Result<Self> {
        let epsilons = trade_off::grid(accountant.epsilon(event, 1e-13)?);
        let deltas = accountant.profile(event, &epsilons)?;
        Ok(Self {
            curve: Curve::Lines(epsilons.into_iter().zip(deltas).collect()),
        })
    }

    /// The `mu` of a Gaussian claim; `None` for other claims.
    pub fn mu(&self) -> Option<f64> {
        match self.curve {
            Curve::Gaussian { mu } => Some(mu),
            Curve::Lines(_) => None,
        }
    }

    /// The least level of a test with this `power` in `[0, 1]` under the claim, never above the exact one.
    ///
    /// It is `Phi(Phi^-1(power) - mu)` for a Gaussian claim, and else the largest over the claimed pairs of
    /// `max(exp(-epsilon) (power - delta), 1 - delta - exp(epsilon) (1 - power), 0)`.
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

    /// A few of the claimed pairs `(epsilon, delta)`, over the whole range.
    pub(super) fn pairs(&self) -> Vec<(f64, f64)> {
        match &self.curve {
            Curve::Gaussian { mu } => {
                let pair = |times| (times * mu, gaussian::delta(*mu, times * mu));
                LINES.iter().map(|times| pair(*times)).collect()
            }
            Curve::Lines(lines) => {
                let finite = |(epsilon, _): &&(f64, f64)| epsilon.is_finite();
                let every = lines.len().div_ceil(16).max(1);
                let few = lines.iter().step_by(every);
                few.filter(finite).copied().collect()
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
            let lines = Claim::promised_by(accountant, &event).unwrap();
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
        let claim = Claim::promised_by(&PldAccountant::default(), &Event::NonPrivate).unwrap();
        assert_eq!(claim.least_level(0.99), 0.0);
        assert!(Claim::gaussian(-1.0).is_err() && Claim::approximate(1.0, 2.0).is_err());
    }
}

//! What an estimator returns.

use dp_accountant::accounting::error::{Result, check, check_delta};
use dp_accountant::accounting::gaussian::epsilon_lower;
use dp_accountant::decimal::{lower, nearest};

/// What has to be true of the mechanism or of its scores for a bound to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assumption {
    /// Nothing but what the estimator says of how the scores were made.
    Nothing,
    /// The trade-off curve is that of a Gaussian mechanism: epsilon is read off the curve whose `mu` was bounded.
    ///
    /// `mu` itself is bounded without it: the mechanism is not `mu'`-Gaussian differentially private for any
    /// smaller `mu'`.
    GaussianCurve,
    /// The scores are independent and normal with one variance, with and without the record.
    NormalScores,
}

impl std::fmt::Display for Assumption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nothing => "without assumptions",
            Self::GaussianCurve => "for the trade-off curve of a Gaussian mechanism",
            Self::NormalScores => "for independent normal scores of one variance",
        })
    }
}

/// A lower bound on epsilon, and how sure it is.
///
/// Printed, epsilon is rounded down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LowerBound {
    /// The mechanism is not `(epsilon', delta)`-differentially private for any `epsilon'` below this; 0 where
    /// nothing was found.
    pub epsilon: f64,
    /// The delta that it holds at.
    pub delta: f64,
    /// The same as the shift of a Gaussian mechanism of standard deviation 1, where the estimator has one.
    pub mu: Option<f64>,
    /// The least probability with which the bound is not above the truth.
    pub confidence: f64,
    /// What it assumes.
    pub assumes: Assumption,
}

/// What a lower bound says of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The bound is above the claim: the claim is wrong, or the less likely happened.
    Violated,
    /// The bound is not above the claim. That is no proof of it.
    NotViolated,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Violated => "violated",
            Self::NotViolated => "not violated",
        })
    }
}

impl LowerBound {
    pub(super) fn of_epsilon(epsilon: f64, delta: f64, confidence: f64) -> Self {
        Self {
            epsilon: epsilon.max(0.0),
            delta,
            mu: None,
            confidence,
            assumes: Assumption::Nothing,
        }
    }

    pub(super) fn of_mu(mu: f64, delta: f64, confidence: f64, assumes: Assumption) -> Self {
        let mu = mu.max(0.0);
        Self {
            epsilon: if mu == f64::INFINITY {
                mu
            } else {
                epsilon_lower(mu, delta)
            },
            delta,
            mu: Some(mu),
            confidence,
            assumes,
        }
    }

    /// What it says of the claim that epsilon is at most `epsilon` at the same delta.
    pub fn against(&self, epsilon: f64) -> Verdict {
        if self.epsilon > epsilon {
            Verdict::Violated
        } else {
            Verdict::NotViolated
        }
    }
}

impl std::fmt::Display for LowerBound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "epsilon is at least {} at delta {}, with confidence {} %, {}",
            lower(self.epsilon),
            nearest(self.delta, 5),
            lower(100.0 * self.confidence),
            self.assumes
        )
    }
}

/// The probability of a bound that is too high, and a check of delta.
pub(super) fn alarm_rate(delta: f64, confidence: f64) -> Result<f64> {
    check_delta(delta)?;
    let ok = confidence > 0.0 && confidence < 1.0;
    check("confidence", confidence, ok, "in (0, 1)")?;
    // Rounded to the safe side.
    Ok((1.0 - confidence) * (1.0 - 1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_printed_rounded_down() {
        let bound = LowerBound::of_epsilon(2.999_999, 1e-5, 0.95);
        assert_eq!(
            bound.to_string(),
            "epsilon is at least 2.9999 at delta 1e-5, with confidence 95 %, without assumptions"
        );
        assert_eq!(bound.against(3.0), Verdict::NotViolated);
        assert_eq!(bound.against(2.9), Verdict::Violated);
    }

    #[test]
    fn what_is_found_at_one_mu_is_not_above_what_the_accountant_claims_there() {
        for mu in [0.0, 1e-3, 0.3, 1.0, 4.0, 20.0] {
            for delta in [1e-12, 1e-5, 0.1] {
                let found = LowerBound::of_mu(mu, delta, 0.95, Assumption::GaussianCurve).epsilon;
                let claimed = dp_accountant::accounting::gaussian::epsilon(mu, delta);
                assert!((claimed * (1.0 - 1e-9)..=claimed).contains(&found));
            }
        }
    }
}

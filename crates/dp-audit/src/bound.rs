//! Lower bounds on epsilon, and their verdict on a claim.

use dp_accountant::accounting::error::{Result, check, check_delta};
use dp_accountant::accounting::gaussian::epsilon_lower;
use dp_accountant::decimal::{lower, nearest};

/// The condition on the mechanism or on its scores under which a bound holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assumption {
    /// No condition beyond the estimator's own on how the scores were made.
    Nothing,
    /// The trade-off curve is that of a Gaussian mechanism. Epsilon is that of the curve with the `mu` that was bounded.
    ///
    /// The bound on `mu` does not need the condition: the mechanism is not `mu'`-Gaussian differentially private for any
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

/// A lower bound on epsilon with its confidence. It is printed rounded down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LowerBound {
    /// The bound: the mechanism is not `(epsilon', delta)`-differentially private for any smaller `epsilon'`. 0 if nothing was
    /// found.
    pub epsilon: f64,
    /// The delta at which the bound holds.
    pub delta: f64,
    /// The bound on the shift `mu` of a Gaussian mechanism of standard deviation 1, if the estimator gives one.
    pub mu: Option<f64>,
    /// The bound is at most the truth with at least this probability.
    pub confidence: f64,
    /// The condition under which the bound holds.
    pub assumes: Assumption,
}

/// The verdict of a lower bound on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The bound is above the claim: the claim is wrong, or an event of probability 1 - confidence happened.
    Violated,
    /// The bound is not above the claim. That does not prove the claim.
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
        let infinite = mu == f64::INFINITY;
        Self {
            epsilon: if infinite {
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

    /// The verdict on the claim that epsilon is at most `epsilon` at the same delta.
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

/// Checks delta and the confidence, and gives the allowed probability of a bound that is too high.
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

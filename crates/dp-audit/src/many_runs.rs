//! Many runs with and without one record: the attack's hits and false alarms.

use super::bound::{Assumption::GaussianCurve, LowerBound, alarm_rate};
use super::claim::Claim;
use super::order::{at_or_above, sorted};
use dp_accountant::accounting::binomial::{proportion_lower, proportion_upper};
use dp_accountant::accounting::error::{Result, check};
use dp_accountant::accounting::normal::upper_quantile;

/// The hits and false alarms of an attack that was fixed beforehand.
///
/// The runs are independent, and differ only in the record. Both rates are bounded by Clopper and Pearson 1934, each at half of
/// the allowed probability of a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttackCounts {
    /// (Hits, runs) with the record.
    with: (u64, u64),
    /// (False alarms, runs) without it.
    without: (u64, u64),
}

impl AttackCounts {
    /// Counts of runs in which the attack says that the record took part.
    ///
    /// - `with`: (hits, runs) with the record;
    /// - `without`: (false alarms, runs) without it.
    ///
    /// # Errors
    /// No runs of one kind, or more hits than runs.
    pub fn new(with: (u64, u64), without: (u64, u64)) -> Result<Self> {
        for (hits, runs) in [with, without] {
            check("number of runs", runs as f64, runs > 0, "at least 1")?;
            let bound = "at most the number of runs";
            check("number of hits", hits as f64, hits <= runs, bound)?;
        }
        Ok(Self { with, without })
    }

    /// A lower bound on the probability of recognising the record, and an upper bound on that of a false alarm; both
    /// hold with probability `1 - alarm_rate`.
    fn rates(&self, alarm_rate: f64) -> (f64, f64) {
        let power = proportion_lower(self.with.0, self.with.1, 0.5 * alarm_rate);
        let level = proportion_upper(self.without.0, self.without.1, 0.5 * alarm_rate);
        (power, level)
    }

    /// A lower bound on epsilon: the larger of `ln((power - delta) / level)` and `ln((1 - level - delta) / (1 - power))`.
    ///
    /// No `(epsilon, delta)`-differentially private mechanism with a smaller epsilon allows an attack with these rates
    /// (Jagielski, Ullman and Oprea 2020, arXiv 2006.07709).
    ///
    /// It needs about `20 exp(epsilon)` runs. For an epsilon above 6 use [`AttackCounts::gaussian_lower_bound`].
    ///
    /// # Errors
    /// A delta outside of `[0, 1]`, a confidence outside of `(0, 1)`.
    pub fn lower_bound(&self, delta: f64, confidence: f64) -> Result<LowerBound> {
        let (power, level) = self.rates(alarm_rate(delta, confidence)?);
        let ratio = ((power - delta) / level).max((1.0 - level - delta) / (1.0 - power));
        Ok(LowerBound::of_epsilon(ratio.ln(), delta, confidence))
    }

    /// A lower bound `mu = Phi^-1(power) - Phi^-1(level)`, and the epsilon of a Gaussian mechanism with that `mu`.
    ///
    /// A few thousand runs suffice for any large epsilon, if the mechanism's trade-off curve is Gaussian. Source: Nasr, Hayes,
    /// Steinke, Balle, Tramer, Jagielski, Carlini and Terzis 2023, arXiv 2302.07956.
    ///
    /// # Errors
    /// As [`AttackCounts::lower_bound`].
    pub fn gaussian_lower_bound(&self, delta: f64, confidence: f64) -> Result<LowerBound> {
        let (power, level) = self.rates(alarm_rate(delta, confidence)?);
        let mu = upper_quantile(level) - upper_quantile(power);
        let mu = if mu.is_nan() { 0.0 } else { mu };
        Ok(LowerBound::of_mu(mu, delta, confidence, GaussianCurve))
    }

    /// Whether the rates refute a claim. A true claim is refuted with a probability of at most `1 - confidence`.
    ///
    /// # Errors
    /// A confidence outside of `(0, 1)`.
    pub fn refute(&self, claim: &Claim, confidence: f64) -> Result<bool> {
        let (power, level) = self.rates(alarm_rate(0.0, confidence)?);
        Ok(claim.least_level(power) > level)
    }
}

/// Scores of many runs, with and without the record; higher if the attack believes that the record took part.
///
/// ```
/// use dp_audit::Scores;
///
/// let with: Vec<f64> = (0..1_000).map(|k| f64::from(k % 100) + 90.0).collect();
/// let without: Vec<f64> = (0..1_000).map(|k| f64::from(k % 100)).collect();
/// let counts = Scores::new(&with, &without)?.held_out(1e-5, 0.95)?;
/// assert!(counts.lower_bound(1e-5, 0.95)?.epsilon > 3.0);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Scores<'a> {
    with: &'a [f64],
    without: &'a [f64],
}

impl<'a> Scores<'a> {
    /// One score for each run, in the order of the runs.
    ///
    /// # Errors
    /// Fewer than two runs of one kind, a score that is not finite.
    pub fn new(with: &'a [f64], without: &'a [f64]) -> Result<Self> {
        for scores in [with, without] {
            let (runs, ok) = (scores.len() as f64, scores.len() > 1);
            check("number of runs", runs, ok, "at least 2")?;
            for score in scores {
                check("score", *score, score.is_finite(), "finite")?;
            }
        }
        Ok(Self { with, without })
    }

    /// The scores of runs with the record, and without.
    pub fn parts(&self) -> (&'a [f64], &'a [f64]) {
        (self.with, self.without)
    }

    /// Counts of scores at or above a threshold that was fixed beforehand.
    pub fn at(&self, threshold: f64) -> AttackCounts {
        let above = |scores: &[f64]| {
            let hits = scores.iter().filter(|score| **score >= threshold);
            (hits.count() as u64, scores.len() as u64)
        };
        AttackCounts {
            with: above(self.with),
            without: above(self.without),
        }
    }

    /// Counts of the second half of the runs, at the threshold with the largest [`AttackCounts::lower_bound`] on the first half.
    ///
    /// The second half is independent of the threshold, so bounds from these counts need no correction.
    ///
    /// # Errors
    /// As [`AttackCounts::lower_bound`].
    pub fn held_out(&self, delta: f64, confidence: f64) -> Result<AttackCounts> {
        self.chosen(|counts| Ok(counts.lower_bound(delta, confidence)?.epsilon))
    }

    /// [`Scores::held_out`] with the best threshold for [`AttackCounts::gaussian_lower_bound`].
    ///
    /// # Errors
    /// As [`AttackCounts::lower_bound`].
    pub fn held_out_gaussian(&self, delta: f64, confidence: f64) -> Result<AttackCounts> {
        self.chosen(|counts| Ok(counts.gaussian_lower_bound(delta, confidence)?.epsilon))
    }

    fn chosen(&self, value: impl Fn(&AttackCounts) -> Result<f64>) -> Result<AttackCounts> {
        let (first, with) = self.with.split_at(self.with.len() / 2);
        let (other, without) = self.without.split_at(self.without.len() / 2);
        let (mut best, mut threshold) = (f64::NEG_INFINITY, 0.0);
        for (candidate, counts) in thresholds(first, other) {
            let value = value(&counts)?;
            if value > best {
                (best, threshold) = (value, candidate);
            }
        }
        Ok(Scores { with, without }.at(threshold))
    }
}

/// Thresholds worth a try, more of them in the tails, with their counts.
fn thresholds(with: &[f64], without: &[f64]) -> Vec<(f64, AttackCounts)> {
    let (with, without) = (sorted(with), sorted(without));
    let mut candidates = Vec::new();
    for scores in [&with, &without] {
        let last = scores.len() - 1;
        let mut from_end = 0;
        while from_end <= last {
            candidates.extend([scores[from_end], scores[last - from_end]]);
            from_end += 1 + from_end / 8;
        }
    }
    let above = |scores: &[f64], t| (at_or_above(scores, t) as u64, scores.len() as u64);
    let counts = |t| AttackCounts {
        with: above(&with, t),
        without: above(&without, t),
    };
    candidates.into_iter().map(|t| (t, counts(t))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(AttackCounts::new((1, 0), (0, 1)).is_err());
        assert!(AttackCounts::new((3, 2), (0, 1)).is_err());
        assert!(Scores::new(&[0.0, f64::NAN], &[0.0, 1.0]).is_err());
        assert!(Scores::new(&[0.0], &[0.0, 1.0]).is_err());
        let counts = AttackCounts::new((1, 2), (1, 2)).unwrap();
        assert!(counts.lower_bound(1e-5, 1.0).is_err());
        assert!(counts.lower_bound(-1e-5, 0.5).is_err());
    }

    #[test]
    fn nothing_found_is_zero() {
        for (recognised, alarms) in [(0, 0), (10, 10), (0, 10), (5, 5)] {
            let counts = AttackCounts::new((recognised, 10), (alarms, 10)).unwrap();
            assert_eq!(counts.lower_bound(1e-5, 0.95).unwrap().epsilon, 0.0);
            assert_eq!(
                counts.gaussian_lower_bound(1e-5, 0.95).unwrap().epsilon,
                0.0
            );
        }
    }

    // (1 - 0.05^(1/10)) twice over: 0 of 10 and 10 of 10 at 2.5 % each.
    #[test]
    fn a_perfect_attack_on_ten_runs() {
        let counts = AttackCounts::new((10, 10), (0, 10)).unwrap();
        let missed = 1.0 - 0.025_f64.powf(0.1);
        let bound = counts.lower_bound(0.0, 0.95).unwrap();
        assert!((bound.epsilon - ((1.0 - missed) / missed).ln()).abs() < 1e-9);
        let bound = counts.gaussian_lower_bound(0.1, 0.95).unwrap();
        assert!((bound.mu.unwrap() - 2.0 * upper_quantile(missed)).abs() < 1e-9);
        for (epsilon, refuted) in [(0.5, true), (1.0, false)] {
            let claim = Claim::approximate(epsilon, 0.0).unwrap();
            assert_eq!(counts.refute(&claim, 0.95).unwrap(), refuted);
        }
    }
}

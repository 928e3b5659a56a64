//! One run, many canaries: each took part or not by a fair coin of its own, and the attack guesses the coins.

mod approximate;
mod curve;

use super::bound::{Assumption::GaussianCurve, LowerBound, alarm_rate};
use super::claim::Claim;
use super::search::largest_refuted;
use dp_accountant::accounting::error::{Result, check};
use dp_accountant::accounting::normal::upper_tail;
use dp_accountant::numerics::bisection::{Until, largest_that_holds};

/// The number of canaries in one run, of guesses of their coins, and of right guesses.
///
/// # Conditions
///
/// - Each canary was included by an independent fair coin, and nothing else depends on the coins.
/// - The guesses depend on the mechanism's release alone.
/// - The *number* of guesses was fixed in advance ([`best_guesses`] gives a good one). If it depends on the scores, the bounds
///   do not hold.
///
/// The canaries and scores may have any distribution and any dependence.
///
/// ```
/// use dp_audit::{Claim, CanaryGuesses, best_guesses};
///
/// // Ten thousand canaries of a release that is claimed to be 1-Gaussian differentially private.
/// let guesses = best_guesses(10_000, 1.0, 1e-6, 0.95)?;
/// # let scores: Vec<f64> = (0..10_000).map(f64::from).collect();
/// # let included: Vec<bool> = (0..10_000).map(|k| k >= 5_000).collect();
/// let found = CanaryGuesses::by_scores(&scores, &included, guesses)?;
/// println!("{}", found.gaussian_lower_bound(1e-6, 0.95)?);
/// assert!(found.p_value(&Claim::gaussian(1.0)?) < 0.01);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CanaryGuesses {
    canaries: u64,
    guesses: u64,
    right: u64,
}

impl CanaryGuesses {
    /// The number of canaries, of guesses of their coins, and of right guesses.
    ///
    /// # Errors
    /// More guesses than canaries, more right ones than guesses, or no guess at all.
    pub fn new(canaries: u64, guesses: u64, right: u64) -> Result<Self> {
        let made = guesses > 0 && guesses <= canaries;
        let bound = "between 1 and the number of canaries";
        check("number of guesses", guesses as f64, made, bound)?;
        let (ok, bound) = (right <= guesses, "at most the number of guesses");
        check("number of right guesses", right as f64, ok, bound)?;
        Ok(Self {
            canaries,
            guesses,
            right,
        })
    }

    /// Guesses "in" for the canaries with the highest scores, and "out" for as many with the lowest scores.
    ///
    /// If the number of guesses is odd, there is one more "in". Of equal scores the later one counts as higher.
    ///
    /// - `scores`: one for each canary, higher if the attack believes that it took part;
    /// - `included`: the coins, in the same order.
    ///
    /// # Errors
    /// As [`CanaryGuesses::new`]; coins of another number than the scores; a score that is not finite.
    pub fn by_scores(scores: &[f64], included: &[bool], guesses: u64) -> Result<Self> {
        let order = order(scores, included, guesses, |score| score)?;
        let low = guesses as usize / 2;
        let high = guesses as usize - low;
        let out = order[..low].iter().filter(|k| !included[**k]).count();
        let top = &order[order.len() - high..];
        let there = top.iter().filter(|k| included[**k]).count();
        Self::new(scores.len() as u64, guesses, (out + there) as u64)
    }

    /// Guesses for the canaries whose log-likelihood ratios are farthest from 0: "in" if the ratio is above 0.
    ///
    /// The guesses go to the side that gives more information, for example when a record that took part may not have been
    /// sampled.
    ///
    /// - `ratios`: one for each canary, `ln` of the release's likelihood with it over that without it;
    /// - `included`: the coins, in the same order.
    ///
    /// # Errors
    /// As [`CanaryGuesses::by_scores`].
    pub fn by_likelihood(ratios: &[f64], included: &[bool], guesses: u64) -> Result<Self> {
        let order = order(ratios, included, guesses, f64::abs)?;
        let guessed = &order[order.len() - guesses as usize..];
        let right = guessed
            .iter()
            .filter(|k| included[**k] == (ratios[**k] > 0.0));
        Self::new(ratios.len() as u64, guesses, right.count() as u64)
    }

    /// The number of right guesses.
    pub fn right(&self) -> u64 {
        self.right
    }

    /// An upper bound on the p-value of the right guesses under the claim, for any trade-off curve.
    ///
    /// Source: the recursion of Mahloujifar, Melis and Chaudhuri 2024, arXiv 2410.22235, algorithm 3; the private function
    /// `curve::refuted` has its proof.
    pub fn p_value(&self, claim: &Claim) -> f64 {
        curve::p_value(self, claim)
    }

    /// The largest epsilon that the right guesses refute for `(epsilon, delta)`-differentially private mechanisms (Steinke, Nasr
    /// and Jagielski 2023, arXiv 2305.08846, theorem 5.2).
    ///
    /// # Errors
    /// A delta outside of `[0, 1]`, a confidence outside of `(0, 1)`.
    pub fn lower_bound(&self, delta: f64, confidence: f64) -> Result<LowerBound> {
        let alarm_rate = alarm_rate(delta, confidence)?;
        let refuted = |epsilon| approximate::p_value(self, epsilon, delta) <= alarm_rate;
        Ok(LowerBound::of_epsilon(
            largest_refuted(1.0, 1e-9, refuted),
            delta,
            confidence,
        ))
    }

    /// The largest `mu` of a Gaussian trade-off curve that the right guesses refute ([`CanaryGuesses::p_value`]), and the epsilon
    /// of that curve.
    ///
    /// # Errors
    /// As [`CanaryGuesses::lower_bound`].
    pub fn gaussian_lower_bound(&self, delta: f64, confidence: f64) -> Result<LowerBound> {
        let mu = self.gaussian_mu(alarm_rate(delta, confidence)?);
        Ok(LowerBound::of_mu(mu, delta, confidence, GaussianCurve))
    }

    fn gaussian_mu(&self, alarm_rate: f64) -> f64 {
        largest_refuted(1.0, 1e-9, |mu| {
            Claim::gaussian(mu).is_ok_and(|claim| curve::refuted(self, &claim, alarm_rate))
        })
    }
}

/// Checks scores and coins, and sorts canaries by a key of their scores, the lowest first; of equal ones the earlier.
fn order(
    scores: &[f64],
    included: &[bool],
    guesses: u64,
    key: impl Fn(f64) -> f64,
) -> Result<Vec<usize>> {
    let (coins, fit) = (included.len() as f64, included.len() == scores.len());
    check("number of coins", coins, fit, "the number of scores")?;
    for score in scores {
        check("score", *score, score.is_finite(), "finite")?;
    }
    CanaryGuesses::new(scores.len() as u64, guesses, 0)?;
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| key(scores[*a]).total_cmp(&key(scores[*b])));
    Ok(order)
}

/// The factor between two numbers of guesses that [`best_guesses`] tries.
const GROWTH: f64 = 1.3;

/// A good number of guesses for the audit of a `mu`-Gaussian claim, to be fixed in advance.
///
/// It is the one with the largest expected [`CanaryGuesses::gaussian_lower_bound`], for normal scores with a shift of `mu` and for
/// one standard deviation fewer right guesses than expected.
///
/// # Errors
/// No canary, a `mu` that is not positive and finite, or as [`CanaryGuesses::lower_bound`].
pub fn best_guesses(canaries: u64, mu: f64, delta: f64, confidence: f64) -> Result<u64> {
    let alarm_rate = alarm_rate(delta, confidence)?;
    check("number of canaries", 0.0, canaries > 0, "at least 1")?;
    check("mu", mu, mu > 0.0 && mu.is_finite(), "positive and finite")?;
    let (mut best, mut bound) = (canaries, 0.0);
    let mut guesses = canaries.min(8);
    loop {
        let right = expected(guesses, canaries, mu);
        let found = CanaryGuesses::new(canaries, guesses, right)?.gaussian_mu(alarm_rate);
        if found > bound {
            (best, bound) = (guesses, found);
        }
        if guesses == canaries {
            return Ok(best);
        }
        guesses = ((guesses as f64 * GROWTH) as u64).min(canaries);
    }
}

/// The number of right guesses for normal scores, one standard deviation below its mean.
fn expected(guesses: u64, canaries: u64, mu: f64) -> u64 {
    // The share of all scores beyond the threshold on each side.
    let share = 0.5 * guesses as f64 / canaries as f64;
    let hits = |t: f64| 0.5 * upper_tail(t - mu);
    let misses = |t: f64| 0.5 * upper_tail(t);
    let wide = |t: f64| hits(t) + misses(t) > share;
    let threshold = largest_that_holds((-50.0, 50.0 + mu), Until::Halvings(100), wide);
    let rate = hits(threshold) / (hits(threshold) + misses(threshold));
    let count = guesses as f64;
    let deviation = (count * rate * (1.0 - rate)).sqrt();
    (count * rate - deviation).max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(CanaryGuesses::new(10, 0, 0).is_err());
        assert!(CanaryGuesses::new(10, 11, 0).is_err());
        assert!(CanaryGuesses::new(10, 5, 6).is_err());
        assert!(CanaryGuesses::by_scores(&[0.0; 3], &[true; 2], 2).is_err());
        assert!(CanaryGuesses::by_scores(&[0.0, f64::NAN], &[true; 2], 2).is_err());
        assert!(CanaryGuesses::by_scores(&[0.0; 3], &[true; 3], 4).is_err());
        assert!(best_guesses(0, 1.0, 1e-5, 0.95).is_err());
        assert!(best_guesses(10, 0.0, 1e-5, 0.95).is_err());
    }

    #[test]
    fn guesses_go_by_rank() {
        let included = [false, true, false, true, true];
        let by =
            |scores: &[f64], guesses| CanaryGuesses::by_scores(scores, &included, guesses).unwrap();
        // The lowest is out and was not there, the two highest were.
        assert_eq!(by(&[-1.0, 0.5, 0.0, 2.0, 3.0], 3).right(), 3);
        // Equal scores: the order in which they are given.
        assert_eq!(by(&[0.0; 5], 5).right(), 3);
        assert_eq!(by(&[0.0; 5], 1).right(), 1);
        let by = |ratios: &[f64], guesses| {
            CanaryGuesses::by_likelihood(ratios, &included, guesses).unwrap()
        };
        // By size: 9 and 4 are of canaries that were there, -3 of one that was not, -2 of one that was.
        let ratios = [-3.0, 9.0, 0.1, -2.0, 4.0];
        assert_eq!(
            [1, 2, 3, 4, 5].map(|guesses| by(&ratios, guesses).right()),
            [1, 2, 3, 3, 3]
        );
    }
}

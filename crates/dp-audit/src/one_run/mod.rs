//! One run, many canaries: each took part or not by a fair coin of its own, and the attack guesses the coins.

mod approximate;
mod curve;

use super::bound::{Assumption, LowerBound, alarm_rate};
use super::claim::Claim;
use super::search::largest;
use dp_accountant::accounting::error::{Result, check};
use dp_accountant::accounting::normal::upper_tail;

/// How many coins of how many canaries were guessed, and how many of the guesses are right.
///
/// # What has to hold
///
/// - Each canary was included by an independent fair coin, and nothing else depends on the coins.
/// - The guesses were made from what the mechanism released alone.
/// - *How many* guesses are made was fixed before anything was seen: [`best_guesses`] names a good number. A number
///   chosen by the scores needs a correction for all that were looked at.
///
/// Then nothing is assumed of the canaries, of the scores or of their dependence.
///
/// ```
/// use dp_audit::{Claim, Guesses, best_guesses};
///
/// // Ten thousand canaries of a release that is claimed to be 1-Gaussian differentially private.
/// let guesses = best_guesses(10_000, 1.0, 1e-6, 0.95)?;
/// # let scores: Vec<f64> = (0..10_000).map(f64::from).collect();
/// # let included: Vec<bool> = (0..10_000).map(|k| k >= 5_000).collect();
/// let found = Guesses::by_scores(&scores, &included, guesses)?;
/// println!("{}", found.gaussian_lower_bound(1e-6, 0.95)?);
/// assert!(found.p_value(&Claim::gaussian(1.0)?) < 0.01);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guesses {
    canaries: u64,
    guesses: u64,
    right: u64,
}

impl Guesses {
    /// How many canaries there were, how many of their coins were guessed, and how many of the guesses are right.
    ///
    /// # Errors
    /// More guesses than canaries, more right ones than guesses, or no guess at all.
    pub fn new(canaries: u64, guesses: u64, right: u64) -> Result<Self> {
        let made = guesses > 0 && guesses <= canaries;
        check(
            "number of guesses",
            guesses as f64,
            made,
            "between 1 and the number of canaries",
        )?;
        let bound = "at most the number of guesses";
        check(
            "number of right guesses",
            right as f64,
            right <= guesses,
            bound,
        )?;
        Ok(Self {
            canaries,
            guesses,
            right,
        })
    }

    /// Guesses that the highest scores are of canaries that took part, and as many of the lowest of canaries that did
    /// not; the one in the middle of an odd number is one of the highest. Of equal scores the later counts as higher.
    ///
    /// - `scores`: one a canary, higher where the attack believes that it took part;
    /// - `included`: the coins, in the same order.
    ///
    /// # Errors
    /// As [`Guesses::new`]; coins of another number than the scores; a score that is not finite.
    pub fn by_scores(scores: &[f64], included: &[bool], guesses: u64) -> Result<Self> {
        let order = order(scores, included, guesses, |score| score)?;
        let low = guesses as usize / 2;
        let high = guesses as usize - low;
        let out = order[..low].iter().filter(|k| !included[**k]).count();
        let top = &order[order.len() - high..];
        let there = top.iter().filter(|k| included[**k]).count();
        Self::new(scores.len() as u64, guesses, (out + there) as u64)
    }

    /// Guesses by logarithms of likelihood ratios, where an attack has them: those that are farthest from 0, each of a
    /// canary that took part if it is above 0. So guesses go to the side that gives more away, as where a record that
    /// took part may not have been sampled.
    ///
    /// - `ratios`: one a canary, of what was released if it took part over what was released if it did not;
    /// - `included`: the coins, in the same order.
    ///
    /// # Errors
    /// As [`Guesses::by_scores`].
    pub fn by_likelihood(ratios: &[f64], included: &[bool], guesses: u64) -> Result<Self> {
        let order = order(ratios, included, guesses, f64::abs)?;
        let guessed = &order[order.len() - guesses as usize..];
        let right = guessed
            .iter()
            .filter(|k| included[**k] == (ratios[**k] > 0.0));
        Self::new(ratios.len() as u64, guesses, right.count() as u64)
    }

    /// Guesses that were right.
    pub fn right(&self) -> u64 {
        self.right
    }

    /// An upper bound on the probability of so many right guesses, were the claim true.
    ///
    /// By the recursion of Mahloujifar, Melis and Chaudhuri 2024 (arXiv 2410.22235, algorithm 3), for any trade-off
    /// curve; the private function `curve::refuted` has its proof.
    pub fn p_value(&self, claim: &Claim) -> f64 {
        curve::p_value(self, claim)
    }

    /// The largest epsilon that so many right guesses refute, of `(epsilon, delta)`-differentially private mechanisms
    /// and nothing more (Steinke, Nasr and Jagielski 2023, arXiv 2305.08846, theorem 5.2).
    ///
    /// # Errors
    /// A delta outside of `[0, 1]`, a confidence outside of `(0, 1)`.
    pub fn lower_bound(&self, delta: f64, confidence: f64) -> Result<LowerBound> {
        let alarm_rate = alarm_rate(delta, confidence)?;
        let refuted = |epsilon| approximate::p_value(self, epsilon, delta) <= alarm_rate;
        Ok(LowerBound::of_epsilon(
            largest(1.0, 1e-9, refuted),
            delta,
            confidence,
        ))
    }

    /// The largest `mu` of a Gaussian trade-off curve that so many right guesses refute ([`Guesses::p_value`]), and
    /// the epsilon of that curve.
    ///
    /// # Errors
    /// As [`Guesses::lower_bound`].
    pub fn gaussian_lower_bound(&self, delta: f64, confidence: f64) -> Result<LowerBound> {
        let mu = self.gaussian_mu(alarm_rate(delta, confidence)?);
        Ok(LowerBound::of_mu(
            mu,
            delta,
            confidence,
            Assumption::GaussianCurve,
        ))
    }

    fn gaussian_mu(&self, alarm_rate: f64) -> f64 {
        largest(1.0, 1e-9, |mu| {
            Claim::gaussian(mu).is_ok_and(|claim| curve::refuted(self, &claim, alarm_rate))
        })
    }
}

/// Canaries by a key of their scores, the lowest first, of equal ones the earlier; what cannot be guessed is refused.
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
    Guesses::new(scores.len() as u64, guesses, 0)?;
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| key(scores[*a]).total_cmp(&key(scores[*b])));
    Ok(order)
}

/// How much more every next number of guesses is that [`best_guesses`] tries.
const GROWTH: f64 = 1.3;

/// A good number of guesses for an audit of a claim, to be fixed before anything is seen.
///
/// It is the one that promises the largest [`Guesses::gaussian_lower_bound`] where the scores are normal with a shift
/// of `mu`, the claimed one, and one standard deviation fewer of the guesses are right than expected.
///
/// # Errors
/// No canary, a `mu` that is not positive and finite, or as [`Guesses::lower_bound`].
pub fn best_guesses(canaries: u64, mu: f64, delta: f64, confidence: f64) -> Result<u64> {
    let alarm_rate = alarm_rate(delta, confidence)?;
    check(
        "number of canaries",
        canaries as f64,
        canaries > 0,
        "at least 1",
    )?;
    check("mu", mu, mu > 0.0 && mu.is_finite(), "positive and finite")?;
    let (mut best, mut bound) = (canaries, 0.0);
    let mut guesses = canaries.min(8);
    loop {
        let right = expected(guesses, canaries, mu);
        let found = Guesses::new(canaries, guesses, right)?.gaussian_mu(alarm_rate);
        if found > bound {
            (best, bound) = (guesses, found);
        }
        if guesses == canaries {
            return Ok(best);
        }
        guesses = ((guesses as f64 * GROWTH) as u64).min(canaries);
    }
}

/// Right guesses of normal scores, one standard deviation below their mean.
fn expected(guesses: u64, canaries: u64, mu: f64) -> u64 {
    // On each side so large a share of all scores lies beyond the threshold.
    let share = 0.5 * guesses as f64 / canaries as f64;
    let (hits, misses) = (
        |t: f64| 0.5 * upper_tail(t - mu),
        |t: f64| 0.5 * upper_tail(t),
    );
    let (mut low, mut high) = (-50.0, 50.0 + mu);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if hits(middle) + misses(middle) > share {
            low = middle;
        } else {
            high = middle;
        }
    }
    let rate = hits(low) / (hits(low) + misses(low));
    let (count, deviation) = (
        guesses as f64,
        (guesses as f64 * rate * (1.0 - rate)).sqrt(),
    );
    (count * rate - deviation).max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(Guesses::new(10, 0, 0).is_err());
        assert!(Guesses::new(10, 11, 0).is_err());
        assert!(Guesses::new(10, 5, 6).is_err());
        assert!(Guesses::by_scores(&[0.0; 3], &[true; 2], 2).is_err());
        assert!(Guesses::by_scores(&[0.0, f64::NAN], &[true; 2], 2).is_err());
        assert!(Guesses::by_scores(&[0.0; 3], &[true; 3], 4).is_err());
        assert!(best_guesses(0, 1.0, 1e-5, 0.95).is_err());
        assert!(best_guesses(10, 0.0, 1e-5, 0.95).is_err());
    }

    #[test]
    fn guesses_go_by_rank() {
        let included = [false, true, false, true, true];
        let by = |scores: &[f64], guesses| Guesses::by_scores(scores, &included, guesses).unwrap();
        // The lowest is out and was not there, the two highest were.
        assert_eq!(by(&[-1.0, 0.5, 0.0, 2.0, 3.0], 3).right(), 3);
        // Equal scores: the order in which they are given.
        assert_eq!(by(&[0.0; 5], 5).right(), 3);
        assert_eq!(by(&[0.0; 5], 1).right(), 1);
        let by =
            |ratios: &[f64], guesses| Guesses::by_likelihood(ratios, &included, guesses).unwrap();
        // By size: 9 and 4 are of canaries that were there, -3 of one that was not, -2 of one that was.
        let ratios = [-3.0, 9.0, 0.1, -2.0, 4.0];
        assert_eq!(
            [1, 2, 3, 4, 5].map(|guesses| by(&ratios, guesses).right()),
            [1, 2, 3, 3, 3]
        );
    }
}

//! A test that may be read after every run and stopped at any time.

use super::bound::{Assumption::GaussianCurve, LowerBound, alarm_rate};
use super::claim::Claim;
use super::order::{at_or_above, sorted};
use dp_accountant::accounting::error::{Result, check};

/// Pairs of runs after which the first bet is chosen; it is chosen again whenever their number has doubled.
const FIRST_BETS: usize = 8;

/// The largest share of the wealth that a bet may lose.
const BOLDEST: f64 = 0.75;

/// Thresholds that are tried for a bet.
const THRESHOLDS: usize = 128;

/// A test of claims by pairs of runs, one with the record and one without.
///
/// The test bets against each claim. If the claim is true, then for each pair `(epsilon, delta)` of its curve and each threshold
/// `t` the payoff `1[score with >= t] - exp(epsilon) 1[score without >= t] - delta` has a mean of at most 0, and so does that of
/// the attack with both signs reversed. A share of the wealth, which begins at 1, is put on the payoff. Threshold, pair and share
/// depend on earlier runs only, so the wealth is a supermartingale: it *ever* reaches `1 / alarm rate` with a probability of at
/// most `alarm rate` (Ville 1939). The test may be stopped at any time, for any reason.
///
/// Source: betting after Waudby-Smith and Ramdas 2024, arXiv 2010.09686; for audits Gonzalez, Dulce-Rubio, Ramdas and Ribero
/// 2025, arXiv 2509.07055, and Kutta, Dunsche, Wei and Zikas 2026, arXiv 2602.06518.
///
/// ```
/// use dp_audit::{Claim, Sequential};
///
/// // Scores of a white-box attack on half of the claimed noise.
/// let mut test = Sequential::new(vec![Claim::gaussian(1.0)?], 0.01)?;
/// # use dp_accountant::accounting::normal::upper_quantile;
/// # let noise = |k: u32| upper_quantile((f64::from(k * 7_919 % 997) + 0.5) / 997.0);
/// for pair in 0..900 {
///     let (with, without) = (noise(2 * pair) + 2.0, noise(2 * pair + 1));
///     if test.observe(with, without)? {
///         break;
///     }
/// }
/// assert!(test.all_refuted() && test.pairs() < 400);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sequential {
    alarm_rate: f64,
    scores: Vec<(f64, f64)>,
    wagers: Vec<Wager>,
}

/// The bet against one claim.
#[derive(Debug, Clone)]
struct Wager {
    claim: Claim,
    bet: Option<Bet>,
    log_wealth: f64,
    largest: f64,
}

/// A payoff whose mean is at most 0 under the claim, with the sums of its payments.
#[derive(Debug, Clone, Copy)]
struct Bet {
    likelihood_ratio: f64,
    delta: f64,
    threshold: f64,
    reversed: bool,
    count: f64,
    sum: f64,
    squares: f64,
}

impl Bet {
    fn payoff(&self, (with, without): (f64, f64)) -> f64 {
        let (hit, alarm) = if self.reversed {
            (without < self.threshold, with < self.threshold)
        } else {
            (with >= self.threshold, without >= self.threshold)
        };
        f64::from(u8::from(hit)) - self.likelihood_ratio * f64::from(u8::from(alarm)) - self.delta
    }

    /// The share of the wealth by which its logarithm is expected to grow most, to second order.
    fn share(&self) -> f64 {
        let (mean, squares) = (self.sum / self.count, self.squares / self.count);
        if mean <= 0.0 {
            return 0.0;
        }
        (mean / squares).min(BOLDEST / (self.likelihood_ratio + self.delta))
    }

    fn add(&mut self, payoff: f64) {
        self.count += 1.0;
        self.sum += payoff;
        self.squares += payoff * payoff;
    }
}

impl Sequential {
    /// A test of claims, from the strongest (the least leak) to the weakest.
    ///
    /// - `alarm_rate`: the largest probability with which a true claim is ever refuted.
    ///
    /// Claims are refuted in order, a weaker one only after all before it. So the rate holds for all claims together if each
    /// follows from the one before.
    ///
    /// # Errors
    /// No claim; a rate outside of `(0, 1)`.
    pub fn new(claims: Vec<Claim>, alarm_rate: f64) -> Result<Self> {
        check("number of claims", 0.0, !claims.is_empty(), "at least 1")?;
        let ok = alarm_rate > 0.0 && alarm_rate < 1.0;
        check("alarm rate", alarm_rate, ok, "in (0, 1)")?;
        let wager = |claim| Wager {
            claim,
            bet: None,
            log_wealth: 0.0,
            largest: 0.0,
        };
        Ok(Self {
            alarm_rate,
            scores: Vec::new(),
            wagers: claims.into_iter().map(wager).collect(),
        })
    }

    /// A test of `count` Gaussian claims, with `mu` from `largest / count` to `largest`, for a [`Sequential::lower_bound`].
    ///
    /// # Errors
    /// As [`Sequential::new`]; a `largest` that is not finite.
    pub fn ladder(largest: f64, count: u32, alarm_rate: f64) -> Result<Self> {
        let rung = |k| Claim::gaussian(largest * f64::from(k) / f64::from(count));
        Self::new((1..=count).map(rung).collect::<Result<_>>()?, alarm_rate)
    }

    /// Adds the scores of one more pair of runs, and says whether all claims are refuted.
    ///
    /// # Errors
    /// A score that is not finite.
    pub fn observe(&mut self, with: f64, without: f64) -> Result<bool> {
        for score in [with, without] {
            check("score", score, score.is_finite(), "finite")?;
        }
        for wager in &mut self.wagers {
            if let Some(bet) = &mut wager.bet {
                // The share was chosen before this pair was seen.
                let payoff = bet.payoff((with, without));
                wager.log_wealth += (bet.share() * payoff).ln_1p();
                wager.largest = wager.largest.max(wager.log_wealth);
                bet.add(payoff);
            }
        }
        self.scores.push((with, without));
        let pairs = self.scores.len();
        if pairs >= FIRST_BETS && pairs.is_power_of_two() {
            let thresholds = thresholds(&self.scores);
            for wager in &mut self.wagers {
                wager.bet = best(&wager.claim, &thresholds, &self.scores).or(wager.bet);
            }
        }
        Ok(self.all_refuted())
    }

    /// The number of pairs so far.
    pub fn pairs(&self) -> usize {
        self.scores.len()
    }

    /// The refuted claims. A refuted claim stays refuted.
    pub fn refuted(&self) -> impl Iterator<Item = &Claim> {
        let enough = -self.alarm_rate.ln();
        self.wagers
            .iter()
            .take_while(move |wager| wager.largest >= enough)
            .map(|wager| &wager.claim)
    }

    /// Whether all claims are refuted.
    pub fn all_refuted(&self) -> bool {
        self.refuted().count() == self.wagers.len()
    }

    /// An upper bound on the p-value of the first claim, from the strongest evidence against it so far.
    pub fn p_value(&self) -> f64 {
        (-self.wagers[0].largest).exp()
    }

    /// The epsilon of the weakest refuted Gaussian claim. It is valid after every pair, and when the test stops because of it.
    ///
    /// # Errors
    /// A delta outside of `[0, 1]`.
    pub fn lower_bound(&self, delta: f64) -> Result<LowerBound> {
        let confidence = 1.0 - self.alarm_rate;
        alarm_rate(delta, confidence)?;
        let mu = self.refuted().filter_map(Claim::mu).fold(0.0, f64::max);
        Ok(LowerBound::of_mu(mu, delta, confidence, GaussianCurve))
    }
}

/// Thresholds spread evenly over the ranks of all scores, each with the shares of scores with and without at or
/// above it.
fn thresholds(scores: &[(f64, f64)]) -> Vec<(f64, f64, f64)> {
    let with = sorted(scores.iter().map(|pair| &pair.0));
    let without = sorted(scores.iter().map(|pair| &pair.1));
    let above = |sorted: &[f64], t| at_or_above(sorted, t) as f64 / sorted.len() as f64;
    let every = (2 * scores.len()).div_ceil(THRESHOLDS);
    sorted(with.iter().chain(&without))
        .into_iter()
        .step_by(every)
        .map(|t| (t, above(&with, t), above(&without, t)))
        .collect()
}

/// The bet that would have grown most, if any would have.
fn best(claim: &Claim, thresholds: &[(f64, f64, f64)], scores: &[(f64, f64)]) -> Option<Bet> {
    let mut found: Option<(f64, Bet)> = None;
    // One more than were counted: a rate of 0 or 1 in a few runs is not believed.
    let certain = 1.0 / scores.len() as f64;
    for (epsilon, delta) in claim.pairs() {
        let likelihood_ratio = epsilon.exp();
        for (threshold, with, without) in thresholds {
            for reversed in [false, true] {
                let (power, level) = if reversed {
                    (1.0 - without, 1.0 - with)
                } else {
                    (*with, *without)
                };
                let level = level + certain;
                let mean = power - likelihood_ratio * level - delta;
                if mean <= 0.0 {
                    continue;
                }
                let variance = power * (1.0 - power) + likelihood_ratio.powi(2) * level;
                let growth = mean * mean / (variance + mean * mean);
                if found.is_none_or(|(best, _)| growth > best) {
                    let bet = Bet {
                        likelihood_ratio,
                        delta,
                        threshold: *threshold,
                        reversed,
                        count: 0.0,
                        sum: 0.0,
                        squares: 0.0,
                    };
                    found = Some((growth, bet));
                }
            }
        }
    }
    let (_, mut bet) = found?;
    for pair in scores {
        bet.add(bet.payoff(*pair));
    }
    Some(bet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(Sequential::new(vec![], 0.05).is_err());
        assert!(Sequential::ladder(1.0, 4, 0.0).is_err());
        assert!(Sequential::ladder(f64::NAN, 4, 0.05).is_err());
        let mut test = Sequential::ladder(1.0, 4, 0.05).unwrap();
        assert!(test.observe(f64::NAN, 0.0).is_err());
        assert_eq!(test.pairs(), 0);
    }

    #[test]
    fn a_release_without_noise_is_found_at_once() {
        let mut test = Sequential::ladder(2.0, 4, 0.05).unwrap();
        while !test.observe(1.0, 0.0).unwrap() {
            assert!(test.pairs() < 100);
        }
        assert!(test.p_value() <= 0.05);
        assert_eq!(test.refuted().count(), 4);
        assert_eq!(test.lower_bound(1e-5).unwrap().mu, Some(2.0));
    }

    #[test]
    fn equal_scores_refute_nothing() {
        let mut test = Sequential::ladder(1.0, 4, 0.05).unwrap();
        for _ in 0..300 {
            test.observe(1.0, 1.0).unwrap();
        }
        assert!(test.p_value() == 1.0 && test.lower_bound(1e-5).unwrap().epsilon == 0.0);
    }

    #[test]
    fn a_bet_never_loses_all() {
        let mut test = Sequential::new(vec![Claim::approximate(3.0, 0.1).unwrap()], 0.05).unwrap();
        for k in 0..2_000_u32 {
            // A leak that stops.
            let score = f64::from(u8::from(k < 64));
            test.observe(score, 0.5 + 0.5 * (1.0 - score)).unwrap();
        }
        assert!(test.wagers[0].log_wealth.is_finite());
    }
}

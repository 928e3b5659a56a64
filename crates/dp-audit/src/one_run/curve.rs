//! Right guesses against a whole trade-off curve.

use super::CanaryGuesses;
use crate::claim::Claim;
use dp_accountant::numerics::bisection::{Until, smallest_that_fails};

/// Allowance for the roundings of the sums, to the side of not refuting.
const ROUNDING: f64 = 1e-9;

/// Whether at least this number of right guesses has a probability below `alarm_rate` under every mechanism that keeps the
/// claim.
///
/// Of `m` canaries `k` are guessed, from what was released alone; `p_i` is the probability of exactly `i` right guesses, and
/// `level` the claim's [`Claim::least_level`]: convex and not falling. Take a canary `j` and a number `t`, and the event that
/// `j` is guessed and at least `t - 1` of the *other* guesses are right. It depends on the coin of `j` through what was
/// released alone, so the guess is a test: the probabilities `x_j` of the event with a right guess of `j` and `y_j` of that
/// with a wrong one satisfy `y_j >= level(x_j)`, and so do their means over canaries. A right guess of `j` makes at least `t`
/// right ones in all, a wrong one at least `t - 1`. Summed over `j`, for every `t`,
///
/// `sum over i >= t-1 of (k - i)/m p_i  >=  level(sum over i >= t of i/m p_i)`.
///
/// The least of all `p` with `p_c + p_(c+1) + ... = alarm_rate` is found from the top: all of the tail at `c`, since mass that
/// is moved down to it makes the left side larger and the right side smaller, and below each the least that its inequality
/// asks for. Where the least adds up to more than 1, there is none.
///
/// Source: Mahloujifar, Melis and Chaudhuri 2024, arXiv 2410.22235, algorithm 3.
pub(super) fn refuted(found: &CanaryGuesses, claim: &Claim, alarm_rate: f64) -> bool {
    let (m, k) = (found.canaries as f64, found.guesses as f64);
    let c = found.right as f64;
    // Shares of canaries that are guessed rightly and wrongly while at least `i` guesses are right.
    let (mut right, mut wrong) = (alarm_rate * c / m, alarm_rate * (k - c) / m);
    let all = k / m * (1.0 + ROUNDING);
    for i in (0..found.right).rev() {
        let needed = claim.least_level(right.min(1.0));
        if needed <= wrong {
            // Nothing is needed here, nor anywhere below.
            break;
        }
        right += (needed - wrong) * i as f64 / (k - i as f64);
        wrong = needed;
        if right + wrong > all {
            return true;
        }
    }
    right + wrong > all
}

/// The least alarm rate at which the claim is refuted; 1 if there is none.
pub(super) fn p_value(found: &CanaryGuesses, claim: &Claim) -> f64 {
    if !refuted(found, claim, 1.0) {
        return 1.0;
    }
    // Logarithms: down to the smallest number there is.
    smallest_that_fails((-745.0, 0.0), Until::Halvings(50), |ln_rate| {
        !refuted(found, claim, ln_rate.exp())
    })
    .exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guesses(canaries: u64, made: u64, right: u64) -> CanaryGuesses {
        CanaryGuesses::new(canaries, made, right).unwrap()
    }

    // One canary, guessed rightly: P <= 1 - P(wrong), and P(wrong) >= level(P).
    #[test]
    fn one_canary_in_closed_form() {
        let epsilon = 1.3_f64;
        let claim = Claim::approximate(epsilon, 0.0).unwrap();
        let expected = 1.0 / (1.0 + (-epsilon).exp());
        assert!((p_value(&guesses(1, 1, 1), &claim) - expected).abs() < 1e-6);
        let claim = Claim::gaussian(1.3).unwrap();
        // The accuracy Phi(mu / 2) of the best test.
        let expected = dp_accountant::accounting::normal::upper_tail(-0.65);
        assert!((p_value(&guesses(1, 1, 1), &claim) - expected).abs() < 1e-6);
    }

    #[test]
    fn without_any_privacy_nothing_is_refuted_and_without_any_leak_the_least() {
        let nothing = Claim::approximate(f64::INFINITY, 0.0).unwrap();
        assert_eq!(p_value(&guesses(100, 100, 100), &nothing), 1.0);
        let all = Claim::gaussian(0.0).unwrap();
        assert_eq!(p_value(&guesses(100, 100, 50), &all), 1.0);
        // No claim is kept better than this one, under which guesses are fair coins.
        for right in [60, 70, 80, 100] {
            let exact = dp_accountant::accounting::binomial::upper_tail(right, 100, 0.5);
            let value = p_value(&guesses(100, 100, right), &all);
            assert!(value >= exact, "{right}: {value} {exact}");
        }
    }
}

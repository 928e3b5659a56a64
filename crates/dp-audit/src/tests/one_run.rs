//! Ten thousand canaries of a Gaussian mechanism, one run, delta 1e-6.

use crate::{CanaryGuesses, Claim, Scores, best_guesses, gaussian_law};
use dp_accountant::accounting::{Accountant, GaussianAccountant};

use super::gaussian;

use super::scores::{FALSE_ALARM, Source, most};

const CANARIES: usize = 10_000;
const DELTA: f64 = 1e-6;

/// Confidence of each bound.
const CONFIDENCE: f64 = 0.95;

fn truth(mu: f64) -> f64 {
    GaussianAccountant
        .epsilon(&gaussian(1.0 / mu), DELTA)
        .unwrap()
}

/// The figures that an estimator with a correction for all thresholds reaches, guessing on one side.
const OTHERS: [(f64, f64); 3] = [(1.0, 2.16), (2.0, 4.72), (4.0, 9.13)];

#[test]
fn right_guesses_bound_epsilon_by_more_than_half_of_it() {
    for (mu, others) in OTHERS {
        let guesses = best_guesses(CANARIES as u64, mu, DELTA, CONFIDENCE).unwrap();
        for seed in 0..5 {
            let (scores, coins) = Source::new(seed).canaries(CANARIES, mu);
            let found = CanaryGuesses::by_scores(&scores, &coins, guesses).unwrap();
            let curve = found.gaussian_lower_bound(DELTA, CONFIDENCE).unwrap();
            let plain = found.lower_bound(DELTA, CONFIDENCE).unwrap();
            let (plain, curve, truth) = (plain.epsilon, curve.epsilon, truth(mu));
            println!("shift {mu}: {guesses} guesses: {curve}; {plain}");
            assert!(curve > 1.15 * others && curve > 0.5 * truth && curve < truth);
            assert!(plain > 0.0 && plain < curve);
        }
    }
}

#[test]
fn scores_of_orthogonal_canaries_bound_it_by_nearly_all_of_it() {
    for (mu, _) in OTHERS {
        let (audits, mut above, mut total) = (20, 0, 0.0);
        for seed in 0..audits {
            let (scores, coins) = Source::new(seed).canaries(CANARIES, mu);
            let of = |there: bool| -> Vec<f64> {
                let kept = scores
                    .iter()
                    .zip(&coins)
                    .filter(|(_, coin)| **coin == there);
                kept.map(|(score, _)| *score).collect()
            };
            let (with, without) = (of(true), of(false));
            let scores = Scores::new(&with, &without).unwrap();
            let bound = gaussian_law(&scores, DELTA, CONFIDENCE).unwrap();
            assert!(bound.epsilon > 0.88 * truth(mu), "{bound}");
            above += u64::from(bound.epsilon > truth(mu));
            total += bound.epsilon;
        }
        let mean = total / audits as f64;
        assert!(mean > 0.94 * truth(mu) && above <= most(audits, 1.0 - CONFIDENCE));
    }
}

#[test]
fn scores_that_know_nothing_give_nothing() {
    for seed in 0..20 {
        let (scores, coins) = Source::new(seed).canaries(CANARIES, 0.0);
        for guesses in [10, 300, 3_000, 10_000] {
            let found = CanaryGuesses::by_scores(&scores, &coins, guesses).unwrap();
            assert_eq!(found.lower_bound(DELTA, 0.999).unwrap().epsilon, 0.0);
            let curve = found.gaussian_lower_bound(DELTA, 0.999).unwrap();
            assert_eq!(curve.epsilon, 0.0);
        }
    }
}

/// Nothing but the claim is assumed: canaries that share all of their noise, the worst that they can do to each other,
/// and canaries that hide nothing in a few runs.
#[test]
fn canaries_may_depend_on_each_other() {
    let (audits, alarm_rate, canaries) = (400_u64, 0.1, 200);
    let mu = 1.0;
    let claim = Claim::gaussian(mu).unwrap();
    let mut source = Source::new(3);
    let mut refuted = 0;
    for _ in 0..audits {
        let coins: Vec<bool> = (0..canaries).map(|_| source.coin()).collect();
        // How many of the even canaries took part is hidden as a whole; the odd ones are guessed by nothing.
        let noise = source.normal(0.0);
        let there = coins.iter().step_by(2).filter(|there| **there).count();
        let hidden = mu * there as f64 + noise - 0.25 * mu * canaries as f64;
        let scores: Vec<f64> = (0..canaries).map(|k| [hidden, 0.0][k % 2]).collect();
        let found = CanaryGuesses::by_scores(&scores, &coins, 100).unwrap();
        refuted += u64::from(found.p_value(&claim) <= alarm_rate);
    }
    assert!(
        refuted <= most(audits, alarm_rate),
        "{refuted} of {audits}, false alarms {FALSE_ALARM}"
    );
}

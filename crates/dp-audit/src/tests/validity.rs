//! Hundreds of small audits: a bound is above the truth no more often than it says.

use crate::{AttackCounts, CanaryGuesses, Claim, LowerBound, Scores, Sequential, gaussian_law};

use super::scores::{Source, most};

const AUDITS: u64 = 400;
const DELTA: f64 = 1e-5;

/// Low, so that mistakes are seen.
const CONFIDENCE: f64 = 0.8;

/// Audits of Gaussian mechanisms, the smallest and the largest leak of interest, by one estimator.
fn check(name: &str, sharp: bool, audit: impl Fn(&mut Source, f64) -> LowerBound) {
    for mu in [0.0, 0.3, 1.0, 3.0] {
        let mut source = Source::new(17);
        let mut above = 0;
        for _ in 0..AUDITS {
            let bound = audit(&mut source, mu);
            above += u64::from(bound.mu.unwrap() > mu);
        }
        let most = most(AUDITS, 1.0 - CONFIDENCE);
        assert!(above <= most, "{name}, mu {mu}: {above} of {AUDITS}");
        // An exact interval is wrong as often as it says: more would be waste.
        assert!(!sharp || above >= AUDITS / 10, "{name}, mu {mu}: {above}");
    }
}

#[test]
fn counts_at_a_threshold_that_was_fixed() {
    check("counts", false, |source, mu| {
        let (with, without) = (source.normals(100, mu), source.normals(80, 0.0));
        let scores = Scores::new(&with, &without).unwrap();
        let counts = scores.at(0.5 * mu);
        counts.gaussian_lower_bound(DELTA, CONFIDENCE).unwrap()
    });
}

#[test]
fn counts_at_a_threshold_that_was_chosen_on_other_runs() {
    check("held out", false, |source, mu| {
        let (with, without) = (source.normals(200, mu), source.normals(160, 0.0));
        let scores = Scores::new(&with, &without).unwrap();
        let counts: AttackCounts = scores.held_out_gaussian(DELTA, CONFIDENCE).unwrap();
        counts.gaussian_lower_bound(DELTA, CONFIDENCE).unwrap()
    });
}

#[test]
fn the_shift_of_normal_scores() {
    check("law", true, |source, mu| {
        let (with, without) = (source.normals(12, mu), source.normals(7, 0.0));
        gaussian_law(&Scores::new(&with, &without).unwrap(), DELTA, CONFIDENCE).unwrap()
    });
}

#[test]
fn guesses_in_one_run() {
    check("one run", false, |source, mu| {
        let (scores, coins) = source.canaries(200, mu);
        let found = CanaryGuesses::by_scores(&scores, &coins, 60).unwrap();
        found.gaussian_lower_bound(DELTA, CONFIDENCE).unwrap()
    });
}

#[test]
fn pairs_looked_at_after_every_one() {
    check("sequential", false, |source, mu| {
        let mut test = Sequential::ladder(4.0, 20, 1.0 - CONFIDENCE).unwrap();
        for _ in 0..300 {
            test.observe(source.normal(mu), source.normal(0.0)).unwrap();
        }
        test.lower_bound(DELTA).unwrap()
    });
}

/// `(epsilon, delta)` bounds need no Gaussian: Laplace noise, whose epsilon is met exactly.
#[test]
fn plain_bounds_of_laplace_noise() {
    let (epsilon, mut source) = (1.0, Source::new(5));
    let (mut counted, mut guessed, mut refuted) = (0, 0, 0);
    for _ in 0..AUDITS {
        let mut scores = |mean| -> Vec<f64> {
            (0..300)
                .map(|_| source.laplace(mean, 1.0 / epsilon))
                .collect()
        };
        let (with, without) = (scores(1.0), scores(0.0));
        let counts = Scores::new(&with, &without)
            .unwrap()
            .held_out(0.0, CONFIDENCE)
            .unwrap();
        counted += u64::from(counts.lower_bound(0.0, CONFIDENCE).unwrap().epsilon > epsilon);
        let coins: Vec<bool> = (0..300).map(|_| source.coin()).collect();
        let scores: Vec<f64> = (0..300)
            .map(|k| if coins[k] { with[k] } else { without[k] })
            .collect();
        let found = CanaryGuesses::by_scores(&scores, &coins, 60).unwrap();
        guessed += u64::from(found.lower_bound(0.0, CONFIDENCE).unwrap().epsilon > epsilon);
        let claim = Claim::approximate(epsilon, 0.0).unwrap();
        let mut test = Sequential::new(vec![claim], 1.0 - CONFIDENCE).unwrap();
        let mut pairs = with.iter().zip(&without);
        refuted += u64::from(pairs.any(|(a, b)| test.observe(*a, *b).unwrap()));
    }
    let most = most(AUDITS, 1.0 - CONFIDENCE);
    assert!(counted <= most && guessed <= most && refuted <= most);
}

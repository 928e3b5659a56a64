//! The worst case: a canary at the bound, attacked through all that the mechanism releases.

use crate::{Claim, Scores, Sequential, Verdict, gaussian_law};
use dp_accountant::accounting::{Event, GaussianAccountant, PldAccountant, noise_multiplier_for};

use super::scores::Source;
use super::within;

const DELTA: f64 = 1e-5;
const CONFIDENCE: f64 = 0.95;

/// The shift that a Gaussian mechanism of this epsilon leaves.
fn mu(epsilon: f64) -> f64 {
    let event = |noise_multiplier| Event::Gaussian { noise_multiplier };
    1.0 / noise_multiplier_for(&GaussianAccountant, epsilon, DELTA, event).unwrap()
}

#[test]
fn many_runs_find_95_percent_of_the_claim_and_never_more() {
    // Runs of each kind that the law of the scores needs, and that counts without it do.
    for (epsilon, law, counts) in [
        (1.0, 300_000, 3_000_000),
        (4.0, 30_000, 300_000),
        (10.0, 10_000, 150_000),
    ] {
        let mut source = Source::new(9);
        let mu = mu(epsilon);
        let (with, without) = (source.normals(counts, mu), source.normals(counts, 0.0));
        let some = Scores::new(&with[..law], &without[..law]).unwrap();
        let by_law = gaussian_law(&some, DELTA, CONFIDENCE).unwrap();
        let all = Scores::new(&with, &without).unwrap();
        let held_out = all.held_out_gaussian(DELTA, CONFIDENCE).unwrap();
        let by_counts = held_out.gaussian_lower_bound(DELTA, CONFIDENCE).unwrap();
        for bound in [by_law, by_counts] {
            within(bound.epsilon, 0.95 * epsilon, epsilon);
            assert_eq!(bound.against(epsilon), Verdict::NotViolated);
            // The same with a tenth less of noise is found.
            assert_eq!(bound.against(0.9 * epsilon), Verdict::Violated);
        }
        let plain = all
            .held_out(DELTA, CONFIDENCE)
            .unwrap()
            .lower_bound(DELTA, CONFIDENCE)
            .unwrap();
        within(plain.epsilon, 0.3 * epsilon, epsilon);
    }
}

#[test]
fn half_of_the_noise_is_found_in_a_few_hundred_pairs() {
    for epsilon in [1.0, 4.0, 10.0] {
        let claimed = mu(epsilon);
        for seed in 0..20 {
            let mut source = Source::new(seed);
            let mut test = Sequential::new(vec![Claim::gaussian(claimed).unwrap()], 0.01).unwrap();
            while !test
                .observe(source.normal(2.0 * claimed), source.normal(0.0))
                .unwrap()
            {
                assert!(test.pairs() < 4_096, "epsilon {epsilon}, seed {seed}");
            }
        }
    }
}

/// A claim that is no Gaussian curve: sampled batches, accounted for as such, against the same without sampling.
#[test]
fn a_training_is_held_against_its_own_curve() {
    let sampled = Event::dp_sgd(1_000, 100, 20, 1.0);
    let claim = Claim::promised_by(&PldAccountant::default(), &sampled).unwrap();
    // The worst that 20 releases of noise 1 without sampling say of a record that is added.
    let mut source = Source::new(2);
    let shift = 20.0_f64.sqrt();
    let (with, without) = (source.normals(200, shift), source.normals(200, 0.0));
    let counts = Scores::new(&with, &without).unwrap().at(0.5 * shift);
    assert!(counts.refute(&claim, 0.99).unwrap());
    let mut test = Sequential::new(vec![claim.clone()], 0.01).unwrap();
    let mut pairs = with.iter().zip(&without);
    assert!(pairs.any(|(a, b)| test.observe(*a, *b).unwrap()));
    // A leak that the claim allows.
    let honest = source.normals(200, 0.3);
    let counts = Scores::new(&honest, &without).unwrap().at(0.15);
    assert!(!counts.refute(&claim, 0.99).unwrap());
}

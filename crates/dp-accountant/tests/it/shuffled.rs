//! Shuffled batches: what they are, what they cost, and what is refused.

use dp_accountant::accounting::{
    Accountant, Event, GaussianAccountant, Neighbours, RdpAccountant, Sampler,
};
use dp_accountant::plan::{Noise, ReleaseNoise, TrainingPlan};
use dp_accountant::sampling::{BatchSampler, CyclicSampler};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::common::{epsilon, gaussian, laplace};

/// No record is in two batches of an epoch, whether all of them fill it or not, and another epoch has another order.
#[test]
fn an_epoch_has_no_record_twice() {
    for (records, batch) in [(12, 3), (13, 3), (14, 3), (5, 5), (7, 1), (9, 5)] {
        let sampler = CyclicSampler::shuffled(records, batch).unwrap();
        let period = sampler.period() as u64;
        let steps = |epoch: u64| {
            let steps = (epoch - 1) * period + 1..=epoch * period;
            assert!(steps.clone().all(|step| sampler.epoch(step) == Some(epoch)));
            steps.map(move |step| sampler.sample(step, &mut ChaCha20Rng::seed_from_u64(epoch)))
        };
        for epoch in [1, 2, 1 << 40] {
            let mut seen = steps(epoch).collect::<Vec<_>>().concat();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), records - records % batch);
        }
        let same = steps(1).eq(steps(2));
        assert_eq!(same, batch == records, "{records} {batch}");
    }
    for (records, batch) in [(0, 0), (0, 1), (4, 0), (4, 5)] {
        let refused = CyclicSampler::shuffled(records, batch).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains(&format!("batch of {batch}")), "{refused}");
    }
}

/// A plan costs one Gaussian release for each epoch, one that ends early included; correlated noise is refused.
#[test]
fn an_epoch_costs_one_release() {
    let z = 3.0;
    let sampler = CyclicSampler::shuffled(1003, 100).unwrap();
    for (sampler, neighbours) in [
        (sampler, Neighbours::ReplaceOne),
        (sampler.zero_out(), Neighbours::ZeroOut),
    ] {
        for (steps, epochs) in [(1, 1), (10, 1), (11, 2), (30, 3)] {
            let plan = TrainingPlan::of(Noise::Multiplier(z), 1e-5, steps, sampler);
            let checked = plan.clone().check().unwrap();
            assert_eq!(checked.accountant(), "gaussian");
            assert_eq!(checked.releases_in_all(), epochs);
            assert_eq!(checked.neighbours(), neighbours);
            assert_eq!(checked.event().neighbours().unwrap(), Some(neighbours));
            let all = gaussian(z).repeated(epochs);
            let expected = GaussianAccountant.epsilon(&all, 1e-5).unwrap();
            assert_eq!(checked.epsilon_upper(), expected);
            let rdp = RdpAccountant.epsilon(&checked.event(), 1e-5).unwrap();
            assert_eq!(rdp, RdpAccountant.epsilon(&all, 1e-5).unwrap());
            let counts = ReleaseNoise::Laplace { epsilon: 0.1 };
            let counted = plan.clone().and("counts", counts);
            assert!(counted.check().unwrap().epsilon_upper() > expected);
            let refused = plan.correlated(2).check().unwrap_err().to_string();
            assert!(refused.contains("does not shuffle"), "{refused}");
        }
    }
    // Nothing but other releases: no epoch.
    let alone = TrainingPlan::of(Noise::Multiplier(z), 1e-5, 0, sampler);
    let alone = alone.and("moments", ReleaseNoise::Share(1.0));
    assert_eq!(alone.check().unwrap().releases_in_all(), 1);
    let fixed = BatchSampler::from(CyclicSampler::new(12, 3).unwrap());
    assert_eq!((fixed.distribution(), fixed.epoch(5)), (None, None));
}

/// Of other events than Gaussian noise, of groups, and as a ledger has it.
#[test]
fn an_epoch_is_its_event_on_all_records() {
    let shuffled = |event: Event| event.sampled(Sampler::ShuffledUpper { zero_out: false });
    for event in [laplace(2.0), Event::Pure { epsilon: 0.3 }, gaussian(2.0)] {
        let (epoch, alone) = (shuffled(event.clone()).repeated(3), event.repeated(3));
        assert_eq!(epsilon(&epoch, 1e-5), epsilon(&alone, 1e-5));
        let text = serde_json::to_string(&epoch).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), epoch);
    }
    let of_four = GaussianAccountant.epsilon(&shuffled(gaussian(8.0)).of_groups(4), 1e-5);
    assert_eq!(of_four, GaussianAccountant.epsilon(&gaussian(2.0), 1e-5));
}

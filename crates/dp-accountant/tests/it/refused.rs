//! What is refused, by name: parameters out of range, and events that an accountant does not cover.

use dp_accountant::accounting::{
    Accountant, AccountingError, BatchDistribution, Event, GaussianAccountant, GdpCltAccountant,
    PldAccountant, RdpAccountant, zcdp_of, zcdp_to_delta, zcdp_to_epsilon,
};

use crate::common::{composed, gaussian, laplace, parallel, pld, poisson, without_replacement};

const BAD: [f64; 4] = [0.0, -1.0, f64::NAN, f64::INFINITY];

struct Accountants {
    pld: PldAccountant,
    clt: [GdpCltAccountant; 2],
}

impl Accountants {
    fn new() -> Self {
        let clt = [GdpCltAccountant::uniform(), GdpCltAccountant::poisson()];
        Self { pld: pld(), clt }
    }

    fn all(&self) -> [&dyn Accountant; 5] {
        let [uniform, poisson] = &self.clt;
        [
            &self.pld,
            &GaussianAccountant,
            &RdpAccountant,
            uniform,
            poisson,
        ]
    }
}

#[track_caller]
fn refused(accountants: &[&dyn Accountant], event: &Event, delta: f64, words: &str) {
    for accountant in accountants {
        let said = accountant.epsilon(event, delta).expect_err(words);
        let said = said.to_string();
        assert!(said.contains(words), "{}: {said}", accountant.name());
    }
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    let accountants = Accountants::new();
    let all = accountants.all();
    for delta in [-1e-9, 1.5, f64::NAN] {
        refused(&all, &gaussian(1.0), delta, "delta");
        refused(
            &all[..1],
            &Event::Failure { delta },
            1e-5,
            "delta of a failure",
        );
    }
    for z in BAD {
        refused(&all, &gaussian(z), 1e-5, "noise multiplier");
    }
    for rate in [0.0, -0.1, 1.1, f64::NAN] {
        for sampler in [without_replacement(rate), poisson(rate)] {
            refused(&all, &gaussian(1.0).sampled(sampler), 1e-5, "rate");
        }
    }
    for (batch, words) in [(11, "10 records"), (0, "batch is 0")] {
        refused(&all, &Event::dp_sgd(10, batch, 5, 1.0), 1e-5, words);
    }
    for bad in [-1.0, f64::NAN] {
        assert!(accountants.pld.delta(&gaussian(1.0), bad).is_err());
    }
    assert!(accountants.pld.trade_off(&gaussian(1.0), 1.1).is_err());
    let huge = gaussian(1.0).repeated(u64::MAX).repeated(3);
    refused(&all[..1], &huge, 1e-5, "number of steps overflows");

    let refused = |event: Event, words: &str| refused(&all[..1], &event, 1e-6, words);
    for epsilon in [0.0, -1.0, 1e-10, 2e3, f64::NAN] {
        for event in [
            Event::ExponentialMechanism { epsilon },
            Event::Pure { epsilon },
        ] {
            refused(event, "between 1e-9 and 1e3");
        }
    }
    for bad in [0, 1_000_001] {
        refused(gaussian(2.0).of_groups(bad), &format!("group is {bad}"));
    }
    let large = gaussian(2e3).sampled(poisson(0.1)).of_groups(129);
    refused(large, "group is 129, but must be between 1 and 128");
    for (records, rate, largest, words) in [
        (100, 1.5, 10, "rate is 1.5"),
        (0, 0.1, 10, "records is 0"),
        (100, 0.1, 0, "largest batch is 0"),
    ] {
        let cut = BatchDistribution::PoissonTruncated {
            records,
            rate,
            largest,
        };
        refused(gaussian(1.0).sampled(cut), words);
    }
    let dealt = |z, steps| gaussian(z).sampled(BatchDistribution::RandomAllocation { steps });
    for steps in [0, 2049] {
        refused(dealt(1.0, steps), &format!("number of steps is {steps}"));
    }
    refused(
        dealt(0.5, 10),
        "random allocation is 0.5, but must be at least 0.6",
    );
    for rho in [-1e-9, 6e5, f64::NAN, f64::INFINITY] {
        assert!(RdpAccountant.epsilon(&Event::Zcdp { rho }, 1e-6).is_err());
        assert!(zcdp_to_epsilon(rho, 1e-6).is_err() && zcdp_to_delta(rho, 1.0).is_err());
    }
    assert!(zcdp_to_epsilon(0.1, 1.5).is_err() && zcdp_to_delta(0.1, -1.0).is_err());
}

#[test]
fn correlated_noise_that_cannot_be_is_refused() {
    let found = |noise_multiplier, bandwidth, steps, separation, participations| {
        let event = Event::CorrelatedGaussian {
            noise_multiplier,
            bandwidth,
            steps,
            separation,
            participations,
        };
        assert!(
            pld()
                .epsilon(&event.clone().sampled(poisson(0.1)), 1e-6)
                .is_err()
        );
        GaussianAccountant.epsilon(&event, 1e-6).is_ok()
    };
    assert!(found(20.0, 4, 60, 6, 10) && found(20.0, 1, 60, u64::MAX, u64::MAX));
    for z in BAD.into_iter().chain([1e-3]) {
        assert!(!found(z, 4, 60, 6, 10), "{z}");
    }
    for (bandwidth, steps) in [(0, 60), (61, 60), (1, 0), (2, u64::MAX), (1 << 20, 1 << 20)] {
        assert!(!found(20.0, bandwidth, steps, 6, 10), "{bandwidth} {steps}");
    }
    assert!(!found(20.0, 4, 60, 0, 10) && !found(20.0, 4, 60, 6, 0));
    assert!(!found(20.0, 1, 1 << 20, 1, 1 << 19));
}

#[test]
fn what_is_not_covered_is_refused_by_name() {
    let accountants = Accountants::new();
    let [pld, gauss, rdp, uniform, by_poisson] = accountants.all();
    let sampled = |event: Event| event.sampled(poisson(0.1));
    let fixed = gaussian(1.0).sampled(without_replacement(0.1));
    let dealt = gaussian(1.0).sampled(BatchDistribution::RandomAllocation { steps: 4 });
    let shuffled =
        |event: Event| event.sampled(BatchDistribution::ShuffledUpper { zero_out: false });
    let failing = composed([gaussian(1.0), Event::Failure { delta: 1e-6 }]);
    let discrete = Event::DiscreteGaussian {
        noise_multiplier: 1.0,
    };
    let zcdp = Event::Zcdp { rho: 0.1 };
    let mixed = "the event mixes parts that hold under";
    let parts = |event| parallel("one", [event]);
    let cases: [(&[&dyn Accountant], Event, &str); 21] = [
        (
            &[pld],
            composed([fixed.clone(), sampled(gaussian(1.0))]),
            mixed,
        ),
        (
            &[pld],
            composed([sampled(gaussian(2.0)), shuffled(gaussian(2.0))]),
            mixed,
        ),
        (
            &[pld],
            fixed.clone().sampled(without_replacement(0.1)),
            "sample of a sample",
        ),
        (&[gauss], fixed, "accountant gaussian does not cover"),
        (&[uniform], laplace(1.0), "does not cover"),
        (&[pld], sampled(failing.clone()), "does not cover"),
        (
            &[gauss, rdp, by_poisson],
            sampled(gaussian(2.0)).of_groups(3),
            "use pld",
        ),
        (&[pld], sampled(laplace(2.0)).of_groups(2), "does not cover"),
        (
            &[pld],
            sampled(gaussian(2.0).of_groups(2)),
            "does not cover",
        ),
        (&[pld], parts(gaussian(1.0)).of_groups(2), "does not cover"),
        (&[pld], parts(gaussian(4.0).of_groups(2)), "does not cover"),
        (&[pld], sampled(parts(gaussian(1.0))).of_groups(2), mixed),
        (&[pld, gauss], zcdp.clone(), "use rdp"),
        (&[pld, gauss], discrete.clone(), "discrete Gaussian noise"),
        (&[pld, gauss], discrete.clone(), "use rdp"),
        (&[rdp], sampled(discrete), "on a sample"),
        (&[rdp], sampled(zcdp), "on a sample"),
        (
            &[pld],
            laplace(2.0).sampled(BatchDistribution::RandomAllocation { steps: 4 }),
            "use Gaussian noise",
        ),
        (
            &[pld],
            dealt.clone().of_groups(2),
            "random allocation of groups",
        ),
        (&[rdp], dealt, "use pld"),
        (
            &[pld],
            shuffled(laplace(8.0)).of_groups(4),
            "does not cover",
        ),
    ];
    for (accountants, event, words) in cases {
        refused(accountants, &event, 1e-6, words);
    }
    for event in [&sampled(gaussian(1.0)), &failing] {
        let found = zcdp_of(event);
        assert!(matches!(
            found,
            Err(AccountingError::NotCovered {
                accountant: "zcdp",
                ..
            })
        ));
    }
    // A sample within a sample would lose what it may fail by: it is refused by all that would answer.
    let cut = BatchDistribution::PoissonTruncated {
        records: 1000,
        rate: 1.0,
        largest: 1,
    };
    let inner = gaussian(4.0).sampled(cut);
    assert_eq!(pld.epsilon(&inner, 1e-6), Ok(f64::INFINITY));
    for rate in [1.0, 0.5] {
        let event = inner
            .clone()
            .sampled(BatchDistribution::PoissonZeroOut { rate });
        refused(&[pld, rdp, gauss], &event, 1e-6, "does not cover");
    }
}

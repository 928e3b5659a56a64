//! Parts of a release that may fail: their deltas add up.

use dp_accountant::accounting::{
    Accountant, Event, GaussianAccountant, GdpCltAccountant, RdpAccountant,
};
use proptest::prelude::*;

use crate::common::{
    composed, delta, epsilon, gaussian, laplace, parallel, pld, replayed, within,
    without_replacement,
};

fn failing(event: &Event, delta: f64) -> Event {
    composed([event.clone(), Event::Failure { delta }])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]
    /// Epsilon at delta is that of the rest at what is left of delta, and delta at epsilon is the sum, by every accountant.
    #[test]
    fn deltas_add_up(z in 0.5_f64..5.0, failure in 1e-9_f64..1e-4, left in 1e-9_f64..1e-4, steps in 1_u64..50) {
        let all = gaussian(z);
        let sampled = gaussian(z).sampled(without_replacement(0.1)).repeated(steps);
        let laplace = laplace(z);
        let pld = pld();
        let clt = GdpCltAccountant::uniform();
        let cases: [(&dyn Accountant, &[&Event]); 4] = [
            (&pld, &[&all, &sampled, &laplace]),
            (&GaussianAccountant, &[&all]),
            (&RdpAccountant, &[&all, &sampled]),
            (&clt, &[&sampled]),
        ];
        for (accountant, events) in cases {
            for event in events {
                let both = failing(event, failure);
                let with = accountant.epsilon(&both, failure + left).expect("epsilon");
                let rest = accountant.epsilon(event, left).expect("epsilon");
                prop_assert!(with >= rest * (1.0 - 1e-9), "{} {with} {rest}", accountant.name());
                prop_assert!((with - rest).abs() < 1e-5 * rest.max(1.0), "{} {with} {rest}", accountant.name());
                prop_assert!(accountant.epsilon(&both, 0.999 * failure).expect("epsilon").is_infinite());
                prop_assert_eq!(accountant.epsilon(&both, 1.0).expect("epsilon"), 0.0);
                let with = accountant.delta(&both, 1.0).expect("delta");
                let rest = accountant.delta(event, 1.0).expect("delta");
                let sum = (rest + failure).min(1.0);
                prop_assert!(with >= sum && with - sum < 1e-12, "{}", accountant.name());
                let profile = accountant.profile(&both, &[0.5, 1.0]).expect("profile");
                prop_assert!(profile[1] >= failure && profile[0] >= profile[1], "{}", accountant.name());
            }
        }
    }
}

#[test]
fn failures_alone_in_groups_and_many_times() {
    let failure = |delta| Event::Failure { delta };
    let thrice = failure(1e-6).repeated(3);
    assert_eq!(epsilon(&thrice, 3.001e-6), 0.0);
    assert_eq!(epsilon(&thrice, 2.999e-6), f64::INFINITY);
    let worst = parallel("classes", [failure(1e-6), failure(2e-6)]);
    within(delta(&worst, 0.0), 2e-6, 2.0001e-6);
    let event = replayed(
        r#"{"event": {"type": "composed", "events": [{"type": "gaussian", "noise_multiplier": 3.0}, {"type": "failure", "delta": 1e-6}]}, "count": 1, "neighbours": "replace_one"}"#,
    );
    let of = |event, delta| GaussianAccountant.epsilon(event, delta).expect("epsilon");
    within(of(&event, 1e-5) - of(&gaussian(3.0), 9e-6), -1e-9, 1e-9);
}

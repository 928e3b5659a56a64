//! Exponential mechanisms and pure epsilons against exact divergences of small mechanisms.

use dp_accountant::accounting::{
    Accountant, Event, GaussianAccountant, GdpCltAccountant, PrivateSelection, RdpAccountant,
    RepetitionDistribution, zcdp_of, zcdp_to_epsilon,
};
use proptest::prelude::*;

use crate::common::{
    composed, delta, epsilon as epsilon_of, gaussian, pld, poisson, replayed, within,
    without_replacement,
};

/// What a lattice and a few units in the last place may add to a delta.
const ABOVE: f64 = 1.0 + 1e-9;

fn exponential(epsilon: f64) -> Event {
    Event::ExponentialMechanism { epsilon }
}

fn pure(epsilon: f64) -> Event {
    Event::Pure { epsilon }
}

/// `sup_S P(S) - e^epsilon Q(S)`.
fn divergence(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
    let apart = |(p, q): (&f64, &f64)| (p - epsilon.exp() * q).max(0.0);
    p.iter().zip(q).map(apart).sum()
}

/// The exponential mechanism of scores with sensitivity 1.
fn softmax(epsilon: f64, scores: &[f64]) -> Vec<f64> {
    let weights: Vec<f64> = scores.iter().map(|u| (0.5 * epsilon * u).exp()).collect();
    let all: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / all).collect()
}

/// Permute-and-flip of scores with sensitivity 1, over all orders: each output in turn is kept with probability
/// `e^(epsilon (u - max) / 2)`.
fn permute_and_flip(epsilon: f64, scores: &[f64]) -> Vec<f64> {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let kept: Vec<f64> = scores
        .iter()
        .map(|u| (0.5 * epsilon * (u - most)).exp())
        .collect();
    // The chance of each set of outputs that were passed over, in any order.
    let n = scores.len();
    let mut found = vec![0.0; n];
    let mut reached = vec![0.0; 1 << n];
    reached[0] = 1.0;
    for set in 0..1_usize << n {
        let left = (n - set.count_ones() as usize) as f64;
        for y in (0..n).filter(|y| set >> y & 1 == 0) {
            let chosen = reached[set] / left;
            found[y] += chosen * kept[y];
            reached[set | 1 << y] += chosen * (1.0 - kept[y]);
        }
    }
    found
}

fn scores() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let one = (-6.0_f64..6.0, -1.0_f64..1.0);
    prop::collection::vec(one, 2..6)
        .prop_map(|both| both.into_iter().map(|(u, by)| (u, u + by)).unzip())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_small_mechanism_exceeds_its_event((u, other) in scores(), epsilon in 0.05_f64..6.0, share in 0.0_f64..1.1) {
        let at = share * epsilon;
        let (p, q) = (softmax(epsilon, &u), softmax(epsilon, &other));
        let accounted = delta(&exponential(epsilon), at);
        prop_assert!(divergence(&p, &q, at) <= accounted * ABOVE + 1e-15);
        // Of a sample: each record of the first is there with the rate, or the second alone.
        let rate = 0.3;
        let mixed: Vec<f64> = p.iter().zip(&q).map(|(p, q)| rate * p + (1.0 - rate) * q).collect();
        let sampled = delta(&exponential(epsilon).sampled(poisson(rate)), at);
        let worst = divergence(&mixed, &q, at).max(divergence(&q, &mixed, at));
        prop_assert!(worst <= sampled * ABOVE + 1e-15);
        let (p, q) = (permute_and_flip(epsilon, &u), permute_and_flip(epsilon, &other));
        prop_assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        prop_assert!(divergence(&p, &q, at) <= delta(&pure(epsilon), at) * ABOVE + 1e-15);
    }

    /// With odds that suit the epsilon in question, two outputs reach the event of one mechanism.
    #[test]
    fn one_mechanism_is_attained(epsilon in 0.05_f64..6.0, share in 0.0_f64..0.98) {
        let at = share * epsilon;
        let largest = 0.5 * (at + epsilon);
        // P(first) = (1 - e^(largest - epsilon)) / (1 - e^-epsilon) after both scores moved by 1.
        let first = -(largest - epsilon).exp_m1() / -(-epsilon).exp_m1();
        let odds = 2.0 / epsilon * (first / (1.0 - first)).ln();
        let (p, q) = (softmax(epsilon, &[odds, 0.0]), softmax(epsilon, &[odds - 1.0, 1.0]));
        let (truth, accounted) = (divergence(&p, &q, at), delta(&exponential(epsilon), at));
        prop_assert!(truth <= accounted * ABOVE && accounted <= truth * (1.0 + 1e-3), "{truth} {accounted}");
        let closed = (0.5 * (at - epsilon)).exp_m1().powi(2) / -(-epsilon).exp_m1();
        prop_assert!((truth / closed - 1.0).abs() < 1e-9, "{truth} {closed}");
        let response = |kept: f64| vec![kept, 1.0 - kept];
        let kept = 1.0 / (1.0 + (-epsilon).exp());
        let truth = divergence(&response(kept), &response(1.0 - kept), at);
        let accounted = delta(&pure(epsilon), at);
        prop_assert!(truth <= accounted * ABOVE && accounted <= truth * (1.0 + 1e-3), "{truth} {accounted}");
    }

    /// Randomised responses compose by the binomial sum of Kairouz, Oh and Viswanath 2015, theorem 3.3.
    #[test]
    fn pure_epsilons_compose_as_published(epsilon in 0.01_f64..2.0, steps in 1_u32..60, share in 0.05_f64..0.9) {
        let at = share * epsilon * f64::from(steps);
        let truth = responses(1.0 / (1.0 + (-epsilon).exp()), epsilon, -epsilon, steps, at);
        let accounted = delta(&pure(epsilon).repeated(u64::from(steps)), at);
        prop_assert!(truth <= accounted * ABOVE, "{truth} {accounted}");
        prop_assert!(truth < 1e-12 || accounted <= truth * (1.0 + 1e-6), "{truth} {accounted}");
    }

    /// Several exponential mechanisms are never accounted below the worst that is known: that of equal ones, and that of two
    /// of which the second is chosen after the first.
    #[test]
    fn many_mechanisms_are_not_below_the_optimum(epsilon in 0.01_f64..2.0, steps in 1_u32..60, share in 0.02_f64..0.5) {
        let at = share * epsilon * f64::from(steps);
        let event = exponential(epsilon).repeated(u64::from(steps));
        let accounted = delta(&event, at);
        let truth = (1..40).map(|k| alike(epsilon, epsilon * f64::from(k) / 40.0, steps, at)).fold(0.0, f64::max);
        prop_assert!(truth <= accounted * ABOVE, "{truth} {accounted}");
        let reached = epsilon_of(&event, truth);
        prop_assert!(reached >= at * (1.0 - 1e-9));
        let near = 1.3 * at + 0.1 * epsilon * f64::from(steps).sqrt();
        prop_assert!(!(1e-9..1e-3).contains(&truth) || reached <= near, "{at} {reached}");
        let adaptive = adaptive_pair(epsilon, 2.0 * share * epsilon);
        prop_assert!(adaptive <= delta(&exponential(epsilon).repeated(2), 2.0 * share * epsilon) * ABOVE);
    }
}

/// Delta of `steps` pairs with losses `high` (of `P`-mass `kept`) and `low`.
fn responses(kept: f64, high: f64, low: f64, steps: u32, epsilon: f64) -> f64 {
    let mut ln_choose = 0.0;
    let mut delta = 0.0;
    for k in 0..=steps {
        if k > 0 {
            ln_choose += (f64::from(steps - k + 1) / f64::from(k)).ln();
        }
        let (ups, downs) = (f64::from(k), f64::from(steps - k));
        let loss = ups * high + downs * low;
        let mass = (ln_choose + ups * kept.ln() + downs * (1.0 - kept).ln()).exp();
        delta += mass * -(epsilon - loss).min(0.0).exp_m1();
    }
    delta
}

/// Delta of exponential mechanisms with losses `t` and `t - epsilon` each.
fn alike(epsilon: f64, t: f64, steps: u32, at: f64) -> f64 {
    let kept = -(t - epsilon).exp_m1() / -(-epsilon).exp_m1();
    responses(kept, t, t - epsilon, steps, at)
}

/// The largest delta of two, over the losses of the first and what is best after each of them.
fn adaptive_pair(epsilon: f64, at: f64) -> f64 {
    let second = |left: f64| match left {
        left if left >= epsilon => 0.0,
        left if left <= -epsilon => -left.exp_m1(),
        left => (0.5 * (left - epsilon)).exp_m1().powi(2) / -(-epsilon).exp_m1(),
    };
    let of = |t: f64| {
        let kept = -(t - epsilon).exp_m1() / -(-epsilon).exp_m1();
        kept * second(at - t) + (1.0 - kept) * second(at - t + epsilon)
    };
    (0..=200)
        .map(|k| of(epsilon * f64::from(k) / 200.0))
        .fold(0.0, f64::max)
}

#[test]
fn divergences_are_the_largest_of_the_range() {
    // Two losses t and t - epsilon, at the worst of many t; what RDP says of delta is above each of them.
    for epsilon in [1e-4, 0.1, 1.0, 5.0, 30.0] {
        let rdp = RdpAccountant;
        let event = exponential(epsilon).repeated(30);
        let by_rho = zcdp_to_epsilon(zcdp_of(&event).unwrap(), 1e-6).unwrap();
        let by_order = rdp.epsilon(&event, 1e-6).unwrap();
        assert!(by_order <= by_rho * 1.1, "{epsilon} {by_order} {by_rho}");
        for share in [0.1, 0.3, 0.6] {
            let at = share * epsilon * 30.0;
            let accounted = rdp.delta(&event, at).unwrap();
            for k in 1..100 {
                let truth = alike(epsilon, epsilon * f64::from(k) / 100.0, 30, at);
                assert!(truth <= accounted * ABOVE, "{epsilon} {share} {k}");
            }
        }
    }
    // Of many small ones they say more than the pair, and pld takes them.
    let event = exponential(0.1).repeated(1000);
    let pld = pld();
    let epsilon = pld.epsilon(&event, 1e-6).unwrap();
    let pair = pld.epsilon_lower(&event, 1e-6).unwrap();
    assert_eq!(epsilon, RdpAccountant.epsilon(&event, 1e-6).unwrap());
    assert!(epsilon < pair, "{epsilon} {pair}");
    let profile = pld.profile(&event, &[epsilon]).unwrap()[0];
    assert!((profile / 1e-6 - 1.0).abs() < 0.2, "{profile}");
}

#[test]
fn they_compose_with_everything_else() {
    let steps = gaussian(1.0)
        .sampled(without_replacement(0.05))
        .repeated(100);
    let alone = epsilon_of(&steps, 1e-6);
    for event in [exponential(0.3), pure(0.3)] {
        let both = composed([steps.clone(), event.clone()]);
        let epsilon = epsilon_of(&both, 1e-6);
        within(pld().epsilon_lower(&both, 1e-6).unwrap(), alone, epsilon);
        assert!(epsilon < alone + 0.3, "{epsilon}");
        assert!(epsilon <= RdpAccountant.epsilon(&both, 1e-6).unwrap());
        // Of one sample its closed form.
        let sampled = event.clone().sampled(without_replacement(0.05));
        let expected = (0.05 * 0.3_f64.exp_m1()).ln_1p();
        let at_zero = epsilon_of(&sampled, 0.0);
        within(at_zero, expected, expected + 1e-12);
        assert!(epsilon_of(&sampled, 1e-9) <= at_zero);
        let many = sampled.repeated(50);
        assert!(epsilon_of(&many, 1e-6) <= RdpAccountant.epsilon(&many, 1e-6).unwrap());
        let runs = RepetitionDistribution::negative_binomial(1.0, 10.0).unwrap();
        let best = PrivateSelection::new(runs, vec![event.clone()], 0.0).unwrap();
        assert!((0.3..0.9).contains(&best.epsilon(1e-6).unwrap()));
        let clt = GdpCltAccountant::uniform();
        for refusing in [&GaussianAccountant as &dyn Accountant, &clt] {
            assert!(refusing.epsilon(&event, 1e-6).is_err());
        }
    }
    let [range, worst] =
        [exponential(0.3), pure(0.3)].map(|event| epsilon_of(&event.repeated(40), 1e-6));
    assert!(range < 0.6 * worst);
    let text = r#"{"event": {"type": "exponential_mechanism", "epsilon": 0.5}, "count": 2, "neighbours": "add_remove"}
{"event": {"type": "pure", "epsilon": 0.5}, "count": 1, "neighbours": "add_remove"}"#;
    within(epsilon_of(&replayed(text), 0.0), 1.5, 1.5 + 1e-12);
}

#[test]
fn the_ends_of_the_range_answer() {
    for epsilon in [1e-9, 1e3] {
        for event in [exponential(epsilon), pure(epsilon)] {
            for accountant in [&pld() as &dyn Accountant, &RdpAccountant] {
                let found = accountant.epsilon(&event, 1e-9).unwrap();
                within(found, 0.0, epsilon * (1.0 + 1e-6) + 1e-9);
            }
        }
    }
}

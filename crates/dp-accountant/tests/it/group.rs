//! Groups of records against exact divergences.

use dp_accountant::accounting::{BatchDistribution, Event, zcdp_of};
use proptest::prelude::*;

use crate::common::{
    delta as delta_of, epsilon as epsilon_of, gaussian, laplace, log_uniform, pld, poisson, within,
};

/// The law of the number of sampled records of a group.
fn binomial(records: u32, rate: f64) -> Vec<f64> {
    let mut law = vec![1.0];
    for _ in 0..records {
        let mut next = vec![0.0; law.len() + 1];
        for (j, weight) in law.iter().enumerate() {
            next[j] += weight * (1.0 - rate);
            next[j + 1] += weight * rate;
        }
        law = next;
    }
    law
}

/// `E_Q (R - a)_+` and `E_Q (1 - a R)_+` for shifts by `shift(j)` with probabilities `law`, by the trapezoidal rule.
fn exact(law: &[f64], shift: impl Fn(usize) -> f64, epsilon: f64) -> [f64; 2] {
    const STEPS: i64 = 100_000;
    let furthest = (0..law.len()).map(&shift).fold(0.0, f64::max);
    let (low, high) = (-12.0, furthest + 12.0);
    let width = (high - low) / STEPS as f64;
    let mut sums = [0.0; 2];
    for k in 0..=STEPS {
        let x = low + k as f64 * width;
        let density = |at: f64| (-0.5 * (x - at).powi(2)).exp();
        let mixed = law.iter().enumerate().map(|(j, w)| w * density(shift(j)));
        let (q, p) = (density(0.0), mixed.sum::<f64>());
        sums[0] += (p - epsilon.exp() * q).max(0.0);
        sums[1] += (q - epsilon.exp() * p).max(0.0);
    }
    sums.map(|sum| sum * width / (2.0 * std::f64::consts::PI).sqrt())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// One step on a Poisson sample is the larger of both directions, and not more.
    #[test]
    fn a_step_has_the_divergence_of_its_mixture(
        records in 2_u32..12, rate in log_uniform(1e-3, 0.9), z in 0.6_f64..20.0, epsilon in 0.0_f64..4.0,
    ) {
        let event = gaussian(z).sampled(poisson(rate)).of_groups(u64::from(records));
        let truth = exact(&binomial(records, rate), |j| j as f64 / z, epsilon);
        let truth = truth[0].max(truth[1]);
        let delta = delta_of(&event, epsilon);
        prop_assert!(delta >= truth * (1.0 - 1e-7) - 1e-14, "{truth} {delta}");
        prop_assert!(delta <= truth * 1.01 + 1e-12, "{truth} {delta}");
    }

    /// Compositions keep the order of both bounds, grow with the group, and stay below the steps from record to record.
    #[test]
    fn groups_grow_and_stay_below_the_general_bound(
        records in 2_u64..6, rate in log_uniform(1e-3, 0.1), z in 1.0_f64..8.0, steps in 1_u64..300,
    ) {
        let event = gaussian(z).sampled(poisson(rate)).repeated(steps);
        let group = event.clone().of_groups(records);
        let (upper, lower) = (epsilon_of(&group, 1e-6), pld().epsilon_lower(&group, 1e-6).expect("epsilon"));
        prop_assert!(upper >= lower && upper - lower < 5e-4 * (1.0 + upper), "{upper} {lower}");
        let fewer = epsilon_of(&event.clone().of_groups(records - 1), 1e-6);
        prop_assert!(fewer <= upper + 2e-4);
        // Steps that change one record each can say nothing smaller.
        let each = lower / records as f64;
        let sum: f64 = (0..records).map(|k| (k as f64 * each).exp()).sum();
        let general = sum * delta_of(&event, each);
        prop_assert!(general >= 1e-6 * (1.0 - 1e-9), "{general}");
        prop_assert_eq!(epsilon_of(&event.clone().of_groups(1), 1e-6), epsilon_of(&event, 1e-6));
    }

    /// Records that push in any directions of a plane do less than along one line.
    #[test]
    fn one_direction_is_the_worst(angles in prop::collection::vec(0.0_f64..6.3, 3), rate in 0.05_f64..0.6, z in 0.7_f64..3.0, epsilon in 0.0_f64..2.0) {
        const SIDE: i64 = 400;
        let subsets: Vec<(f64, f64, f64)> = (0..8_u32).map(|set| {
            let mut found = (1.0, 0.0, 0.0);
            for (j, angle) in angles.iter().enumerate() {
                let inside = set >> j & 1 == 1;
                found.0 *= if inside { rate } else { 1.0 - rate };
                if inside {
                    found.1 += angle.cos() / z;
                    found.2 += angle.sin() / z;
                }
            }
            found
        }).collect();
        let reach = 3.0 / z + 7.0;
        let width = 2.0 * reach / SIDE as f64;
        let mut sums = [0.0_f64; 2];
        for k in 0..SIDE * SIDE {
            let place = |k: i64| (k as f64 + 0.5) * width - reach;
            let (x, y) = (place(k % SIDE), place(k / SIDE));
            let density = |a: f64, b: f64| (-0.5 * ((x - a).powi(2) + (y - b).powi(2))).exp();
            let (q, p): (f64, f64) = (density(0.0, 0.0), subsets.iter().map(|s| s.0 * density(s.1, s.2)).sum());
            sums[0] += (p - epsilon.exp() * q).max(0.0);
            sums[1] += (q - epsilon.exp() * p).max(0.0);
        }
        let scale = width * width / (2.0 * std::f64::consts::PI);
        let event = gaussian(z).sampled(BatchDistribution::PoissonZeroOut { rate }).of_groups(3);
        let delta = delta_of(&event, epsilon);
        for sum in sums {
            // The rule's own error is of the second order in the width.
            prop_assert!(sum * scale <= delta * (1.0 + 1e-3) + 1e-5, "{} {delta}", sum * scale);
        }
    }
}

#[test]
fn without_samples_the_sensitivity_is_as_many_times_larger() {
    let four = |event: Event| event.of_groups(4);
    let exponential = |epsilon| Event::ExponentialMechanism { epsilon };
    for (event, alike) in [
        (four(gaussian(8.0).repeated(3)), gaussian(2.0).repeated(3)),
        (four(laplace(8.0)), laplace(2.0)),
        (
            four(Event::Pure { epsilon: 0.1 }),
            Event::Pure { epsilon: 0.4 },
        ),
        (four(exponential(0.1)), exponential(0.4)),
        (
            gaussian(8.0).of_groups(2).repeated(2).of_groups(2),
            gaussian(2.0).repeated(2).of_groups(1),
        ),
    ] {
        within(
            epsilon_of(&event, 1e-6) - epsilon_of(&alike, 1e-6),
            -1e-9,
            1e-9,
        );
    }
    let rho = zcdp_of(&four(Event::Zcdp { rho: 0.01 })).unwrap();
    within(rho, 0.16 - 1e-12, 0.16 + 1e-12);
    let failing = four(Event::Failure { delta: 1e-7 });
    within(delta_of(&failing, 1.0), 4e-7, 4.001e-7);
    assert_eq!(epsilon_of(&four(Event::NonPrivate), 1e-6), f64::INFINITY);
}

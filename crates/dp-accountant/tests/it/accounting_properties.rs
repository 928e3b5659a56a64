//! Laws that the accountants keep over their whole range.

use dp_accountant::accounting::{
    Accountant, Event, GaussianAccountant, PldAccountant, RdpAccountant,
};
use proptest::prelude::*;

use crate::common::{
    composed, delta as delta_of, epsilon as epsilon_of, gaussian, laplace, log_uniform, pld,
    poisson, within, without_replacement,
};

/// Round-off allowed between values computed on different lattices.
const LOOSE: f64 = 4e-4;

fn event(by_poisson: bool, rate: f64, z: f64, steps: u64) -> Event {
    let sampler = match by_poisson {
        true => poisson(rate),
        false => without_replacement(rate),
    };
    gaussian(z).sampled(sampler).repeated(steps)
}

/// The lower and the upper bound.
fn bracket(event: &Event, delta: f64) -> (f64, f64) {
    let lower = pld().epsilon_lower(event, delta).expect("epsilon");
    (lower, epsilon_of(event, delta))
}

fn steps() -> impl Strategy<Value = u64> {
    log_uniform(1.0, 1e5).prop_map(|steps| steps as u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_two_sides_bracket_the_truth(
        poisson in any::<bool>(),
        rate in log_uniform(1e-4, 1.0),
        steps in steps(),
        z in log_uniform(0.3, 100.0),
        delta in log_uniform(1e-12, 1e-2),
    ) {
        let event = event(poisson, rate, z, steps);
        let (lower, upper) = bracket(&event, delta);
        prop_assert!(upper.is_finite() && lower >= 0.0);
        prop_assert!(lower <= upper * (1.0 + 1e-9), "{lower} {upper}");
        let fine = PldAccountant::with_accuracy(2e-5).unwrap();
        let finer = fine.epsilon(&event, delta).unwrap();
        prop_assert!(finer >= lower * (1.0 - 1e-9), "{finer} {lower}");
        // Transforms round. Beside the smallest deltas that counts: at 1e-12 it is up to 7e-4 of epsilon.
        let loose = LOOSE + 3e-15 / delta;
        prop_assert!(finer <= upper * (1.0 + loose) + 1e-9, "{finer} {upper}");
        prop_assert!(upper <= finer * (1.0 + loose) + 1e-9, "{finer} {upper}");
        // Sampling never costs more than seeing every record.
        let whole = GaussianAccountant.epsilon(&gaussian(z).repeated(steps), delta).unwrap();
        prop_assert!(lower <= whole * (1.0 + 1e-9));
    }

    #[test]
    fn rates_close_to_one_reach_the_closed_form(
        poisson in any::<bool>(),
        steps in steps(),
        z in log_uniform(0.3, 100.0),
        delta in log_uniform(1e-12, 1e-2),
    ) {
        // Only 1e-9 of the records stay out, so that the closed form is the truth to 1e-7.
        let event = event(poisson, 1.0 - 1e-9, z, steps);
        let closed = GaussianAccountant.epsilon(&gaussian(z).repeated(steps), delta).unwrap();
        let (lower, upper) = bracket(&event, delta);
        prop_assert!(upper >= closed * (1.0 - 1e-6), "{upper} {closed}");
        prop_assert!(upper <= closed * (1.0 + LOOSE) + 1e-9, "{upper} {closed}");
        prop_assert!(lower <= closed * (1.0 + 1e-6), "{lower} {closed}");
    }

    #[test]
    fn one_step_without_replacement_has_its_closed_form(
        rate in log_uniform(1e-4, 1.0),
        z in log_uniform(0.3, 100.0),
        delta in log_uniform(1e-12, 1e-2),
    ) {
        // Lemma 5.2 of Rodriguez-Vitores et al. (2025, arXiv 2502.01701): epsilon' = ln(1 + p (e^epsilon - 1)) at
        // delta' = p delta.
        let inner = GaussianAccountant.epsilon(&gaussian(z), (delta / rate).min(1.0)).unwrap();
        let closed = (rate * inner.exp_m1()).ln_1p();
        let event = event(false, rate, z, 1);
        let (lower, upper) = bracket(&event, delta);
        prop_assert!(upper >= closed * (1.0 - 1e-9), "{upper} {closed}");
        // As delta nears the rate, epsilon goes to 0: the longest lattice leaves an absolute error there.
        let loose = if delta > 0.1 * rate { 1e-6 } else { 1e-10 };
        prop_assert!(upper <= closed * (1.0 + LOOSE) + loose, "{upper} {closed}");
        prop_assert!(lower <= closed * (1.0 + 1e-9), "{lower} {closed}");
    }

    #[test]
    fn one_poisson_step_has_its_closed_form(
        rate in log_uniform(1e-4, 1.0),
        z in log_uniform(0.3, 100.0),
        epsilon in log_uniform(1e-3, 5.0),
    ) {
        // Removing: E_Q[(1 - p + p R - e^epsilon)_+] = p delta(ln(1 + (e^epsilon - 1) / p)).
        let shifted = (epsilon.exp_m1() / rate).ln_1p();
        let removed = rate * GaussianAccountant.delta(&gaussian(z), shifted).unwrap();
        let event = event(true, rate, z, 1);
        let upper = delta_of(&event, epsilon);
        prop_assert!(upper >= removed * (1.0 - 1e-9) - 1e-44, "{upper} {removed}");
    }

    #[test]
    fn epsilon_is_monotone(
        poisson in any::<bool>(),
        rate in log_uniform(1e-4, 0.5),
        steps in steps(),
        z in log_uniform(0.3, 100.0),
        delta in log_uniform(1e-12, 1e-3),
    ) {
        let at = |rate, z, steps, delta| {
            epsilon_of(&event(poisson, rate, z, steps), delta)
        };
        let here = at(rate, z, steps, delta);
        let room = here * (1.0 + LOOSE) + 1e-9;
        prop_assert!(at(rate, z * 1.3, steps, delta) <= room);
        prop_assert!(at(rate, z, steps, delta * 10.0) <= room);
        prop_assert!(at(rate * 2.0, z, steps, delta) * (1.0 + LOOSE) + 1e-9 >= here);
        prop_assert!(at(rate, z, steps * 2, delta) * (1.0 + LOOSE) + 1e-9 >= here);
    }

    #[test]
    fn delta_and_epsilon_are_inverse_to_each_other(
        poisson in any::<bool>(),
        rate in log_uniform(1e-4, 1.0),
        steps in steps(),
        z in log_uniform(0.3, 100.0),
        delta in log_uniform(1e-12, 1e-2),
    ) {
        let event = event(poisson, rate, z, steps);
        let epsilon = epsilon_of(&event, delta);
        let back = delta_of(&event, epsilon);
        // Both are upper bounds, on different lattices: equal up to what 1e-4 of epsilon is worth.
        prop_assert!(back <= delta * 1.02, "{back} {delta}");
        if epsilon > 0.0 {
            prop_assert!(back >= delta * 0.98, "{back} {delta}");
        }
    }

    #[test]
    fn steps_add_up(
        poisson in any::<bool>(),
        rate in log_uniform(1e-4, 0.5),
        first in steps(),
        second in steps(),
        z in log_uniform(0.3, 100.0),
        delta in log_uniform(1e-12, 1e-2),
    ) {
        let whole = event(poisson, rate, z, first + second);
        let parts = composed([event(poisson, rate, z, first), event(poisson, rate, z, second)]);
        // Nearly equal steps are composed as different ones.
        let nearly = [event(poisson, rate, z, first), event(poisson, rate, z * (1.0 + 1e-12), second)];
        let whole = epsilon_of(&whole, delta);
        prop_assert_eq!(epsilon_of(&parts, delta), whole);
        let nearly = epsilon_of(&composed(nearly), delta);
        prop_assert!((nearly - whole).abs() <= LOOSE * whole + 1e-9, "{nearly} {whole}");
    }

    #[test]
    fn unsampled_steps_in_a_composition_are_not_forgotten(
        rate in log_uniform(1e-3, 0.5),
        steps in 1_u64..2000,
        z in log_uniform(0.5, 20.0),
        release in log_uniform(0.5, 20.0),
        delta in log_uniform(1e-10, 1e-3),
    ) {
        let sampled = event(false, rate, z, steps);
        let both = composed([sampled.clone(), gaussian(release)]);
        let both = epsilon_of(&both, delta);
        let alone = epsilon_of(&sampled, delta);
        let single = epsilon_of(&gaussian(release), delta);
        prop_assert!(both >= alone.max(single) * (1.0 - LOOSE));
        // Basic composition at half of delta each is looser.
        let half = epsilon_of(&sampled, delta / 2.0)
            + epsilon_of(&gaussian(release), delta / 2.0);
        prop_assert!(both <= half * (1.0 + LOOSE));
    }

    #[test]
    fn renyi_accounting_is_never_below(
        poisson in any::<bool>(),
        rate in log_uniform(1e-4, 1.0),
        steps in steps(),
        z in log_uniform(0.3, 100.0),
        delta in log_uniform(1e-12, 1e-2),
    ) {
        let event = event(poisson, rate, z, steps);
        let lower = pld().epsilon_lower(&event, delta).unwrap();
        let renyi = RdpAccountant.epsilon(&event, delta).unwrap();
        prop_assert!(renyi >= lower * (1.0 - 1e-9), "{renyi} {lower}");
    }

    #[test]
    fn laplace_mixtures_stay_below_pure_composition(
        rate in log_uniform(1e-3, 1.0),
        steps in 1_u64..200,
        scale in log_uniform(0.5, 50.0),
        delta in log_uniform(1e-10, 1e-2),
    ) {
        let step = laplace(scale).sampled(without_replacement(rate));
        let event = step.clone().repeated(steps);
        let pure = steps as f64 * (rate * (1.0 / scale).exp_m1()).ln_1p();
        let (lower, epsilon) = bracket(&event, delta);
        prop_assert!(epsilon <= pure * (1.0 + 1e-9));
        prop_assert!(lower <= epsilon * (1.0 + 1e-9), "{lower} {epsilon}");
        let none = epsilon_of(&event, 0.0);
        prop_assert!((none / pure - 1.0).abs() < 1e-9, "{none} {pure}");
        // One Laplace step: delta(epsilon) = 1 - e^((epsilon - 1/scale) / 2), sampled by lemma 5.2.
        let at = 0.3 / scale;
        let sampled = (rate * at.exp_m1()).ln_1p();
        let expected = -rate * ((at - 1.0 / scale) / 2.0).exp_m1();
        let value = delta_of(&step, sampled);
        prop_assert!(value >= expected * (1.0 - 1e-9), "{value} {expected}");
        prop_assert!(value <= expected * (1.0 + 1e-2), "{value} {expected}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]

    #[test]
    fn trade_off_functions_are_convex_decreasing_and_below_the_diagonal(
        poisson in any::<bool>(),
        rate in log_uniform(1e-4, 1.0),
        steps in steps(),
        z in log_uniform(0.3, 100.0),
    ) {
        let event = event(poisson, rate, z, steps);
        let alphas: Vec<f64> = (0..=25).map(|k| f64::from(k) / 25.0).collect();
        let accountants: [&dyn Accountant; 2] = [&pld(), &RdpAccountant];
        let mut curves = vec![];
        for accountant in accountants {
            let f = accountant.trade_off_curve(&event, &alphas).unwrap();
            for k in 0..alphas.len() {
                prop_assert!((0.0..=1.0 - alphas[k] + 1e-15).contains(&f[k]));
            }
            for w in f.windows(2) {
                prop_assert!(w[1] <= w[0] + 1e-15);
            }
            for w in f.windows(3) {
                prop_assert!(w[1] <= 0.5 * (w[0] + w[2]) + 1e-12);
            }
            curves.push(f);
        }
        for (pld, rdp) in curves[0].iter().zip(&curves[1]) {
            prop_assert!(rdp <= &(pld + 1e-3), "{rdp} {pld}");
        }
    }

    #[test]
    fn one_laplace_step_has_its_closed_form(rate in log_uniform(1e-4, 0.99), scale in log_uniform(0.5, 50.0), delta in log_uniform(1e-14, 1e-4)) {
        check_one_laplace_step(rate, scale, delta);
    }
}

/// Where delta is below what the largest loss weighs, the planned tilt has no bound: masses must not be
/// lost to underflow there, or epsilon falls below the truth.
#[test]
fn a_delta_below_the_largest_atom_keeps_the_order_of_the_bounds() {
    check_one_laplace_step(
        0.001_576_462_082_069_2,
        7.166_678_597_712_817,
        2.013_576_901_224_79e-10,
    );
}

fn check_one_laplace_step(rate: f64, scale: f64, delta: f64) {
    // delta(at) = 1 - e^((at - 1/scale) / 2), sampled by lemma 5.2.
    let at = 1.0 / scale + 2.0 * (-delta / rate).ln_1p();
    if at <= 0.0 {
        return;
    }
    let truth = (rate * at.exp_m1()).ln_1p();
    let step = laplace(scale).sampled(without_replacement(rate));
    let (lower, upper) = bracket(&step, delta);
    let about = format!("rate {rate} scale {scale} delta {delta}: {lower} {truth} {upper}");
    // The truth itself is rounded, and cancels where it is far below 1 / scale.
    let slack = 1e-13 * truth + 1e-16;
    assert!(lower <= truth + slack && truth <= upper + slack, "{about}");
    assert!(upper <= truth * (1.0 + LOOSE) + 1e-9, "{about}");
}

/// Where hardly any loss is below that of most steps, rounding alone carries mass out of the window.
#[test]
fn a_profile_of_rare_records_is_not_wrapped_upon_itself() {
    let event = event(true, 2e-4, 0.35, 53);
    let epsilons = [1.0, 5.0, 10.0, 15.0];
    let deltas = pld().profile(&event, &epsilons).unwrap();
    for (epsilon, delta) in epsilons.into_iter().zip(deltas) {
        let alone = delta_of(&event, epsilon);
        within(delta, alone * (1.0 - 1e-3), alone * 1.01 + 1e-9);
    }
}

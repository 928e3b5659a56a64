//! Zero-concentrated privacy, in and out.

use dp_accountant::accounting::{
    Accountant, Event, GaussianAccountant, RdpAccountant, zcdp_of, zcdp_to_delta, zcdp_to_epsilon,
};
use proptest::prelude::*;

use crate::common::{composed, gaussian, laplace, poisson, replayed, within};

/// `(rho, delta, epsilon)`, the stationary point of the conversion by bisection with 40 digits, rounded to 16.
const GOLDEN: &[(f64, f64, f64)] = &[
    (0.5, 1e-5, 4.728_386_984_943_314),
    (1e-06, 1e-5, 0.003_456_667_061_275_66),
    (0.01, 1e-6, 0.6216926545596025),
    (0.1, 1e-9, 2.715481886730502),
    (2.0, 1e-6, 11.688596249354894),
    (50.0, 1e-10, 116.1881559582255),
    (0.001, 0.1, 0.0),
    (3.0, 0.3, 4.997149978506474),
    (1e-09, 1e-12, 0.000_244_151_620_025_342),
    (400000.0, 1e-5, 404285.7013842954),
];

#[test]
fn conversions_are_the_least_over_all_orders() {
    for &(rho, delta, expected) in GOLDEN {
        let epsilon = zcdp_to_epsilon(rho, delta).unwrap();
        within(
            epsilon,
            expected * (1.0 - 4e-16),
            expected * (1.0 + 1e-9) + 1e-13,
        );
        if expected > 0.0 {
            let back = zcdp_to_delta(rho, epsilon).unwrap();
            within(back / delta, 1.0 - 1e-6, 1.0 + 1e-6);
        }
    }
    assert_eq!(zcdp_to_epsilon(0.0, 0.0), Ok(0.0));
    assert_eq!(zcdp_to_epsilon(0.1, 0.0), Ok(f64::INFINITY));
    assert_eq!(zcdp_to_delta(0.1, f64::INFINITY), Ok(0.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Between the truth for one mechanism that is rho-zCDP and the conversion of Bun and Steinke 2016, and not above the
    /// accountant's, which tries some orders only.
    #[test]
    fn conversions_lie_between_gaussian_noise_and_the_first_one(ln_rho in -12.0_f64..5.0, ln_delta in -60.0_f64..-1.5) {
        let (rho, delta) = (ln_rho.exp(), ln_delta.exp());
        let epsilon = zcdp_to_epsilon(rho, delta).expect("epsilon");
        let z = (0.5 / rho).sqrt();
        let least = GaussianAccountant.epsilon(&gaussian(z), delta).expect("epsilon");
        let most = rho + 2.0 * (-rho * ln_delta).sqrt();
        prop_assert!(epsilon >= least && epsilon <= most, "{least} {epsilon} {most}");
        let accounted = RdpAccountant.epsilon(&Event::Zcdp { rho }, delta).expect("epsilon");
        prop_assert!(epsilon <= accounted * (1.0 + 1e-9), "{epsilon} {accounted}");
        let at = zcdp_to_delta(rho, least.max(0.1)).expect("delta");
        prop_assert!(at >= GaussianAccountant.delta(&gaussian(z), least.max(0.1)).expect("delta"));
    }
}

#[test]
fn it_composes_as_gaussian_noise_of_the_same_rho() {
    let sampled = gaussian(1.0).sampled(poisson(0.01)).repeated(50);
    for (rho, z) in [(0.02, 5.0), (0.5, 1.0)] {
        let with = |part: Event| {
            let all = composed([part.repeated(3), sampled.clone()]);
            RdpAccountant.epsilon(&all, 1e-6).unwrap()
        };
        within(with(Event::Zcdp { rho }) - with(gaussian(z)), 0.0, 1e-9);
    }
    let line =
        r#"{"event": {"type": "zcdp", "rho": 0.02}, "count": 3, "neighbours": "replace_one"}"#;
    within(
        zcdp_of(&replayed(line)).unwrap(),
        0.06 - 1e-12,
        0.06 + 1e-12,
    );
}

#[test]
fn rhos_add_up() {
    let discrete = Event::DiscreteGaussian {
        noise_multiplier: 1.0,
    };
    let event = composed([
        gaussian(2.0).repeated(4),
        discrete,
        laplace(2.0),
        Event::Zcdp { rho: 0.25 },
    ]);
    let expected = 4.0 / 8.0 + 0.5 + 1.0 / 8.0 + 0.25;
    let rho = zcdp_of(&event).unwrap();
    within(rho, expected, expected + 1e-12);
    assert!(zcdp_of(&Event::NonPrivate).unwrap().is_infinite());
    // It never claims less than the divergences do.
    let by_order = RdpAccountant.epsilon(&event, 1e-6).unwrap();
    assert!(zcdp_to_epsilon(rho, 1e-6).unwrap() > by_order * (1.0 - 1e-3));
}

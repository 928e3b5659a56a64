//! The discrete Gaussian: what is accounted of it against its exact delta.

use dp_accountant::accounting::{Accountant, Event, GaussianAccountant, RdpAccountant};

use crate::common::{composed, gaussian};

fn discrete(noise_multiplier: f64) -> Event {
    Event::DiscreteGaussian { noise_multiplier }
}

/// `P(Y > x)` of the discrete Gaussian with parameter sigma.
fn tail(sigma: f64, x: f64) -> f64 {
    let density = |k: i64| (-0.5 * (k as f64 / sigma).powi(2)).exp();
    let reach = (40.0 * sigma) as i64 + 1;
    let all: f64 = (-reach..=reach).map(density).sum();
    let first = x.floor() as i64 + 1;
    (first.max(-reach)..=reach).rev().map(density).sum::<f64>() / all
}

/// Delta of one whole number of this sensitivity (Canonne, Kamath and Steinke 2020, arXiv 2004.00010, theorem 7).
fn exact(sigma: f64, sensitivity: f64, epsilon: f64) -> f64 {
    let middle = epsilon * sigma * sigma / sensitivity;
    let half = 0.5 * sensitivity;
    tail(sigma, middle - half) - epsilon.exp() * tail(sigma, middle + half)
}

#[test]
fn the_exact_delta_is_at_most_what_is_accounted() {
    for sigma in [0.3, 0.5, 1.0, 2.7, 10.0, 40.0] {
        for sensitivity in [1.0, 2.0, 5.0, 30.0] {
            let event = discrete(sigma / sensitivity);
            for epsilon in [0.0, 0.01, 0.3, 1.0, 4.0, 10.0, 40.0] {
                let accounted = RdpAccountant.delta(&event, epsilon).unwrap();
                let exact = exact(sigma, sensitivity, epsilon);
                assert!(exact <= accounted, "{sigma} {sensitivity} {epsilon}");
            }
        }
    }
}

/// Why the exact accountants refuse it: with little noise its delta is above that of Gaussian noise.
#[test]
fn it_is_not_always_covered_by_the_gaussian() {
    let continuous = GaussianAccountant.delta(&gaussian(0.5), 5.3).unwrap();
    assert!(exact(0.5, 1.0, 5.3) > 2.0 * continuous);
}

#[test]
fn divergences_are_those_of_the_gaussian_and_add_up() {
    let epsilon = |event: Event| RdpAccountant.epsilon(&event, 1e-6).unwrap();
    assert_eq!(epsilon(discrete(3.0)), epsilon(gaussian(3.0)));
    let both = composed([discrete(3.0), gaussian(4.0)]);
    assert!((epsilon(both) - epsilon(gaussian(2.4))).abs() < 1e-9);
}

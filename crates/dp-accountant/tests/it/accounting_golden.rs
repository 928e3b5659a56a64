//! The accountants against reference vectors.

use dp_accountant::accounting::{Accountant, Event, PldAccountant, noise_multiplier_for};
use serde::Deserialize;

use crate::common::{gaussian, poisson, within, without_replacement};

#[derive(Deserialize)]
struct Case {
    name: String,
    sampling: String,
    rate: f64,
    steps: u64,
    noise_multiplier: f64,
    delta: f64,
    eps_lower: f64,
    eps_upper: f64,
}

impl Case {
    fn event(&self) -> Event {
        let step = gaussian(self.noise_multiplier);
        let step = match self.sampling.as_str() {
            "without_replacement" => step.sampled(without_replacement(self.rate)),
            "poisson" => step.sampled(poisson(self.rate)),
            _ => step,
        };
        step.repeated(self.steps)
    }
}

#[test]
fn fdp_is_inside_every_reference_bracket() {
    let text = include_str!("../data/accounting.json");
    let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
    let cases: Vec<Case> = serde_json::from_value(vectors["cases"].clone()).unwrap();
    assert_eq!(cases.len(), 26);
    for case in cases {
        let accountant = PldAccountant::default();
        let event = case.event();
        let epsilon = accountant.epsilon(&event, case.delta).unwrap();
        let lower = accountant.epsilon_lower(&event, case.delta).unwrap();
        // The reference is itself known to a few parts in 1e9.
        let (low, high) = (case.eps_lower, case.eps_upper);
        println!("{} T={} [{low:.7}, {high:.7}]", case.name, case.steps);
        within(epsilon, low * (1.0 - 1e-9), high * (1.0 + 1e-3));
        within(lower, low * (1.0 - 2e-2), high * (1.0 + 1e-9));
        let delta = accountant.delta(&event, epsilon).unwrap();
        within(delta / case.delta, 1.0 - 2e-3, 1.0 + 2e-3);
    }
}

#[test]
fn the_noise_for_epsilon_10_of_the_autoencoder_setting() {
    let z = noise_multiplier_for(&PldAccountant::default(), 10.0, 1e-5, |z| {
        Event::dp_sgd(60_000, 600, 5_000, z)
    })
    .unwrap();
    assert!((z - 0.759).abs() < 5e-4, "{z}");
}

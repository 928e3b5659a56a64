//! The accountants against reference vectors.

use dp_accountant::accounting::{Accountant, Event, PldAccountant, Sampler, noise_multiplier_for};
use serde::Deserialize;

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

#[derive(Deserialize)]
struct Vectors {
    cases: Vec<Case>,
}

fn vectors() -> Vec<Case> {
    let text = include_str!("../data/accounting.json");
    serde_json::from_str::<Vectors>(text).unwrap().cases
}

impl Case {
    fn event(&self) -> Event {
        let step = Event::Gaussian {
            noise_multiplier: self.noise_multiplier,
        };
        match self.sampling.as_str() {
            "without_replacement" => {
                step.sampled(Sampler::WithoutReplacementRate { rate: self.rate })
            }
            "poisson" => step.sampled(Sampler::Poisson { rate: self.rate }),
            _ => step,
        }
        .repeated(self.steps)
    }
}

#[test]
fn fdp_is_inside_every_reference_bracket() {
    let cases = vectors();
    assert_eq!(cases.len(), 26);
    for case in cases {
        let accountant = PldAccountant::default();
        let event = case.event();
        let start = std::time::Instant::now();
        let epsilon = accountant.epsilon(&event, case.delta).unwrap();
        let took = start.elapsed();
        let lower = accountant.epsilon_lower(&event, case.delta).unwrap();
        println!(
            "{} T={} eps {epsilon:.7} lower {lower:.7} ref [{:.7}, {:.7}] {took:?}",
            case.name, case.steps, case.eps_lower, case.eps_upper
        );
        // The reference is itself known to a few parts in 1e9.
        assert!(epsilon >= case.eps_lower * (1.0 - 1e-9), "{}", case.name);
        assert!(epsilon <= case.eps_upper * (1.0 + 1e-3), "{}", case.name);
        assert!(lower <= case.eps_upper * (1.0 + 1e-9), "{}", case.name);
        assert!(lower >= case.eps_lower * (1.0 - 2e-2), "{}", case.name);
        let delta = accountant.delta(&event, epsilon).unwrap();
        assert!(
            (delta / case.delta - 1.0).abs() < 2e-3,
            "{}: {delta}",
            case.name
        );
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

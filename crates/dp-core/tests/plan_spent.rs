//! What a ledger has cost beside what its plan promised.

use dp_core::accounting::{Event, Neighbours, Release, Sampler, is_as_planned, read_ledger};
use dp_core::plan::{CheckedPlan, Noise, TrainingPlan};

fn plan(noise: Noise) -> CheckedPlan {
    TrainingPlan {
        sampler: Sampler::WithoutReplacement {
            records: 3000,
            batch: 60,
        },
        steps: 40,
        delta: 1e-5,
        noise,
        besides: vec![Event::Laplace {
            noise_multiplier: 3.3,
        }],
    }
    .check()
    .expect("a plan")
}

fn release(event: &Event, count: u64) -> Release {
    Release {
        event: event.clone(),
        count,
        neighbours: Neighbours::ReplaceOne,
        failure_probability: 0.0,
        secret_noise: true,
    }
}

/// The lines of a ledger that holds these, read back from its text.
fn read(releases: &[Release]) -> Vec<Release> {
    let lines = releases.iter().map(serde_json::to_string);
    let text: Vec<String> = lines.collect::<Result<_, _>>().expect("text");
    read_ledger(&text.join("\n")).expect("a ledger").releases
}

#[test]
fn the_planned_releases_cost_what_was_planned() {
    // Calibrated multipliers have all their digits, and come back from a text.
    for epsilon in [0.37, 1.0, 2.9, 10.0] {
        let plan = plan(Noise::TargetEpsilon(epsilon));
        let mut made: Vec<Release> = (0..40).map(|_| release(plan.step_event(), 1)).collect();
        made.insert(7, release(&plan.besides()[0], 1));
        let spent = plan.epsilon_spent(&read(&made)).expect("an epsilon");
        assert_eq!(spent, plan.epsilon_upper());
        assert!(spent <= epsilon);
    }
}

#[test]
fn steps_made_again_cost_more() {
    let plan = plan(Noise::Multiplier(0.8));
    let made = [
        release(plan.step_event(), 55),
        release(&plan.besides()[0], 1),
    ];
    let spent = plan.epsilon_spent(&made).expect("an epsilon");
    assert!(spent > plan.epsilon_upper() * 1.05, "{spent}");
}

#[test]
fn a_finished_run_never_costs_less_than_planned() {
    let plan = plan(Noise::Multiplier(0.8));
    for made in [vec![], vec![release(plan.step_event(), 12)]] {
        let spent = plan.epsilon_spent(&made).expect("an epsilon");
        assert_eq!(spent, plan.epsilon_upper());
    }
}

/// As many lines as planned, but of another plan: the number of lines says nothing.
#[test]
fn a_ledger_with_less_noise_costs_its_own_noise() {
    let (told, wrote) = (plan(Noise::Multiplier(1.6)), plan(Noise::Multiplier(0.8)));
    let mixed = [
        release(wrote.step_event(), 39),
        release(told.step_event(), 1),
        release(&told.besides()[0], 1),
    ];
    let spent = told.epsilon_spent(&mixed).expect("an epsilon");
    assert!(spent > told.epsilon_upper() * 1.2, "{spent}");
    assert!(spent <= wrote.epsilon_upper() * 1.001, "{spent}");
}

#[test]
fn fewer_more_or_other_releases_are_not_as_planned() {
    let event = Event::Gaussian {
        noise_multiplier: 2.0,
    };
    let other = Event::Gaussian {
        noise_multiplier: 2.0 + 1e-9,
    };
    let planned = [(event.clone(), 2), (event.clone(), 1)];
    assert!(is_as_planned(&[release(&event, 3)], &planned));
    assert!(is_as_planned(
        &[release(&event, 1), release(&event, 2)],
        &planned
    ));
    assert!(!is_as_planned(&[release(&event, 2)], &planned));
    assert!(!is_as_planned(&[release(&event, 4)], &planned));
    assert!(!is_as_planned(
        &[release(&event, 2), release(&other, 1)],
        &planned
    ));
    assert!(is_as_planned(&[], &[]));
    assert!(!is_as_planned(&[release(&other, 0)], &[]));
}

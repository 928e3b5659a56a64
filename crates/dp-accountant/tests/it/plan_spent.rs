//! What a ledger has cost, and what its plan promised.

use dp_accountant::accounting::{Event, Neighbours};
use dp_accountant::ledger::{Entries, LedgerEntry};
use dp_accountant::plan::{CheckedPlan, Noise, ReleaseNoise, TrainingPlan};
use dp_accountant::sampling::FixedSizeSampler;

fn plan(noise: Noise) -> CheckedPlan {
    let sampler = FixedSizeSampler::new(3000, 60).expect("a sampler");
    TrainingPlan {
        noise,
        ..TrainingPlan::within(1.0, 1e-5, 40, sampler)
    }
    .and("counts", ReleaseNoise::Laplace { epsilon: 1.0 / 3.3 })
    .check()
    .expect("a plan")
}

fn release(event: &Event, count: u64) -> LedgerEntry {
    LedgerEntry {
        event: event.clone(),
        count,
        neighbours: Neighbours::ReplaceOne,
        sensitivity: None,
        deviation: None,
        secret_noise: true,
        mechanism: None,
    }
}

/// The lines of a ledger that holds these, read back from its text.
fn read(releases: &[LedgerEntry]) -> Entries {
    let lines = releases.iter().map(serde_json::to_string);
    let text: Vec<String> = lines.collect::<Result<_, _>>().expect("text");
    Entries::parse(&text.join("\n")).expect("a ledger")
}

fn other_release(plan: &CheckedPlan) -> LedgerEntry {
    let (_, event) = plan.releases().next().expect("a release");
    release(event, 1)
}

#[test]
fn the_planned_releases_cost_what_was_planned() {
    // Calibrated multipliers have all their digits, and come back from a text.
    for epsilon in [0.37, 1.0, 2.9, 10.0] {
        let plan = plan(Noise::TargetEpsilon(epsilon));
        let mut made: Vec<LedgerEntry> = (0..40).map(|_| release(plan.step_event(), 1)).collect();
        made.insert(7, other_release(&plan));
        let spent = plan.epsilon_spent(&read(&made)).expect("an epsilon");
        assert_eq!(spent, plan.epsilon_upper());
        assert!(spent <= epsilon);
    }
}

#[test]
fn steps_made_again_cost_more() {
    let plan = plan(Noise::Multiplier(0.8));
    let made = [release(plan.step_event(), 55), other_release(&plan)];
    let spent = plan.epsilon_spent(&read(&made)).expect("an epsilon");
    assert!(spent > plan.epsilon_upper() * 1.05, "{spent}");
}

#[test]
fn a_finished_run_never_costs_less_than_planned() {
    let plan = plan(Noise::Multiplier(0.8));
    for made in [vec![], vec![release(plan.step_event(), 12)]] {
        let spent = plan.epsilon_spent(&read(&made)).expect("an epsilon");
        assert_eq!(spent, plan.epsilon_upper());
    }
}

/// As many lines as planned, but of another plan: the number of lines says nothing.
#[test]
fn a_ledger_with_less_noise_costs_its_own_noise() {
    let (promised, wrote) = (plan(Noise::Multiplier(1.6)), plan(Noise::Multiplier(0.8)));
    let mixed = [
        release(wrote.step_event(), 39),
        release(promised.step_event(), 1),
        other_release(&promised),
    ];
    let spent = promised.epsilon_spent(&read(&mixed)).expect("an epsilon");
    assert!(spent > promised.epsilon_upper() * 1.2, "{spent}");
    assert!(spent <= wrote.epsilon_upper() * 1.001, "{spent}");
}

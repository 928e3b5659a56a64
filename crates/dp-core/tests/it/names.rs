//! Names of an unknown domain: what many have passes, and what one has does not.

use std::collections::BTreeMap;

use dp_core::DpError;
use dp_core::accounting::{Accountant, Event, GaussianAccountant};
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NameCounts, NoiseSource, Releaser, SensitiveVector};
use dp_core::plan::{ReleaseNoise, TrainingPlan};
use dp_core::sampling::Sampler;

/// A releaser of names with a noise multiplier of 2 / sqrt(share) and this delta of a failure.
fn releaser(delta: f64, seed: u64) -> Releaser {
    let all = Sampler::all(4).expect("records");
    let noise = ReleaseNoise::Threshold { share: 0.25, delta };
    let plan = TrainingPlan::with_noise_multiplier(2.0, 0.2, 0, all).with_release("names", noise);
    let plan = plan.with_release("counts", ReleaseNoise::Share(0.75));
    let plan = plan.check().expect("a plan");
    plan.releaser(NoiseSource::insecure(seed))
}

fn table(names: &[(&str, u64)]) -> BTreeMap<String, u64> {
    let counts = names.iter().map(|&(name, count)| (name.into(), count));
    counts.collect()
}

#[test]
fn names_of_many_pass_and_the_cost_is_that_of_a_release_and_a_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut ledger = Ledger::create(&folder.path().join("ledger")).expect("a ledger");
    let tables = vec![
        table(&[("Bern", 4000), ("Zug", 9), ("here", 1)]),
        table(&[("no", 0), ("yes", 900)]),
    ];
    let mut releaser = releaser(1e-6, 1);
    let names = NameCounts::new(tables, 2);
    let passed = releaser.release_names("names", &names, &mut ledger);
    assert_eq!(passed.expect("names"), [["Bern"], ["yes"]]);
    let entry = &ledger.entries().expect("entries").entries[0];
    let gaussian = |noise_multiplier| Event::Gaussian { noise_multiplier };
    let events = vec![gaussian(4.0), Event::Failure { delta: 1e-6 }];
    assert_eq!(entry.event, Event::Composed { events });
    assert!((entry.sensitivity.expect("a bound") / 4.0 - 1.0).abs() < 1e-4);
    // The plan is of all of it: its epsilon at delta is that of the noise at what the failure leaves.
    let whole = GaussianAccountant.epsilon(&releaser.plan().event(), 1e-5);
    let left = GaussianAccountant.epsilon(&gaussian(2.0), 1e-5 - 1e-6);
    assert!((whole.expect("epsilon") / left.expect("epsilon") - 1.0).abs() < 1e-9);
    // Once, as planned, and by its own noise alone.
    let twice = releaser.release_names("names", &names, &mut ledger);
    assert!(matches!(twice, Err(DpError::ReleasedTwice { .. })));
    let wrong = releaser.release_names("counts", &names, &mut ledger);
    let wrong = wrong.expect_err("refused").to_string();
    assert!(wrong.contains("planned with Gaussian noise"), "{wrong}");
    let mut other = self::releaser(1e-6, 1);
    let values = SensitiveVector::l2(vec![1.0], 1.0);
    let wrong = other.release_vector("names", &values, &mut ledger);
    let wrong = wrong.expect_err("refused").to_string();
    assert!(wrong.contains("thresholded"), "{wrong}");
    assert_eq!(ledger.releases(), 1);
}

/// The line in the ledger, and so the threshold, say nothing of how many names there are.
#[test]
fn the_deviation_is_that_of_any_number_of_names() {
    let line = |names: u64| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ledger = Ledger::create(&folder.path().join("ledger")).expect("a ledger");
        let table = (0..names).map(|name| (name.to_string(), 1)).collect();
        let names = NameCounts::new(vec![table], 1);
        let passed = releaser(1e-6, 1).release_names("names", &names, &mut ledger);
        assert!(passed.expect("names")[0].is_empty());
        ledger.entries().expect("entries").entries.remove(0)
    };
    assert_eq!(line(1), line(5000));
    assert_eq!(line(1), line(0));
}

/// A unit of two records with a name of its own in each of two tables: one of them passes in no more than a tenth of 20 000
/// releases, which is what the plan says. It is one in a hundred and fifty: the threshold is by Chernoff's bound, for four names.
#[test]
fn what_one_unit_has_passes_with_the_planned_probability_at_most() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut ledger = Ledger::create(&folder.path().join("ledger")).expect("a ledger");
    let names = NameCounts::new(vec![table(&[("one", 2)]), table(&[("two", 2)])], 2);
    let trials = 20_000;
    let passed = (0..trials).filter(|&seed| {
        let passed = releaser(0.1, seed).release_names("names", &names, &mut ledger);
        passed.expect("names").iter().any(|names| !names.is_empty())
    });
    let share = passed.count() as f64 / trials as f64;
    assert!((0.004..0.1).contains(&share), "{share}");
}

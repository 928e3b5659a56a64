//! The budget of a flow, and what it promises, checked before it starts.

use dp_core::delta::{check_delta, default_delta};
use dp_core::plan::{Noise, ReleaseNoise, TrainingPlan};
use dp_core::sampling::{BatchSampler, FixedSizeSampler, GroupSampler, split_batch};
use lab::diagnostic::{Failure, OrFailed};
use lab::session::refused_plan;

use super::mechanisms::ReleaseMethod;
use super::settings;

/// The one release of a mechanism without private steps, by its name in the plan.
pub(crate) const RELEASE: &str = "release";
/// The moments that a release is measured around, likewise.
pub(crate) const MOMENTS: &str = "moments";

lab::settings! {
    /// The budget of a mechanism that reads private records.
    common { epsilon: Option<f64>, delta: Option<f64>, insecure_noise_seed: Option<u64> }
    optional {
        /// The noise multiplier instead of a budget: the epsilon is computed.
        #[flag(conflicts_with_all = ["no_privacy", "epsilon"])]
        #[bound(positive)]
        noise_multiplier: f64,
    }
}

impl Settings {
    /// The noise; none without privacy.
    fn noise(&self) -> Option<Noise> {
        let multiplier = self.noise_multiplier.map(Noise::Multiplier);
        multiplier.or(self.epsilon.map(Noise::TargetEpsilon))
    }
}

/// Refuses what no `most` records can make possible, before they are split.
pub(crate) fn possible<M: ReleaseMethod>(
    settings: &settings::Settings<M>,
    most: usize,
) -> Result<(), Failure> {
    let budget = &settings.budget;
    if budget.noise().is_none() {
        return Ok(());
    }
    // More than there are is refused for itself.
    let records = settings.shared.records.filter(|&records| records <= most);
    if let Some((delta, records)) = budget.delta.zip(records) {
        check_delta(delta, records as f64).map_err(refused_plan)?;
    }
    if settings.own.batch().is_none() {
        // Its noise depends on the records by the default of delta alone.
        let records = records.unwrap_or(most).max(1);
        let plan = plan(settings, sampler(settings, &[records])?);
        plan.map(TrainingPlan::check)
            .transpose()
            .map_err(refused_plan)?;
    }
    Ok(())
}

/// What draws the private records of a step from groups of `sizes` records, which stand one behind the
/// other: a batch, or all of them where there is one release.
pub(crate) fn sampler<M: ReleaseMethod>(
    settings: &settings::Settings<M>,
    sizes: &[usize],
) -> Result<BatchSampler, Failure> {
    let batches = match settings.own.batch() {
        Some(batch) => batch_sizes(batch, sizes)?,
        None => sizes.to_vec(),
    };
    if !settings.within_classes() {
        let all = FixedSizeSampler::new(sizes.iter().sum(), batches.iter().sum());
        return all.map(Into::into).or_failed();
    }
    let mut start = 0;
    let group = |&size: &usize| {
        start += size;
        (start - size..start).collect()
    };
    GroupSampler::new(sizes.iter().map(group).collect(), &batches)
        .map(Into::into)
        .or_failed()
}

/// Batch sizes of groups of some sizes.
fn batch_sizes(batch: usize, sizes: &[usize]) -> Result<Vec<usize>, Failure> {
    split_batch(batch, sizes).map_err(|e| {
        Failure::input(
            format!("--batch {batch}: {e}"),
            "choose another --batch, or --unconditional",
        )
    })
}

/// The plan; none without noise.
pub(crate) fn plan<M: ReleaseMethod>(
    settings: &settings::Settings<M>,
    sampler: BatchSampler,
) -> Option<TrainingPlan> {
    let budget = &settings.budget;
    let noise = budget.noise()?;
    let (steps, once) = match settings.own.batch() {
        Some(_) => {
            let records = sampler.records().unwrap_or_default();
            (settings.own.steps(records), Vec::new())
        }
        None => (0, settings.own.shares()),
    };
    let few = default_delta(sampler.presumed_records());
    let plan = TrainingPlan::of(noise, budget.delta.unwrap_or(few), steps, sampler);
    Some(once.into_iter().fold(plan, |plan, (name, share)| {
        plan.and(name, ReleaseNoise::Share(share))
    }))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use dp_core::accounting::{Accountant, Event, GaussianAccountant, PldAccountant};
    use dp_core::ledger::{Entries, Ledger, LedgerEntry};
    use dp_core::mechanism::{NoiseSource, SensitiveVector};
    use dp_core::plan::CheckedPlan;
    use lab::session::{Arguments, Settings as _};

    use super::super::mechanisms::{marginals, mixture, resampled};
    use super::*;

    /// The ledger of a finished run of a plan: of all that it has, by its own releaser, of values that do not matter.
    fn finished(plan: CheckedPlan) -> Entries {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).unwrap();
        let once: Vec<String> = plan.releases().map(|(name, _)| name.into()).collect();
        let steps = plan.steps();
        let mut releaser = plan.releaser(NoiseSource::insecure(1));
        let zero = SensitiveVector::l2(vec![0.0], 1.0);
        for _ in 0..steps {
            let draw = releaser.draw().unwrap();
            let sizes = draw.sizes();
            let released = releaser.release_step(&zero, &sizes, &draw, &mut ledger);
            released.unwrap();
        }
        for name in once {
            let released = releaser.release_vector(&name, &zero, &mut ledger);
            released.unwrap();
        }
        ledger.entries().unwrap()
    }

    /// The epsilon of the lines of a ledger alone, of the noise that each says was added: no plan is asked. In closed form
    /// where there is one.
    fn epsilon_of(entries: &Entries, delta: f64) -> f64 {
        let events = entries.entries.iter().map(|entry| {
            let added = entry.deviation.unwrap() / entry.sensitivity.unwrap();
            let event = entry.event.clone().repeated(entry.count);
            assert!((noise_multiplier(&entry.event) / added - 1.0).abs() < 1e-3);
            event
        });
        let events = events.collect();
        let all = Event::Composed { events };
        let closed = GaussianAccountant.epsilon(&all, delta);
        closed.unwrap_or_else(|_| PldAccountant::default().epsilon(&all, delta).unwrap())
    }

    fn noise_multiplier(event: &Event) -> f64 {
        match event {
            Event::Gaussian { noise_multiplier } => *noise_multiplier,
            Event::Sampled { event, .. } => noise_multiplier(event),
            other => panic!("{other:?}"),
        }
    }

    /// The line with half of its noise.
    fn halved(entry: &LedgerEntry) -> LedgerEntry {
        let text = serde_json::to_string(entry).unwrap();
        let z = noise_multiplier(&entry.event);
        let was = |z: f64| format!("\"noise_multiplier\":{}", serde_json::json!(z));
        assert!(text.contains(&was(z)), "{text}");
        let mut half: LedgerEntry =
            serde_json::from_str(&text.replace(&was(z), &was(z / 2.0))).unwrap();
        half.deviation = entry.deviation.map(|deviation| deviation / 2.0);
        half
    }

    fn settings<M: ReleaseMethod>(flags: &[&str]) -> settings::Settings<M> {
        let line = [&["flow"], flags].concat();
        settings::Settings::resolve(&Arguments::parse_from(line)).unwrap()
    }

    /// What the lines of a finished run cost is what was promised, and what is said to be spent is never less than either;
    /// lines of less noise, a line less and a line more cost something else.
    fn costs_what_it_promises<M: ReleaseMethod>(flags: &[&str]) {
        let settings = settings::<M>(&[&["--epsilon", "2"], flags].concat());
        let mechanism = M::NAME;
        let of_flow = || {
            let sampler = sampler(&settings, &[3000]).unwrap();
            plan(&settings, sampler).unwrap().check().unwrap()
        };
        let (plan, entries) = (of_flow(), finished(of_flow()));
        let promised = plan.epsilon_upper();
        assert_eq!(entries.releases(), plan.releases_in_all());
        let costs = |lines: &[LedgerEntry]| {
            let entries = Entries {
                entries: lines.to_vec(),
                torn: Vec::new(),
            };
            let spent = plan.epsilon_spent(&entries).unwrap();
            (epsilon_of(&entries, plan.delta()), spent)
        };
        let lines = &entries.entries;
        let (cost, spent) = costs(lines);
        assert!(cost <= 2.0, "{mechanism}: {cost}");
        assert!((cost / promised - 1.0).abs() < 1e-6, "{mechanism}: {cost}");
        assert!(spent >= promised && spent <= 2.0, "{mechanism}: {spent}");

        let (first, rest) = lines.split_first().unwrap();
        for more in [
            [&[halved(first)], rest].concat(),
            [lines, &[first.clone()][..]].concat(),
        ] {
            let (cost, spent) = costs(&more);
            assert!(cost > promised * 1.001, "{mechanism}: {cost}");
            assert!(spent >= cost, "{mechanism}: {spent} of {cost}");
        }
        // A run is finished: a line that was lost was made.
        let (cost, spent) = costs(rest);
        assert!(cost < promised * 0.999, "{mechanism}: {cost}");
        assert!(spent >= promised, "{mechanism}: {spent}");
    }

    #[test]
    fn a_finished_flow_never_costs_less_than_promised() {
        costs_what_it_promises::<resampled::Settings>(&["--steps", "20", "--batch", "100"]);
        costs_what_it_promises::<marginals::Settings>(&[]);
        costs_what_it_promises::<mixture::Settings>(&["--cells", "2"]);
    }

    /// Sebag et al. 2023, appendix C.5: CelebA at 30 epochs of batches of 250 out of 81385 records, for which it
    /// claims epsilon 10 and 5 at a noise of 0.58 and 0.72 times its norm.
    #[test]
    fn the_published_settings_of_photographs_cost_less_than_published() {
        for (noise, expected) in [("0.6804", 5.92), ("0.8446", 3.33)] {
            let flags = ["images", "--public", "half", "--noise-multiplier", noise];
            let flags = [&["--delta", "1e-6", "--dataset"], &flags[..]].concat();
            let settings = settings::<resampled::Settings>(&flags);
            let sampler = sampler(&settings, &[81385]).unwrap();
            assert_eq!(sampler.expected_sizes(), [250.0]);
            let plan = plan(&settings, sampler).unwrap().check().unwrap();
            assert_eq!(plan.releases_in_all(), 9780);
            assert_eq!(plan.delta(), 1e-6);
            let ratio = plan.epsilon_upper() / expected;
            assert!((ratio - 1.0).abs() < 0.01, "{}", plan.epsilon_upper());
        }
    }
}

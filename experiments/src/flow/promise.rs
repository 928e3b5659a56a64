//! What a flow promises, checked before it starts.

use dp_core::accounting::{
    Accountant, Event, FdpAccountant, GaussianAccountant, GroupSize, Neighbours, Release, Sampler,
    is_as_planned, noise_multiplier_for, replay,
};
use dp_core::decimal::{lower, upper};
use dp_core::delta::check_delta;
use dp_core::plan::{Noise, TrainingPlan};
use lab::diagnostic::Failure;

use super::Settings;
use super::mechanisms::declared;

/// A checked promise.
#[derive(Debug, Clone)]
pub struct Promise {
    /// An upper bound on epsilon at the noise's delta.
    pub epsilon_upper: f64,
    /// Delta of the noise.
    pub delta: f64,
    /// The probability that the sensitivity of one release is exceeded; 1 where nothing is proved of
    /// it.
    pub failure_probability: f64,
    /// Noise over sensitivity.
    pub noise_multiplier: f64,
    /// What each release is.
    pub event: Event,
    /// How many releases are planned.
    pub releases: u64,
    /// What they are, and how often.
    pub planned: Vec<(Event, u64)>,
    /// The neighbour relation.
    pub neighbours: Neighbours,
    /// The accountant.
    pub accountant: &'static str,
    /// How batches are drawn, in words.
    pub sampler: String,
}

impl Promise {
    /// Delta in all: that of the noise, and the failures of so many releases.
    pub fn delta_in_all(&self, releases: u64) -> f64 {
        (self.delta + self.failure_probability * releases as f64).min(1.0)
    }

    /// Whether no bound on the sensitivity is proved, with any probability.
    pub fn is_unproved(&self) -> bool {
        self.failure_probability >= 1.0
    }
}

/// Refuses what no `most` records can make possible, before they are split.
///
/// # Errors
///
/// As [`promise`].
pub fn possible(settings: &Settings, most: usize) -> Result<(), Failure> {
    declared(settings, settings.latent)?;
    if !settings.private() {
        return Ok(());
    }
    // More than there are is refused for itself.
    if let Some(records) = settings.records.filter(|&records| records <= most) {
        check_delta(settings.delta, records as f64).map_err(|e| refuse(&e))?;
    }
    if !settings.mechanism.releases_each_step() {
        once(settings)?;
    }
    Ok(())
}

/// The promise of the settings for groups of `sizes` records and batches of `batches`; none without
/// noise.
///
/// # Errors
///
/// [`Failure::BadInput`] for a request that cannot be met.
pub fn promise(
    settings: &Settings,
    sizes: &[usize],
    batches: &[usize],
) -> Result<Option<Promise>, Failure> {
    let norm = declared(settings, settings.latent)?;
    if !settings.private() {
        return Ok(None);
    }
    let records: usize = sizes.iter().sum();
    let mut promise = if settings.mechanism.releases_each_step() {
        each_step(settings, sizes, batches)?
    } else {
        check_delta(settings.delta, records as f64).map_err(|e| refuse(&e))?;
        once(settings)?
    };
    promise.failure_probability = norm.map_or(0.0, |n| n.failure_probability(1));
    check_delta_in_all(&promise, records)?;
    Ok(Some(promise))
}

/// Refuses a delta that is 1/n or more once the failures of the sensitivity are added. One of which
/// nothing is proved is not private at any delta, and says so instead.
fn check_delta_in_all(promise: &Promise, records: usize) -> Result<(), Failure> {
    let (limit, releases) = (1.0 / records as f64, promise.releases);
    let total = promise.delta_in_all(releases);
    if promise.is_unproved() || total < limit {
        return Ok(());
    }
    Err(Failure::input(
        format!(
            "the privacy plan is refused: delta is {} in all ({} of the noise, and {} at each of \
             {releases} releases, where the sensitivity may fail), and must be below 1/n = {}, \
             n = {records} private records",
            upper(total),
            upper(promise.delta),
            upper(promise.failure_probability),
            lower(limit)
        ),
        format!(
            "say --sensitivity proved, or give a --delta below {}",
            lower(limit / (releases as f64 + 1.0))
        ),
    ))
}

fn neighbours(settings: &Settings) -> Neighbours {
    if settings.conditional {
        Neighbours::KEnd
    } else {
        Neighbours::ReplaceOne
    }
}

fn once(settings: &Settings) -> Result<Promise, Failure> {
    let event = |z: f64| Event::Gaussian {
        noise_multiplier: z,
    };
    let z = match (settings.noise_multiplier, settings.epsilon) {
        (Some(z), _) => z,
        (None, Some(epsilon)) => {
            noise_multiplier_for(&GaussianAccountant, epsilon, settings.delta, event)
                .map_err(|e| refuse(&e))?
        }
        (None, None) => return Err(refuse(&"neither a budget nor a noise multiplier")),
    };
    let epsilon_upper = GaussianAccountant
        .epsilon(&event(z), settings.delta)
        .map_err(|e| refuse(&e))?;
    let planned: Vec<(Event, u64)> = if settings.moments_first() {
        let share = settings.moments_share;
        let part = |share| (event(of_share(z, share)), 1);
        vec![part(share), part(1.0 - share)]
    } else {
        vec![(event(z), 1)]
    };
    Ok(Promise {
        epsilon_upper,
        delta: settings.delta,
        failure_probability: 0.0,
        noise_multiplier: z,
        event: event(z),
        releases: planned.len() as u64,
        planned,
        neighbours: neighbours(settings),
        accountant: GaussianAccountant.name(),
        sampler: "each release is of all private records".into(),
    })
}

fn each_step(settings: &Settings, sizes: &[usize], batches: &[usize]) -> Result<Promise, Failure> {
    let sampler = if settings.conditional {
        Sampler::KEndGroups {
            groups: sizes
                .iter()
                .zip(batches)
                .map(|(&records, &batch)| GroupSize {
                    records: records as u64,
                    batch: batch as u64,
                })
                .collect(),
        }
    } else {
        Sampler::WithoutReplacement {
            records: sizes.iter().sum::<usize>() as u64,
            batch: batches.iter().sum::<usize>() as u64,
        }
    };
    let noise = match (settings.noise_multiplier, settings.epsilon) {
        (Some(z), _) => Noise::Multiplier(z),
        (None, epsilon) => Noise::TargetEpsilon(epsilon.unwrap_or(f64::NAN)),
    };
    let plan = TrainingPlan {
        sampler,
        steps: settings.step_count(sizes.iter().sum()),
        delta: settings.delta,
        noise,
        besides: Vec::new(),
    }
    .check()
    .map_err(|e| refuse(&e))?;
    Ok(Promise {
        epsilon_upper: plan.epsilon_upper(),
        delta: plan.delta(),
        failure_probability: 0.0,
        noise_multiplier: plan.noise_multiplier(),
        event: plan.step_event().clone(),
        releases: plan.steps(),
        planned: vec![(plan.step_event().clone(), plan.steps())],
        neighbours: plan.neighbours(),
        accountant: FdpAccountant::default().name(),
        sampler: "each batch of fixed size drawn afresh without replacement".into(),
    })
}

/// The noise multiplier of a release that takes this share of the `1/z^2` of all: the squares of shares
/// add up.
pub fn of_share(z: f64, share: f64) -> f64 {
    z / share.sqrt()
}

fn refuse(why: &dyn std::fmt::Display) -> Failure {
    Failure::input(
        format!("the privacy plan is refused: {why}"),
        "change --epsilon, --delta, --batch or --steps, or say --no-privacy",
    )
}

/// The epsilon of a finished flow, by its ledger: that of the promise where it holds what was planned,
/// and of its own lines where that is more, as [`dp_core::plan::CheckedPlan::epsilon_spent`].
///
/// # Errors
///
/// [`Failure::Failed`] where the accountant refuses the ledger.
pub fn spent(promise: &Promise, releases: &[Release]) -> Result<f64, Failure> {
    if is_as_planned(releases, &promise.planned) {
        return Ok(promise.epsilon_upper);
    }
    let event = replay(releases).map_err(Failure::run)?;
    let found = FdpAccountant::default()
        .epsilon(&event, promise.delta)
        .map_err(Failure::run)?;
    Ok(found.max(promise.epsilon_upper))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::Arguments;
    use super::*;

    #[test]
    fn a_finished_flow_never_costs_less_than_promised() {
        for mechanism in ["resampled", "marginals"] {
            let arguments = ["flow", "--mechanism", mechanism, "--epsilon", "2"];
            let settings = Settings::resolve(&Arguments::parse_from(arguments)).unwrap();
            let promise = promise(&settings, &[3000], &[60]).unwrap().unwrap();
            assert_eq!(spent(&promise, &[]).unwrap(), promise.epsilon_upper);
        }
    }

    /// Paper 000, appendix C.5: CelebA at 30 epochs of batches of 250 out of 81385 records, for which it
    /// claims epsilon 10 and 5.
    #[test]
    fn the_published_settings_of_photographs_cost_less_than_published() {
        for (noise, expected) in [("0.58", 5.92), ("0.72", 3.33)] {
            let arguments = Arguments::parse_from([
                "flow",
                "--dataset",
                "images",
                "--mechanism",
                "resampled",
                "--paper-noise",
                noise,
            ]);
            let settings = Settings::resolve(&arguments).unwrap();
            let promise = promise(&settings, &[81385], &[250]).unwrap().unwrap();
            assert_eq!(promise.releases, 9780);
            assert_eq!(promise.delta, 1e-6);
            let ratio = promise.epsilon_upper / expected;
            assert!((ratio - 1.0).abs() < 0.01, "{}", promise.epsilon_upper);
        }
    }
}

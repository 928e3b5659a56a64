//! What a flow promises, checked before it starts.

use dp_core::DpError;
use dp_core::decimal::lower;
use dp_core::delta::check_delta;
use dp_core::plan::{CheckedPlan, Noise, ReleaseNoise, TrainingPlan};
use dp_core::sampling::{BatchSampler, FixedSizeSampler, GroupSampler, split_batch};
use lab::diagnostic::Failure;
use lab::session::refused_plan;

use super::Settings;
use super::mechanisms::declared;

/// The one release of a mechanism without private steps, by its name in the plan.
pub const RELEASE: &str = "release";
/// The moments that a release is measured around, likewise.
pub const MOMENTS: &str = "moments";

/// Refuses what no `most` records can make possible, before they are split.
///
/// # Errors
///
/// As [`plan`].
pub fn possible(settings: &Settings, most: usize) -> Result<(), Failure> {
    declared(settings, settings.latent)?;
    if !settings.private() {
        return Ok(());
    }
    // More than there are is refused for itself.
    if let Some(records) = settings.records.filter(|&records| records <= most) {
        check_delta(settings.delta, records as f64).map_err(refused_plan)?;
    }
    if !settings.mechanism.releases_each_step() {
        // Its noise does not depend on the records.
        plan(settings, sampler(settings, &[1])?)?;
    }
    Ok(())
}

/// What draws the private records of a step from groups of `sizes` records, which stand one behind the
/// other: a batch, or all of them where there is one release.
///
/// # Errors
///
/// [`Failure::BadInput`] for a batch that does not fit.
pub fn sampler(settings: &Settings, sizes: &[usize]) -> Result<BatchSampler, Failure> {
    let batches = if settings.mechanism.releases_each_step() {
        batch_sizes(settings.batch.unwrap_or(0), sizes)?
    } else {
        sizes.to_vec()
    };
    if !settings.within_classes() {
        let all = FixedSizeSampler::new(sizes.iter().sum(), batches.iter().sum());
        return all.map(Into::into).map_err(Failure::failed);
    }
    let mut start = 0;
    let group = |&size: &usize| {
        start += size;
        (start - size..start).collect()
    };
    GroupSampler::new(sizes.iter().map(group).collect(), &batches)
        .map(Into::into)
        .map_err(Failure::failed)
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

/// The checked plan; none without noise.
///
/// # Errors
///
/// [`Failure::BadInput`] for a request that cannot be met.
pub fn plan(settings: &Settings, sampler: BatchSampler) -> Result<Option<CheckedPlan>, Failure> {
    let norm = declared(settings, settings.latent)?;
    if !settings.private() {
        return Ok(None);
    }
    let each_step = settings.mechanism.releases_each_step();
    let steps = if each_step {
        settings.step_count(sampler.records())
    } else {
        0
    };
    let mut plan = TrainingPlan {
        noise: match (settings.noise_multiplier, settings.epsilon) {
            (Some(z), _) => Noise::Multiplier(z),
            (None, epsilon) => Noise::TargetEpsilon(epsilon.unwrap_or(f64::NAN)),
        },
        failure_probability: norm.map_or(0.0, |n| n.failure_probability(1)),
        ..TrainingPlan::within(f64::NAN, settings.delta, steps, sampler)
    };
    if settings.moments_first() {
        let share = settings.moments_share;
        plan = plan
            .and(MOMENTS, ReleaseNoise::Share(share))
            .and(RELEASE, ReleaseNoise::Share(1.0 - share));
    } else if !each_step {
        plan = plan.and(RELEASE, ReleaseNoise::Share(1.0));
    }
    plan.check().map(Some).map_err(|e| match e {
        DpError::DeltaInAll {
            releases, records, ..
        } => Failure::input(
            format!("the privacy plan is refused: {e}"),
            format!(
                "say --sensitivity proved, or give a --delta below {}",
                lower(1.0 / records as f64 / (releases as f64 + 1.0))
            ),
        ),
        e => refused_plan(e),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use dp_core::ledger::Entries;
    use lab::session::{Arguments, Settings as _};

    use super::*;

    #[test]
    fn a_finished_flow_never_costs_less_than_promised() {
        for mechanism in ["resampled", "marginals"] {
            let arguments = ["flow", "--mechanism", mechanism, "--epsilon", "2"];
            let settings = Settings::resolve(&Arguments::parse_from(arguments)).unwrap();
            let sampler = sampler(&settings, &[3000]).unwrap();
            let plan = plan(&settings, sampler).unwrap().unwrap();
            let spent = plan.epsilon_spent(&Entries::default()).unwrap();
            assert_eq!(spent, plan.epsilon_upper());
        }
    }

    /// Sebag et al. 2023, appendix C.5: CelebA at 30 epochs of batches of 250 out of 81385 records, for which it
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
            let sampler = sampler(&settings, &[81385]).unwrap();
            assert_eq!(sampler.expected_sizes(), [250.0]);
            let plan = plan(&settings, sampler).unwrap().unwrap();
            assert_eq!(plan.releases_in_all(), 9780);
            assert_eq!(plan.delta(), 1e-6);
            let ratio = plan.epsilon_upper() / expected;
            assert!((ratio - 1.0).abs() < 0.01, "{}", plan.epsilon_upper());
        }
    }
}

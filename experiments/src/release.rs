//! One way out for private values: through the plan's releaser and the ledger, or with no promise at all.

use dp_core::ledger::Ledger;
use dp_core::mechanism::{BoundedVector, Releaser, Sensitivity};
use dp_core::sampling::Draw;
use lab::diagnostic::Failure;
use lab::session::{Released, Session};
use swd::SensitiveVector;

/// The values of all groups, released at once, as one event: a record lies in one group, so the sensitivity
/// is that of one group.
pub(crate) struct Values {
    flat: Vec<f64>,
    lengths: Vec<usize>,
    sensitivity: f64,
}

impl Values {
    /// Values with a sensitivity.
    pub(crate) fn new(groups: &[Vec<f64>], sensitivity: f64) -> Self {
        Self {
            flat: groups.concat(),
            lengths: groups.iter().map(Vec::len).collect(),
            sensitivity,
        }
    }

    /// Values with their own sensitivity.
    pub(crate) fn of(groups: &[SensitiveVector]) -> Self {
        let own = groups.iter().map(SensitiveVector::l2_sensitivity_upper);
        let own = own.fold(0.0, f64::max);
        let groups: Vec<Vec<f64>> = groups.iter().map(|g| g.before_noise().to_vec()).collect();
        Self::new(&groups, own)
    }

    /// How far the values may move, as declared.
    #[cfg(test)]
    pub(crate) fn declared(&self) -> f64 {
        self.sensitivity
    }

    /// How far these values, before noise, are from others.
    #[cfg(test)]
    pub(crate) fn distance(&self, other: &Self) -> f64 {
        let pairs = self.flat.iter().zip(&other.flat);
        pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    fn sensitivity(&self) -> Result<Sensitivity, Failure> {
        Sensitivity::l2(self.sensitivity).map_err(Failure::failed)
    }
}

/// What the run released by this name before it was stopped; none where it did not.
///
/// # Errors
///
/// As [`Released::read`].
pub(crate) fn stored(
    releaser: Option<&mut Releaser>,
    name: &str,
    session: &Session,
) -> Result<Option<Released>, Failure> {
    let found = Released::read(&session.folder, name)?;
    // A resumed run begins with the key that this release was made with, from a checkpoint or a known seed: what is
    // released next must have another.
    if let (Some(_), Some(releaser)) = (&found, releaser) {
        releaser.noise().advance();
    }
    Ok(found)
}

/// Releases what the plan has by this name, and stores it for [`stored`] with public values `beside` it.
///
/// # Errors
///
/// [`Failure::Failed`] where the plan has it not, or the ledger or the store cannot be written; nothing was released where the
/// ledger could not.
pub(crate) fn release_and_store(
    releaser: Option<&mut Releaser>,
    name: &str,
    values: &Values,
    beside: Option<Vec<f64>>,
    session: &mut Session,
) -> Result<Released, Failure> {
    let mut released = release_once(releaser, name, values, &mut session.ledger)?;
    released.groups.extend(beside);
    released.write(&session.folder, name, session.ledger.releases())?;
    Ok(released)
}

/// Releases what the plan has by this name.
///
/// # Errors
///
/// [`Failure::Failed`] where the plan has it not, or the ledger cannot be written; nothing was released then.
fn release_once(
    releaser: Option<&mut Releaser>,
    name: &str,
    values: &Values,
    ledger: &mut Ledger,
) -> Result<Released, Failure> {
    let Some(releaser) = releaser else {
        return Ok(cut(&values.flat, &values.lengths, 0.0));
    };
    let sensitivity = values.sensitivity()?;
    let noisy = releaser
        .release_vector(name, &values.flat, sensitivity, ledger)
        .map_err(Failure::failed)?;
    let deviation = releaser.deviation_of(name, values.flat.len(), sensitivity);
    let deviation = deviation.map_err(Failure::failed)?;
    Ok(cut(&noisy, &values.lengths, deviation))
}

/// Releases the values of one step.
///
/// - `sizes`: records of each group that went in.
///
/// # Errors
///
/// [`Failure::Failed`] for values that are not of this step's `draw`, and where the ledger cannot be
/// written; nothing was released then.
pub(crate) fn release_step(
    releaser: Option<&mut Releaser>,
    draw: Option<Draw>,
    sizes: &[usize],
    values: Values,
    ledger: &mut Ledger,
) -> Result<Released, Failure> {
    let (Some(releaser), Some(draw)) = (releaser, draw) else {
        return Ok(cut(&values.flat, &values.lengths, 0.0));
    };
    let sensitivity = values.sensitivity()?;
    let noisy = BoundedVector::new(values.flat, sensitivity, sizes, draw)
        .and_then(|bounded| releaser.release_step_vector(bounded, ledger))
        .map_err(Failure::failed)?;
    Ok(cut(
        &noisy,
        &values.lengths,
        releaser.deviation(sensitivity),
    ))
}

fn cut(values: &[f64], lengths: &[usize], deviation: f64) -> Released {
    let mut rest = values;
    let mut groups = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let (here, after) = rest.split_at(length);
        groups.push(here.to_vec());
        rest = after;
    }
    Released { groups, deviation }
}

#[cfg(test)]
mod tests {
    use dp_core::accounting::Event;
    use dp_core::mechanism::NoiseSource;
    use dp_core::plan::{ReleaseNoise, TrainingPlan};
    use dp_core::sampling::AllRecords;

    use super::*;

    const VALUES: usize = 4000;

    /// What left is the values with Gaussian noise of the deviation that the ledger's line says: a sum of 4000 squares
    /// within 5.5 deviations of its mean (false alarm 4e-8, fixed seed).
    fn has_its_noise(released: &Released, before: &Values, event: &Event) {
        let Event::Gaussian { noise_multiplier } = event else {
            panic!("{event:?}");
        };
        let sensitivity = before.sensitivity().expect("a sensitivity");
        let deviation = noise_multiplier * sensitivity.l2_upper();
        assert!((released.deviation / deviation - 1.0).abs() < 1e-3);
        let released = released.groups.concat();
        let noise = released.iter().zip(&before.flat).map(|(a, b)| a - b);
        let squares: f64 = noise.map(|x| (x / deviation).powi(2)).sum();
        let n = VALUES as f64;
        let holds = (squares - n).abs() < 5.5 * (2.0 * n).sqrt();
        assert!(holds, "{squares} where {n} are expected");
    }

    #[test]
    fn nothing_leaves_without_the_noise_of_its_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).expect("a ledger");
        let plan = TrainingPlan::within(2.0, 1e-5, 3, AllRecords::new(1000).expect("records"));
        let plan = plan.and("once", ReleaseNoise::Share(0.3)).check();
        let plan = plan.expect("a plan");
        let mut releaser = Some(plan.releaser(NoiseSource::insecure(5)));
        let groups = [vec![1.0; VALUES / 4], vec![-2.0; VALUES * 3 / 4]];
        let values = || Values::new(&groups, 0.5);

        let once =
            release_once(releaser.as_mut(), "once", &values(), &mut ledger).expect("released");
        assert_eq!(once.groups.iter().map(Vec::len).sum::<usize>(), VALUES);
        let draw = releaser.as_mut().expect("a releaser").draw();
        let draw = draw.expect("a draw");
        let sizes = draw.sizes();
        let step = release_step(releaser.as_mut(), Some(draw), &sizes, values(), &mut ledger);

        let entries = ledger.entries().expect("entries").entries;
        assert_eq!(entries.len(), 2);
        has_its_noise(&once, &values(), &entries[0].event);
        has_its_noise(&step.expect("released"), &values(), &entries[1].event);
    }
}

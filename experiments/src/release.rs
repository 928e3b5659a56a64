//! One way out for private values: through the plan's releaser and the ledger, or with no promise at all.

use dp_core::ledger::Ledger;
use dp_core::mechanism::{BoundedVector, Releaser, Sensitivity};
use dp_core::sampling::Draw;
use lab::diagnostic::Failure;
use lab::session::Released;
use swd::SensitiveVector;

/// The values of all groups, released at once, as one event: a record lies in one group, so the sensitivity
/// is that of one group.
pub struct Values {
    flat: Vec<f64>,
    lengths: Vec<usize>,
    sensitivity: f64,
}

impl Values {
    /// Values with a sensitivity.
    pub fn new(groups: &[Vec<f64>], sensitivity: f64) -> Self {
        Self {
            flat: groups.concat(),
            lengths: groups.iter().map(Vec::len).collect(),
            sensitivity,
        }
    }

    /// Values with their own sensitivity, or with a `declared` one where a paper's is asked for.
    pub fn of(groups: &[SensitiveVector], declared: Option<f64>) -> Self {
        let own = groups.iter().map(SensitiveVector::l2_sensitivity_upper);
        let own = own.fold(0.0, f64::max);
        let groups: Vec<Vec<f64>> = groups.iter().map(|g| g.before_noise().to_vec()).collect();
        Self::new(&groups, declared.unwrap_or(own))
    }

    /// How far the values may move, as declared.
    #[cfg(test)]
    pub fn declared(&self) -> f64 {
        self.sensitivity
    }

    /// How far these values, before noise, are from others.
    #[cfg(test)]
    pub fn distance(&self, other: &Self) -> f64 {
        let pairs = self.flat.iter().zip(&other.flat);
        pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    fn sensitivity(&self) -> Result<Sensitivity, Failure> {
        Sensitivity::l2(self.sensitivity).map_err(Failure::failed)
    }
}

/// Releases what the plan has by this name.
///
/// # Errors
///
/// [`Failure::Failed`] where the plan has it not, or the ledger cannot be written; nothing has left then.
pub fn release_once(
    releaser: &mut Option<Releaser>,
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
    let deviation = releaser.deviation_of(name, sensitivity);
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
/// written; nothing has left then.
pub fn release_step(
    releaser: &mut Option<Releaser>,
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

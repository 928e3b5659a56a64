//! One way out for private values: through the plan's releaser and its ledger, or with no promise at all.

use dp_core::ledger::Ledger;
use dp_core::mechanism::{BoundedVector, NoiseSource, Releaser, Sensitivity};
use dp_core::plan::CheckedPlan;
use dp_core::sampling::Draw;
use lab::diagnostic::Failure;
use swd::SensitiveVector;

/// Values that have left, with the deviation of the noise in them.
pub struct Released {
    /// The values of each group.
    pub groups: Vec<Vec<f64>>,
    /// The standard deviation of their noise, 0 without privacy.
    pub deviation: f64,
}

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

    fn sensitivity(&self) -> Result<Sensitivity, Failure> {
        Sensitivity::l2(self.sensitivity).map_err(Failure::run)
    }
}

/// The releaser of a run, with its ledger.
pub struct WayOut {
    releaser: Option<Releaser>,
    ledger: Ledger,
}

impl WayOut {
    /// The way out of `plan`; without one, values leave as they are.
    pub fn new(plan: Option<CheckedPlan>, noise: NoiseSource, ledger: Ledger) -> Self {
        Self {
            releaser: plan.map(|plan| plan.releaser(noise)),
            ledger,
        }
    }

    /// Releases what the plan has by this name.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the plan has it not, or the ledger cannot be written; nothing has left then.
    pub fn once(&mut self, name: &str, values: Values) -> Result<Released, Failure> {
        let Some(releaser) = &mut self.releaser else {
            return Ok(cut(&values.flat, &values.lengths, 0.0));
        };
        let sensitivity = values.sensitivity()?;
        let noisy = releaser
            .release_vector(name, &values.flat, sensitivity, &mut self.ledger)
            .map_err(Failure::run)?;
        let deviation = releaser.deviation_of(name, sensitivity);
        Ok(cut(
            &noisy,
            &values.lengths,
            deviation.map_err(Failure::run)?,
        ))
    }

    /// The private records of the next step; none without privacy.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] behind the last step.
    pub fn draw(&mut self) -> Result<Option<Draw>, Failure> {
        let draw = self.releaser.as_mut().map(Releaser::draw);
        draw.transpose().map_err(Failure::run)
    }

    /// Releases the values of one step.
    ///
    /// - `sizes`: records of each group that went in.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] for values that are not of this step's `draw`, and where the ledger cannot be
    /// written; nothing has left then.
    pub fn step(
        &mut self,
        draw: Option<Draw>,
        sizes: &[usize],
        values: Values,
    ) -> Result<Released, Failure> {
        let (Some(releaser), Some(draw)) = (&mut self.releaser, draw) else {
            return Ok(cut(&values.flat, &values.lengths, 0.0));
        };
        let sensitivity = values.sensitivity()?;
        let noisy = BoundedVector::new(values.flat, sensitivity, sizes, draw)
            .and_then(|bounded| releaser.release_step_vector(bounded, &mut self.ledger))
            .map_err(Failure::run)?;
        Ok(cut(
            &noisy,
            &values.lengths,
            releaser.deviation(sensitivity),
        ))
    }

    /// The promise; none without privacy.
    pub fn plan(&self) -> Option<&CheckedPlan> {
        self.releaser.as_ref().map(Releaser::plan)
    }

    /// The releaser, for checkpoints; none without privacy.
    pub fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
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

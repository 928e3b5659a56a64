//! The privatised records: the only place that reads private ones.

use dp_core::local::{LocalMechanism, LocalNoise};
use dp_core::mechanism::Releaser;
use lab::diagnostic::Failure;
use lab::progress::Progress;
use lab::session::{Released, Session};
use rand::seq::index::sample;
use rand_chacha::ChaCha20Rng;
use swd::sinkhorn::Cost;

use super::plan::RELEASE;
use super::sources::Rows;

/// Records that are clean in memory at once.
const PART: usize = 1000;

/// Records after the mechanism, each with its class behind it, and the law of their noise.
pub struct Privatised {
    /// `[n, width]`.
    pub rows: Vec<f32>,
    /// Values of a record.
    pub width: usize,
    /// Which noise, and its deviation or scale, in units of the records; 0 for none.
    pub noise: LocalNoise,
    /// Its deviation, or its scale.
    pub scale: f64,
}

/// How a record is laid out before the mechanism.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    /// Values of a record without its class.
    pub values: usize,
    /// Classes that stand behind them as a one-hot vector; 0 for none.
    pub classes: usize,
    /// What that vector is multiplied by.
    pub weight: f64,
}

impl Layout {
    /// Values of a record with its class.
    pub fn width(self) -> usize {
        self.values + self.classes
    }

    /// A one-hot class, as it stands behind a record.
    pub fn class(self, label: usize) -> impl Iterator<Item = f32> {
        let weight = self.weight as f32;
        (0..self.classes).map(move |class| if class == label { weight } else { 0.0 })
    }
}

impl Privatised {
    /// Privatises every record once, or reads what the run privatised before it was killed.
    ///
    /// The ledger is written before the first noise is drawn.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the ledger cannot be written: nothing has left then; [`Failure::Interrupted`].
    pub fn of(
        records: &Rows,
        layout: Layout,
        mechanism: Option<LocalMechanism>,
        releaser: &mut Option<Releaser>,
        session: &mut Session,
    ) -> Result<Self, Failure> {
        let released = match Released::read(&session.folder, RELEASE)? {
            Some(released) => released,
            None => {
                let values = privatise(records, layout, mechanism, releaser, session)?;
                let released = Released {
                    groups: vec![values],
                    deviation: mechanism.map_or(0.0, |m| m.scale()),
                };
                released.write(&session.folder, RELEASE, session.ledger.releases())?;
                released
            }
        };
        let values = released.groups.concat();
        Ok(Self {
            rows: values.into_iter().map(|v| v as f32).collect(),
            width: layout.width(),
            noise: mechanism.map_or(LocalNoise::Gaussian, |m| m.noise()),
            scale: released.deviation,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len() / self.width
    }

    /// Some of them, without one twice.
    pub fn batch(&self, size: usize, rng: &mut ChaCha20Rng) -> Vec<f32> {
        let chosen = sample(rng, self.len(), size.min(self.len()));
        let row = |place: usize| &self.rows[place * self.width..][..self.width];
        chosen.into_iter().flat_map(row).copied().collect()
    }

    /// The cost whose entropic transport takes this noise away.
    pub fn cost(&self) -> Cost {
        match self.noise {
            LocalNoise::Gaussian => Cost::SquaredEuclidean,
            LocalNoise::Laplace => Cost::Manhattan,
        }
    }

    /// The mean of `|y|_p^p`.
    pub fn mean_power(&self) -> f64 {
        let power = |&y: &f32| match self.cost() {
            Cost::SquaredEuclidean => f64::from(y) * f64::from(y),
            Cost::Manhattan => f64::from(y).abs(),
        };
        self.rows.iter().map(power).sum::<f64>() / self.len() as f64
    }
}

fn privatise(
    records: &Rows,
    layout: Layout,
    mechanism: Option<LocalMechanism>,
    releaser: &mut Option<Releaser>,
    session: &mut Session,
) -> Result<Vec<f64>, Failure> {
    if let (Some(mechanism), Some(releaser)) = (mechanism, releaser.as_mut()) {
        let written = releaser.record_local(RELEASE, &mechanism, &mut session.ledger);
        written.map_err(Failure::failed)?;
    }
    let progress = Progress::new(records.len() as u64);
    let mut values = Vec::with_capacity(records.len() * layout.width());
    for (rows, labels) in records.parts(PART) {
        session.interrupt.check("records were privatised")?;
        for (place, row) in rows.chunks_exact(layout.values).enumerate() {
            let mut record = row.to_vec();
            record.extend(layout.class(labels.get(place).copied().unwrap_or(0)));
            match (mechanism, releaser.as_mut()) {
                (Some(mechanism), Some(releaser)) => {
                    let noisy = mechanism.privatise(&record, releaser.noise());
                    values.extend(noisy.map_err(Failure::failed)?.values);
                }
                _ => values.extend(record.into_iter().map(f64::from)),
            }
            progress.step();
        }
    }
    progress.finish();
    Ok(values)
}

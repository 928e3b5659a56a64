//! One way out for private values: through the mechanism and its ledger, or with no promise at all.

use dp_core::accounting::Event;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{GaussianMechanism, NoiseSource, Sensitivity};
use lab::diagnostic::Failure;
use swd::Unreleased;

use super::promise::{Promise, of_share};

/// Values that have left, with the deviation of the noise in them.
pub struct Released {
    /// The values of each group.
    pub groups: Vec<Vec<f64>>,
    /// The standard deviation of their noise, 0 without privacy.
    pub deviation: f64,
}

/// The mechanism of a run, with its ledger.
pub struct Releaser {
    mechanism: Option<GaussianMechanism>,
    ledger: Ledger,
}

impl Releaser {
    /// A mechanism for `promise`; without one, values leave as they are.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] for a noise multiplier that is refused.
    pub fn new(
        promise: Option<&Promise>,
        noise: NoiseSource,
        ledger: Ledger,
    ) -> Result<Self, Failure> {
        let mechanism = promise
            .map(|p| {
                GaussianMechanism::new(p.noise_multiplier, p.event.clone(), p.neighbours, noise)
                    .map(|m| m.with_failure_probability(p.failure_probability))
            })
            .transpose()
            .map_err(Failure::run)?;
        Ok(Self { mechanism, ledger })
    }

    /// Releases the values of all groups at once, as one event: a record lies in one group, so the
    /// sensitivity is that of one group.
    ///
    /// - `sensitivity`: instead of the values' own, where a paper's is asked for.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the ledger cannot be written; nothing has left then.
    pub fn release(
        &mut self,
        groups: &[Unreleased],
        sensitivity: Option<f64>,
    ) -> Result<Released, Failure> {
        let own = groups
            .iter()
            .map(Unreleased::l2_sensitivity_upper)
            .fold(0.0, f64::max);
        let lengths: Vec<usize> = groups.iter().map(|g| g.before_noise().len()).collect();
        let values: Vec<f64> = groups
            .iter()
            .flat_map(|g| g.before_noise())
            .copied()
            .collect();
        self.vector(&values, &lengths, sensitivity.unwrap_or(own))
    }

    /// As [`Releaser::release`], for one vector that is cut into groups of some lengths.
    ///
    /// # Errors
    ///
    /// As [`Releaser::release`].
    pub fn vector(
        &mut self,
        values: &[f64],
        lengths: &[usize],
        sensitivity: f64,
    ) -> Result<Released, Failure> {
        let (noisy, deviation) = match &mut self.mechanism {
            Some(mechanism) => {
                let sensitivity = Sensitivity::l2(sensitivity).map_err(Failure::run)?;
                let noisy = mechanism
                    .release_vector(values, sensitivity, &mut self.ledger)
                    .map_err(Failure::run)?;
                (noisy, mechanism.deviation(sensitivity))
            }
            None => (values.to_vec(), 0.0),
        };
        let mut rest = &noisy[..];
        let mut groups = Vec::with_capacity(lengths.len());
        for &length in lengths {
            let (here, after) = rest.split_at(length);
            groups.push(here.to_vec());
            rest = after;
        }
        Ok(Released { groups, deviation })
    }

    /// The next release takes this share of the budget: the squares of `1/z` of all shares add up to
    /// that of the whole.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] for a share that is not positive.
    pub fn spend(&mut self, promise: Option<&Promise>, share: f64) -> Result<(), Failure> {
        let (Some(mechanism), Some(promise)) = (self.mechanism.take(), promise) else {
            return Ok(());
        };
        let noise_multiplier = of_share(promise.noise_multiplier, share);
        let event = Event::Gaussian { noise_multiplier };
        let next = mechanism.next_phase(noise_multiplier, event);
        self.mechanism = Some(next.map_err(Failure::run)?);
        Ok(())
    }

    /// The noise source, for secret batches; none without privacy.
    pub fn noise(&mut self) -> Option<&mut NoiseSource> {
        self.mechanism.as_mut().map(GaussianMechanism::noise)
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

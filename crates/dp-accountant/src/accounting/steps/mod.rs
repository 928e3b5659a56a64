//! Events reduced to counted steps, which an accountant can compose.

mod mechanism;
mod reduce;

use super::error::{AccountingError, Result};
pub(crate) use mechanism::{Mechanism, check_rho};
pub(crate) use reduce::{PLD, RENYI, ZCDP, alternatives, worst, worst_profile};

/// The largest number of steps of one kind that is covered (counts are exact in `f64` below it).
pub(crate) const MAX_STEPS: u64 = 1 << 52;

/// Relative allowance for the rounding of sums, upwards.
pub(crate) const ROUNDING: f64 = 1e-14;

/// How a step's batch is sampled, and what neighbours differ in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Sampling {
    /// Every record is in the batch.
    None,
    /// Fixed size without replacement, replace-one or k-end neighbours.
    Fixed { rate: f64 },
    /// Poisson, add-remove or zero-out neighbours.
    Poisson { rate: f64 },
    /// The same with neighbours of several records at once, for Gaussian noise.
    PoissonGroup { rate: f64, records: u32 },
    /// An epoch of Gaussian steps, one of which, uniformly, sees the record.
    Allocation { steps: u32 },
}

/// The two orders of neighbours, which have different pairs for Poisson samples and for random allocation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Direction {
    Removed,
    Added,
}

impl Direction {
    pub(crate) const BOTH: [Self; 2] = [Self::Removed, Self::Added];
}

/// One kind of step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub mechanism: Mechanism,
    pub sampling: Sampling,
}

/// What tells one kind of step from another.
type Key = (u32, u64, u8, u64);

impl Step {
    fn key(&self) -> Key {
        let (sampling, rate) = match self.sampling {
            Sampling::None => (0, 0.0),
            Sampling::Fixed { rate } => (1, rate),
            Sampling::Poisson { rate } => (2, rate),
            Sampling::PoissonGroup { rate, records } => (2 + records, rate),
            Sampling::Allocation { steps } => (u32::MAX, f64::from(steps)),
        };
        let (kind, parameter) = self.mechanism.key();
        (sampling, rate.to_bits(), kind, parameter)
    }

    /// Whether adding a record is another pair than removing one.
    pub(crate) fn has_directions(&self) -> bool {
        !matches!(self.sampling, Sampling::None | Sampling::Fixed { .. })
    }

    /// The largest loss of the pair in a direction.
    pub(crate) fn loss_supremum(&self, direction: Direction) -> f64 {
        let largest = self.mechanism.loss_supremum();
        match (self.sampling, direction) {
            (Sampling::None | Sampling::Allocation { .. }, _)
            | (Sampling::PoissonGroup { .. }, Direction::Removed) => largest,
            (Sampling::Fixed { rate }, _) | (Sampling::Poisson { rate }, Direction::Removed) => {
                mixed(rate, largest)
            }
            (Sampling::Poisson { rate }, Direction::Added) => -mixed(rate, -largest),
            (Sampling::PoissonGroup { rate, records }, Direction::Added) => {
                -f64::from(records) * (-rate).ln_1p()
            }
        }
    }
}

/// `ln(1 - rate + rate e^loss)`.
pub(crate) fn mixed(rate: f64, loss: f64) -> f64 {
    if loss > 30.0 {
        loss + rate.ln() + ((1.0 - rate) / rate * (-loss).exp()).ln_1p()
    } else {
        (rate * loss.exp_m1()).ln_1p()
    }
}

/// The inverse of [`mixed`]; minus infinity below its range.
pub(crate) fn unmixed(rate: f64, loss: f64) -> f64 {
    if loss > 30.0 {
        loss - rate.ln() + (-(1.0 - rate) * (-loss).exp()).ln_1p()
    } else {
        let odds = loss.exp_m1() / rate;
        if odds <= -1.0 {
            f64::NEG_INFINITY
        } else {
            odds.ln_1p()
        }
    }
}

/// The steps to compose for one choice of the part that the record is in.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Steps {
    /// Distinct steps with their counts, each count at least 1.
    pub counted: Vec<(Step, u64)>,
    /// Whether something was released without noise.
    pub non_private: bool,
    /// The sum of the deltas of failures.
    pub failure: f64,
}

impl Steps {
    /// The part of `delta` that failures leave to the other steps, rounded down; `None` if failures exceed `delta`.
    pub(super) fn left(&self, delta: f64) -> Option<f64> {
        if self.failure == 0.0 || delta == 1.0 {
            return Some(delta);
        }
        let left = delta - self.failure;
        (left >= 0.0).then(|| (left - ROUNDING * delta).max(0.0))
    }

    /// `delta` with the deltas of failures, rounded up.
    pub(super) fn with_failure(&self, delta: f64) -> f64 {
        match self.failure {
            0.0 => delta,
            failure => ((delta + failure) * (1.0 + ROUNDING)).min(1.0),
        }
    }

    /// The pure epsilon, rounded up: the sum of the largest losses in any direction.
    pub(super) fn loss_supremum(&self) -> f64 {
        if self.non_private {
            return f64::INFINITY;
        }
        let mut total = 0.0;
        for (step, count) in &self.counted {
            let largest = Direction::BOTH.map(|direction| step.loss_supremum(direction));
            total += *count as f64 * largest.into_iter().fold(0.0, f64::max);
        }
        total * (1.0 + ROUNDING)
    }

    /// Whether there is an exponential mechanism. For many of them Renyi divergences may be tighter than pairs.
    pub(super) fn has_exponential(&self) -> bool {
        self.counted.iter().any(|(step, _)| {
            matches!(step.mechanism, Mechanism::Exponential { .. })
                && step.sampling == Sampling::None
        })
    }

    /// The total `mu` if there are only unsampled Gaussian releases.
    pub(super) fn gaussian_mu(&self) -> Option<f64> {
        match self.counted.as_slice() {
            [] => Some(0.0),
            [(step, 1)] if step.sampling == Sampling::None => match step.mechanism {
                Mechanism::Gaussian { mu } => Some(mu),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A number of steps, if it did not overflow and is covered.
pub(crate) fn step_count(count: Option<u64>) -> Result<u64> {
    count
        .filter(|count| *count <= MAX_STEPS)
        .ok_or(AccountingError::TooManySteps { bound: MAX_STEPS })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_maps_are_inverse_to_each_other() {
        for rate in [1e-4, 0.1, 0.9] {
            for loss in [-3.0, -1e-6, 0.0, 1e-6, 0.5, 20.0, 40.0, 2000.0] {
                let back = unmixed(rate, mixed(rate, loss));
                let tolerance = 1e-13 * (1.0_f64).max(loss.abs()) / rate;
                assert!((back - loss).abs() < tolerance, "{rate} {loss} {back}");
            }
        }
    }
}

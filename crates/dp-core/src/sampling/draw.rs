//! The records that one step sampled.

use crate::DpError;

/// The records that one step sampled, good for one release.
///
/// Only the releaser that drew it accepts it, and only once: a draw cannot be copied, a gradient takes it
/// ([`BoundedGradient::new`](crate::mechanism::BoundedGradient::new)), and a released step is over.
///
/// ```compile_fail,E0382
/// use dp_core::mechanism::{BoundedGradient, ParameterGradient, Sensitivity};
/// # fn twice(first: ParameterGradient, second: ParameterGradient, s: Sensitivity, draw: dp_core::sampling::Draw) {
/// let one = BoundedGradient::new(first, s, &[600], draw);
/// let two = BoundedGradient::new(second, s, &[600], draw); // the draw is gone
/// # }
/// ```
///
/// **Secret**: the sampled records, and with Poisson sampling their number.
pub struct Draw {
    made: Made,
    strata: Vec<Vec<usize>>,
    expected: Vec<f64>,
}

/// The releaser of a draw, and the number of the draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made {
    /// The releaser, unique in the process.
    pub(crate) run: u64,
    /// The number of the releaser's draws up to this one.
    pub(crate) number: u64,
    /// The step, from 1.
    pub(crate) step: u64,
}

impl std::fmt::Debug for Draw {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut draw = formatter.debug_struct("Draw");
        draw.field("step", &self.made.step).finish_non_exhaustive()
    }
}

impl Draw {
    pub(crate) fn new(made: Made, strata: Vec<Vec<usize>>, expected: Vec<f64>) -> Self {
        Self {
            made,
            strata,
            expected,
        }
    }

    /// The record indices of each stratum.
    pub fn strata(&self) -> &[Vec<usize>] {
        &self.strata
    }

    /// The record indices, stratum after stratum.
    pub fn indices(&self) -> Vec<usize> {
        self.strata.concat()
    }

    /// The number of sampled records of each stratum.
    pub fn sizes(&self) -> Vec<usize> {
        self.strata.iter().map(Vec::len).collect()
    }

    /// The expected number of records of each stratum, by which sums are divided. It is public, and equals
    /// [`Draw::sizes`] except with Poisson sampling.
    pub fn expected_sizes(&self) -> &[f64] {
        &self.expected
    }

    /// The number of sampled records.
    pub fn len(&self) -> usize {
        self.strata.iter().map(Vec::len).sum()
    }

    /// Whether no record was sampled, which Poisson sampling may do.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The step of the draw, from 1.
    pub fn step(&self) -> u64 {
        self.made.step
    }

    pub(crate) fn made(&self) -> Made {
        self.made
    }

    /// Refuses sums over other numbers of records than were sampled.
    pub(crate) fn check(&self, sizes: &[usize]) -> Result<(), DpError> {
        if self.sizes() == sizes {
            return Ok(());
        }
        Err(DpError::SampledSizes)
    }
}

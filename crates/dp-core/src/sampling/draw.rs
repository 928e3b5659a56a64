//! What one step drew.

use crate::DpError;

/// The records that one step drew: a key to one release.
///
/// Only the releaser of a plan draws one that it accepts back, once: a draw cannot be copied, a gradient takes it
/// ([`BoundedGradient::new`](crate::mechanism::BoundedGradient::new)), and a step that was released is over.
///
/// ```compile_fail,E0382
/// use dp_core::mechanism::{BoundedGradient, ParameterGradient, Sensitivity};
/// # fn twice(first: ParameterGradient, second: ParameterGradient, s: Sensitivity, draw: dp_core::sampling::Draw) {
/// let one = BoundedGradient::new(first, s, &[600], draw);
/// let two = BoundedGradient::new(second, s, &[600], draw); // the draw is gone
/// # }
/// ```
///
/// **Secret**: which records were sampled, and with Poisson sampling how many.
pub struct Draw {
    made: Made,
    groups: Vec<Vec<usize>>,
    expected: Vec<f64>,
}

/// Who made a draw, and as which of its draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made {
    /// The releaser, unique in the process.
    pub(crate) run: u64,
    /// Its draws up to this one.
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
    pub(crate) fn new(made: Made, groups: Vec<Vec<usize>>, expected: Vec<f64>) -> Self {
        Self {
            made,
            groups,
            expected,
        }
    }

    /// The record indices of each group.
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    /// The record indices, group after group.
    pub fn indices(&self) -> Vec<usize> {
        self.groups.concat()
    }

    /// How many records of each group were sampled.
    pub fn sizes(&self) -> Vec<usize> {
        self.groups.iter().map(Vec::len).collect()
    }

    /// How many records of each group are expected, public: what sums are divided by. As
    /// [`Draw::sizes`] but with Poisson sampling.
    pub fn expected_sizes(&self) -> &[f64] {
        &self.expected
    }

    /// How many records were sampled.
    pub fn len(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    /// Whether no record was sampled, as Poisson sampling may.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The step that it was sampled for, from 1.
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

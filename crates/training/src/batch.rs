//! The records of one step.

use std::ops::Range;

use burn::tensor::Tensor;

use crate::TrainingError;
use crate::error::same;

/// Records with their targets, group after group.
///
/// - `inputs`: `[n, ...]`, one record a row;
/// - `targets`: `[n, t]`, what the losses compare the outputs with: class numbers (`t = 1`), values, or the
///   inputs themselves for an autoencoder.
#[derive(Debug, Clone)]
pub struct Batch<const D: usize> {
    inputs: Tensor<D>,
    targets: Tensor<2>,
    groups: Vec<Range<usize>>,
}

impl<const D: usize> Batch<D> {
    /// A batch of groups of `sizes` records, in the order in which they were drawn.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] unless inputs and targets have a row for each record.
    pub fn new(
        inputs: Tensor<D>,
        targets: Tensor<2>,
        sizes: &[usize],
    ) -> Result<Self, TrainingError> {
        let n = sizes.iter().sum();
        same("records of a batch", n, inputs.dims()[0])?;
        same("targets of a batch", n, targets.dims()[0])?;
        let mut end = 0;
        let groups = sizes.iter().map(|&size| {
            end += size;
            end - size..end
        });
        Ok(Self {
            groups: groups.collect(),
            inputs,
            targets,
        })
    }

    /// The number of records.
    pub fn records(&self) -> usize {
        self.inputs.dims()[0]
    }

    /// The inputs, `[n, ...]`.
    pub fn inputs(&self) -> &Tensor<D> {
        &self.inputs
    }

    /// The targets, `[n, t]`.
    pub fn targets(&self) -> &Tensor<2> {
        &self.targets
    }

    /// Where each group stands.
    pub fn groups(&self) -> &[Range<usize>] {
        &self.groups
    }

    /// Records of each group.
    pub fn sizes(&self) -> Vec<usize> {
        self.groups.iter().map(Range::len).collect()
    }

    /// The same records as rows of features.
    pub(crate) fn flat(&self) -> Batch<2> {
        let n = self.records();
        let features = self.inputs.dims()[1..].iter().product::<usize>();
        Batch {
            inputs: self.inputs.clone().reshape([n, features]),
            targets: self.targets.clone(),
            groups: self.groups.clone(),
        }
    }

    /// One record alone.
    pub(crate) fn record(&self, i: usize) -> (Tensor<D>, Tensor<2>) {
        (
            self.inputs.clone().narrow(0, i, 1),
            self.targets.clone().narrow(0, i, 1),
        )
    }
}

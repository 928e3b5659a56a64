//! The records of one step.

use std::ops::Range;
use std::sync::Arc;

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
    fixed: Option<Fixed>,
}

/// Records that the network does not touch.
#[derive(Debug, Clone)]
pub(crate) struct Fixed {
    /// `[m, d]`, row by row.
    pub rows: Arc<Vec<f32>>,
    /// `m`.
    pub count: usize,
}

impl<const D: usize> Batch<D> {
    /// A batch of groups of `sizes` records, in the order in which they were sampled.
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
            fixed: None,
        })
    }

    /// The same with one more group, the last one: `count` private records that the network does not touch, and
    /// that a penalty to a private sample ([`crate::Penalty::to_private_sample`]) compares activations with.
    ///
    /// - `rows`: `[m, d]`, row by row, `d` the dimension of the penalised activation.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] for a length that is no multiple of `count`.
    pub fn with_private_sample(
        mut self,
        rows: Vec<f32>,
        count: usize,
    ) -> Result<Self, TrainingError> {
        let width = rows.len() / count.max(1);
        same("values of a private sample", count * width, rows.len())?;
        let rows = Arc::new(rows);
        self.fixed = Some(Fixed { rows, count });
        Ok(self)
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

    /// Where each group stands that the network sees.
    pub fn groups(&self) -> &[Range<usize>] {
        &self.groups
    }

    /// Records of each group, a private sample's last.
    pub fn sizes(&self) -> Vec<usize> {
        let fixed = self.fixed.iter().map(|fixed| fixed.count);
        self.groups.iter().map(Range::len).chain(fixed).collect()
    }

    /// The records that the network does not touch.
    pub(crate) fn fixed(&self) -> Option<&Fixed> {
        self.fixed.as_ref()
    }

    /// The same records as rows of features.
    pub(crate) fn flat(&self) -> Batch<2> {
        let n = self.records();
        let features = self.inputs.dims()[1..].iter().product::<usize>();
        Batch {
            inputs: self.inputs.clone().reshape([n, features]),
            targets: self.targets.clone(),
            groups: self.groups.clone(),
            fixed: self.fixed.clone(),
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

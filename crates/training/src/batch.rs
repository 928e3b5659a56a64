//! The records of one step.

use std::ops::Range;
use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::error::same;
use crate::{TrainingError, rows_of};

/// The targets of `n` records, which losses compare outputs with.
#[derive(Clone)]
pub enum Targets {
    /// Class numbers, `[n]`.
    Classes(Tensor<1, Int>),
    /// Values, `[n, t]`: numbers, probabilities, or the inputs themselves in an autoencoder.
    Values(Tensor<2>),
}

impl std::fmt::Debug for Targets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Classes(_) => "Classes(..)",
            Self::Values(_) => "Values(..)",
        })
    }
}

impl Targets {
    /// Returns the targets as values; class numbers become a column, `[n, 1]`.
    pub fn values(&self) -> Tensor<2> {
        match self.clone() {
            Self::Classes(classes) => classes.float().unsqueeze_dim(1),
            Self::Values(values) => values,
        }
    }

    /// Returns the class numbers as a column, `[n, 1]`.
    ///
    /// # Panics
    /// Panics on values, which a loss on classes refuses earlier.
    pub(crate) fn classes(&self) -> Tensor<2, Int> {
        match self.clone() {
            Self::Classes(classes) => classes.unsqueeze_dim(1),
            Self::Values(_) => panic!("values in place of class numbers"),
        }
    }

    pub(crate) fn records(&self) -> usize {
        match self {
            Self::Classes(classes) => classes.dims()[0],
            Self::Values(values) => values.dims()[0],
        }
    }

    pub(crate) fn map(
        &self,
        classes: impl FnOnce(Tensor<1, Int>) -> Tensor<1, Int>,
        values: impl FnOnce(Tensor<2>) -> Tensor<2>,
    ) -> Self {
        match self.clone() {
            Self::Classes(all) => Self::Classes(classes(all)),
            Self::Values(all) => Self::Values(values(all)),
        }
    }

    /// Returns the targets of `n` records, from record `start` on.
    pub(crate) fn narrow(&self, start: usize, n: usize) -> Self {
        self.map(|all| all.narrow(0, start, n), |all| all.narrow(0, start, n))
    }

    pub(crate) fn without_autodiff(&self) -> Self {
        self.map(Tensor::without_autodiff, Tensor::without_autodiff)
    }

    pub(crate) fn autodiff(&self) -> Self {
        self.map(Tensor::autodiff, Tensor::autodiff)
    }
}

impl From<Tensor<1, Int>> for Targets {
    fn from(classes: Tensor<1, Int>) -> Self {
        Self::Classes(classes)
    }
}

impl From<Tensor<2>> for Targets {
    fn from(values: Tensor<2>) -> Self {
        Self::Values(values)
    }
}

impl<T: Clone + Into<Self>> From<&T> for Targets {
    fn from(targets: &T) -> Self {
        targets.clone().into()
    }
}

/// [`Targets`] in host memory.
#[derive(Clone, Copy)]
pub enum HostTargets<'a> {
    /// Class numbers, `[n]`.
    Classes(&'a [usize]),
    /// Values, `[n, t]` in rows.
    Values(&'a [f32]),
}

impl std::fmt::Debug for HostTargets<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Classes(_) => "Classes(..)",
            Self::Values(_) => "Values(..)",
        })
    }
}

impl HostTargets<'_> {
    /// Copies the targets of `n` records to a device.
    pub fn on(self, n: usize, device: &Device) -> Targets {
        match self {
            Self::Classes(classes) => {
                let classes: Vec<i64> = classes.iter().map(|&class| class as i64).collect();
                Targets::Classes(Tensor::from_data(TensorData::new(classes, [n]), device))
            }
            Self::Values(values) => {
                let shape = [n, values.len() / n.max(1)];
                Targets::Values(Tensor::from_data(
                    TensorData::new(values.to_vec(), shape),
                    device,
                ))
            }
        }
    }
}

/// Records with their targets, one stratum after another; the inputs are `[n, ...]`, one record a row. A stratum is a public part
/// of the records, from which the sampler takes a number of its own.
#[derive(Clone)]
pub struct Batch<const D: usize> {
    inputs: Tensor<D>,
    targets: Targets,
    strata: Vec<Range<usize>>,
    fixed: Option<Fixed>,
}

impl<const D: usize> std::fmt::Debug for Batch<D> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Batch");
        shown.field("strata", &self.strata.len());
        shown.finish_non_exhaustive()
    }
}

/// Private records that do not go through the network.
#[derive(Clone)]
pub(crate) struct Fixed {
    /// The values, `[m, d]` in rows.
    pub rows: Arc<Vec<f32>>,
    /// The number of records, `m`.
    pub count: usize,
}

impl<const D: usize> Batch<D> {
    /// Creates a batch of strata of `sizes` records, in the order in which they were sampled.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OtherRecords`] unless inputs and targets have one row for each record.
    pub fn new(
        inputs: Tensor<D>,
        targets: impl Into<Targets>,
        sizes: &[usize],
    ) -> Result<Self, TrainingError> {
        let targets = targets.into();
        let n: usize = sizes.iter().sum();
        for (what, found) in [
            ("records of a batch", inputs.dims()[0]),
            ("targets of a batch", targets.records()),
        ] {
            if found != n {
                return Err(TrainingError::OtherRecords { what });
            }
        }
        let mut end = 0;
        let strata = sizes.iter().map(|&size| {
            end += size;
            end - size..end
        });
        Ok(Self {
            strata: strata.collect(),
            inputs,
            targets,
            fixed: None,
        })
    }

    /// Adds a last stratum of `count` private records that do not go through the network; a penalty to a private sample
    /// ([`crate::Penalty::to_private_sample`]) compares activations with them.
    ///
    /// - `rows`: `[m, d]` in rows, for activations of dimension `d`.
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

    /// Returns the inputs, `[n, ...]`.
    pub fn inputs(&self) -> &Tensor<D> {
        &self.inputs
    }

    /// Returns the targets.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// Returns the range of rows of each stratum that goes through the network.
    pub fn strata(&self) -> &[Range<usize>] {
        &self.strata
    }

    /// Returns the number of records of each stratum, a private sample's last.
    pub fn sizes(&self) -> Vec<usize> {
        let fixed = self.fixed.iter().map(|fixed| fixed.count);
        self.strata.iter().map(Range::len).chain(fixed).collect()
    }

    /// Returns the records that do not go through the network.
    pub(crate) fn fixed(&self) -> Option<&Fixed> {
        self.fixed.as_ref()
    }

    /// Returns the batch with inputs as rows of features.
    pub(crate) fn flat(&self) -> Batch<2> {
        Batch {
            inputs: rows_of(self.inputs.clone()),
            targets: self.targets.clone(),
            strata: self.strata.clone(),
            fixed: self.fixed.clone(),
        }
    }

    /// Returns one record alone, with its target.
    pub(crate) fn record(&self, i: usize) -> (Tensor<D>, Targets) {
        (
            self.inputs.clone().narrow(0, i, 1),
            self.targets.narrow(i, 1),
        )
    }
}

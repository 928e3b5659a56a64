//! A batch of records, group after group.

use std::ops::Range;

use crate::ModelError;

/// Records with targets, sorted into groups of public sizes.
#[derive(Debug, Clone)]
pub struct GroupedBatch {
    inputs: Vec<f32>,
    targets: Vec<f32>,
    features: usize,
    width: usize,
    groups: Vec<Range<usize>>,
}

impl GroupedBatch {
    /// A batch of groups of `sizes` records, in the order in which the groups stand.
    ///
    /// - `inputs`: `[n, features]`; `targets`: `[n, width]`; both in rows, group after group.
    ///
    /// # Errors
    ///
    /// [`ModelError::Shape`] for a group without records, or lengths that do not fit the sizes.
    pub fn new(
        inputs: Vec<f32>,
        features: usize,
        targets: Vec<f32>,
        width: usize,
        sizes: &[usize],
    ) -> Result<Self, ModelError> {
        let shape = |what, expected, found| {
            if expected == found {
                Ok(())
            } else {
                Err(ModelError::Shape {
                    what,
                    expected,
                    found,
                })
            }
        };
        let n: usize = sizes.iter().sum();
        if let Some(&empty) = sizes.iter().find(|&&size| size == 0) {
            shape("records of a group (at least one is needed)", 1, empty)?;
        }
        shape("features of a batch", n * features, inputs.len())?;
        shape("targets of a batch", n * width, targets.len())?;
        let mut start = 0;
        let groups = sizes
            .iter()
            .map(|&size| {
                start += size;
                start - size..start
            })
            .collect();
        Ok(Self {
            inputs,
            targets,
            features,
            width,
            groups,
        })
    }

    /// Records in all groups.
    pub fn records(&self) -> usize {
        self.groups.last().map_or(0, |last| last.end)
    }

    /// Scalars of one record.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Scalars of one target.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Where each group stands.
    pub fn groups(&self) -> &[Range<usize>] {
        &self.groups
    }

    /// Some records.
    pub fn inputs(&self, records: Range<usize>) -> &[f32] {
        &self.inputs[records.start * self.features..records.end * self.features]
    }

    /// The targets of some records.
    pub fn targets(&self, records: Range<usize>) -> &[f32] {
        &self.targets[records.start * self.width..records.end * self.width]
    }
}

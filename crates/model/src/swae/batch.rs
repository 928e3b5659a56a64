//! One batch of records in public groups.

use std::ops::Range;

use crate::ModelError;

/// Images and, in the conditional form, labels, sorted into groups of public sizes.
#[derive(Debug, Clone)]
pub struct Batch {
    pixels: Vec<f32>,
    labels: Vec<u8>,
    groups: Vec<Range<usize>>,
    features: usize,
}

impl Batch {
    /// One group: the unconditional form.
    ///
    /// - `pixels`: `[n, features]`, row-major, in `[0, 1]`.
    ///
    /// # Errors
    ///
    /// [`ModelError::Shape`] for an empty batch or a length that is not a multiple of `features`.
    pub fn single(pixels: Vec<f32>, features: usize) -> Result<Self, ModelError> {
        let n = Self::records_in(&pixels, features)?;
        Ok(Self {
            pixels,
            labels: Vec::new(),
            groups: std::iter::once(0..n).collect(),
            features,
        })
    }

    /// One group a class, in the order of the classes: the conditional form.
    ///
    /// - `sizes`: records of each class in the batch, public; classes of size 0 are allowed;
    /// - `pixels`: the records of class 0, then those of class 1, and so on.
    ///
    /// # Errors
    ///
    /// [`ModelError::Shape`] where the sizes do not add up to the records.
    pub fn by_class(
        pixels: Vec<f32>,
        features: usize,
        sizes: &[usize],
    ) -> Result<Self, ModelError> {
        let n = Self::records_in(&pixels, features)?;
        let total: usize = sizes.iter().sum();
        if total != n {
            return Err(ModelError::Shape {
                what: "records in the groups of a batch",
                expected: n,
                found: total,
            });
        }
        let mut groups = Vec::with_capacity(sizes.len());
        let mut labels = Vec::with_capacity(n);
        for (class, &size) in sizes.iter().enumerate() {
            let start = labels.len();
            labels.resize(start + size, class as u8);
            if size > 0 {
                groups.push(start..start + size);
            }
        }
        Ok(Self {
            pixels,
            labels,
            groups,
            features,
        })
    }

    fn records_in(pixels: &[f32], features: usize) -> Result<usize, ModelError> {
        if pixels.is_empty() || features == 0 || !pixels.len().is_multiple_of(features) {
            return Err(ModelError::Shape {
                what: "pixels of a batch (a positive multiple is needed)",
                expected: features,
                found: pixels.len(),
            });
        }
        Ok(pixels.len() / features)
    }

    /// The number of records.
    pub fn records(&self) -> usize {
        self.pixels.len() / self.features
    }

    /// Scalars of one record.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The groups that are matched to the prior apart from each other.
    pub fn groups(&self) -> &[Range<usize>] {
        &self.groups
    }

    /// The pixels of a range of records.
    pub fn pixels(&self, records: Range<usize>) -> &[f32] {
        &self.pixels[records.start * self.features..records.end * self.features]
    }

    /// Decoder inputs `[range, latent + classes]`: the latents beside one-hot labels.
    pub fn decoder_inputs(
        &self,
        records: Range<usize>,
        latents: &[f32],
        classes: usize,
    ) -> Vec<f32> {
        let n = records.len();
        let latent = latents.len() / n.max(1);
        let width = latent + classes;
        let mut inputs = vec![0.0; n * width];
        for (index, record) in records.enumerate() {
            let row = &mut inputs[index * width..(index + 1) * width];
            row[..latent].copy_from_slice(&latents[index * latent..(index + 1) * latent]);
            if let Some(&label) = self.labels.get(record)
                && usize::from(label) < classes
            {
                row[latent + usize::from(label)] = 1.0;
            }
        }
        inputs
    }
}

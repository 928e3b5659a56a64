//! The batches of a run, and what draws them.

use burn::tensor::{Device, Tensor, TensorData};
use data::Dataset;
use dp_core::DpError;
use dp_core::sampling::{BatchSampler, FixedSizeSampler, GroupSampler, split_batch};
use lab::diagnostic::Failure;
use private_training::Batch;

use super::Settings;

/// Where the records of a step come from.
pub struct Batches {
    conditional: bool,
    sizes: Vec<usize>,
    /// Public class sizes of the private records.
    pub class_sizes: Vec<usize>,
    /// What draws them.
    pub sampler: BatchSampler,
}

impl Batches {
    /// The sampler that the settings ask for.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a batch that does not fit the records.
    pub fn new(settings: &Settings, data: &Dataset) -> Result<Self, Failure> {
        let records = data.train.len();
        let bad = |e: DpError| {
            Failure::input(
                format!("--batch {}: {e}", settings.batch),
                format!("choose --batch between 1 and {records}"),
            )
        };
        // One check for both forms, so that the message speaks of the whole data.
        let all = FixedSizeSampler::new(records, settings.batch).map_err(bad)?;
        let class_sizes = data.train.class_sizes();
        let (sampler, sizes) = if settings.conditional {
            let mut groups = data.train.indices_by_class();
            let mut sizes = split_batch(settings.batch, &class_sizes).map_err(bad)?;
            if let Some(class) = (0..sizes.len()).find(|&c| sizes[c] == 0 && class_sizes[c] > 0) {
                return Err(Failure::input(
                    format!(
                        "--batch {}: class {class} with {} of {records} records gets no place in it",
                        settings.batch, class_sizes[class]
                    ),
                    "choose a larger --batch, or --unconditional",
                ));
            }
            groups.retain(|g| !g.is_empty());
            let present: Vec<usize> = sizes.iter().copied().filter(|&s| s > 0).collect();
            let sampler = GroupSampler::new(groups, &present).map_err(bad)?;
            sizes.truncate(class_sizes.len());
            (sampler.into(), sizes)
        } else {
            (all.into(), vec![settings.batch])
        };
        Ok(Self {
            conditional: settings.conditional,
            sizes,
            class_sizes,
            sampler,
        })
    }

    /// The batch of the records at `indices`, which stand group after group: images, with one-hot labels
    /// behind them where the model is conditional, and the same images as targets.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the sampler and the data disagree.
    pub fn of(
        &self,
        data: &Dataset,
        indices: &[usize],
        device: &Device,
    ) -> Result<Batch<2>, Failure> {
        let (n, features) = (indices.len(), data.train.image_size());
        let pixels = data
            .train
            .gather(indices)
            .ok_or_else(|| Failure::run("a sampled index lies outside the data"))?;
        let pixels = Tensor::from_data(TensorData::new(pixels, [n, features]), device);
        let inputs = if self.conditional {
            let classes = data.train.classes();
            let mut labels = vec![0.0f32; n * classes];
            let classes_of = (0..self.sizes.len()).flat_map(|c| vec![c; self.sizes[c]]);
            for (row, class) in classes_of.enumerate() {
                labels[row * classes + class] = 1.0;
            }
            let labels = Tensor::from_data(TensorData::new(labels, [n, classes]), device);
            Tensor::cat(vec![pixels.clone(), labels], 1)
        } else {
            pixels.clone()
        };
        Batch::new(inputs, pixels, &self.matched()).map_err(Failure::run)
    }

    /// The sizes of the groups that are matched, without empty ones.
    pub fn matched(&self) -> Vec<usize> {
        let sizes = self.sizes.iter().copied();
        sizes.filter(|&size| size > 0).collect()
    }
}

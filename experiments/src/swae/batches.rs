//! The batches of a run, and what draws them.

use burn::tensor::Device;
use data::{Dataset, Records};
use dp_core::DpError;
use dp_core::sampling::{Sampler, split_batch};
use lab::prelude::*;
use model::swae::Swae;
use private_training::Batch;

use super::Settings;

/// Where the records of a step come from.
pub(crate) struct Batches {
    pub data: Dataset,
    /// The private records of this rank, if they lie on several.
    part: Option<Records>,
    used: Used,
    /// Public class sizes of the private records.
    pub class_sizes: Vec<usize>,
    pub sampler: Sampler,
}

impl Batches {
    /// The sampler that the settings ask for.
    pub(crate) fn new(settings: &Settings, data: Dataset, used: Used) -> Result<Self, Failure> {
        let records = data.train.len();
        let bad = |e: DpError| {
            Failure::input(
                format!("--batch {}: {e}", settings.batch),
                format!("choose --batch between 1 and {records}"),
            )
        };
        // One check for both forms, so that the message speaks of the whole data.
        let all = Sampler::fixed_size(records, settings.batch).map_err(bad)?;
        let class_sizes = data.train.class_sizes();
        let sampler = if settings.conditional {
            let sizes = split_batch(settings.batch, &class_sizes).map_err(bad)?;
            let groups = data.train.indices_by_class();
            Sampler::stratified(groups, &sizes).map_err(bad)?
        } else {
            all
        };
        Ok(Self {
            data,
            part: None,
            used,
            class_sizes,
            sampler,
        })
    }

    /// The private records that lie in this process.
    pub(crate) fn private(&self) -> &Records {
        self.part.as_ref().unwrap_or(&self.data.train)
    }
}

impl RunRecords<Swae> for Batches {
    fn summary(&self) -> DataSummary {
        DataSummary {
            name: self.data.name.clone(),
            private: self.data.train.len(),
            test: self.data.test.len(),
            used: vec![self.used.clone()],
        }
    }

    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        let train = &self.data.train;
        let mut records = (train.len() as u64).to_le_bytes().to_vec();
        records.extend(&*train.pixels().or_failed()?);
        records.extend(train.labels());
        Ok(records)
    }

    fn keep(&mut self, rank: usize, ranks: usize) -> Result<(), Failure> {
        let own: Vec<usize> = (rank..self.data.train.len()).step_by(ranks).collect();
        self.part = Some(self.data.train.select(&own).or_failed()?);
        Ok(())
    }

    fn batch(
        &self,
        model: &Swae,
        sampled: &[Vec<usize>],
        device: &Device,
    ) -> Result<Batch<2>, Failure> {
        let sizes: Vec<usize> = sampled.iter().map(Vec::len).collect();
        let pixels = self.private().gather(&sampled.concat()).or_failed()?;
        model.batch(pixels, &sizes, device).or_failed()
    }
}

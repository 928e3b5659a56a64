//! The batches of a run, and the sampler that the accountant is told of.

use data::{Dataset, FixedSizeSampler, GroupSampler, split_batch};
use dp_core::accounting::{GroupSize, Sampler};
use lab::diagnostic::Failure;
use model::swae::Batch;
use rand_chacha::ChaCha20Rng;

use super::Settings;

/// Where the records of a step come from, and the sampler that the accountant is told of.
pub struct Batches {
    groups: GroupSampler,
    conditional: bool,
    sizes: Vec<usize>,
    /// Public class sizes of the private records.
    pub class_sizes: Vec<usize>,
    /// What the accountant is told.
    pub sampler: Sampler,
}

impl Batches {
    /// The sampler that the settings ask for.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a batch that does not fit the records.
    pub fn new(settings: &Settings, data: &Dataset) -> Result<Self, Failure> {
        let records = data.train.len();
        let bad = |e: data::DataError| {
            Failure::input(
                format!("--batch {}: {e}", settings.batch),
                format!("choose --batch between 1 and {records}"),
            )
        };
        // One check for both forms, so that the message speaks of the whole data.
        FixedSizeSampler::new(records, settings.batch).map_err(bad)?;
        let class_sizes = data.train.class_sizes();
        let (groups, sizes) = if settings.conditional {
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
            (sampler, sizes)
        } else {
            let all = (0..records).collect();
            let sampler = GroupSampler::new(vec![all], &[settings.batch]).map_err(bad)?;
            (sampler, vec![settings.batch])
        };
        let sampler = if settings.conditional {
            Sampler::KEndGroups {
                groups: groups
                    .groups()
                    .iter()
                    .zip(groups.batches())
                    .map(|(group, batch)| GroupSize {
                        records: group.len() as u64,
                        batch: batch as u64,
                    })
                    .collect(),
            }
        } else {
            Sampler::WithoutReplacement {
                records: records as u64,
                batch: settings.batch as u64,
            }
        };
        Ok(Self {
            groups,
            conditional: settings.conditional,
            sizes,
            class_sizes,
            sampler,
        })
    }

    /// A batch, drawn afresh.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the sampler and the data disagree.
    pub fn draw(&self, data: &Dataset, rng: &mut ChaCha20Rng) -> Result<Batch, Failure> {
        let indices: Vec<usize> = self.groups.sample(rng).into_iter().flatten().collect();
        let features = data.train.image_size();
        let pixels = data
            .train
            .gather(&indices)
            .ok_or_else(|| Failure::run("a sampled index lies outside the data"))?;
        if self.conditional {
            Batch::by_class(pixels, features, &self.sizes)
        } else {
            Batch::single(pixels, features)
        }
        .map_err(Failure::run)
    }

    /// The sizes of the groups that are matched, without empty ones.
    pub fn matched(&self) -> Vec<usize> {
        self.groups.batches()
    }
}

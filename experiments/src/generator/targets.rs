//! From private records to targets: what is released of them, and what a step sees of it.

use dp_core::ledger::Ledger;
use dp_core::mechanism::SensitiveVector;
use lab::diagnostic::Failure;
use lab::session::{SampledBatch, Session};
use private_queries::marginals::Bins;
use private_queries::{LabelledMarginals, Projections, Query};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::{FlowTarget, Region, Slices};

use super::plan::RELEASE;
use super::train::Generate;

/// Where the images of a group go: a distribution on every slice.
pub(crate) type Target = Box<dyn FlowTarget>;

/// The streams of the seed that slices are sampled from: one for the release of all records, and one for each step.
const SLICES: u64 = 16;
/// Records whose images are in memory at once.
const PART: usize = 10_000;

impl Generate {
    fn region(&self) -> Result<Region, Failure> {
        Region::ball(self.settings.radius).map_err(Failure::failed)
    }

    fn stream(&self, stream: u64) -> ChaCha20Rng {
        let mut rng = ChaCha20Rng::seed_from_u64(self.settings.seed);
        rng.set_stream(SLICES + stream);
        rng
    }

    /// The marginals of each class, released once, or read where the run released them before it was killed.
    pub(super) fn marginals(&mut self, session: &mut Session) -> Result<Vec<Target>, Failure> {
        let shape = self.records.shape();
        let shape = [shape.channels, shape.side, shape.side];
        let slices = Slices::smooth(shape, self.settings.slices, &mut self.stream(0));
        let slices = slices.map_err(Failure::failed)?;
        let (region, classes) = (self.region()?, self.model.groups());
        let query = Bins::uniform(self.settings.radius, self.settings.bins)
            .map_err(Into::into)
            .and_then(|bins| LabelledMarginals::new(slices, region, bins, classes));
        let query = query.map_err(Failure::failed)?;
        let measure = |run: &mut Self, _: &mut Session| run.counted(&query);
        let (marginals, _) = session.release(self, RELEASE, &query, measure)?;
        let boxed = |marginals| Box::new(marginals) as Target;
        Ok(marginals.into_iter().map(boxed).collect())
    }

    /// The counts of all records: the sum over parts of them, so a record moves it as it moves one part.
    fn counted(&self, query: &LabelledMarginals) -> Result<SensitiveVector, Failure> {
        let all: Vec<usize> = (0..self.records.len()).collect();
        let mut sum: Option<SensitiveVector> = None;
        for part in all.chunks(PART) {
            let images = self.records.gather(part)?;
            let mut classes = vec![Vec::new(); self.model.groups()];
            let rows = images.chunks_exact(self.records.shape().values());
            for (image, group) in rows.zip(self.groups(part)) {
                classes[group].extend_from_slice(image);
            }
            let counted = query.measure(&classes).map_err(Failure::failed)?;
            sum = Some(match sum {
                Some(sum) => sum.plus(&counted).map_err(Failure::failed)?,
                None => counted,
            });
        }
        sum.ok_or_else(|| Failure::failed("no private records"))
    }

    /// Noisy projections, on fresh slices, of a fresh batch of rows, an image and its weighted one-hot class each.
    pub(super) fn projections(
        &mut self,
        step: u64,
        ledger: &mut Ledger,
    ) -> Result<Target, Failure> {
        let (width, count) = (self.row_width(), self.settings.slices);
        let slices = Slices::signs(width, count, &mut self.stream(1 + step));
        let slices = slices.map_err(Failure::failed)?;
        let (sampler, rng) = (&self.sampler, &mut self.non_private);
        let batch = SampledBatch::next(self.releaser.as_mut(), || Ok(sampler.sample(rng)))?;
        let sampled = batch.groups.concat();
        let rows = self.rows(&self.records.gather(&sampled)?, &self.groups(&sampled));
        let query = Projections::new(slices, self.region()?, batch.sizes());
        let measured = query.measure(&[rows]).map_err(Failure::failed)?;
        let noisy = batch.release(self.releaser.as_mut(), measured, ledger)?;
        let mut released = query.read(&noisy).map_err(Failure::failed)?;
        let target = released.pop();
        let target = target.ok_or_else(|| Failure::failed("a release of no group"))?;
        Ok(Box::new(target))
    }

    /// The class of each record, 0 without classes.
    fn groups(&self, places: &[usize]) -> Vec<usize> {
        let labels = &self.labels;
        let label = |&place: &usize| labels.get(place).copied().unwrap_or(0);
        places.iter().map(label).collect()
    }

    /// The width of a row of [`Generate::rows`].
    pub(super) fn row_width(&self) -> usize {
        self.records.shape().values() + self.classes
    }

    /// Rows `(image, weight * one-hot class)`.
    pub(super) fn rows(&self, pixels: &[f32], groups: &[usize]) -> Vec<f32> {
        let weight = self.settings.label_weight.unwrap_or(1.0) as f32;
        let mut rows = Vec::with_capacity(groups.len() * self.row_width());
        for (image, &group) in pixels
            .chunks_exact(self.records.shape().values())
            .zip(groups)
        {
            rows.extend_from_slice(image);
            rows.extend((0..self.classes).map(|class| if class == group { weight } else { 0.0 }));
        }
        rows
    }
}

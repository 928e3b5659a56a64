//! From private records to targets: what is released of them, and what a step sees of it.

use dp_core::ledger::Ledger;
use dp_core::mechanism::Releaser;
use lab::diagnostic::Failure;
use lab::session::Session;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::marginals::{Bins, Cleaning, LabelledQuery};
use swd::smoothed::{NoisyProjections, project};
use swd::{FlowTarget, Region, Slices};

use super::plan::RELEASE;
use super::train::Generate;
use crate::release::{Values, release_and_store, release_step, stored};

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
            .and_then(|bins| LabelledQuery::new(slices, region, bins, classes));
        let query = query.map_err(Failure::failed)?;
        let released = match stored(self.releaser.as_mut(), RELEASE, session)? {
            Some(released) => released,
            None => {
                let values = self.counted(&query)?;
                release_and_store(self.releaser.as_mut(), RELEASE, &values, None, session)?
            }
        };
        let values = released.groups.concat();
        let classes = query.clean(&values, released.deviation, Cleaning::default());
        let classes = classes.map_err(Failure::failed)?.into_iter();
        Ok(classes
            .map(|class| Box::new(class.marginals) as Target)
            .collect())
    }

    /// The counts of all records: the sum over parts of them, so a record moves it as it moves one part.
    fn counted(&self, query: &LabelledQuery) -> Result<Values, Failure> {
        let mut sum = vec![0.0; query.len()];
        let all: Vec<usize> = (0..self.records.len()).collect();
        for part in all.chunks(PART) {
            let counted = query.measure(&self.records.gather(part)?, &self.groups(part));
            let counted = counted.map_err(Failure::failed)?;
            let entries = sum.iter_mut().zip(counted.before_noise());
            entries.for_each(|(sum, value)| *sum += value);
        }
        Ok(Values::new(&[sum], query.l2_sensitivity_upper()))
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
        let draw = self.releaser.as_mut().map(Releaser::draw);
        let draw = draw.transpose().map_err(Failure::failed)?;
        let sampled = match &draw {
            Some(draw) => draw.groups().concat(),
            None => self.sampler.sample(&mut self.non_private).concat(),
        };
        let rows = self.rows(&self.records.gather(&sampled)?, &self.groups(&sampled));
        let projected = project(&rows, &slices, self.region()?).map_err(Failure::failed)?;
        let values = Values::of(&[projected]);
        let released = release_step(
            self.releaser.as_mut(),
            draw,
            &[sampled.len()],
            values,
            ledger,
        )?;
        let (values, deviation) = (released.groups.concat(), released.deviation);
        let target = NoisyProjections::from_released(values, slices, deviation);
        Ok(Box::new(target.map_err(Failure::failed)?))
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

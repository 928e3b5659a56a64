//! Once: a noisy histogram of every slice of each class.

use dp_core::mechanism::SensitiveVector;
use lab::diagnostic::{Failure, OrFailed};
use lab::session::Session;
use private_queries::marginals::Bins;
use private_queries::{LabelledMarginals, Query};
use swd::{FlowTarget, Slices};

use super::release::Release;
use super::train::{Generate, RELEASE};
use crate::particles::boxed;

/// Records whose images are in memory at once.
const PART: usize = 10_000;

lab::settings! {
    /// Settings of histograms.
    common {}
    flags {
        /// Bins of a histogram, a power of two.
        #[bound(must_be("a power of two of at least 2", |n: usize| n >= 2 && n.is_power_of_two()))]
        bins: usize,
    }
}

impl Release for Settings {
    const NAME: &'static str = "marginals";
    const ABOUT: &'static str = "Train a class-conditional generator of images on noisy histograms of private records, \
                                 which are released once";
    const PRESET: &'static str = include_str!("../../../assets/generator/marginals.toml");

    /// One a class, or read where the run released them before it was killed.
    fn targets(
        run: &mut Generate<Self>,
        session: &mut Session,
    ) -> Result<Vec<Box<dyn FlowTarget>>, Failure> {
        let (settings, shape) = (&run.settings, run.data.records.shape());
        let shape = [shape.channels, shape.side, shape.side];
        let slices = Slices::smooth(shape, settings.slices, &mut run.slices(0)).or_failed()?;
        let (region, classes) = (run.region()?, run.model.groups());
        let query = Bins::uniform(settings.radius, run.release.bins)
            .map_err(Into::into)
            .and_then(|bins| LabelledMarginals::new(slices, region, bins, classes))
            .or_failed()?;
        let measure = |run: &mut Generate<Self>, _: &mut Session| run.counted(&query);
        let (marginals, _) = session.release(run, RELEASE, &query, measure)?;
        Ok(boxed(marginals))
    }
}

impl Generate<Settings> {
    /// The counts of all records: the sum over parts of them, so a record moves it as it moves one part.
    fn counted(&self, query: &LabelledMarginals) -> Result<SensitiveVector, Failure> {
        let all: Vec<usize> = (0..self.data.records.len()).collect();
        let mut sum: Option<SensitiveVector> = None;
        for part in all.chunks(PART) {
            let images = self.data.records.gather(part)?;
            let mut classes = vec![Vec::new(); self.model.groups()];
            let rows = images.chunks_exact(self.data.records.shape().values());
            for (image, &place) in rows.zip(part) {
                classes[self.labels[place]].extend_from_slice(image);
            }
            let counted = query.measure(&classes).or_failed()?;
            sum = Some(match sum {
                Some(sum) => sum.plus(&counted).or_failed()?,
                None => counted,
            });
        }
        sum.ok_or_else(|| Failure::failed("no private records"))
    }
}

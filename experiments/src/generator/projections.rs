//! At each step, as published: noisy projections, on fresh slices, of a fresh batch of rows, an image and its weighted
//! one-hot class each.

use lab::diagnostic::{Failure, OrFailed};
use lab::session::{SampledBatch, Session};
use private_queries::{Projections, Query};
use swd::{FlowTarget, Slices};

use super::release::Release;
use super::train::Generate;
use crate::particles::boxed;

lab::settings! {
    /// Settings of projections.
    common {}
    flags {
        /// Private records in a batch.
        batch: usize,
        /// What the one-hot class is multiplied by, beside pixels in [0, 1].
        #[bound(positive)]
        label_weight: f64,
    }
}

impl Release for Settings {
    const NAME: &'static str = "projections";
    const ABOUT: &'static str = "Train a class-conditional generator of images on noisy projections of a batch of private \
                                 records, which are released at each step";
    const PRESET: &'static str = include_str!("../../../assets/generator/projections.toml");

    fn batch(&self) -> Option<usize> {
        Some(self.batch)
    }

    fn label_weight(&self) -> Option<f64> {
        Some(self.label_weight)
    }

    /// One, of all rows.
    fn targets(
        run: &mut Generate<Self>,
        session: &mut Session,
    ) -> Result<Vec<Box<dyn FlowTarget>>, Failure> {
        let (width, count) = (run.row_width(), run.settings.slices);
        let slices = Slices::signs(width, count, &mut run.slices(1 + session.step)).or_failed()?;
        let (sampler, rng) = (&run.sampler, &mut run.non_private);
        let batch = SampledBatch::next(run.releaser.as_mut(), || {
            Ok(sampler.sample(session.step + 1, rng))
        })?;
        let sampled = batch.groups.concat();
        let labels = sampled.iter().map(|&place| run.labels[place]);
        let rows = run.rows(&run.data.records.gather(&sampled)?, labels);
        let query = Projections::new(slices, run.region()?, batch.sizes());
        let measured = query.measure(&[rows]).or_failed()?;
        let noisy = batch.release(run.releaser.as_mut(), measured, &mut session.ledger)?;
        Ok(boxed(query.read(&noisy).or_failed()?))
    }
}

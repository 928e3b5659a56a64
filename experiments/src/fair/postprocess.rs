//! Fair regression by post-processing ([`model::postprocess`]), from private histograms of the outputs on the
//! private records of each group: one record of a group moves one count out of a bin and one into another.

use lab::prelude::*;
use model::postprocess::{Bins, FairMap};
use private_queries::Table;

use super::train::Fair;
use crate::random::stream;

/// Over the public range of the response.
const BINS: Bins = Bins {
    range: -1.0..1.0,
    count: 36,
};

/// The release of histograms, by its name in the plan.
pub(super) const HISTOGRAMS: &str = "histograms";

impl Fair {
    /// Predictions of test records, post-processed into a ball of radius `beta`.
    pub(super) fn post_processed(
        &mut self,
        session: &mut Session,
        predicted: &Predictions,
        beta: f64,
    ) -> Result<Predictions, Failure> {
        let table = Table::of([2, BINS.count]).or_failed()?;
        let table = table.laplace();
        let counts = session.release(self, HISTOGRAMS, &table, |run, session| {
            let train = &run.steps.records.private;
            let predicted = Predictions::of(&run.steps.scored()?, train, &session.chosen.device);
            let records = predicted.outputs.iter().zip(train.groups());
            let cell = |(&value, &group)| table.cell(&[usize::from(group), BINS.bin(value)]);
            let cells: Result<Vec<_>, _> = records.map(cell).collect();
            session.measure(&table, &cells.or_failed()?)
        })?;
        let histograms = [0, 1].map(|group| {
            let counts = counts.chunks(BINS.count).nth(group);
            BINS.histogram(counts.unwrap_or_default())
        });
        let sizes = self.group_sizes;
        let total = (sizes[0] + sizes[1]) as f64;
        let map = FairMap::new(BINS, &histograms, sizes.map(|n| n as f64 / total), beta);
        let mut rng = stream(self.settings.seed, 8);
        let groups = self.steps.records.public.groups();
        let records = predicted.outputs.iter().zip(groups);
        let outputs = records.map(|(&value, &group)| map.apply(value, group, &mut rng));
        let outputs: Vec<f32> = outputs.collect();
        Ok(Predictions {
            activations: outputs.clone(),
            outputs,
        })
    }
}

//! Fair regression by post-processing ([`super::fair_map`]), from private histograms of the outputs on the
//! private records of each group: one record of a group moves one count out of a bin and one into another.

use lab::prelude::*;
use private_queries::Contingency;

use super::fair_map::{Bins, FairMap};
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
        let query = Contingency::joint([2, BINS.count]).or_failed()?;
        let query = query.laplace();
        let tables = session.release(self, HISTOGRAMS, &query, |run, session| {
            let train = &run.steps.records.private;
            let predicted = Predictions::of(&run.steps.scored()?, train, &session.chosen.device)?;
            let records = predicted.outputs.iter().zip(train.groups());
            let codes = records.flat_map(|(&value, &group)| [group.into(), BINS.bin(value) as u16]);
            session.measure(&query, &codes.collect::<Vec<u16>>())
        })?;
        let histograms = [0, 1].map(|group| {
            let counts = tables[0].counts.chunks(BINS.count).nth(group);
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

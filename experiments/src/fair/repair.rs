//! Records moved to the barycentre of both groups before the training, by one release of the groups' marginals.
//!
//! The map is a function of a record, its group and the release. The holder of the private records applies it to them, and
//! trains on what it gives; whoever applies the model later does so to the features of a person whose group is known.

use data::GroupedTable;
use lab::prelude::*;
use private_queries::marginals::{Barycentre, Bins};
use private_queries::{GroupMarginals, MarginalQuery};
use swd::{NormBound, Slices};

use super::train::Fair;
use crate::random::stream;

/// The release, by its name in the plan.
pub(super) const MARGINALS: &str = "marginals";
/// Bins of a slice, and where they end: nearly all of what directions make of features between 0 and 1 of which few are not 0.
const BINS: usize = 16;
const HALF: f64 = 1.5;
const STREAM: u64 = 9;

impl Fair {
    /// Moves private and public records to the barycentre of the groups, with the weights that their sizes have.
    pub(super) fn repaired(&mut self, session: &mut Session) -> Result<(), Failure> {
        let d = self.steps.records.private.width();
        let slices = Slices::tight(d, d, &mut stream(self.settings.seed, STREAM)).or_failed()?;
        // No record lies outside of it.
        let region = NormBound::ball((d as f64).sqrt()).or_failed()?;
        let bins = Bins::uniform(HALF, BINS).or_failed()?;
        let query = MarginalQuery::new(slices, region, bins).or_failed()?;
        let sizes = self.group_sizes;
        let query = GroupMarginals::new(vec![query; 2], sizes.to_vec()).or_failed()?;
        let released = session.release(self, MARGINALS, &query, |run, session| {
            let table = &run.steps.records.private;
            let groups = table.indices_by_group();
            let groups: Vec<_> = groups.iter().map(|places| rows(table, places)).collect();
            session.measure(&query, &groups)
        })?;
        let middle = Barycentre::new(&released, &sizes.map(|n| n as f64)).or_failed()?;
        let tables = &mut self.steps.records;
        for table in [&mut tables.private, &mut tables.public] {
            let groups = table.indices_by_group();
            let mut features = table.features().to_vec();
            for (group, places) in groups.iter().enumerate() {
                let moved = middle.moved(group, &rows(table, places)).or_failed()?;
                for (&place, row) in places.iter().zip(moved.chunks_exact(d)) {
                    features[place * d..(place + 1) * d].copy_from_slice(row);
                }
            }
            let (names, labels) = (table.names().to_vec(), table.labels().clone());
            *table =
                GroupedTable::new(names, features, labels, table.groups().to_vec()).or_failed()?;
        }
        Ok(())
    }
}

/// The features of the records at `places`, one behind the other.
fn rows(table: &GroupedTable, places: &[usize]) -> Vec<f32> {
    let rows = places.iter().filter_map(|&i| table.row(i));
    rows.flatten().copied().collect()
}

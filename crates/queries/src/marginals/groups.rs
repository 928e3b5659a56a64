//! Marginals of groups of public sizes, in which every record stays.

use dp_core::mechanism::{Noisy, SensitiveVector};

use super::{MarginalQuery, SlicedMarginals};
use crate::Query;
use crate::query::{QueryError, check_noisy, length};

/// The marginals of each group, in slices and bins of its own: as many records are in a neighbour's groups.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupMarginals {
    queries: Vec<MarginalQuery>,
    sizes: Vec<usize>,
}

impl GroupMarginals {
    /// A query for each group of `sizes` records.
    ///
    /// # Errors
    /// Another number of sizes.
    pub fn new(queries: Vec<MarginalQuery>, sizes: Vec<usize>) -> Result<Self, QueryError> {
        length("sizes of groups", sizes.len(), queries.len())?;
        Ok(Self { queries, sizes })
    }
}

impl Query for GroupMarginals {
    /// The rows of each group, `[n, d]`, put into the query's region.
    type Records = [Vec<f32>];
    /// The marginals of each group.
    type Answer = Vec<SlicedMarginals>;

    fn len(&self) -> usize {
        self.queries.iter().map(MarginalQuery::len).sum()
    }

    fn measure(&self, groups: &[Vec<f32>]) -> Result<SensitiveVector, QueryError> {
        length("groups of rows", groups.len(), self.queries.len())?;
        let mut measured = Vec::with_capacity(groups.len());
        for ((rows, query), size) in groups.iter().zip(&self.queries).zip(&self.sizes) {
            length("rows of a group", rows.len(), size * query.slices.dim())?;
            let bound = query.l2_sensitivity_upper();
            measured.push(SensitiveVector::l2(query.counts(rows)?, bound));
        }
        Ok(SensitiveVector::of_groups(measured))
    }

    fn read(&self, noisy: &Noisy) -> Result<Vec<SlicedMarginals>, QueryError> {
        let what = "released marginals of groups";
        check_noisy(what, &noisy.values, noisy.deviation, self.len())?;
        let mut rest = &noisy.values[..];
        let groups = self.queries.iter().zip(&self.sizes);
        groups
            .map(|(query, &size)| {
                let (here, after) = rest.split_at(query.len());
                rest = after;
                query.clean(here, size, noisy.deviation)
            })
            .collect()
    }
}

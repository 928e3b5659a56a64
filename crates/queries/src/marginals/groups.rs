//! Marginals of groups of public sizes, in which every record stays.

use dp_core::mechanism::{NoisyVector, SensitiveVector};

use super::{MarginalQuery, SlicedMarginals};
use crate::Query;
use crate::query::{QueryError, check_noisy, length, whole};

/// The marginals of each group, in slices and bins of that group. Neighbours have groups of the same sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupMarginals {
    queries: Vec<MarginalQuery>,
    sizes: Vec<usize>,
}

impl GroupMarginals {
    /// Creates a query for each group of `sizes` records.
    ///
    /// # Errors
    /// Returns an error if the numbers of queries and sizes differ.
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
        for ((rows, query), size) in groups.iter().zip(&self.queries).zip(&self.sizes) {
            length("rows of a group", rows.len(), size * query.slices.dim())?;
        }
        self.measure_part(groups)
    }

    fn measure_part(&self, groups: &[Vec<f32>]) -> Result<SensitiveVector, QueryError> {
        length("groups of rows", groups.len(), self.queries.len())?;
        let mut measured = Vec::with_capacity(groups.len());
        for (rows, query) in groups.iter().zip(&self.queries) {
            whole("rows of a group", rows.len(), query.slices.dim())?;
            let bound = query.l2_sensitivity_upper();
            measured.push(SensitiveVector::l2(query.counts(rows)?, bound));
        }
        Ok(SensitiveVector::of_groups(measured))
    }

    fn read(&self, noisy: &NoisyVector) -> Result<Vec<SlicedMarginals>, QueryError> {
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

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_chacha::ChaCha20Rng;
    use swd::{NormBound, Slices};

    use super::*;
    use crate::tests::{seeded, share};

    const D: usize = 3;

    fn row(rng: &mut ChaCha20Rng) -> [f32; D] {
        let far: f32 = [0.2, 1.0, 40.0][rng.random_range(0..3)];
        std::array::from_fn(|_| far * rng.random_range(-1.0..1.0_f32))
    }

    /// Two data sets of two groups that differ in one record, of any latent: the values of both groups together move by at
    /// most what is declared, and nearly as much.
    #[test]
    fn neighbours_within_a_group_stay_within_the_declared_sensitivity() {
        let mut rng = seeded(11);
        let ball = NormBound::ball(1.5).unwrap();
        let factor: [f64; 9] = [0.5, 0.0, 0.0, 0.1, 0.4, 0.0, 0.0, 0.0, 0.3];
        let mut query = || {
            let slices = Slices::tight(D, 6, &mut rng).unwrap();
            MarginalQuery::around_gaussian(slices, ball, &[0.2, 0.0, -0.1], &factor, 8).unwrap()
        };
        let query = GroupMarginals::new(vec![query(), query()], vec![5, 5]).unwrap();
        let mut largest = 0.0_f64;
        for trial in 0..600 {
            let mut groups: [Vec<f32>; 2] =
                std::array::from_fn(|_| (0..5).flat_map(|_| row(&mut rng)).collect());
            let one = query.measure(&groups).unwrap();
            let (group, place) = (rng.random_range(0..2), D * rng.random_range(0..5));
            for x in &mut groups[group][place..place + D] {
                *x = match trial % 3 {
                    0 => -*x,
                    1 => f32::NAN,
                    _ => rng.random_range(-9.0..9.0),
                };
            }
            let two = query.measure(&groups).unwrap();
            assert_eq!(one.sensitivity_upper(), two.sensitivity_upper());
            largest = largest.max(share(&one, &two));
        }
        assert!(largest <= 1.0 && largest > 0.8, "{largest}");
        assert!(query.measure(&[vec![0.0; 15]]).is_err());
        assert!(query.measure(&[vec![0.0; 15], vec![0.0; 12]]).is_err());
        assert!(GroupMarginals::new(Vec::new(), vec![1]).is_err());
    }
}

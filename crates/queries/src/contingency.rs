//! Contingency tables over several subsets of the columns of one table, such as single columns, pairs, and pairs with a label.
//!
//! # Sensitivity
//! Replacing one record, in any of its columns, removes one count from each table and adds one. With weights `w_t` of the
//! tables the weighted counts move by at most `sqrt(2 sum_t w_t^2)` in `L2`, attained by a record that changes all of its
//! columns, and by at most `2 sum_t w_t` in `L1`. The shares of the budget are `w_t^2`. They sum to 1, so the `L2` sensitivity
//! is `sqrt 2`, and each count of table `t` gets noise of deviation `z sqrt(2) / w_t` at noise multiplier `z`: the same noise
//! as if each table were released alone with its share of `1/z^2`.

use std::mem;

use dp_core::mechanism::{NoisyVector, SensitiveVector};
use rayon::prelude::*;

use crate::query::{QueryError, check_noisy, whole};
use crate::{Query, ROUNDING};

/// The number of records counted at once: their codes stay in cache while all tables read them.
const BLOCK: usize = 1 << 16;

/// Counts the cells of tables over subsets of columns, in one release.
///
/// ```
/// use dp_core::mechanism::NoisyVector;
/// use private_queries::{Contingency, Query};
///
/// // Two columns with 2 and 3 values: both alone, with a quarter of the budget each, and their pair with the rest.
/// let query = Contingency::new([2, 3], [(vec![0], 0.25), (vec![1], 0.25), (vec![0, 1], 0.5)])?;
/// let records = [0, 2, 1, 2, 1, 0];
/// let measured = query.measure(&records)?;
/// assert!((measured.sensitivity_upper() - 2.0_f64.sqrt()).abs() < 1e-6);
/// // A releaser adds the noise here.
/// let tables = query.read(&NoisyVector::without_privacy(measured))?;
/// assert!(tables[2].counts.iter().zip([0.0, 0.0, 1.0, 1.0, 0.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-9));
/// # Ok::<(), private_queries::QueryError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Contingency {
    /// The number of values of each column.
    sizes: Vec<usize>,
    /// The columns of each table, and the square root of its share.
    tables: Vec<(Vec<usize>, f64)>,
    laplace: bool,
    /// The maximum number of records used per unit.
    most: usize,
}

/// The noisy counts of one table.
#[derive(Debug, Clone, PartialEq)]
pub struct NoisyCounts {
    /// The columns of the table.
    pub columns: Vec<usize>,
    /// The counts, the last column varying fastest; noise can make them negative.
    pub counts: Vec<f64>,
    /// The standard deviation of the noise on each released count.
    pub deviation: f64,
    /// The number of released counts that each entry sums; empty if each entry is one released count.
    pub joined: Vec<usize>,
}

impl NoisyCounts {
    /// Returns the standard deviation of the noise on the count of a cell.
    pub fn deviation_of(&self, cell: usize) -> f64 {
        let joined = self.joined.get(cell).map_or(1.0, |&joined| joined as f64);
        self.deviation * joined.sqrt()
    }
}

impl Contingency {
    /// Creates tables over columns with `sizes` values, from the columns of each table and its share of the budget.
    ///
    /// # Errors
    /// Returns an error for no table, a column that is empty or does not exist, or a share that is not above 0.
    pub fn new(
        sizes: impl Into<Vec<usize>>,
        tables: impl IntoIterator<Item = (Vec<usize>, f64)>,
    ) -> Result<Self, QueryError> {
        let sizes = sizes.into();
        let tables: Vec<(Vec<usize>, f64)> = tables.into_iter().collect();
        if tables.is_empty() || tables.iter().any(|(columns, _)| columns.is_empty()) {
            return Err(QueryError::Empty {
                what: "columns of a table",
            });
        }
        if sizes.contains(&0) {
            return Err(QueryError::Empty {
                what: "values of a column",
            });
        }
        for (index, (columns, share)) in tables.iter().enumerate() {
            if columns.iter().any(|&column| column >= sizes.len()) {
                let (what, count) = ("column", sizes.len());
                return Err(QueryError::NotThere { what, count });
            }
            if !(*share > 0.0 && share.is_finite()) {
                let what = "inverse of the share of a table";
                let value = 1.0 / share;
                return Err(QueryError::NotFinite { what, index, value });
            }
        }
        Ok(Self {
            sizes,
            tables: tables
                .into_iter()
                .map(|(columns, share)| (columns, share.sqrt()))
                .collect(),
            laplace: false,
            most: 1,
        })
    }

    /// Creates one table over all columns, given the number of values of each.
    ///
    /// # Errors
    /// Returns an error for no column, or for a column without values.
    ///
    /// ```
    /// use dp_core::mechanism::NoisyVector;
    /// use private_queries::{Contingency, Query};
    ///
    /// let query = Contingency::joint([2, 3])?;
    /// let tables = query.read(&NoisyVector::without_privacy(query.measure(&[0, 0, 1, 2, 1, 2])?))?;
    /// assert_eq!(tables[0].counts, [1.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
    /// # Ok::<(), private_queries::QueryError>(())
    /// ```
    pub fn joint(sizes: impl Into<Vec<usize>>) -> Result<Self, QueryError> {
        let sizes = sizes.into();
        let columns = (0..sizes.len()).collect();
        Self::new(sizes, [(columns, 1.0)])
    }

    /// Measures the sensitivity in `L1` instead, for Laplace noise.
    #[must_use]
    pub fn laplace(self) -> Self {
        Self {
            laplace: true,
            ..self
        }
    }

    /// Multiplies the sensitivity by `most`, for neighbours that replace a unit of which at most `most` records count.
    ///
    /// Records of the two units form pairs, and each pair changes as a replaced record does. A record without a partner moves
    /// one count of each table by 1, which is less.
    #[must_use]
    pub fn of_units(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Returns the number of cells of a table.
    fn cells(&self, columns: &[usize]) -> usize {
        columns.iter().map(|&column| self.sizes[column]).product()
    }

    /// Counts public records exactly, such as those of a synthetic copy, and returns the tables one after the other.
    ///
    /// # Errors
    /// Returns an error for incomplete records, or for a value that its column does not have.
    pub fn counts(&self, records: &[u16]) -> Result<Vec<u32>, QueryError> {
        let mut counting = self.counting();
        counting.add(records)?;
        Ok(counting.counts)
    }

    /// Starts a count of records that arrive in blocks: memory holds the counts alone.
    ///
    /// ```
    /// use private_queries::{Contingency, Query};
    ///
    /// let query = Contingency::new([2, 3], [(vec![0, 1], 1.0)])?;
    /// let mut counting = query.counting();
    /// counting.add(&[0, 2, 1, 2])?;
    /// counting.add(&[1, 0])?;
    /// let measured = counting.measured();
    /// assert_eq!(measured.before_noise(), query.measure(&[0, 2, 1, 2, 1, 0])?.before_noise());
    /// # Ok::<(), private_queries::QueryError>(())
    /// ```
    pub fn counting(&self) -> Counting<'_> {
        Counting {
            query: self,
            counts: vec![0; self.len()],
        }
    }

    /// Adds the cells of `codes` to the counts of one table.
    fn count(&self, columns: &[usize], codes: &[Vec<u16>], counts: &mut [u32]) {
        let records = codes.first().map_or(0, Vec::len);
        match *columns {
            [one] => {
                for &code in &codes[one] {
                    counts[usize::from(code)] += 1;
                }
            }
            [one, two] => {
                let width = self.sizes[two];
                for (&a, &b) in codes[one].iter().zip(&codes[two]) {
                    counts[usize::from(a) * width + usize::from(b)] += 1;
                }
            }
            _ => {
                let cell = |record: usize| {
                    let values = columns
                        .iter()
                        .map(|&column| (column, codes[column][record]));
                    values.fold(0, |cell, (column, code)| {
                        cell * self.sizes[column] + usize::from(code)
                    })
                };
                (0..records).for_each(|record| counts[cell(record)] += 1);
            }
        }
    }
}

/// The counts of the records so far, from [`Contingency::counting`].
pub struct Counting<'a> {
    query: &'a Contingency,
    counts: Vec<u32>,
}

impl Counting<'_> {
    /// Counts further records, `[n, columns]` in rows.
    ///
    /// # Errors
    /// Returns an error for incomplete records, or for a value that its column does not have. The counts are then unspecified.
    pub fn add(&mut self, records: &[u16]) -> Result<(), QueryError> {
        let query = self.query;
        let width = query.sizes.len();
        whole("records of a table", records.len(), width)?;
        let mut rest = &mut self.counts[..];
        let own = |(columns, _): &(Vec<usize>, f64)| {
            let (own, after) = mem::take(&mut rest).split_at_mut(query.cells(columns));
            rest = after;
            own
        };
        let mut tables: Vec<&mut [u32]> = query.tables.iter().map(own).collect();
        let mut codes: Vec<Vec<u16>> = vec![Vec::new(); width];
        for block in records.chunks(BLOCK * width) {
            let columns = codes.par_iter_mut().zip(&query.sizes).enumerate();
            columns.try_for_each(|(j, (codes, &count))| {
                codes.clear();
                codes.extend(block.iter().skip(j).step_by(width));
                match codes.iter().all(|&code| usize::from(code) < count) {
                    true => Ok(()),
                    false => Err(QueryError::NotThere {
                        what: "value of a column",
                        count,
                    }),
                }
            })?;
            let each = tables.par_iter_mut().zip(&query.tables);
            each.for_each(|(counts, (columns, _))| query.count(columns, &codes, counts));
        }
        Ok(())
    }

    /// Returns the weighted counts and their sensitivity to replacing one record.
    pub fn measured(self) -> SensitiveVector {
        let query = self.query;
        let weight = |(columns, weight): &(Vec<usize>, f64)| {
            std::iter::repeat_n(*weight, query.cells(columns))
        };
        let weights = query.tables.iter().flat_map(weight);
        let counts = self.counts.into_iter().zip(weights);
        let values = counts.map(|(count, weight)| f64::from(count) * weight);
        let values: Vec<f64> = values.collect();
        let sum = |of: fn(f64) -> f64| -> f64 { query.tables.iter().map(|&(_, w)| of(w)).sum() };
        let most = query.most as f64 * (1.0 + ROUNDING);
        match query.laplace {
            true => SensitiveVector::l1(values, 2.0 * sum(|w| w) * most),
            false => SensitiveVector::l2(values, (2.0 * sum(|w| w * w)).sqrt() * most),
        }
    }
}

impl Query for Contingency {
    /// The code of each column of each record, `[n, columns]` in rows.
    type Records = [u16];
    /// The counts of each table.
    type Answer = Vec<NoisyCounts>;

    fn len(&self) -> usize {
        self.tables
            .iter()
            .map(|(columns, _)| self.cells(columns))
            .sum()
    }

    fn measure(&self, records: &[u16]) -> Result<SensitiveVector, QueryError> {
        let mut counting = self.counting();
        counting.add(records)?;
        Ok(counting.measured())
    }

    fn measure_part(&self, records: &[u16]) -> Result<SensitiveVector, QueryError> {
        self.measure(records)
    }

    fn read(&self, noisy: &NoisyVector) -> Result<Vec<NoisyCounts>, QueryError> {
        let what = "counts of contingency tables";
        check_noisy(what, &noisy.values, noisy.deviation, self.len())?;
        let mut rest = &noisy.values[..];
        let table = |(columns, weight): &(Vec<usize>, f64)| {
            let (values, after) = rest.split_at(self.cells(columns));
            rest = after;
            NoisyCounts {
                columns: columns.clone(),
                counts: values.iter().map(|value| value / weight).collect(),
                deviation: noisy.deviation / weight,
                joined: Vec::new(),
            }
        };
        Ok(self.tables.iter().map(table).collect())
    }

    fn made_of(&self) -> Vec<f64> {
        let table = |(columns, weight): &(Vec<usize>, f64)| {
            let columns = columns.iter().map(|&column| column as f64);
            columns.chain([*weight]).collect::<Vec<f64>>()
        };
        let sizes = self.sizes.iter().map(|&size| size as f64);
        sizes.chain(self.tables.iter().flat_map(table)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::tests::{seeded, share};

    /// Columns of 2, 3 and 4 values, the last one the label: alone, in pairs, and in pairs with it.
    fn query() -> Contingency {
        let tables = [
            (vec![0], 0.05),
            (vec![1], 0.05),
            (vec![2], 0.1),
            (vec![0, 1], 0.2),
            (vec![0, 1, 2], 0.6),
        ];
        Contingency::new([2, 3, 4], tables).expect("a query")
    }

    /// Over neighbours that replace one record: within the bound, which a record that changes all columns attains.
    #[test]
    fn a_replaced_record_moves_counts_by_the_bound_at_most() {
        let rng = &mut seeded(1);
        let query = query();
        let mut most = 0.0_f64;
        for _ in 0..300 {
            let mut value = |i: usize| rng.random_range(0..[2, 3, 4][i % 3]);
            let mut records: Vec<u16> = (0..18).map(&mut value).collect();
            let before = query.measure(&records).expect("counts");
            (6..9).for_each(|i| records[i] = value(i));
            most = most.max(share(&before, &query.measure(&records).expect("counts")));
        }
        assert!(most <= 1.0 && most > 0.999, "{most}");
    }

    /// Units of 0 to 3 records, each replaced by another: within three times the bound, and near it.
    #[test]
    fn a_replaced_unit_moves_counts_by_so_many_times_the_bound_at_most() {
        let rng = &mut seeded(2);
        let query = query().of_units(3);
        let mut most = 0.0_f64;
        for _ in 0..3000 {
            let mut unit = |_| {
                let alike = rng.random_bool(0.7);
                let one: [u16; 3] = [2, 3, 4].map(|values| rng.random_range(0..values));
                let mut other = || [2, 3, 4].map(|values| rng.random_range(0..values));
                let record = (0..3).map(|_| if alike { one } else { other() });
                let records = record.take(3).collect::<Vec<_>>().concat();
                let all = [vec![0, 1, 2, 1, 0, 3], records].concat();
                let some = &all[..6 + 3 * rng.random_range(0..=3)];
                query.measure(some).expect("counts")
            };
            let [a, b] = [0, 1].map(&mut unit);
            most = most.max(share(&a, &b));
        }
        assert!(most <= 1.0 && most > 0.99, "{most}");
    }

    /// The same in `L1`, of several tables and of one.
    #[test]
    fn a_replaced_record_moves_counts_by_the_bound_of_laplace_at_most() {
        let rng = &mut seeded(3);
        for query in [query(), Contingency::joint([2, 3]).expect("a query")] {
            let sizes = query.sizes.clone();
            let laplace = query.clone().laplace();
            let mut attained = 0.0_f64;
            for _ in 0..300 {
                let mut record = |_| -> Vec<u16> {
                    let value = |&size: &usize| rng.random_range(0..size as u16);
                    sizes.iter().map(value).collect()
                };
                let mut records: Vec<u16> = (0..5).flat_map(&mut record).collect();
                let before = laplace.measure(&records).expect("counts");
                records.splice(..sizes.len(), record(0));
                let after = laplace.measure(&records).expect("counts");
                let pairs = before.before_noise().iter().zip(after.before_noise());
                let sum: f64 = pairs.map(|(a, b)| (a - b).abs()).sum();
                attained = attained.max(sum / after.sensitivity_upper());
            }
            assert!(attained <= 1.0 && attained > 0.999, "{attained}");
        }
    }

    #[test]
    fn what_there_is_not_is_refused() {
        assert!(Contingency::joint([]).is_err() && Contingency::joint([2, 0]).is_err());
        assert!(Contingency::new([2, 3], []).is_err());
        assert!(Contingency::new([2, 0], [(vec![0], 1.0)]).is_err());
        assert!(Contingency::new([2, 3], [(vec![2], 1.0)]).is_err());
        assert!(Contingency::new([2, 3], [(vec![0], 0.0)]).is_err());
        assert!(query().measure(&[0, 0]).is_err());
        assert!(query().measure(&[0, 3, 0]).is_err());
        for (more, fits) in [(0, true), (1, false)] {
            let (values, deviation) = (vec![0.0; query().len() + more], 1.0);
            assert_eq!(
                query().read(&NoisyVector { values, deviation }).is_ok(),
                fits
            );
        }
    }

    proptest! {
        /// Each table is the sum of the one with the label, and its deviation is that of its share.
        #[test]
        fn tables_agree_and_deviations_are_by_shares(codes in prop::collection::vec((0_u16..2, 0_u16..3, 0_u16..4), 1..40)) {
            let records: Vec<u16> = codes.iter().flat_map(|&(a, b, c)| [a, b, c]).collect();
            let measured = query().measure(&records).expect("counts");
            let noisy = NoisyVector { values: measured.before_noise().to_vec(), deviation: 3.0 };
            let tables = query().read(&noisy).expect("tables");
            for cell in 0..6 {
                let with_label: f64 = tables[4].counts[4 * cell..4 * cell + 4].iter().sum();
                prop_assert!((with_label - tables[3].counts[cell]).abs() < 1e-9);
            }
            prop_assert!((tables[3].deviation - 3.0 / 0.2_f64.sqrt()).abs() < 1e-12);
            prop_assert_eq!(tables[2].counts.iter().sum::<f64>().round() as usize, codes.len());
        }
    }
}

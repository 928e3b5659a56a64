//! Contingency tables: how many records each cell has.

use dp_core::mechanism::{Noisy, SensitiveVector};

use crate::Query;
use crate::query::{QueryError, check_noisy};

/// Counts of the cells of a table over attributes with few values each, such as histograms of each of some groups.
///
/// # Sensitivity
/// A replaced record leaves one cell and enters another: the counts move by at most 2 in `L1` and `sqrt 2` in `L2`, in
/// one table. Both are attained by every record that changes its cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    shape: Vec<usize>,
    laplace: bool,
    /// Maximum number of records used per unit.
    most: usize,
}

impl Table {
    /// The table over attributes with these numbers of values, for Gaussian noise.
    ///
    /// # Errors
    /// An attribute without values, or no attribute.
    pub fn of(shape: impl Into<Vec<usize>>) -> Result<Self, QueryError> {
        let shape = shape.into();
        if shape.is_empty() || shape.contains(&0) {
            let what = "values of an attribute of a table";
            return Err(QueryError::Empty { what });
        }
        Ok(Self {
            shape,
            laplace: false,
            most: 1,
        })
    }

    /// The same with its sensitivity in `L1`, for Laplace noise.
    #[must_use]
    pub fn laplace(self) -> Self {
        Self {
            laplace: true,
            ..self
        }
    }

    /// Where neighbours replace a unit of which at most `most` records count: `most` times as much, since a record that is
    /// only in one of both moves the counts by 1.
    #[must_use]
    pub fn of_units(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// The place of the cell of a record with these values: the last attribute varies fastest.
    ///
    /// # Errors
    /// Another number of attributes, or a value that there is not.
    pub fn cell(&self, values: &[usize]) -> Result<usize, QueryError> {
        crate::query::length("values of a record", values.len(), self.shape.len())?;
        let mut cell = 0;
        for (&index, &count) in values.iter().zip(&self.shape) {
            if index >= count {
                let what = "value of an attribute";
                return Err(QueryError::NotThere { what, count });
            }
            cell = cell * count + index;
        }
        Ok(cell)
    }
}

impl Query for Table {
    /// The cell of each record ([`Table::cell`]).
    type Records = [usize];
    /// The noisy counts, cell after cell.
    type Answer = Vec<f64>;

    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    fn measure(&self, records: &[usize]) -> Result<SensitiveVector, QueryError> {
        let count = self.len();
        let mut counts = vec![0.0; count];
        for &index in records {
            let what = "cell";
            let cell = counts.get_mut(index);
            *cell.ok_or(QueryError::NotThere { what, count })? += 1.0;
        }
        let most = self.most as f64;
        Ok(match self.laplace {
            true => SensitiveVector::l1(counts, 2.0 * most),
            false => SensitiveVector::l2(counts, std::f64::consts::SQRT_2 * most),
        })
    }

    fn measure_part(&self, records: &[usize]) -> Result<SensitiveVector, QueryError> {
        self.measure(records)
    }

    fn read(&self, noisy: &Noisy) -> Result<Vec<f64>, QueryError> {
        check_noisy(
            "counts of a table",
            &noisy.values,
            noisy.deviation,
            self.len(),
        )?;
        Ok(noisy.values.clone())
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::tests::{seeded, share};

    /// Brute force over neighbours: both bounds hold, and are attained.
    #[test]
    fn a_replaced_record_moves_two_counts_by_one() {
        let rng = &mut seeded(1);
        let table = Table::of([2, 3]).unwrap();
        let mut most = [0.0_f64; 2];
        for _ in 0..200 {
            let mut records: Vec<usize> = (0..5).map(|_| rng.random_range(0..6)).collect();
            let [l2, l1] = [table.clone(), table.clone().laplace()];
            let before = l2.measure(&records).unwrap();
            records[rng.random_range(0..5)] = rng.random_range(0..6);
            let after = l2.measure(&records).unwrap();
            let pairs = before.before_noise().iter().zip(after.before_noise());
            let sum: f64 = pairs.map(|(a, b)| (a - b).abs()).sum();
            let upper = l1.measure(&records).unwrap().sensitivity_upper();
            most = [
                most[0].max(share(&before, &after)),
                most[1].max(sum / upper),
            ];
        }
        assert_eq!(most, [1.0, 1.0]);
    }

    /// A unit of 0 to 3 records for one of as many: within three times the bound, which three on each side attain.
    #[test]
    fn a_replaced_unit_moves_as_many_counts_as_it_has_records() {
        let rng = &mut seeded(2);
        let table = Table::of([4]).unwrap().of_units(3);
        let mut most = 0.0_f64;
        for _ in 0..2000 {
            let mut counts = || {
                let unit = rng.random_range(0..=3_usize);
                // Of one cell, or of any.
                let cell = rng.random_bool(0.5).then_some(rng.random_range(0..4));
                let record = |_| cell.unwrap_or(rng.random_range(0..4));
                let records: Vec<usize> = (0..unit).map(record).collect();
                table.measure(&records).unwrap()
            };
            most = most.max(share(&counts(), &counts()));
        }
        assert!((most - 1.0).abs() < 1e-12, "{most}");
    }

    #[test]
    fn cells_are_counted_in_order_and_others_refused() {
        let table = Table::of([2, 3]).unwrap();
        assert_eq!(table.cell(&[1, 2]).unwrap(), 5);
        assert!(table.cell(&[2, 0]).is_err() && table.cell(&[0]).is_err());
        assert!(Table::of([]).is_err() && Table::of([2, 0]).is_err());
        assert!(table.measure(&[6]).is_err());
        let deviation = 1.0;
        let noisy = |values| table.read(&Noisy { values, deviation });
        assert!(noisy(vec![0.5; 6]).is_ok());
        assert!(noisy(vec![0.5; 5]).is_err() && noisy(vec![f64::NAN; 6]).is_err());
    }
}

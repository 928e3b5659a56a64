//! The distance between the counts of two tables in the cells of some columns.

use rayon::prelude::*;

use private_classifiers::CodedRecords;

/// Up to this number of cells, counts are kept for each. Beyond it most cells are empty, and records are sorted instead.
const DENSE: u64 = 1 << 20;

/// Two tables, stored column by column, so that a column is read from one end to the other.
pub(super) struct Columns<'a> {
    sizes: &'a [usize],
    copy: Vec<Vec<u16>>,
    real: Vec<Vec<u16>>,
}

impl<'a> Columns<'a> {
    /// Transposes two tables with the same columns.
    pub(super) fn of(copy: &CodedRecords<'a>, real: &CodedRecords<'a>) -> Self {
        let columns = |table: &CodedRecords<'_>| {
            let places = (0..table.columns()).into_par_iter();
            places.map(|at| table.column(at)).collect()
        };
        Self {
            sizes: copy.sizes,
            copy: columns(copy),
            real: columns(real),
        }
    }

    /// Returns the mean of the total variation distance over `subsets` of at most four columns each; `None` without a subset.
    pub(super) fn mean_tvd(&self, subsets: &[Vec<usize>]) -> Option<f64> {
        let tvd: Vec<f64> = subsets.par_iter().map(|s| self.tvd(s)).collect();
        (!tvd.is_empty()).then(|| tvd.iter().sum::<f64>() / tvd.len() as f64)
    }

    fn tvd(&self, subset: &[usize]) -> f64 {
        let cells = subset.iter().fold(1_u64, |cells, &at| {
            cells.saturating_mul(self.sizes[at] as u64)
        });
        let (copy, real) = (
            self.cells(&self.copy, subset),
            self.cells(&self.real, subset),
        );
        if cells <= DENSE {
            dense_tvd(&copy, &real, cells as usize)
        } else {
            sorted_tvd(copy, real)
        }
    }

    /// Returns the cell of each record.
    fn cells(&self, columns: &[Vec<u16>], subset: &[usize]) -> Vec<u64> {
        let records = columns.first().map_or(0, Vec::len);
        let mut cells = vec![0; records];
        for &at in subset {
            let size = self.sizes[at] as u64;
            for (cell, &code) in cells.iter_mut().zip(&columns[at]) {
                *cell = *cell * size + u64::from(code);
            }
        }
        cells
    }
}

fn dense_tvd(copy: &[u64], real: &[u64], cells: usize) -> f64 {
    let counts = |places: &[u64]| {
        let mut counts = vec![0_u32; cells];
        for &cell in places {
            counts[cell as usize] += 1;
        }
        counts
    };
    let both = counts(copy).into_iter().zip(counts(real));
    half_of_differences(both, copy.len(), real.len())
}

fn sorted_tvd(mut copy: Vec<u64>, mut real: Vec<u64>) -> f64 {
    copy.sort_unstable();
    real.sort_unstable();
    let sizes = (copy.len(), real.len());
    let (mut copy, mut real) = (copy.as_slice(), real.as_slice());
    let both = std::iter::from_fn(|| {
        let cell = match (copy.first(), real.first()) {
            (Some(a), Some(b)) => *a.min(b),
            (Some(cell), None) | (None, Some(cell)) => *cell,
            (None, None) => return None,
        };
        Some((take(&mut copy, cell), take(&mut real, cell)))
    });
    half_of_differences(both, sizes.0, sizes.1)
}

/// Removes `cell` from the front and returns how often it was there.
fn take(sorted: &mut &[u64], cell: u64) -> u32 {
    let count = sorted.iter().take_while(|&&c| c == cell).count();
    *sorted = &sorted[count..];
    count as u32
}

fn half_of_differences(counts: impl Iterator<Item = (u32, u32)>, copy: usize, real: usize) -> f64 {
    let differences =
        counts.map(|(a, b)| (f64::from(a) / copy as f64 - f64::from(b) / real as f64).abs());
    differences.sum::<f64>() / 2.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorting_finds_what_counting_finds(
            copy in prop::collection::vec(0_u64..30, 1..60),
            real in prop::collection::vec(0_u64..30, 1..60),
        ) {
            let dense = dense_tvd(&copy, &real, 30);
            let sorted = sorted_tvd(copy, real);
            prop_assert!((dense - sorted).abs() < 1e-12, "{dense} {sorted}");
        }
    }
}

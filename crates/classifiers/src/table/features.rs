//! The columns that a label is predicted from.

use super::records::CodedRecords;

/// The log-odds of a class by its count and that of the others, half a record more of each: finite if one of them has none.
pub(super) fn smoothed_log_odds(positive: &[bool]) -> f64 {
    let yes = positive.iter().filter(|&&p| p).count() as f64;
    ((yes + 0.5) / (positive.len() as f64 - yes + 0.5)).ln()
}

/// One column among the features.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// The place of its first code among the codes of all columns.
    pub(super) start: usize,
    /// The number of its codes.
    pub(super) size: usize,
    /// The number of leading codes that are in order.
    pub(super) ordered: usize,
}

/// Records without their label.
pub(super) struct Features {
    /// `[n, F]`, row-major.
    codes: Vec<u16>,
    records: usize,
    columns: Vec<Column>,
}

impl Features {
    /// Takes all columns of `table` but `label`.
    pub(super) fn of(table: &CodedRecords<'_>, label: usize) -> Self {
        let places = || (0..table.columns()).filter(|&at| at != label);
        let mut start = 0;
        let columns = places()
            .map(|at| {
                let (size, ordered) = (table.sizes[at], table.ordered[at]);
                start += size;
                Column {
                    start: start - size,
                    size,
                    ordered,
                }
            })
            .collect();
        let records = table.codes.chunks_exact(table.columns());
        let codes = records
            .flat_map(|record| places().map(|at| record[at]))
            .collect();
        Self {
            codes,
            records: table.records(),
            columns,
        }
    }

    pub(super) fn records(&self) -> usize {
        self.records
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the number of codes of all columns.
    pub(super) fn size(&self) -> usize {
        self.columns.last().map_or(0, |c| c.start + c.size)
    }

    /// Returns the codes of record `at`, `[F]`.
    pub(super) fn record(&self, at: usize) -> &[u16] {
        let width = self.columns.len();
        &self.codes[at * width..][..width]
    }

    /// Returns the places of the codes of record `at` among the codes of all columns, `[F]`.
    pub(super) fn places(&self, at: usize) -> impl Iterator<Item = usize> {
        let both = self.record(at).iter().zip(&self.columns);
        both.map(|(&code, column)| column.start + usize::from(code))
    }
}

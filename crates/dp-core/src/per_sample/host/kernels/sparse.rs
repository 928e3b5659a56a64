//! Products with a sparse matrix.

use crate::per_sample::Lanes8;

use super::{Eight, Kernel, Lanes, dispatch};

/// The rows of a sparse matrix, one after the other.
#[derive(Default)]
pub(crate) struct Sparse {
    /// The end of each row in `entries`.
    ends: Vec<u32>,
    entries: Vec<(u32, f32)>,
}

impl Sparse {
    /// Adds a row of columns and values.
    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = (u32, f32)>) {
        self.entries.extend(row);
        self.ends.push(self.entries.len() as u32);
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Transposes a matrix of `columns` columns.
    pub(crate) fn transposed(&self, columns: usize) -> Self {
        let mut rows = vec![Vec::new(); columns];
        let mut start = 0;
        for (row, &end) in self.ends.iter().enumerate() {
            for &(column, value) in &self.entries[start..end as usize] {
                rows[column as usize].push((row as u32, value));
            }
            start = end as usize;
        }
        let mut transposed = Self::default();
        for row in rows {
            transposed.push(row);
        }
        transposed
    }
}

/// Computes `output[v, i] = sum_j matrix[i, j] input[v, j]` for any number of vectors `v`.
pub(crate) struct SparseProduct<'a> {
    pub matrix: &'a Sparse,
    /// `[v, columns]`.
    pub input: &'a [Lanes8],
    pub columns: usize,
    /// `[v, rows]`, overwritten.
    pub output: &'a mut [Lanes8],
}

impl SparseProduct<'_> {
    pub(crate) fn apply(self) {
        dispatch(self);
    }
}

impl Kernel for SparseProduct<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Sparse { ends, entries } = self.matrix;
        let vectors = self.input.chunks_exact(self.columns);
        for (input, output) in vectors.zip(self.output.chunks_exact_mut(ends.len())) {
            let mut start = 0;
            for (&end, output) in ends.iter().zip(output) {
                let product = |(column, value): (u32, f32)| {
                    lanes.load(&input[column as usize]).mul(lanes.splat(value))
                };
                let (fours, rest) = entries[start..end as usize].as_chunks::<4>();
                let mut sum = lanes.zero();
                // Terms are added in pairs, so that the sum over a block of two by two is that of its lines.
                for &[a, b, c, d] in fours {
                    let lines = (product(a).add(product(b))).add(product(c).add(product(d)));
                    sum = sum.add(lines);
                }
                for &entry in rest {
                    sum = sum.add(product(entry));
                }
                sum.store(output);
                start = end as usize;
            }
        }
    }
}

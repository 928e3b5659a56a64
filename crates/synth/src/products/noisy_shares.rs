//! The noisy counts to which a mixture of products is fitted, in matrices of values.

use std::ops::Range;

use private_queries::NoisyCounts;

/// The range of each column's values among all values.
pub(super) struct Blocks {
    starts: Vec<usize>,
}

impl Blocks {
    pub(super) fn new(sizes: &[usize]) -> Self {
        let mut starts = vec![0];
        for size in sizes {
            starts.push(starts[starts.len() - 1] + size);
        }
        Self { starts }
    }

    /// Returns the number of all values, `M`.
    pub(super) fn width(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    pub(super) fn of(&self, column: usize) -> Range<usize> {
        self.starts[column]..self.starts[column + 1]
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|ends| ends[0]..ends[1])
    }
}

/// Noisy counts as shares of all records, with their weights in the loss.
pub(super) struct NoisyShares {
    /// The share and `n^2 / s^2` of every value of a column, and of every class; 0 if it was not measured.
    pub(super) single: Vec<[f32; 2]>,
    pub(super) classes: Vec<[f32; 2]>,
    /// Values with each class, `[C, M]`.
    pub(super) labelled: Vec<[f32; 2]>,
    /// Pairs of values, `[M, M]`, symmetric.
    pub(super) pairs: Vec<[f32; 2]>,
    /// Pairs of values with each class, `[C, M, M]`.
    pub(super) labelled_pairs: Vec<Vec<[f32; 2]>>,
}

impl NoisyShares {
    pub(super) fn new(
        tables: &[NoisyCounts],
        own: &[usize],
        blocks: &Blocks,
        label: Option<usize>,
        classes: usize,
        records: f64,
    ) -> Self {
        let (width, none) = (blocks.width(), [0.0; 2]);
        let mut target = Self {
            single: vec![none; width],
            classes: vec![none; classes],
            labelled: vec![none; classes * width],
            pairs: vec![none; width * width],
            labelled_pairs: vec![
                vec![none; width * width];
                if label.is_some() { classes } else { 0 }
            ],
        };
        for table in tables {
            let ranges: Vec<Range<usize>> = table
                .columns
                .iter()
                .map(|&column| match own.iter().position(|&j| j == column) {
                    Some(place) => blocks.of(place),
                    None => 0..classes,
                })
                .collect();
            let at_label = table.columns.iter().position(|&j| Some(j) == label);
            let mut codes: Vec<usize> = ranges.iter().map(|range| range.start).collect();
            for (cell, count) in table.counts.iter().enumerate() {
                // The deviation of a count is at least one record, also without noise.
                let deviation = table.deviation_of(cell).max(1.0);
                let weight = (records / deviation).powi(2) as f32;
                let class = at_label.map(|place| codes[place]);
                let mut values = codes.iter().enumerate();
                let mut value = || values.find(|(place, _)| Some(*place) != at_label);
                let (x, y) = (value().map(|(_, &x)| x), value().map(|(_, &y)| y));
                target.put(class, x, y, [(count / records) as f32, weight], width);
                // The last column varies fastest.
                for (code, range) in codes.iter_mut().zip(&ranges).rev() {
                    *code += 1;
                    if *code < range.end {
                        break;
                    }
                    *code = range.start;
                }
            }
        }
        target
    }

    /// Stores the share and weight of values `x` and `y` and a class, as far as they are given.
    fn put(
        &mut self,
        class: Option<usize>,
        x: Option<usize>,
        y: Option<usize>,
        found: [f32; 2],
        width: usize,
    ) {
        match (class, x, y) {
            (Some(class), None, _) => self.classes[class] = found,
            (None, Some(x), None) => self.single[x] = found,
            (Some(class), Some(x), None) => self.labelled[class * width + x] = found,
            (class, Some(x), Some(y)) => {
                let pairs = match class {
                    Some(class) => &mut self.labelled_pairs[class],
                    None => &mut self.pairs,
                };
                pairs[x * width + y] = found;
                pairs[y * width + x] = found;
            }
            (None, None, _) => {}
        }
    }
}

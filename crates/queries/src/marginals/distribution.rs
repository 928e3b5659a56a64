//! Distributions with a constant density in each bin, and the exact cells of their quantile functions.

use rayon::prelude::*;

use swd::{FlowTarget, Slices, SwdError, TargetQuantiles};

use super::clean::make_monotone;

/// A distribution on a line whose distribution function is linear between edges.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PiecewiseUniform {
    /// The bins with mass: left edge, width, distribution function at both ends.
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    left: f64,
    width: f64,
    from: f64,
    to: f64,
}

impl PiecewiseUniform {
    /// Creates the distribution; `below` rises from 0 at the first edge to 1 at the last.
    pub(super) fn new(edges: &[f64], below: &[f64]) -> Self {
        let pieces = edges.windows(2).zip(below.windows(2));
        let pieces = pieces.filter(|(_, mass)| mass[1] > mass[0]);
        Self {
            pieces: pieces
                .map(|(edge, mass)| Piece {
                    left: edge[0],
                    width: edge[1] - edge[0],
                    from: mass[0],
                    to: mass[1],
                })
                .collect(),
        }
    }

    /// Returns the mass below a value.
    fn below(&self, value: f64) -> f64 {
        let begun = self.pieces.partition_point(|piece| piece.left < value);
        let Some(piece) = self.pieces[..begun].last() else {
            return 0.0;
        };
        let share = ((value - piece.left) / piece.width).min(1.0);
        piece.from + share * (piece.to - piece.from)
    }

    /// Returns the value that has this share of the mass below it.
    fn quantile(&self, share: f64) -> f64 {
        let whole = self.pieces.partition_point(|piece| piece.to < share);
        // Rounding may have left the last value below 1.
        let piece = self.pieces[whole.min(self.pieces.len() - 1)];
        let within = (share - piece.from) / (piece.to - piece.from);
        piece.left + piece.width * within.clamp(0.0, 1.0)
    }

    /// Returns the mean of the squares.
    fn second_moment(&self) -> f64 {
        let moment = |piece: &Piece| {
            let middle = piece.left + 0.5 * piece.width;
            (piece.to - piece.from) * (middle * middle + piece.width * piece.width / 12.0)
        };
        self.pieces.iter().map(moment).sum()
    }

    /// Adds the cells `q_r = n * integral over ((r-1)/n, r/n] of the quantile function`, exactly up to rounding, to a slice
    /// that holds zeros.
    ///
    /// Inside a bin the quantile function is linear, so its integral over a part of a cell is the length of the part times the
    /// value at its middle.
    fn add_cells(&self, cells: &mut [impl Accumulate]) {
        let n = cells.len() as f64;
        for piece in &self.pieces {
            let (start, end) = (piece.from * n, piece.to * n);
            let slope = piece.width / (end - start);
            let value = |at: f64| piece.left + slope * (at - start);
            let first = (start.ceil() as usize).min(cells.len());
            let last = (end.floor() as usize).min(cells.len());
            if first > last {
                // The whole bin lies inside one cell.
                cells[last].add((end - start) * value(0.5 * (start + end)));
                continue;
            }
            let (left, right) = (first as f64, last as f64);
            if left > start {
                cells[first - 1].add((left - start) * value(0.5 * (start + left)));
            }
            // A count in 32 bits lets processors convert several values at a time.
            let offset = value(left + 0.5);
            for (r, cell) in (0_i32..).zip(&mut cells[first..last]) {
                cell.add(offset + slope * f64::from(r));
            }
            if end > right && last < cells.len() {
                cells[last].add((end - right) * value(0.5 * (right + end)));
            }
        }
    }
}

/// A cell to which values are added.
trait Accumulate {
    fn add(&mut self, value: f64);
}

impl Accumulate for f64 {
    fn add(&mut self, value: f64) {
        *self += value;
    }
}

impl Accumulate for f32 {
    fn add(&mut self, value: f64) {
        *self += value as f32;
    }
}

/// The marginal distributions on all slices, cleaned from a release: public, and the target of particles.
#[derive(Debug, Clone)]
pub struct SlicedMarginals {
    slices: Slices,
    distributions: Vec<PiecewiseUniform>,
}

impl SlicedMarginals {
    pub(super) fn new(slices: Slices, distributions: Vec<PiecewiseUniform>) -> Self {
        Self {
            slices,
            distributions,
        }
    }

    /// Returns the slices.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// Returns the share of records below a value on slice `l`, which must be less than the number of slices.
    pub fn below(&self, l: usize, value: f64) -> f64 {
        self.distributions[l].below(value)
    }

    /// Returns the value that a share of the records is below on slice `l`, which must be less than the number of slices.
    pub(super) fn quantile(&self, l: usize, share: f64) -> f64 {
        self.distributions[l].quantile(share)
    }

    /// Adds the quantile cells of slice `l` to `cells`.
    pub(super) fn add_cells(&self, l: usize, cells: &mut [f64]) {
        self.distributions[l].add_cells(cells);
    }

    /// Returns the `n` quantile cells of each slice, with the variance inside them.
    ///
    /// A flow need not store them: [`FlowTarget::write_cells`] computes the cells of each slice in turn, in less time than
    /// the sort takes.
    ///
    /// # Errors
    /// Returns an error for `n = 0`.
    pub fn cells(&self, n: usize) -> Result<TargetQuantiles, SwdError> {
        if n == 0 {
            return Err(SwdError::Empty {
                what: "number of cells",
            });
        }
        let mut values = vec![0.0; self.distributions.len() * n];
        let within: Vec<f64> = values
            .par_chunks_mut(n)
            .zip(&self.distributions)
            .map(|(row, distribution)| {
                distribution.add_cells(row);
                make_monotone(row);
                let squares: f64 = row.iter().map(|q| q * q).sum();
                (distribution.second_moment() - squares / n as f64).max(0.0)
            })
            .collect();
        TargetQuantiles::from_rows(n, values, within)
    }
}

impl FlowTarget for SlicedMarginals {
    fn slices(&self) -> &Slices {
        &self.slices
    }

    fn deviation(&self) -> f64 {
        0.0
    }

    fn write_cells(&self, l: usize, cells: &mut [f32]) {
        cells.fill(0.0);
        self.distributions[l].add_cells(cells);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The quantile function, by search.
    fn quantile(edges: &[f64], below: &[f64], p: f64) -> f64 {
        let bin = below.partition_point(|&f| f < p).max(1) - 1;
        let mass = below[bin + 1] - below[bin];
        edges[bin] + (edges[bin + 1] - edges[bin]) * (p - below[bin]) / mass
    }

    fn distribution() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        let steps =
            prop::collection::vec((0.1_f64..1.0, prop_oneof![0.0_f64..1.0, Just(0.0)]), 2..20);
        steps.prop_filter_map("no mass", |steps| {
            let total: f64 = steps.iter().map(|step| step.1).sum();
            if total < 0.1 {
                return None;
            }
            let (mut edges, mut below) = (vec![-2.0_f64], vec![0.0_f64]);
            for (width, mass) in &steps {
                edges.push(edges[edges.len() - 1] + width);
                below.push((below[below.len() - 1] + mass / total).min(1.0));
            }
            let last = below.len() - 1;
            let end = below[last];
            let ends = below.iter_mut().filter(|f| **f == end);
            ends.for_each(|f| *f = 1.0);
            Some((edges, below))
        })
    }

    proptest! {
        #[test]
        fn cells_match_numeric_integration((edges, below) in distribution(), n in 1_usize..50) {
            let slices = Slices::from_directions(1, &[1.0]).unwrap();
            let distribution = PiecewiseUniform::new(&edges, &below);
            let marginals = SlicedMarginals::new(slices, vec![distribution]);
            let cells = marginals.cells(n).unwrap();
            let steps = 400;
            let (mut squares, mut single) = (0.0, vec![f32::NAN; n]);
            marginals.write_cells(0, &mut single);
            for (r, &q) in cells.row(0).iter().enumerate() {
                let values = (0..steps).map(|step| {
                    let p = (r as f64 + (f64::from(step) + 0.5) / f64::from(steps)) / n as f64;
                    quantile(&edges, &below, p)
                });
                let values: Vec<f64> = values.collect();
                let mean = values.iter().sum::<f64>() / f64::from(steps);
                // A jump of the quantile function costs the midpoint rule half a step of it.
                prop_assert!((q - mean).abs() < 20.0 / f64::from(steps), "{q} {mean}");
                prop_assert!((f64::from(single[r]) - q).abs() < 1e-5);
                squares += values.iter().map(|x| (x - q).powi(2)).sum::<f64>() / f64::from(steps);
            }
            prop_assert!((cells.mean_within_cell_variance() - squares / n as f64).abs() < 0.1);
        }
    }

    /// By hand: mass 1/4 on [-1, 0], 3/4 on [1, 2].
    #[test]
    fn cells_of_two_bins() {
        let slices = Slices::from_directions(1, &[1.0]).unwrap();
        let distribution = PiecewiseUniform::new(&[-1.0, 0.0, 1.0, 2.0], &[0.0, 0.25, 0.25, 1.0]);
        let marginals = SlicedMarginals::new(slices, vec![distribution]);
        let close = |n: usize, expected: &[f64], within: f64| {
            let cells = marginals.cells(n).unwrap();
            for (q, expected) in cells.row(0).iter().zip(expected) {
                assert!((q - expected).abs() < 1e-14, "{q} for {expected}");
            }
            assert!((cells.mean_within_cell_variance() - within).abs() < 1e-14);
        };
        let squares = 0.75_f64 * 1.5 * 1.5 + 0.25 * 0.25 + 1.0 / 12.0;
        close(1, &[1.0], squares - 1.0);
        // The first half: -1/2 on its first half, 1 to 4/3 on its second.
        let halves = [(-0.5 + 7.0 / 6.0) / 2.0, 5.0 / 3.0];
        close(
            2,
            &halves,
            squares - 0.5 * (halves[0].powi(2) + halves[1].powi(2)),
        );
        let quarters = [-0.5, 7.0 / 6.0, 1.5, 11.0 / 6.0];
        close(4, &quarters, 0.25 / 12.0 + 0.75 / 108.0);
        assert!(marginals.cells(0).is_err());
    }
}

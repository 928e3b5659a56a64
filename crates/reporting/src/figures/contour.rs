//! Level sets of a function on a grid, by marching squares.

use std::collections::HashMap;
use std::ops::Range;

/// Values of a function of the plane at the nodes of a regular grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// From the first column of nodes to the last.
    pub x: Range<f64>,
    /// From the first row of nodes to the last.
    pub y: Range<f64>,
    /// Nodes in a row, at least two.
    pub columns: usize,
    /// `[rows, columns]`, row by row from the lowest `y`.
    pub values: Vec<f64>,
}

impl Field {
    /// `function` at `nodes` by `nodes` places.
    pub fn of(
        x: Range<f64>,
        y: Range<f64>,
        nodes: usize,
        function: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let nodes = nodes.max(2);
        let at = |range: &Range<f64>, k: usize| {
            range.start + (range.end - range.start) * k as f64 / (nodes - 1) as f64
        };
        let values = (0..nodes)
            .flat_map(|row| (0..nodes).map(move |column| (row, column)))
            .map(|(row, column)| function(at(&x, column), at(&y, row)))
            .collect();
        Self {
            x,
            y,
            columns: nodes,
            values,
        }
    }

    /// `count` levels with equal ratios from `lowest` (a share of the largest value) up, which suits
    /// densities; empty where no value is positive.
    pub fn levels(&self, count: usize, lowest: f64) -> Vec<f64> {
        let largest = self
            .values
            .iter()
            .copied()
            .filter(|v| v.is_finite())
            .fold(0.0, f64::max);
        if largest <= 0.0 {
            return Vec::new();
        }
        (0..count)
            .map(|k| largest * lowest.powf(1.0 - (k as f64 + 0.5) / count as f64))
            .collect()
    }

    /// Lines on which the function, made linear along the sides of the grid's cells, has the value
    /// `level`. Cells with a corner that is not finite have none.
    pub fn level_set(&self, level: f64) -> Vec<Vec<(f64, f64)>> {
        let rows = self.values.len() / self.columns.max(1);
        if self.columns < 2 || rows < 2 {
            return Vec::new();
        }
        let mut lines = Joined::default();
        for row in 0..rows - 1 {
            for column in 0..self.columns - 1 {
                self.cell(row, column, level, &mut lines);
            }
        }
        let lines = lines.chains();
        lines
            .into_iter()
            .map(|line| {
                line.into_iter()
                    .map(|side| self.crossing(side, level))
                    .collect()
            })
            .collect()
    }

    fn node(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column]
    }

    fn cell(&self, row: usize, column: usize, level: f64, lines: &mut Joined) {
        let corners = [
            self.node(row, column),
            self.node(row, column + 1),
            self.node(row + 1, column + 1),
            self.node(row + 1, column),
        ];
        if corners.iter().any(|v| !v.is_finite()) {
            return;
        }
        // The cell's sides in the order of its corners: below, right, above, left.
        let sides = [
            Side {
                row,
                column,
                upright: false,
            },
            Side {
                row,
                column: column + 1,
                upright: true,
            },
            Side {
                row: row + 1,
                column,
                upright: false,
            },
            Side {
                row,
                column,
                upright: true,
            },
        ];
        let above = corners.map(|v| v >= level);
        let crossed: Vec<usize> = (0..4).filter(|&k| above[k] != above[(k + 1) % 4]).collect();
        match crossed[..] {
            [a, b] => lines.join(sides[a], sides[b]),
            [a, b, c, d] => {
                // A saddle: the value in the middle says which corners belong together.
                let middle = corners.iter().sum::<f64>() / 4.0 >= level;
                if middle == above[0] {
                    lines.join(sides[a], sides[b]);
                    lines.join(sides[c], sides[d]);
                } else {
                    lines.join(sides[d], sides[a]);
                    lines.join(sides[b], sides[c]);
                }
            }
            _ => {}
        }
    }

    fn crossing(&self, side: Side, level: f64) -> (f64, f64) {
        let (row, column) = (side.row, side.column);
        let from = self.node(row, column);
        let to = if side.upright {
            self.node(row + 1, column)
        } else {
            self.node(row, column + 1)
        };
        let share = (level - from) / (to - from);
        let (across, up) = if side.upright {
            (0.0, share)
        } else {
            (share, 0.0)
        };
        let rows = self.values.len() / self.columns;
        let place = |range: &Range<f64>, at: f64, nodes: usize| {
            range.start + (range.end - range.start) * at / (nodes - 1) as f64
        };
        (
            place(&self.x, column as f64 + across, self.columns),
            place(&self.y, row as f64 + up, rows),
        )
    }
}

/// The side of a cell from a node to the right, or upright.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Side {
    row: usize,
    column: usize,
    upright: bool,
}

/// Which crossed sides follow each other; each has one or two others.
#[derive(Default)]
struct Joined {
    others: HashMap<Side, Vec<Side>>,
    order: Vec<Side>,
}

impl Joined {
    fn join(&mut self, a: Side, b: Side) {
        for (from, to) in [(a, b), (b, a)] {
            let others = self.others.entry(from).or_default();
            if others.is_empty() {
                self.order.push(from);
            }
            others.push(to);
        }
    }

    /// The lines, first those with ends, then the closed ones.
    fn chains(mut self) -> Vec<Vec<Side>> {
        let mut chains = Vec::new();
        for ends in [true, false] {
            for start in std::mem::take(&mut self.order) {
                let left = self.others.get(&start).map_or(0, Vec::len);
                if left == 0 || (ends && left != 1) {
                    self.order.push(start);
                    continue;
                }
                let mut chain = vec![start];
                let mut at = start;
                while let Some(next) = self.others.get_mut(&at).and_then(Vec::pop) {
                    if let Some(back) = self.others.get_mut(&next)
                        && let Some(which) = back.iter().position(|&s| s == at)
                    {
                        back.swap_remove(which);
                    }
                    chain.push(next);
                    at = next;
                }
                chains.push(chain);
            }
        }
        chains
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cone_has_one_closed_circle() {
        let field = Field::of(-2.0..2.0, -2.0..2.0, 81, f64::hypot);
        let lines = field.level_set(1.0);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].first(), lines[0].last());
        for (x, y) in &lines[0] {
            assert!((x.hypot(*y) - 1.0).abs() < 1e-3);
        }
    }

    #[test]
    fn a_plane_has_one_open_line() {
        let field = Field::of(0.0..1.0, 0.0..1.0, 11, |x, y| x + 0.1 * y);
        let lines = field.level_set(0.5);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].len(), lines[0].len().max(11));
        for (x, y) in &lines[0] {
            assert!((x + 0.1 * y - 0.5).abs() < 1e-12);
        }
    }

    #[test]
    fn what_is_not_finite_has_no_line() {
        let field = Field::of(0.0..1.0, 0.0..1.0, 3, |_, _| f64::NAN);
        assert!(field.level_set(0.5).is_empty());
        assert!(field.levels(3, 0.1).is_empty());
        let saddle = Field::of(-1.0..1.0, -1.0..1.0, 2, |x, y| x * y);
        assert_eq!(saddle.level_set(0.0).len(), 2);
    }
}

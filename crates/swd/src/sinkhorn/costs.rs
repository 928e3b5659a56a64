//! The costs of all pairs, kept or computed a row at a time.

use rayon::prelude::*;
use wide::f64x4;

use super::{Cost, Memory, Sinkhorn};

/// The number of points that a row of costs is computed for at once.
const LANES: usize = 4;

/// The costs seen from one side, divided by `lambda`: row `i` holds those from its point `i` to every point of the other side.
#[derive(Clone)]
pub(super) struct Side<'a> {
    from: &'a [f32],
    to: &'a [f32],
    dim: usize,
    cost: Cost,
    regularisation: f64,
    kept: Option<Vec<f64>>,
}

/// The costs seen from both sides.
#[derive(Clone)]
pub(super) struct Costs<'a> {
    pub x: Side<'a>,
    pub y: Side<'a>,
}

impl<'a> Costs<'a> {
    pub(super) fn new(sinkhorn: &Sinkhorn, x: &'a [f32], y: &'a [f32], dim: usize) -> Self {
        let side = |from, to| Side {
            from,
            to,
            dim,
            cost: sinkhorn.cost,
            regularisation: sinkhorn.regularisation,
            kept: None,
        };
        let mut costs = Self {
            x: side(x, y),
            y: side(y, x),
        };
        if sinkhorn.memory == Memory::Dense {
            let (n, m) = (costs.x.points(), costs.y.points());
            let mut rows = vec![0.0; n * m];
            let write = |(i, row): (usize, &mut [f64])| costs.x.write(i, row);
            rows.par_chunks_exact_mut(m).enumerate().for_each(write);
            let mut columns = vec![0.0; n * m];
            let transpose = |(j, column): (usize, &mut [f64])| {
                for (i, value) in column.iter_mut().enumerate() {
                    *value = rows[i * m + j];
                }
            };
            columns
                .par_chunks_exact_mut(n)
                .enumerate()
                .for_each(transpose);
            costs.x.kept = Some(rows);
            costs.y.kept = Some(columns);
        }
        costs
    }
}

impl<'a> Side<'a> {
    /// The number of points of this side.
    pub(super) fn points(&self) -> usize {
        self.from.len() / self.dim
    }

    /// The number of points of the other side.
    pub(super) fn others(&self) -> usize {
        self.to.len() / self.dim
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn point(&self, i: usize) -> &'a [f32] {
        &self.from[i * self.dim..(i + 1) * self.dim]
    }

    pub(super) fn other(&self, j: usize) -> &'a [f32] {
        &self.to[j * self.dim..(j + 1) * self.dim]
    }

    /// Returns row `i`, from memory or computed into `buffer`.
    pub(super) fn row<'b>(&'b self, i: usize, buffer: &'b mut Vec<f64>) -> &'b [f64] {
        let m = self.others();
        if let Some(kept) = &self.kept {
            return &kept[i * m..(i + 1) * m];
        }
        buffer.resize(m, 0.0);
        self.write(i, buffer);
        buffer
    }

    fn write(&self, i: usize, row: &mut [f64]) {
        let point = self.point(i);
        for (j, value) in row.iter_mut().enumerate() {
            *value = distance(self.cost, point, self.other(j)) / self.regularisation;
        }
    }
}

/// Returns `|x - y|_p^p` in `f64`. A difference of two `f32` rounds by 2^-53 of itself; a product of matrices would lose
/// the difference of two near points.
fn distance(cost: Cost, x: &[f32], y: &[f32]) -> f64 {
    let (whole_x, rest_x) = x.split_at(x.len() - x.len() % LANES);
    let (whole_y, rest_y) = y.split_at(whole_x.len());
    let term = |x: f64x4, y: f64x4| match cost {
        Cost::Manhattan => (x - y).abs(),
        Cost::SquaredEuclidean => (x - y) * (x - y),
    };
    let lanes =
        |values: &[f32]| f64x4::from(std::array::from_fn::<_, LANES, _>(|a| f64::from(values[a])));
    let mut sum = f64x4::ZERO;
    for (x, y) in whole_x.chunks_exact(LANES).zip(whole_y.chunks_exact(LANES)) {
        sum += term(lanes(x), lanes(y));
    }
    let one = |value: f32| f64x4::from([f64::from(value), 0.0, 0.0, 0.0]);
    for (&x, &y) in rest_x.iter().zip(rest_y) {
        sum += term(one(x), one(y));
    }
    sum.reduce_add()
}

//! Inner products of rows.

// The loops walk several register arrays in step; the index says which register.
#![allow(clippy::needless_range_loop)]

use crate::per_sample::Lanes8;

use super::{Eight, Kernel, Lanes, RUN, dispatch};

/// The number of rows on each side of a tile.
const SIDE: usize = 3;

/// Adds `scale * rows rows^T` to `gram [g, g]` for `rows [g, length]` of one block.
pub(crate) struct Gram<'a> {
    pub g: usize,
    pub rows: &'a [Lanes8],
    pub scale: Lanes8,
    pub gram: &'a mut [Lanes8],
}

impl Gram<'_> {
    pub(crate) fn apply(self) {
        dispatch(self);
    }
}

impl Kernel for Gram<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let g = self.g;
        let length = self.rows.len() / g;
        let scale = lanes.load(&self.scale);
        for start in (0..length).step_by(RUN) {
            let run = start..length.min(start + RUN);
            let mut r = 0;
            while r < g {
                let wide = r + SIDE <= g;
                let mut s = 0;
                while s <= r {
                    let (at, next) = ((r, s), s + SIDE <= g);
                    if wide {
                        // A wide tile lies below or on the diagonal, and so do the tiles before it.
                        tile::<L, SIDE, SIDE>(
                            lanes,
                            self.rows,
                            g,
                            run.clone(),
                            at,
                            scale,
                            self.gram,
                        );
                    } else if next {
                        tile::<L, 1, SIDE>(lanes, self.rows, g, run.clone(), at, scale, self.gram);
                    } else {
                        tile::<L, 1, 1>(lanes, self.rows, g, run.clone(), at, scale, self.gram);
                    }
                    s += if next { SIDE } else { 1 };
                }
                r += if wide { SIDE } else { 1 };
            }
        }
    }
}

/// Multiplies rows `r .. r + R` with rows `s .. s + S`, and mirrors the products off the diagonal.
#[inline(always)]
fn tile<L: Lanes, const R: usize, const S: usize>(
    lanes: L,
    rows: &[Lanes8],
    g: usize,
    run: std::ops::Range<usize>,
    (r, s): (usize, usize),
    scale: L::Eight,
    gram: &mut [Lanes8],
) {
    let length = rows.len() / g;
    let mut left = [&rows[..0]; R];
    for i in 0..R {
        left[i] = &rows[(r + i) * length..][run.clone()];
    }
    let mut right = [&rows[..0]; S];
    for j in 0..S {
        right[j] = &rows[(s + j) * length..][run.clone()];
    }
    let mut sums = [[lanes.zero(); S]; R];
    for k in 0..run.len() {
        let mut y = [lanes.zero(); S];
        for j in 0..S {
            y[j] = lanes.load(&right[j][k]);
        }
        for i in 0..R {
            let x = lanes.load(&left[i][k]);
            for j in 0..S {
                sums[i][j] = x.mul_add(y[j], sums[i][j]);
            }
        }
    }
    for i in 0..R {
        for j in 0..S {
            let value = sums[i][j].mul(scale);
            let entry = &mut gram[(r + i) * g + s + j];
            lanes.load(entry).add(value).store(entry);
            if r != s {
                let mirror = &mut gram[(s + j) * g + r + i];
                lanes.load(mirror).add(value).store(mirror);
            }
        }
    }
}

//! Weighted sums of rows over all records.

// The loops walk several register arrays in step; the index says which register.
#![allow(clippy::needless_range_loop)]

use crate::per_sample::{LANES, Lanes8};

use super::{Kernel, Lanes, dispatch};

/// Entries of a row that are added up at once: 16 KiB of sums.
const SPAN: usize = 512;

/// Adds `sum_i sum_r weights[i, r] rows[i, r]` over the records of all blocks to `gradient`.
///
/// A weight of zero contributes exact zeros, even where its row is not finite.
pub struct Combine<'a> {
    pub g: usize,
    /// `[blocks, g]`.
    pub weights: &'a [Lanes8],
    /// `[blocks, g, length]`.
    pub rows: &'a [Lanes8],
    /// `[length]`.
    pub gradient: &'a mut [f32],
}

impl Combine<'_> {
    pub fn apply(self) {
        dispatch(self);
    }
}

impl Kernel for Combine<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let length = self.gradient.len();
        debug_assert_eq!(self.weights.len() % self.g, 0);
        let mut sums = [Lanes8::default(); SPAN];
        for (index, totals) in self.gradient.chunks_mut(SPAN).enumerate() {
            // A few entries of all rows: their sums stay in the nearest cache. Each lane adds up one record, and whole
            // records meet in `totals`: what is rounded there does not grow with the rows of a record.
            let (start, sums) = (index * SPAN, &mut sums[..totals.len()]);
            let blocks = self.weights.chunks_exact(self.g);
            for (weights, rows) in blocks.zip(self.rows.chunks_exact(self.g * length)) {
                sums.fill(Lanes8::default());
                for (w, row) in weights.iter().zip(rows.chunks_exact(length)) {
                    let w = L::load(w);
                    let alive = w.non_zero();
                    if alive == 0 {
                        continue;
                    }
                    let row = &row[start..start + sums.len()];
                    if alive == u8::MAX {
                        for (sum, value) in sums.iter_mut().zip(row) {
                            w.mul_add(L::load(value), L::load(sum)).store(sum);
                        }
                        continue;
                    }
                    for (sum, value) in sums.iter_mut().zip(row) {
                        let value = L::load(value).select(L::zero(), alive);
                        w.mul_add(value, L::load(sum)).store(sum);
                    }
                }
                for (total, sum) in totals.iter_mut().zip(sums.iter()) {
                    *total += eight(sum);
                }
            }
        }
    }
}

/// The sum of eight lanes, in pairs.
fn eight(lanes: &Lanes8) -> f32 {
    let s = &lanes.0;
    ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

const _: () = assert!(LANES == 8);

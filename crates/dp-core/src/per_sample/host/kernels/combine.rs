//! Weighted sums of rows over all records.

use crate::per_sample::{LANES, Lanes8, Wide8};

use super::{Kernel, Lanes, dispatch};

/// The number of entries of a row that are added up at once: 16 KiB of sums.
const SPAN: usize = 256;

/// Adds `sum_i sum_r weights[i, r] rows[i, r]` over the records of all blocks to `gradient`. The sum over blocks is
/// in `f32`, all others in `f64`.
///
/// A weight of zero contributes exact zeros, even if its row is not finite.
pub(crate) struct Combine<'a> {
    pub g: usize,
    /// `[blocks, g]`.
    pub weights: &'a [Wide8],
    /// `[blocks, g, length]`.
    pub rows: &'a [Lanes8],
    /// `[length]`.
    pub gradient: &'a mut [f32],
}

impl Combine<'_> {
    pub(crate) fn apply(self) {
        dispatch(self);
    }
}

impl Kernel for Combine<'_> {
    // These are plain loops over eight numbers: the compiler vectorises them for the caller they are inlined into.
    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let length = self.gradient.len();
        debug_assert_eq!(self.weights.len() % self.g, 0);
        let mut sums = [Wide8::default(); SPAN];
        for (index, totals) in self.gradient.chunks_mut(SPAN).enumerate() {
            // A few entries of all rows at a time: their sums stay in the nearest cache. Each lane adds up one record,
            // and `totals` adds up whole records, so that its rounding does not grow with the rows of a record.
            let (start, sums) = (index * SPAN, &mut sums[..totals.len()]);
            let blocks = self.weights.chunks_exact(self.g);
            for (weights, rows) in blocks.zip(self.rows.chunks_exact(self.g * length)) {
                sums.fill(Wide8::default());
                for (w, row) in weights.iter().zip(rows.chunks_exact(length)) {
                    let row = &row[start..start + sums.len()];
                    if w.0.iter().all(|&w| w == 0.0) {
                        continue;
                    }
                    if w.0.iter().all(|&w| w != 0.0) {
                        for (sum, value) in sums.iter_mut().zip(row) {
                            for lane in 0..LANES {
                                sum.0[lane] += w.0[lane] * f64::from(value.0[lane]);
                            }
                        }
                        continue;
                    }
                    for (sum, value) in sums.iter_mut().zip(row) {
                        for lane in 0..LANES {
                            let product = w.0[lane] * f64::from(value.0[lane]);
                            sum.0[lane] += if w.0[lane] != 0.0 { product } else { 0.0 };
                        }
                    }
                }
                for (total, sum) in totals.iter_mut().zip(sums.iter()) {
                    *total += eight(&sum.0) as f32;
                }
            }
        }
    }
}

/// Adds up eight lanes in pairs.
#[inline(always)]
fn eight(s: &[f64; LANES]) -> f64 {
    ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

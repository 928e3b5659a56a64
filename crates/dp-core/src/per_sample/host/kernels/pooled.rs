//! A leaky ReLU and 2x2 average pooling after a convolution.
//!
//! The cotangent at the convolution's output is that at the pool's output, repeated in 2x2 blocks and multiplied by a
//! slope that depends on the record but not on the row of `J`. It is formed row by row, never for all rows at once.
//! The weight gradients of all rows share the sums of slope times input over 2x2 blocks, so each row takes a quarter
//! of the multiplications.

// The loops walk several register arrays in step; the index says which register.
#![allow(clippy::needless_range_loop)]

use crate::per_sample::Lanes8;

use super::{Eight, Kernel, Lanes, Plane, RUN, dispatch};

/// Rectifies and pools planes `[c, h, w]` of one block to `[c, h/2, w/2]`, and keeps the signs.
pub(crate) struct Pool<'a> {
    pub plane: Plane,
    pub slope: f32,
    pub input: &'a [Lanes8],
    /// `[c, h, w]`, overwritten.
    pub signs: &'a mut [u8],
    /// `[c, h/2, w/2]`, overwritten.
    pub output: &'a mut [Lanes8],
}

impl Pool<'_> {
    pub(crate) fn apply(self) {
        dispatch(self);
    }
}

impl Kernel for Pool<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (width, slope) = (self.plane.width, lanes.splat(self.slope));
        let lines = self
            .input
            .chunks_exact(2 * width)
            .zip(self.signs.chunks_exact_mut(2 * width))
            .zip(self.output.chunks_exact_mut(width / 2));
        for ((pair, signs), line) in lines {
            for x in 0..width / 2 {
                let mut sum = lanes.zero();
                for at in [2 * x, 2 * x + 1, width + 2 * x, width + 2 * x + 1] {
                    let value = lanes.load(&pair[at]);
                    signs[at] = value.positive();
                    sum = sum.add(value.select(value.mul(slope), signs[at]));
                }
                sum.mul(lanes.splat(0.25)).store(&mut line[x]);
            }
        }
    }
}

/// Computes the derivative of the pool's output by each of its pixels: a quarter of 1 or of the slope.
pub(crate) struct Slopes<'a> {
    pub slope: f32,
    pub signs: &'a [u8],
    /// As long as `signs`, overwritten.
    pub slopes: &'a mut [Lanes8],
}

impl Slopes<'_> {
    pub(crate) fn apply(self) {
        dispatch(self);
    }
}

impl Kernel for Slopes<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (up, down) = (lanes.splat(0.25), lanes.splat(0.25 * self.slope));
        for (slope, &bits) in self.slopes.iter_mut().zip(self.signs) {
            up.select(down, bits).store(slope);
        }
    }
}

/// Computes the cotangent at the convolution's output from that at the pool's, `delta [c, h/2, w/2]`.
pub(crate) struct Spread<'a> {
    pub plane: Plane,
    /// `[c, h, w]`.
    pub slopes: &'a [Lanes8],
    pub delta: &'a [Lanes8],
    /// Planes with the borders of `plane`, which are not written: `[c, padded]`.
    pub target: &'a mut [Lanes8],
}

impl Spread<'_> {
    pub(crate) fn apply(self) {
        dispatch(self);
    }
}

impl Kernel for Spread<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (width, stride) = (self.plane.width, self.plane.stride());
        let border = (self.plane.kernel - 1) / 2;
        let planes = self
            .target
            .chunks_exact_mut(self.plane.padded())
            .zip(self.slopes.chunks_exact(self.plane.pixels()))
            .zip(self.delta.chunks_exact(self.plane.pixels() / 4));
        for ((target, slopes), delta) in planes {
            for (y, slopes) in slopes.chunks_exact(width).enumerate() {
                let delta = &delta[y / 2 * (width / 2)..][..width / 2];
                let line = &mut target[(y + border) * stride + border..][..width];
                for x in 0..width / 2 {
                    let d = lanes.load(&delta[x]);
                    d.mul(lanes.load(&slopes[2 * x])).store(&mut line[2 * x]);
                    d.mul(lanes.load(&slopes[2 * x + 1]))
                        .store(&mut line[2 * x + 1]);
                }
            }
        }
    }
}

/// Computes the weight gradients for `g` cotangents at the pool's output, for one block.
pub(crate) struct PooledRows<'a> {
    pub plane: Plane,
    /// Zero-bordered input planes `[c_in, padded]`.
    pub padded: &'a [Lanes8],
    /// `[c_out, h, w]`.
    pub slopes: &'a [Lanes8],
    /// `[g, c_out, h/2, w/2]`.
    pub delta: &'a [Lanes8],
    /// `[g, stride]`, of which the first `c_out c_in K K` of each row are overwritten.
    pub rows: &'a mut [Lanes8],
    pub stride: usize,
}

impl PooledRows<'_> {
    pub(crate) fn apply(self) {
        dispatch(self);
    }

    #[inline(always)]
    fn planes<L: Lanes, const K: usize>(self, lanes: L) {
        let quarter = self.plane.pixels() / 4;
        let g = self.rows.len() / self.stride;
        let c_in = self.padded.len() / self.plane.padded();
        let per_row = self.delta.len() / g;
        let mut sums = vec![[Lanes8::default(); K]; quarter];
        for (co, slopes) in self.slopes.chunks_exact(self.plane.pixels()).enumerate() {
            let delta = &self.delta[co * quarter..];
            for (ci, channel) in self.padded.chunks_exact(self.plane.padded()).enumerate() {
                for ky in 0..K {
                    let channel = &channel[ky * self.plane.stride()..];
                    block_sums::<L, K>(lanes, &self.plane, slopes, channel, &mut sums);
                    let at = ((co * c_in + ci) * K + ky) * K;
                    let mut r = 0;
                    while r < g {
                        let left = g - r;
                        let rows = &mut self.rows[r * self.stride + at..];
                        let delta = (&delta[r * per_row..], per_row);
                        r += if left == 3 || left > 4 {
                            products::<L, K, 3>(lanes, &sums, delta, self.stride, rows)
                        } else if left >= 2 {
                            products::<L, K, 2>(lanes, &sums, delta, self.stride, rows)
                        } else {
                            products::<L, K, 1>(lanes, &sums, delta, self.stride, rows)
                        };
                    }
                }
            }
        }
    }
}

impl Kernel for PooledRows<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match self.plane.kernel {
            1 => self.planes::<L, 1>(lanes),
            3 => self.planes::<L, 3>(lanes),
            _ => self.planes::<L, 5>(lanes),
        }
    }
}

/// Sums slope times input over 2x2 blocks, for the `K` taps of a line.
#[inline(always)]
fn block_sums<L: Lanes, const K: usize>(
    lanes: L,
    plane: &Plane,
    slopes: &[Lanes8],
    channel: &[Lanes8],
    sums: &mut [[Lanes8; K]],
) {
    let (width, stride) = (plane.width, plane.stride());
    for (y, line) in sums.chunks_exact_mut(width / 2).enumerate() {
        let slopes = &slopes[2 * y * width..][..2 * width];
        let top = &channel[2 * y * stride..][..stride];
        let bottom = &channel[(2 * y + 1) * stride..][..stride];
        for x in 0..width / 2 {
            let mut sum = [lanes.zero(); K];
            for (slopes, input) in [(&slopes[..width], top), (&slopes[width..], bottom)] {
                for dx in 0..2 {
                    let s = lanes.load(&slopes[2 * x + dx]);
                    for kx in 0..K {
                        sum[kx] = s.mul_add(lanes.load(&input[2 * x + dx + kx]), sum[kx]);
                    }
                }
            }
            for kx in 0..K {
                sum[kx].store(&mut line[x][kx]);
            }
        }
    }
}

/// Multiplies `R` rows with `K` taps and returns `R`.
#[inline(always)]
fn products<L: Lanes, const K: usize, const R: usize>(
    lanes: L,
    sums: &[[Lanes8; K]],
    (delta, per_row): (&[Lanes8], usize),
    stride: usize,
    rows: &mut [Lanes8],
) -> usize {
    let mut totals = [[lanes.zero(); K]; R];
    for start in (0..sums.len()).step_by(RUN) {
        let end = sums.len().min(start + RUN);
        let mut cotangents = [&delta[..0]; R];
        for r in 0..R {
            cotangents[r] = &delta[r * per_row..][start..end];
        }
        let mut parts = [[lanes.zero(); K]; R];
        for (q, sum) in sums[start..end].iter().enumerate() {
            let mut inputs = [lanes.zero(); K];
            for kx in 0..K {
                inputs[kx] = lanes.load(&sum[kx]);
            }
            for r in 0..R {
                let d = lanes.load(&cotangents[r][q]);
                for kx in 0..K {
                    parts[r][kx] = d.mul_add(inputs[kx], parts[r][kx]);
                }
            }
        }
        for r in 0..R {
            for kx in 0..K {
                totals[r][kx] = totals[r][kx].add(parts[r][kx]);
            }
        }
    }
    for r in 0..R {
        for kx in 0..K {
            totals[r][kx].store(&mut rows[r * stride + kx]);
        }
    }
    R
}

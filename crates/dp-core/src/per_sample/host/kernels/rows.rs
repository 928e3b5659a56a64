//! The weight gradients of a convolution, one row for each record and cotangent.

// The loops walk several register arrays in step; the index says which register.
#![allow(clippy::needless_range_loop)]

use crate::per_sample::Lanes8;

use super::{Eight, Kernel, Lanes, Plane, RUN, dispatch};

/// The number of cotangent planes that share one pass over the input.
const PLANES: usize = 4;

/// Adds `sum_p delta[o, p] input[c, p + tap]` to `rows [o, c, K, K]` for one block.
pub(crate) struct WeightRows<'a> {
    pub plane: Plane,
    /// Zero-bordered input planes `[c_in, padded]`.
    pub padded: &'a [Lanes8],
    /// Cotangent planes `[o, h, w]` of all rows of `J`, one row after the other.
    pub delta: &'a [Lanes8],
    pub rows: &'a mut [Lanes8],
}

impl WeightRows<'_> {
    pub(crate) fn apply(self) {
        dispatch(self);
    }

    #[inline(always)]
    fn planes<L: Lanes, const K: usize>(self, lanes: L) {
        let (pixels, padded) = (self.plane.pixels(), self.plane.padded());
        let taps = K * K;
        let length = self.padded.len() / padded * taps;
        let groups = self
            .delta
            .chunks(PLANES * pixels)
            .zip(self.rows.chunks_mut(PLANES * length));
        for (delta, rows) in groups {
            for (c, channel) in self.padded.chunks_exact(padded).enumerate() {
                if delta.len() == PLANES * pixels {
                    for ky in 0..K {
                        let at = c * taps + ky * K;
                        let channel = &channel[ky * self.plane.stride()..];
                        tile::<L, K, 1, PLANES>(
                            lanes,
                            &self.plane,
                            channel,
                            delta,
                            (at, length),
                            rows,
                        );
                    }
                    continue;
                }
                for (delta, rows) in delta
                    .chunks_exact(pixels)
                    .zip(rows.chunks_exact_mut(length))
                {
                    tile::<L, K, K, 1>(
                        lanes,
                        &self.plane,
                        channel,
                        delta,
                        (c * taps, length),
                        rows,
                    );
                }
            }
        }
    }
}

impl Kernel for WeightRows<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match self.plane.kernel {
            1 => self.planes::<L, 1>(lanes),
            3 => self.planes::<L, 3>(lanes),
            _ => self.planes::<L, 5>(lanes),
        }
    }
}

/// Multiplies `H` lines of `K` taps with `P` cotangent planes.
#[inline(always)]
fn tile<L: Lanes, const K: usize, const H: usize, const P: usize>(
    lanes: L,
    plane: &Plane,
    channel: &[Lanes8],
    delta: &[Lanes8],
    (at, length): (usize, usize),
    rows: &mut [Lanes8],
) {
    let (width, stride, pixels) = (plane.width, plane.stride(), plane.pixels());
    let run = RUN.div_ceil(width);
    let mut y = 0;
    while y < plane.height {
        let end = plane.height.min(y + run);
        let mut sums = [[[lanes.zero(); K]; H]; P];
        while y < end {
            let mut cotangents = [&delta[..0]; P];
            for p in 0..P {
                cotangents[p] = &delta[p * pixels + y * width..][..width];
            }
            let mut lines = [&channel[..0]; H];
            for ky in 0..H {
                lines[ky] = &channel[(y + ky) * stride..][..width + K - 1];
            }
            for x in 0..width {
                for ky in 0..H {
                    let mut inputs = [lanes.zero(); K];
                    for kx in 0..K {
                        inputs[kx] = lanes.load(&lines[ky][x + kx]);
                    }
                    for p in 0..P {
                        let d = lanes.load(&cotangents[p][x]);
                        for kx in 0..K {
                            sums[p][ky][kx] = d.mul_add(inputs[kx], sums[p][ky][kx]);
                        }
                    }
                }
            }
            y += 1;
        }
        for p in 0..P {
            let row = &mut rows[p * length + at..][..H * K];
            for ky in 0..H {
                for kx in 0..K {
                    let total = &mut row[ky * K + kx];
                    lanes.load(total).add(sums[p][ky][kx]).store(total);
                }
            }
        }
    }
}

//! The inner loops for any processor.

use super::{Geometry, LANES, PLANES};

/// `P` output planes in one pass over the input, an accumulator of `LANES` pixels for each.
pub(super) fn correlate_block<const K: usize, const P: usize>(
    geometry: &Geometry,
    packed: &[f32],
    kernels: &[f32],
    start: &[f32; PLANES],
    strided: &mut [f32],
) {
    let (padded, length, stride) = (geometry.padded(), geometry.strided(), geometry.stride());
    let channels = packed.len() / padded;
    let per_plane = channels * K * K;
    for position in (0..length).step_by(LANES) {
        let mut sums = [[0.0f32; LANES]; P];
        for (sum, &b) in sums.iter_mut().zip(start) {
            sum.fill(b);
        }
        for c in 0..channels {
            for tap in 0..K * K {
                let at = c * padded + position + (tap / K) * stride + tap % K;
                let x = &packed[at..at + LANES];
                for (o, sum) in sums.iter_mut().enumerate() {
                    let w = kernels[o * per_plane + c * K * K + tap];
                    for (s, x) in sum.iter_mut().zip(x) {
                        *s += w * x;
                    }
                }
            }
        }
        for (o, sum) in sums.iter().enumerate() {
            strided[o * length + position..o * length + position + LANES].copy_from_slice(sum);
        }
    }
}

/// One dot product a tap and a plane.
pub(super) fn weight_block<const K: usize, const P: usize>(
    geometry: &Geometry,
    packed: &[f32],
    block: &[f32],
    channels: usize,
    rows: &mut [f32],
) {
    let (padded, length, stride) = (geometry.padded(), geometry.strided(), geometry.stride());
    for o in 0..P {
        let cotangent = &block[o * length..(o + 1) * length];
        for c in 0..channels {
            for tap in 0..K * K {
                let at = c * padded + (tap / K) * stride + tap % K;
                let mut lanes = [0.0f32; LANES];
                for (d, x) in cotangent
                    .chunks_exact(LANES)
                    .zip(packed[at..at + length].chunks_exact(LANES))
                {
                    for ((lane, d), x) in lanes.iter_mut().zip(d).zip(x) {
                        *lane += d * x;
                    }
                }
                rows[(o * channels + c) * K * K + tap] += lanes.iter().sum::<f32>();
            }
        }
    }
}

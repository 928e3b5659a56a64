//! The inner loops for AVX2 and FMA.
//!
//! The only `unsafe` of the workspace: calls from code compiled for any processor into code compiled
//! for AVX2, each behind [`available`], and loads and stores of eight floats through a slice of
//! eight.
#![allow(unsafe_code)]
// The loops walk several register arrays in step; the index says which register.
#![allow(clippy::needless_range_loop)]

use std::arch::x86_64::{
    __m256, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps,
};

use super::{Geometry, LANES, PLANES};

/// Floats in one register.
const WIDE: usize = LANES / 2;

/// Whether this processor has AVX2 and FMA.
pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// See [`super::correlate_block`]. Must be called on a processor that is [`available`].
pub(super) fn correlate_block<const K: usize, const P: usize>(
    geometry: &Geometry,
    packed: &[f32],
    kernels: &[f32],
    start: &[f32; PLANES],
    strided: &mut [f32],
) {
    assert!(available(), "AVX2 and FMA were not asked for");
    // SAFETY: the processor has the features that the function is compiled for.
    unsafe { correlate::<K, P>(geometry, packed, kernels, start, strided) }
}

/// See [`super::weight_block`]. Must be called on a processor that is [`available`].
pub(super) fn weight_block<const K: usize, const P: usize>(
    geometry: &Geometry,
    packed: &[f32],
    block: &[f32],
    channels: usize,
    rows: &mut [f32],
) {
    assert!(available(), "AVX2 and FMA were not asked for");
    // SAFETY: the processor has the features that the function is compiled for.
    unsafe { weights::<K, P>(geometry, packed, block, channels, rows) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn load(values: &[f32], at: usize) -> __m256 {
    let eight = &values[at..at + WIDE];
    // SAFETY: the slice has eight floats, and the load needs no alignment.
    unsafe { _mm256_loadu_ps(eight.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn store(values: &mut [f32], at: usize, register: __m256) {
    let eight = &mut values[at..at + WIDE];
    // SAFETY: the slice has eight floats, and the store needs no alignment.
    unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), register) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn sum(register: __m256) -> f32 {
    let mut lanes = [0.0; WIDE];
    store(&mut lanes, 0, register);
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// Two registers of pixels for each of `P` output planes.
#[target_feature(enable = "avx2,fma")]
fn correlate<const K: usize, const P: usize>(
    geometry: &Geometry,
    packed: &[f32],
    kernels: &[f32],
    start: &[f32; PLANES],
    strided: &mut [f32],
) {
    let (padded, length, stride) = (geometry.padded(), geometry.strided(), geometry.stride());
    let channels = packed.len() / padded;
    let per_plane = channels * K * K;
    let planes: [&[f32]; P] = std::array::from_fn(|o| &kernels[o * per_plane..(o + 1) * per_plane]);
    for position in (0..length).step_by(LANES) {
        let mut sums = [[_mm256_setzero_ps(); 2]; P];
        for o in 0..P {
            sums[o] = [_mm256_set1_ps(start[o]); 2];
        }
        for c in 0..channels {
            for ky in 0..K {
                let at = c * padded + position + ky * stride;
                let line = &packed[at..at + LANES + K - 1];
                let tap = (c * K + ky) * K;
                for kx in 0..K {
                    let low = load(line, kx);
                    let high = load(line, kx + WIDE);
                    for o in 0..P {
                        let w = _mm256_set1_ps(planes[o][tap + kx]);
                        sums[o][0] = _mm256_fmadd_ps(w, low, sums[o][0]);
                        sums[o][1] = _mm256_fmadd_ps(w, high, sums[o][1]);
                    }
                }
            }
        }
        for o in 0..P {
            store(strided, o * length + position, sums[o][0]);
            store(strided, o * length + position + WIDE, sums[o][1]);
        }
    }
}

/// One row of `K` taps against `P` cotangent planes: `K * P` registers.
#[target_feature(enable = "avx2,fma")]
fn weights<const K: usize, const P: usize>(
    geometry: &Geometry,
    packed: &[f32],
    block: &[f32],
    channels: usize,
    rows: &mut [f32],
) {
    let (padded, length, stride) = (geometry.padded(), geometry.strided(), geometry.stride());
    let cotangents: [&[f32]; P] = std::array::from_fn(|o| &block[o * length..(o + 1) * length]);
    for c in 0..channels {
        for ky in 0..K {
            let at = c * padded + ky * stride;
            let line = &packed[at..at + length + K - 1];
            let mut sums = [[_mm256_setzero_ps(); K]; P];
            for position in (0..length).step_by(WIDE) {
                let mut x = [_mm256_setzero_ps(); K];
                for kx in 0..K {
                    x[kx] = load(line, position + kx);
                }
                for o in 0..P {
                    let d = load(cotangents[o], position);
                    for kx in 0..K {
                        sums[o][kx] = _mm256_fmadd_ps(d, x[kx], sums[o][kx]);
                    }
                }
            }
            for o in 0..P {
                for kx in 0..K {
                    rows[((o * channels + c) * K + ky) * K + kx] += sum(sums[o][kx]);
                }
            }
        }
    }
}

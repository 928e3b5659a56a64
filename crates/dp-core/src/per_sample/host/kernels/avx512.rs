//! The kernels for AVX-512: two groups of eight lanes in a register.
//!
//! It is `unsafe` for the same reasons as [`avx2`](super::avx2): calls into code compiled for AVX-512, behind
//! [`available`], and the vector instructions themselves.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m512, _mm256_loadu_ps, _mm256_storeu_ps, _mm512_broadcast_f32x8, _mm512_castps256_ps512,
    _mm512_castps512_ps256, _mm512_extractf32x8_ps, _mm512_fmadd_ps, _mm512_insertf32x8,
    _mm512_loadu_ps, _mm512_set1_ps, _mm512_storeu_ps,
};

use crate::per_sample::Lanes8;

use super::avx2::Wide;
use super::{Span, SpanKernel, avx2};

/// Whether this processor has AVX-512 and keeps its clock with it. Processors without VBMI2, which came with Ice Lake
/// and Zen 4, lower their clock by as much as the wider registers gain.
pub(super) fn available() -> bool {
    avx2::available()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi2")
}

/// Runs `kernel` with AVX-512. Must be called on a processor that is [`available`].
pub(super) fn run<K: SpanKernel>(kernel: K) {
    assert!(available(), "AVX-512 was not asked for");
    // SAFETY: the processor has the features that the function is compiled for.
    unsafe { run_with_features(kernel) }
}

#[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl")]
fn run_with_features<K: SpanKernel>(kernel: K) {
    kernel.run::<Wide, Pair>();
}

/// Two groups of eight lanes in one 512-bit register. It is private to this file and only [`run_with_features`] names
/// it, so every method below runs on a processor with AVX-512.
#[derive(Clone, Copy)]
struct Pair(__m512);

impl Span<Wide> for Pair {
    const GROUPS: usize = 2;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: see `Pair`.
        Self(unsafe { _mm512_set1_ps(value) })
    }

    #[inline(always)]
    fn load(from: &[Lanes8]) -> Self {
        let pair: &[Lanes8; 2] = from[..2].try_into().expect("two groups");
        // SAFETY: see `Pair`; two groups of eight lanes are sixteen floats, and the load needs no alignment.
        Self(unsafe { _mm512_loadu_ps(pair.as_ptr().cast()) })
    }

    #[inline(always)]
    fn load_two(from: &[Lanes8], at: [usize; 2]) -> Self {
        let [low, high] = at.map(|at| from[at].0.as_ptr());
        // SAFETY: see `Pair`; a group of eight lanes is eight floats, and the loads need no alignment.
        Self(unsafe {
            let low = _mm512_castps256_ps512(_mm256_loadu_ps(low));
            _mm512_insertf32x8::<1>(low, _mm256_loadu_ps(high))
        })
    }

    #[inline(always)]
    fn splat_group(from: &Lanes8) -> Self {
        // SAFETY: see `Pair`; a group of eight lanes is eight floats, and the load needs no alignment.
        Self(unsafe { _mm512_broadcast_f32x8(_mm256_loadu_ps(from.0.as_ptr())) })
    }

    #[inline(always)]
    fn store_two(self, to: &mut [Lanes8], at: [usize; 2]) {
        // SAFETY: see `Pair`; a group of eight lanes is eight floats, and the stores need no alignment.
        unsafe {
            let (low, high) = (
                _mm512_castps512_ps256(self.0),
                _mm512_extractf32x8_ps::<1>(self.0),
            );
            _mm256_storeu_ps(to[at[0]].0.as_mut_ptr(), low);
            _mm256_storeu_ps(to[at[1]].0.as_mut_ptr(), high);
        }
    }

    #[inline(always)]
    fn store(self, to: &mut [Lanes8]) {
        let pair: &mut [Lanes8; 2] = (&mut to[..2]).try_into().expect("two groups");
        // SAFETY: see `Pair`; two groups of eight lanes are sixteen floats, and the store needs no alignment.
        unsafe { _mm512_storeu_ps(pair.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: see `Pair`.
        Self(unsafe { _mm512_fmadd_ps(self.0, factor.0, term.0) })
    }
}

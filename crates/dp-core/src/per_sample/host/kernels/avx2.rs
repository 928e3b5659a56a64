//! The kernels for AVX2 and FMA.
//!
//! This file and [`avx512`](super::avx512) hold the only `unsafe` of the workspace: calls from code compiled for any
//! processor into code compiled for AVX2, behind [`available`], and the vector instructions themselves.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m256, _CMP_EQ_OQ, _CMP_GT_OQ, _mm256_add_ps, _mm256_and_si256, _mm256_blendv_ps,
    _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_cmpeq_epi32, _mm256_fmadd_ps, _mm256_load_ps,
    _mm256_loadu_ps, _mm256_max_ps, _mm256_movemask_ps, _mm256_mul_ps, _mm256_set1_epi32,
    _mm256_set1_ps, _mm256_setr_epi32, _mm256_setzero_ps, _mm256_store_ps, _mm256_storeu_ps,
};

use crate::per_sample::{LANES, Lanes8};

use super::{Kernel, Lanes};

/// Whether this processor has AVX2 and FMA.
pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// Runs `kernel` with AVX2 and FMA. Must be called on a processor that is [`available`].
pub(super) fn run<K: Kernel>(kernel: K) {
    assert!(available(), "AVX2 and FMA were not asked for");
    // SAFETY: the processor has the features that the function is compiled for.
    unsafe { run_with_features(kernel) }
}

#[target_feature(enable = "avx2,fma")]
fn run_with_features<K: Kernel>(kernel: K) {
    kernel.run::<Wide>();
}

/// One 256-bit register. Only [`run_with_features`] and its AVX-512 version name it, so every method below runs on a
/// processor with AVX2 and FMA.
#[derive(Clone, Copy)]
pub(super) struct Wide(__m256);

impl Lanes for Wide {
    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: see `Wide`.
        Self(unsafe { _mm256_setzero_ps() })
    }

    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: see `Wide`.
        Self(unsafe { _mm256_set1_ps(value) })
    }

    #[inline(always)]
    fn load(from: &Lanes8) -> Self {
        // SAFETY: see `Wide`; a group of eight lanes is eight floats, aligned to 32 bytes.
        Self(unsafe { _mm256_load_ps(from.0.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, to: &mut Lanes8) {
        // SAFETY: see `Wide`; a group of eight lanes is eight floats, aligned to 32 bytes.
        unsafe { _mm256_store_ps(to.0.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn load_eight(from: &[f32; LANES]) -> Self {
        // SAFETY: see `Wide`; eight floats, and the load needs no alignment.
        Self(unsafe { _mm256_loadu_ps(from.as_ptr()) })
    }

    #[inline(always)]
    fn store_eight(self, to: &mut [f32; LANES]) {
        // SAFETY: see `Wide`; eight floats, and the store needs no alignment.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: see `Wide`.
        Self(unsafe { _mm256_add_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        // SAFETY: see `Wide`.
        Self(unsafe { _mm256_mul_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn positive(self) -> u8 {
        // SAFETY: see `Wide`.
        unsafe {
            _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(self.0, _mm256_setzero_ps())) as u8
        }
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: see `Wide`.
        Self(unsafe { _mm256_max_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn equal(self, other: Self) -> u8 {
        // SAFETY: see `Wide`.
        unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, other.0)) as u8 }
    }

    #[inline(always)]
    fn select(self, other: Self, bits: u8) -> Self {
        // SAFETY: see `Wide`.
        Self(unsafe {
            let each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let set = _mm256_and_si256(_mm256_set1_epi32(i32::from(bits)), each);
            let mask = _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, each));
            _mm256_blendv_ps(other.0, self.0, mask)
        })
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: see `Wide`.
        Self(unsafe { _mm256_fmadd_ps(self.0, factor.0, term.0) })
    }
}

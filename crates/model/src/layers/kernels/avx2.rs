//! The kernels for AVX2 and FMA.
//!
//! The only `unsafe` of the workspace: calls from code compiled for any processor into code compiled
//! for AVX2, behind [`available`], and the vector instructions themselves.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m256, _mm256_add_ps, _mm256_fmadd_ps, _mm256_load_ps, _mm256_mul_ps, _mm256_set1_ps,
    _mm256_setzero_ps, _mm256_store_ps,
};

use dp_core::per_sample::Octet;

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

/// One 256-bit register. Private to this file, and named only by [`run_with_features`], so every
/// method below runs on a processor with AVX2 and FMA.
#[derive(Clone, Copy)]
struct Wide(__m256);

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
    fn load(from: &Octet) -> Self {
        // SAFETY: see `Wide`; an octet is eight floats, aligned to 32 bytes.
        Self(unsafe { _mm256_load_ps(from.0.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, to: &mut Octet) {
        // SAFETY: see `Wide`; an octet is eight floats, aligned to 32 bytes.
        unsafe { _mm256_store_ps(to.0.as_mut_ptr(), self.0) }
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
    fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: see `Wide`.
        Self(unsafe { _mm256_fmadd_ps(self.0, factor.0, term.0) })
    }
}

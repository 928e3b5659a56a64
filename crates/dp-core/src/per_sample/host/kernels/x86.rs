//! The kernels for x86-64: AVX2 with FMA, and AVX-512.

use std::arch::x86_64::{__m256, __m512, _CMP_EQ_OQ, _CMP_GT_OQ};

use pulp::x86::{V3, V4};

use crate::per_sample::{LANES, Lanes8};

use super::{Eight, Kernel, Lanes, Register, Single, Span, SpanKernel};

/// The processor's AVX2 and FMA, if it has them.
pub(super) fn avx2() -> Option<V3> {
    V3::try_new()
}

/// The processor's AVX-512, if it has it and keeps its clock with it. Processors without VBMI2, which came with Ice Lake and
/// Zen 4, lower their clock by as much as the wider registers gain.
pub(super) fn avx512() -> Option<V4> {
    V4::try_new().filter(|_| is_x86_feature_detected!("avx512vbmi2"))
}

/// Runs `kernel` with AVX2 and FMA.
pub(super) fn run<K: Kernel>(simd: V3, kernel: K) {
    simd.vectorize(
        #[inline(always)]
        || kernel.run(simd),
    );
}

/// Runs `kernel` with AVX-512.
pub(super) fn run_spans<K: SpanKernel>(simd: V4, kernel: K) {
    simd.vectorize(
        #[inline(always)]
        || kernel.run(simd),
    );
}

/// One 256-bit register.
#[derive(Clone, Copy)]
pub(super) struct Narrow(V3, __m256);

impl Lanes for V3 {
    type Eight = Narrow;

    #[inline(always)]
    fn splat(self, value: f32) -> Narrow {
        Narrow(self, self.avx._mm256_set1_ps(value))
    }

    #[inline(always)]
    fn load_eight(self, from: &[f32; LANES]) -> Narrow {
        Narrow(self, pulp::cast(*from))
    }
}

impl Eight for Narrow {
    #[inline(always)]
    fn store_eight(self, to: &mut [f32; LANES]) {
        *to = pulp::cast(self.1);
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0, self.0.avx._mm256_add_ps(self.1, other.1))
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(self.0, self.0.avx._mm256_mul_ps(self.1, other.1))
    }

    #[inline(always)]
    fn positive(self) -> u8 {
        let avx = self.0.avx;
        let zero = avx._mm256_setzero_ps();
        avx._mm256_movemask_ps(avx._mm256_cmp_ps::<_CMP_GT_OQ>(self.1, zero)) as u8
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(self.0, self.0.avx._mm256_max_ps(self.1, other.1))
    }

    #[inline(always)]
    fn equal(self, other: Self) -> u8 {
        let avx = self.0.avx;
        avx._mm256_movemask_ps(avx._mm256_cmp_ps::<_CMP_EQ_OQ>(self.1, other.1)) as u8
    }

    #[inline(always)]
    fn select(self, other: Self, bits: u8) -> Self {
        let V3 { avx, avx2, .. } = self.0;
        let each = avx._mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        let set = avx2._mm256_and_si256(avx._mm256_set1_epi32(i32::from(bits)), each);
        let mask = avx._mm256_castsi256_ps(avx2._mm256_cmpeq_epi32(set, each));
        Self(self.0, avx._mm256_blendv_ps(other.1, self.1, mask))
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        Self(self.0, self.0.fma._mm256_fmadd_ps(self.1, factor.1, term.1))
    }
}

/// Two groups of eight lanes in one 512-bit register.
#[derive(Clone, Copy)]
pub(super) struct Pair(V4, __m512);

impl Span for V4 {
    const GROUPS: usize = 2;
    type Register = Pair;
    type One = Single<V3>;

    #[inline(always)]
    fn one(self) -> Single<V3> {
        Single(*self)
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Pair {
        Pair(self, self.avx512f._mm512_set1_ps(value))
    }

    #[inline(always)]
    fn load(self, from: &[Lanes8]) -> Pair {
        Pair(self, pulp::cast([from[0].0, from[1].0]))
    }

    #[inline(always)]
    fn load_two(self, from: &[Lanes8], at: [usize; 2]) -> Pair {
        let [low, high]: [__m256; 2] = at.map(|at| pulp::cast(from[at].0));
        let low = self.avx512f._mm512_castps256_ps512(low);
        Pair(self, self.avx512dq._mm512_insertf32x8::<1>(low, high))
    }

    #[inline(always)]
    fn splat_group(self, from: &Lanes8) -> Pair {
        let group: __m256 = pulp::cast(from.0);
        Pair(self, self.avx512dq._mm512_broadcast_f32x8(group))
    }
}

impl Register for Pair {
    #[inline(always)]
    fn store_two(self, to: &mut [Lanes8], at: [usize; 2]) {
        let low = self.0.avx512f._mm512_castps512_ps256(self.1);
        let high = self.0.avx512dq._mm512_extractf32x8_ps::<1>(self.1);
        to[at[0]].0 = pulp::cast(low);
        to[at[1]].0 = pulp::cast(high);
    }

    #[inline(always)]
    fn store(self, to: &mut [Lanes8]) {
        let pair: &mut [Lanes8; 2] = (&mut to[..2]).try_into().expect("two groups");
        let [low, high]: [[f32; LANES]; 2] = pulp::cast(self.1);
        *pair = [Lanes8(low), Lanes8(high)];
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        let sum = self.0.avx512f._mm512_fmadd_ps(self.1, factor.1, term.1);
        Self(self.0, sum)
    }
}

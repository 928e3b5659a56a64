//! The inner loops of the host layers, written once over [`Lanes`].
//!
//! A kernel is a struct of borrowed buffers whose [`Kernel::run`] is compiled twice: for any processor, and, by `pulp`,
//! for x86-64 processors with AVX2 and FMA. Both versions give the same results up to rounding: the second rounds a
//! multiplication followed by an addition once. A [`SpanKernel`] is also compiled for AVX-512, with the results of
//! the second version.
//!
//! # Rounding of Gram matrices
//!
//! The allowance `GRAM_ROUNDING = 2^-16` of the trace is 256 units of `u = 2^-24`. Every sum is split in runs of
//! about [`RUN`] terms, so a sum of `m` terms is rounded by at most `(RUN + m / RUN) u` of the sum of its absolute
//! values. An entry of a row of `J` over a plane of 28 x 28 is then rounded by at most `(56 + 14) u` (by
//! `(4 + 48 + 5) u` if a pool follows), and an inner product of two rows of 2304 entries by `(48 + 48) u`: together
//! `2 * 70 + 96 = 236 < 256`, if nothing cancels.

mod combine;
mod correlate;
mod gather;
mod gram;
mod largest;
mod plane;
mod pooled;
mod portable;
mod product;
mod rows;
mod span;
mod sparse;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(super) use combine::Combine;
pub(super) use correlate::{Correlate, Taps};
pub(super) use gather::{GatherProduct, GatherRows};
pub(super) use gram::Gram;
pub(super) use largest::{Largest, ToLargest};
pub(in crate::per_sample) use plane::Plane;
pub(super) use pooled::{Pool, PooledRows, Slopes, Spread};
pub(super) use product::{OuterProduct, Product, Weights};
pub(super) use rows::WeightRows;
pub(super) use sparse::{Sparse, SparseProduct};

use crate::per_sample::{LANES, Lanes8};

use span::{Narrow, Register, Single, Span, SpanKernel};

/// The number of terms after which a sum continues in a new accumulator.
const RUN: usize = 48;

/// Eight floats, one for each record of a block.
trait Eight: Copy {
    #[inline(always)]
    fn store(self, to: &mut Lanes8) {
        self.store_eight(&mut to.0);
    }
    fn store_eight(self, to: &mut [f32; LANES]);
    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// The lanes that are greater than zero, with a bit for each.
    fn positive(self) -> u8;
    /// The larger value in each lane; either of the two if one is NaN.
    fn max(self, other: Self) -> Self;
    /// The lanes that are equal, with a bit for each.
    fn equal(self, other: Self) -> u8;
    /// The lanes of `self` whose bit is set, and those of `other` elsewhere.
    fn select(self, other: Self, bits: u8) -> Self;
    /// `self * factor + term`.
    fn mul_add(self, factor: Self, term: Self) -> Self;
}

/// A processor that computes with eight floats at once.
trait Lanes: Copy {
    type Eight: Eight;
    #[inline(always)]
    fn zero(self) -> Self::Eight {
        self.splat(0.0)
    }
    fn splat(self, value: f32) -> Self::Eight;
    #[inline(always)]
    fn load(self, from: &Lanes8) -> Self::Eight {
        self.load_eight(&from.0)
    }
    fn load_eight(self, from: &[f32; LANES]) -> Self::Eight;
}

/// A kernel with its buffers.
///
/// `run` and all that it calls with `lanes` must be `#[inline(always)]`: only then does the compiler use the features of
/// its caller.
trait Kernel {
    fn run<L: Lanes>(self, lanes: L);
}

/// Runs `kernel` in the fastest version for this processor.
fn dispatch<K: Kernel>(kernel: K) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = x86::avx2() {
        return x86::run(simd, kernel);
    }
    portable::run(kernel);
}

/// Does [`dispatch`] with AVX-512 as a third version.
fn dispatch_spans<K: SpanKernel>(kernel: K) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = x86::avx512() {
        return x86::run_spans(simd, kernel);
    }
    dispatch(Narrow(kernel));
}

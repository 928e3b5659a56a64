//! Octets that lie side by side in one register.

use crate::per_sample::Lanes8;

use super::{Kernel, Lanes};

/// As many neighbouring groups of eight lanes as a register holds: pixels of a line.
pub(super) trait Span<L: Lanes>: Copy {
    /// Octets in a register, 1 or 2.
    const GROUPS: usize;
    fn splat(value: f32) -> Self;
    /// The first groups of eight lanes of `from`.
    fn load(from: &[Lanes8]) -> Self;
    /// The groups of eight lanes at `at`, of which one group of eight lanes alone takes the first.
    fn load_two(from: &[Lanes8], at: [usize; 2]) -> Self;
    /// The same group of eight lanes in each place.
    fn splat_group(from: &Lanes8) -> Self;
    /// To the groups of eight lanes at `at`, of which one group of eight lanes alone takes the first.
    fn store_two(self, to: &mut [Lanes8], at: [usize; 2]);
    /// To the first groups of eight lanes of `to`.
    fn store(self, to: &mut [Lanes8]);
    /// `self * factor + term`.
    fn mul_add(self, factor: Self, term: Self) -> Self;
}

/// A [`Kernel`] whose inner loop runs over neighbouring groups of eight lanes.
pub(super) trait SpanKernel {
    fn run<L: Lanes, S: Span<L>>(self);
}

/// A kernel on one group of eight lanes at a time.
pub(super) struct Narrow<K>(pub(super) K);

impl<K: SpanKernel> Kernel for Narrow<K> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        self.0.run::<L, One<L>>();
    }
}

/// one group of eight lanes.
#[derive(Clone, Copy)]
pub(super) struct One<L>(L);

impl<L: Lanes> Span<L> for One<L> {
    const GROUPS: usize = 1;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self(L::splat(value))
    }

    #[inline(always)]
    fn load(from: &[Lanes8]) -> Self {
        Self(L::load(&from[0]))
    }

    #[inline(always)]
    fn load_two(from: &[Lanes8], at: [usize; 2]) -> Self {
        Self(L::load(&from[at[0]]))
    }

    #[inline(always)]
    fn splat_group(from: &Lanes8) -> Self {
        Self(L::load(from))
    }

    #[inline(always)]
    fn store_two(self, to: &mut [Lanes8], at: [usize; 2]) {
        self.0.store(&mut to[at[0]]);
    }

    #[inline(always)]
    fn store(self, to: &mut [Lanes8]) {
        self.0.store(&mut to[0]);
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        Self(self.0.mul_add(factor.0, term.0))
    }
}

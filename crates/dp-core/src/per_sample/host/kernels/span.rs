//! Registers of one or two neighbouring groups of eight lanes.

use crate::per_sample::Lanes8;

use super::{Kernel, Lanes};

/// A register of neighbouring groups of eight lanes, which are pixels of a line.
pub(super) trait Span<L: Lanes>: Copy {
    /// The number of groups in a register, 1 or 2.
    const GROUPS: usize;
    fn splat(value: f32) -> Self;
    /// Loads the first groups of `from`.
    fn load(from: &[Lanes8]) -> Self;
    /// Loads the groups at `at`; a register of one group loads the first.
    fn load_two(from: &[Lanes8], at: [usize; 2]) -> Self;
    /// Repeats one group in the register.
    fn splat_group(from: &Lanes8) -> Self;
    /// Stores to the groups at `at`; a register of one group stores to the first.
    fn store_two(self, to: &mut [Lanes8], at: [usize; 2]);
    /// Stores to the first groups of `to`.
    fn store(self, to: &mut [Lanes8]);
    /// Computes `self * factor + term`.
    fn mul_add(self, factor: Self, term: Self) -> Self;
}

/// A [`Kernel`] whose inner loop runs over neighbouring groups of eight lanes.
pub(super) trait SpanKernel {
    fn run<L: Lanes, S: Span<L>>(self);
}

/// A span kernel that runs on one group of eight lanes at a time.
pub(super) struct Narrow<K>(pub(super) K);

impl<K: SpanKernel> Kernel for Narrow<K> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        self.0.run::<L, One<L>>();
    }
}

/// A register of one group of eight lanes.
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

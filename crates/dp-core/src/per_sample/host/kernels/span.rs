//! Registers of one or two neighbouring groups of eight lanes.

use crate::per_sample::Lanes8;

use super::{Eight, Kernel, Lanes};

/// A processor with registers of neighbouring groups of eight lanes, which are pixels of a line.
pub(super) trait Span: Copy {
    /// The number of groups in a register, 1 or 2.
    const GROUPS: usize;
    type Register: Register;
    /// The same processor with one group in a register.
    type One: Span;
    fn one(self) -> Self::One;
    fn splat(self, value: f32) -> Self::Register;
    /// Loads the first groups of `from`.
    fn load(self, from: &[Lanes8]) -> Self::Register;
    /// Loads the groups at `at`; a register of one group loads the first.
    fn load_two(self, from: &[Lanes8], at: [usize; 2]) -> Self::Register;
    /// Repeats one group in the register.
    fn splat_group(self, from: &Lanes8) -> Self::Register;
}

/// A register of a [`Span`].
pub(super) trait Register: Copy {
    /// Stores to the groups at `at`; a register of one group stores to the first.
    fn store_two(self, to: &mut [Lanes8], at: [usize; 2]);
    /// Stores to the first groups of `to`.
    fn store(self, to: &mut [Lanes8]);
    /// Computes `self * factor + term`.
    fn mul_add(self, factor: Self, term: Self) -> Self;
}

/// A [`Kernel`] whose inner loop runs over neighbouring groups of eight lanes.
pub(super) trait SpanKernel {
    fn run<S: Span>(self, span: S);
}

/// A span kernel that runs on one group of eight lanes at a time.
pub(super) struct Narrow<K>(pub(super) K);

impl<K: SpanKernel> Kernel for Narrow<K> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        self.0.run(Single(lanes));
    }
}

/// A processor with one group of eight lanes in a register.
#[derive(Clone, Copy)]
pub(super) struct Single<L>(pub(super) L);

impl<L: Lanes> Span for Single<L> {
    const GROUPS: usize = 1;
    type Register = One<L::Eight>;
    type One = Self;

    #[inline(always)]
    fn one(self) -> Self {
        self
    }

    #[inline(always)]
    fn splat(self, value: f32) -> One<L::Eight> {
        One(self.0.splat(value))
    }

    #[inline(always)]
    fn load(self, from: &[Lanes8]) -> One<L::Eight> {
        One(self.0.load(&from[0]))
    }

    #[inline(always)]
    fn load_two(self, from: &[Lanes8], at: [usize; 2]) -> One<L::Eight> {
        One(self.0.load(&from[at[0]]))
    }

    #[inline(always)]
    fn splat_group(self, from: &Lanes8) -> One<L::Eight> {
        One(self.0.load(from))
    }
}

/// A register of one group of eight lanes.
#[derive(Clone, Copy)]
pub(super) struct One<E>(E);

impl<E: Eight> Register for One<E> {
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
        One(self.0.mul_add(factor.0, term.0))
    }
}

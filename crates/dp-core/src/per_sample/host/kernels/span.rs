//! Octets that lie side by side in one register.

use crate::per_sample::Octet;

use super::{Kernel, Lanes};

/// As many neighbouring octets as a register holds: pixels of a line.
pub(super) trait Span<L: Lanes>: Copy {
    /// Octets in a register, 1 or 2.
    const OCTETS: usize;
    fn splat(value: f32) -> Self;
    /// The first octets of `from`.
    fn load(from: &[Octet]) -> Self;
    /// The octets at `at`, of which one octet alone takes the first.
    fn load_two(from: &[Octet], at: [usize; 2]) -> Self;
    /// The same octet in each place.
    fn splat_octet(from: &Octet) -> Self;
    /// To the octets at `at`, of which one octet alone takes the first.
    fn store_two(self, to: &mut [Octet], at: [usize; 2]);
    /// To the first octets of `to`.
    fn store(self, to: &mut [Octet]);
    /// `self * factor + term`.
    fn mul_add(self, factor: Self, term: Self) -> Self;
}

/// A [`Kernel`] whose inner loop runs over neighbouring octets.
pub(super) trait SpanKernel {
    fn run<L: Lanes, S: Span<L>>(self);
}

/// A kernel on one octet at a time.
pub(super) struct Narrow<K>(pub(super) K);

impl<K: SpanKernel> Kernel for Narrow<K> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        self.0.run::<L, One<L>>();
    }
}

/// One octet.
#[derive(Clone, Copy)]
pub(super) struct One<L>(L);

impl<L: Lanes> Span<L> for One<L> {
    const OCTETS: usize = 1;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self(L::splat(value))
    }

    #[inline(always)]
    fn load(from: &[Octet]) -> Self {
        Self(L::load(&from[0]))
    }

    #[inline(always)]
    fn load_two(from: &[Octet], at: [usize; 2]) -> Self {
        Self(L::load(&from[at[0]]))
    }

    #[inline(always)]
    fn splat_octet(from: &Octet) -> Self {
        Self(L::load(from))
    }

    #[inline(always)]
    fn store_two(self, to: &mut [Octet], at: [usize; 2]) {
        self.0.store(&mut to[at[0]]);
    }

    #[inline(always)]
    fn store(self, to: &mut [Octet]) {
        self.0.store(&mut to[0]);
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        Self(self.0.mul_add(factor.0, term.0))
    }
}

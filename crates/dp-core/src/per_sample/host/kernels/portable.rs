//! The kernels for any processor.

use crate::per_sample::{LANES, Lanes8};

use super::{Kernel, Lanes};

pub(super) fn run<K: Kernel>(kernel: K) {
    kernel.run::<Plain>();
}

/// Eight floats, in any registers that the compiler has.
#[derive(Clone, Copy)]
struct Plain([f32; LANES]);

impl Lanes for Plain {
    #[inline(always)]
    fn zero() -> Self {
        Self([0.0; LANES])
    }

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; LANES])
    }

    #[inline(always)]
    fn load(from: &Lanes8) -> Self {
        Self(from.0)
    }

    #[inline(always)]
    fn store(self, to: &mut Lanes8) {
        to.0 = self.0;
    }

    #[inline(always)]
    fn load_eight(from: &[f32; LANES]) -> Self {
        Self(*from)
    }

    #[inline(always)]
    fn store_eight(self, to: &mut [f32; LANES]) {
        *to = self.0;
    }

    #[inline(always)]
    fn add(mut self, other: Self) -> Self {
        for (x, y) in self.0.iter_mut().zip(other.0) {
            *x += y;
        }
        self
    }

    #[inline(always)]
    fn mul(mut self, other: Self) -> Self {
        for (x, y) in self.0.iter_mut().zip(other.0) {
            *x *= y;
        }
        self
    }

    #[inline(always)]
    fn positive(self) -> u8 {
        let mut bits = 0;
        for (lane, x) in self.0.into_iter().enumerate() {
            bits |= u8::from(x > 0.0) << lane;
        }
        bits
    }

    #[inline(always)]
    fn max(mut self, other: Self) -> Self {
        for (x, y) in self.0.iter_mut().zip(other.0) {
            *x = x.max(y);
        }
        self
    }

    #[inline(always)]
    fn equal(self, other: Self) -> u8 {
        let mut bits = 0;
        for (lane, (x, y)) in self.0.into_iter().zip(other.0).enumerate() {
            bits |= u8::from(x == y) << lane;
        }
        bits
    }

    #[inline(always)]
    fn select(mut self, other: Self, bits: u8) -> Self {
        for (lane, (x, y)) in self.0.iter_mut().zip(other.0).enumerate() {
            if bits >> lane & 1 == 0 {
                *x = y;
            }
        }
        self
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        self.mul(factor).add(term)
    }
}

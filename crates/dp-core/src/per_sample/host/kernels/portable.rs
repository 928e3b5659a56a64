//! The kernels for any processor.

use crate::per_sample::LANES;

use super::{Eight, Kernel, Lanes};

pub(super) fn run<K: Kernel>(kernel: K) {
    kernel.run(Any);
}

/// A processor of which nothing is known.
#[derive(Clone, Copy)]
struct Any;

impl Lanes for Any {
    type Eight = Plain;

    #[inline(always)]
    fn splat(self, value: f32) -> Plain {
        Plain([value; LANES])
    }

    #[inline(always)]
    fn load_eight(self, from: &[f32; LANES]) -> Plain {
        Plain(*from)
    }
}

/// Eight floats, in any registers that the compiler has.
#[derive(Clone, Copy)]
struct Plain([f32; LANES]);

impl Eight for Plain {
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

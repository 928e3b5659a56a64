//! The kernels for any processor.

use dp_core::per_sample::{LANES, Octet};

use super::{Kernel, Lanes};

pub(super) fn run<K: Kernel>(kernel: K) {
    kernel.run::<Plain>();
}

/// Eight floats that the compiler may put into whatever registers it has.
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
    fn load(from: &Octet) -> Self {
        Self(from.0)
    }

    #[inline(always)]
    fn store(self, to: &mut Octet) {
        to.0 = self.0;
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
    fn mul_add(self, factor: Self, term: Self) -> Self {
        self.mul(factor).add(term)
    }
}

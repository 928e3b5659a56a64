//! The sizes of an image plane and of its copy with zero borders.

use crate::per_sample::Lanes8;

/// A plane of `height x width` under a `kernel x kernel` window, with `kernel` odd.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plane {
    pub height: usize,
    pub width: usize,
    pub kernel: usize,
}

impl Plane {
    /// The number of pixels in a plane.
    pub(crate) fn pixels(&self) -> usize {
        self.height * self.width
    }

    /// The distance between two lines of a plane with borders.
    pub(crate) fn stride(&self) -> usize {
        self.width + self.kernel - 1
    }

    /// The number of pixels in a plane with borders.
    pub(crate) fn padded(&self) -> usize {
        (self.height + self.kernel - 1) * self.stride()
    }

    /// Copies planes `[c, h, w]` into zero-bordered planes `[c, padded]`.
    ///
    /// The borders of `padded` must be zero at the first call; they are never written.
    pub(crate) fn pad(&self, planes: &[Lanes8], padded: &mut [Lanes8]) {
        let (stride, border) = (self.stride(), (self.kernel - 1) / 2);
        for (plane, target) in planes
            .chunks_exact(self.pixels())
            .zip(padded.chunks_exact_mut(self.padded()))
        {
            for (y, row) in plane.chunks_exact(self.width).enumerate() {
                let start = (y + border) * stride + border;
                target[start..start + self.width].copy_from_slice(row);
            }
        }
    }
}

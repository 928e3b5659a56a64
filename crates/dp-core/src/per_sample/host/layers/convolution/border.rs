//! The geometry of the planes of a convolution, and the zeros around them.

use crate::per_sample::{Buffer, Lanes8};

/// The geometry of a window that slides over large planes and fills small ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sliding {
    /// The height and width of a large plane.
    pub size: [usize; 2],
    /// The number of places of the window, down and across: the height and width of a small plane.
    pub places: [usize; 2],
    pub kernel: [usize; 2],
    pub stride: [usize; 2],
    pub dilation: [usize; 2],
    /// The number of zeros above and to the left of a large plane.
    pub before: [usize; 2],
}

/// Planes inside larger ones, with zeros around them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Border {
    pub(super) size: [usize; 2],
    pub(super) whole: [usize; 2],
    pub(super) before: [usize; 2],
}

impl Border {
    pub(super) fn plane(&self) -> usize {
        self.whole[0] * self.whole[1]
    }

    /// Values after the last window may be cut off, so equal sizes alone do not rule out zeros before the first.
    pub(super) fn bare(&self) -> bool {
        self.size == self.whole && self.before == [0; 2]
    }

    /// Returns `planes [c, size]`, or `scratch [c, whole]` with the planes inside if there is a border. The border of
    /// `scratch` is zero and stays so.
    pub(super) fn around<'a>(
        &self,
        planes: &'a [Lanes8],
        scratch: &'a mut [Lanes8],
    ) -> &'a [Lanes8] {
        if self.bare() {
            return planes;
        }
        let [height, width] = self.size;
        let area = self.plane();
        // Values after the last window are not read.
        let saved = width.min(self.whole[1] - self.before[1]);
        for (plane, target) in planes
            .chunks_exact(height * width)
            .zip(scratch.chunks_exact_mut(area))
        {
            let lines = target.chunks_exact_mut(self.whole[1]).skip(self.before[0]);
            for (line, values) in lines.zip(plane.chunks_exact(width)) {
                line[self.before[1]..][..saved].copy_from_slice(&values[..saved]);
            }
        }
        scratch
    }

    /// Takes the buffer that [`Border::around`] needs.
    pub(super) fn scratch(&self, channels: usize) -> Buffer {
        Buffer::zeros(if self.bare() {
            0
        } else {
            channels * self.plane()
        })
    }
}

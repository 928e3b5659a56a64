//! How the planes of a convolution lie to each other, and the zeros around them.

use crate::per_sample::{Buffer, Lanes8};

/// How large planes and small ones lie to each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sliding {
    /// Height and width of a large plane.
    pub size: [usize; 2],
    /// Places of the window, down and across: height and width of a small plane.
    pub places: [usize; 2],
    pub kernel: [usize; 2],
    pub stride: [usize; 2],
    pub dilation: [usize; 2],
    /// Zeros above and to the left of a large plane.
    pub before: [usize; 2],
}

/// Planes inside larger ones, with zeros around.
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

    /// What lies behind the last window may be cut off while zeros stand before the first.
    pub(super) fn bare(&self) -> bool {
        self.size == self.whole && self.before == [0; 2]
    }

    /// `planes [c, size]`, in `scratch [c, whole]` where there is a border. What `scratch` holds around them is
    /// zero and stays so.
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
        // What lies behind the last window is not read.
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

    /// Room for [`Border::around`].
    pub(super) fn scratch(&self, channels: usize) -> Buffer {
        Buffer::zeros(if self.bare() {
            0
        } else {
            channels * self.plane()
        })
    }
}

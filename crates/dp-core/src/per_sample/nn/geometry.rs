//! Windows that slide over an image: kernels of convolutions and of pools.

use burn::nn::{PaddingConfig1d, PaddingConfig2d};
use burn::tensor::Tensor;
use burn::tensor::ops::PadMode;

/// The reason why a geometry is refused, in words.
pub(super) type Reason = String;

/// A window over an image of `size = [height, width]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) size: [usize; 2],
    pub(super) kernel: [usize; 2],
    pub(super) stride: [usize; 2],
    pub(super) dilation: [usize; 2],
    /// The padding before and after, of height and of width.
    pub(super) padding: [(usize, usize); 2],
    /// Whether a window that reaches beyond the end counts.
    pub(super) ceil: bool,
}

impl Window {
    /// The numbers of places of the window, down and across.
    pub(super) fn places(&self) -> Result<[usize; 2], Reason> {
        let along = |axis: usize| {
            let (before, behind) = self.padding[axis];
            let (kernel, stride) = (self.kernel[axis], self.stride[axis]);
            if kernel == 0 || stride == 0 || self.dilation[axis] == 0 {
                return Err("a kernel, a stride or a dilation of 0".into());
            }
            let padded = self.size[axis] + before + behind;
            let reach = self.dilation[axis] * (kernel - 1) + 1;
            let Some(left) = padded.checked_sub(reach) else {
                return Err(format!(
                    "a window of {reach} does not fit into {padded}, the padding included"
                ));
            };
            if !self.ceil {
                return Ok(left / stride + 1);
            }
            let places = left.div_ceil(stride) + 1;
            // The last place must begin before the end.
            let begins = (places - 1) * stride;
            Ok(places - usize::from(begins >= self.size[axis] + before))
        };
        Ok([along(0)?, along(1)?])
    }

    /// The padding, if it is the same on both sides.
    fn symmetric(&self) -> Option<[usize; 2]> {
        let same = self.padding.iter().all(|(before, behind)| before == behind);
        same.then(|| self.padding.map(|(before, _)| before))
    }

    /// The window with a padding that is the same on both sides: over the image that [`Window::padded`] returns.
    pub(super) fn evened(&self) -> (Self, [usize; 2]) {
        if let Some(padding) = self.symmetric() {
            return (*self, padding);
        }
        let total = |axis: usize| {
            let (before, behind) = self.padding[axis];
            self.size[axis] + before + behind
        };
        let evened = Self {
            size: [total(0), total(1)],
            padding: [(0, 0); 2],
            ..*self
        };
        (evened, [0, 0])
    }

    /// Pads the image if the paddings of its two sides differ.
    pub(super) fn padded(&self, image: Tensor<4>) -> Tensor<4> {
        match self.symmetric() {
            Some(_) => image,
            None => image.pad(self.padding, PadMode::Constant(0.0)),
        }
    }

    /// The transpose of [`Window::padded`].
    pub(super) fn cropped(&self, padded: Tensor<4>) -> Tensor<4> {
        match self.symmetric() {
            Some(_) => padded,
            None => padded.narrow(2, self.padding[0].0, self.size[0]).narrow(
                3,
                self.padding[1].0,
                self.size[1],
            ),
        }
    }
}

/// burn's padding as pairs, before and after.
pub(super) fn pairs(
    padding: &PaddingConfig2d,
    size: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
) -> [(usize, usize); 2] {
    match padding {
        PaddingConfig2d::Valid => [(0, 0); 2],
        PaddingConfig2d::Same => [0, 1].map(|a| same(size[a], kernel[a], stride[a])),
        PaddingConfig2d::Explicit(top, left, bottom, right) => [(*top, *bottom), (*left, *right)],
    }
}

/// burn's padding of a sequence as a pair, before and after.
pub(super) fn pair(
    padding: &PaddingConfig1d,
    length: usize,
    kernel: usize,
    stride: usize,
) -> (usize, usize) {
    match padding {
        PaddingConfig1d::Valid => (0, 0),
        PaddingConfig1d::Same => same(length, kernel, stride),
        PaddingConfig1d::Explicit(before, behind) => (*before, *behind),
    }
}

/// burn's rule for `Same`: the dilation does not count, and an odd padding has one more after the end.
fn same(size: usize, kernel: usize, stride: usize) -> (usize, usize) {
    let places = size.div_ceil(stride.max(1));
    let reach = (places.max(1) - 1) * stride + kernel;
    let total = reach.saturating_sub(size);
    (total / 2, total - total / 2)
}

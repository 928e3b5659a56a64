//! The patches of an image under each place of a kernel.

use burn::tensor::Tensor;
use burn::tensor::module::unfold4d;
use burn::tensor::ops::UnfoldOptions;

/// Unfolds an image into patches, `[n, c, h, w] -> [n, c k_h k_w, places]`.
///
/// It goes plane by plane: burn unfolds by a convolution with all pairs of values of a patch, and a patch of all
/// channels has `c^2` times as many.
pub(super) fn patches(image: Tensor<4>, kernel: [usize; 2], options: UnfoldOptions) -> Tensor<3> {
    let [n, channels, height, width] = image.dims();
    let planes = image.reshape([n * channels, 1, height, width]);
    let patches = unfold4d(planes, kernel, options);
    let [_, values, places] = patches.dims();
    patches.reshape([n, channels * values, places])
}

//! Convolutions with a stride, and their transposes, drawn from a seed on the host.

use burn::module::{Module, Param};
use burn::tensor::module::{conv_transpose2d, conv2d};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions};
use burn::tensor::{Device, Tensor};
use rand::Rng;

use crate::layers::{constant_bias, gaussian_parameter};

/// The window of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Side of the kernel.
    pub kernel: usize,
    /// Pixels from one position to the next.
    pub stride: usize,
    /// Zeros around the image.
    pub padding: usize,
}

impl Window {
    /// `(kernel, stride, padding)`, in the order in which papers give them.
    pub const fn new(kernel: usize, stride: usize, padding: usize) -> Self {
        Self {
            kernel,
            stride,
            padding,
        }
    }
}

/// A square convolution, `[n, c_in, h, w] -> [n, c_out, h', w']`,
/// `h' = (h + 2 padding - kernel) / stride + 1`.
#[derive(Module, Debug)]
pub struct Convolution {
    weight: Param<Tensor<4>>,
    bias: Param<Tensor<1>>,
    stride: usize,
    padding: usize,
}

impl Convolution {
    /// He initialisation, `N(0, 2 / (kernel^2 c_in))`, and zero biases.
    pub fn new(
        [c_in, c_out]: [usize; 2],
        window: Window,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Self {
        let k = window.kernel;
        let deviation = (2.0 / (k * k * c_in) as f64).sqrt();
        Self {
            weight: gaussian_parameter([c_out, c_in, k, k], deviation, rng, device),
            bias: constant_bias(c_out, 0.0, device),
            stride: window.stride,
            padding: window.padding,
        }
    }

    /// The same with every bias at `value`.
    pub fn with_bias(self, value: f32) -> Self {
        let bias = self.bias.map(|bias| bias.zeros_like().add_scalar(value));
        Self { bias, ..self }
    }

    /// Applies it.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<4> {
        let (s, p) = (self.stride, self.padding);
        let options = ConvOptions::new([s, s], [p, p], [1, 1], 1);
        conv2d(images, self.weight.val(), Some(self.bias.val()), options)
    }
}

/// A square transposed convolution, `[n, c_in, h, w] -> [n, c_out, h', w']`,
/// `h' = (h - 1) stride - 2 padding + kernel`.
#[derive(Module, Debug)]
pub struct Deconvolution {
    weight: Param<Tensor<4>>,
    bias: Param<Tensor<1>>,
    stride: usize,
    padding: usize,
}

impl Deconvolution {
    /// He initialisation, where a pixel hears `c_in (kernel / stride)^2` values, and zero biases.
    pub fn new(
        [c_in, c_out]: [usize; 2],
        window: Window,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Self {
        let k = window.kernel;
        let heard = (c_in * k * k) as f64 / (window.stride * window.stride) as f64;
        Self {
            weight: gaussian_parameter([c_in, c_out, k, k], (2.0 / heard).sqrt(), rng, device),
            bias: constant_bias(c_out, 0.0, device),
            stride: window.stride,
            padding: window.padding,
        }
    }

    /// Applies it.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<4> {
        let (s, p) = (self.stride, self.padding);
        let options = ConvTransposeOptions::new([s, s], [p, p], [0, 0], [1, 1], 1);
        conv_transpose2d(images, self.weight.val(), Some(self.bias.val()), options)
    }
}

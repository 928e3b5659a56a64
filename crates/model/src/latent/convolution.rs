//! Convolutions with a stride, and their transposes, drawn from a seed on the host.

use burn::module::{Module, Param};
use burn::tensor::module::{conv_transpose2d, conv2d};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions};
use burn::tensor::{Device, Tensor};
use dp_core::per_sample::{HostLayer, ParameterSlot};
use rand::Rng;

use crate::layers::host::{HostConv, HostRearranged, Plane};
use crate::layers::{constant_bias, gaussian_parameter, host_values};

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
        // A parameter of its own: what is computed from a parameter is none, and is not trained.
        let old = self.bias.val();
        let bias = constant_bias(old.dims()[0], value, &old.device());
        Self { bias, ..self }
    }

    /// The parameters, in the order in which burn visits them.
    pub(super) fn slots(&self) -> Vec<ParameterSlot> {
        slots(&self.weight, &self.bias)
    }

    /// Its kernels for the CPU over images of `side x side`, for 3x3 windows that keep the size and 4x4
    /// ones that halve it.
    pub(super) fn host(&self, side: usize) -> Option<Box<dyn HostLayer>> {
        let [c_out, c_in, kernel, _] = self.weight.dims();
        let (weight, bias) = (host_values(&self.weight), host_values(&self.bias));
        match (kernel, self.stride, self.padding) {
            (3, 1, 1) => {
                let plane = Plane {
                    height: side,
                    width: side,
                    kernel,
                };
                Some(Box::new(HostConv::new([c_in, c_out], plane, &weight, bias)))
            }
            (4, 2, 0) => {
                let parameters = [weight, bias].concat();
                Some(Box::new(HostRearranged::halving(
                    [c_in, c_out],
                    side,
                    &parameters,
                )))
            }
            _ => None,
        }
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

    /// The parameters, in the order in which burn visits them.
    pub(super) fn slots(&self) -> Vec<ParameterSlot> {
        slots(&self.weight, &self.bias)
    }

    /// Its kernels for the CPU over images of `side x side`, for 2x2 windows that double the size.
    pub(super) fn host(&self, side: usize) -> Option<Box<dyn HostLayer>> {
        let [c_in, c_out, kernel, _] = self.weight.dims();
        let parameters = [host_values(&self.weight), host_values(&self.bias)].concat();
        ((kernel, self.stride, self.padding) == (2, 2, 0)).then(|| {
            let layer = HostRearranged::doubling([c_in, c_out], side, &parameters);
            Box::new(layer) as Box<dyn HostLayer>
        })
    }

    /// Applies it.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<4> {
        let (s, p) = (self.stride, self.padding);
        let options = ConvTransposeOptions::new([s, s], [p, p], [0, 0], [1, 1], 1);
        conv_transpose2d(images, self.weight.val(), Some(self.bias.val()), options)
    }
}

fn slots(weight: &Param<Tensor<4>>, bias: &Param<Tensor<1>>) -> Vec<ParameterSlot> {
    vec![
        ParameterSlot {
            id: weight.id,
            shape: weight.dims().to_vec(),
        },
        ParameterSlot {
            id: bias.id,
            shape: bias.dims().to_vec(),
        },
    ]
}

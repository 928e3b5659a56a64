//! Layers of burn with weights sampled on the host, so that a seed gives the same weights on every device.

use burn::module::{Module, Param};
use burn::nn::conv::{Conv2d, Conv2dConfig, ConvTranspose2d, ConvTranspose2dConfig};
use burn::nn::interpolate::{Interpolate2d, Interpolate2dConfig};
use burn::nn::pool::{AvgPool2d, AvgPool2dConfig};
use burn::nn::{Initializer, Linear, LinearConfig, PaddingConfig2d};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::per_sample::nn::Chain;
use private_training::{Layers, Network};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

/// The window of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The side of the kernel.
    pub kernel: usize,
    /// The number of pixels from one position to the next.
    pub stride: usize,
    /// The number of zeros on each side of the image.
    pub padding: usize,
}

impl Window {
    /// Creates a window from `(kernel, stride, padding)`, in the order in which papers give them.
    pub const fn new(kernel: usize, stride: usize, padding: usize) -> Self {
        Self {
            kernel,
            stride,
            padding,
        }
    }

    /// Creates a window that keeps the size of an image; `kernel` is odd.
    pub const fn same(kernel: usize) -> Self {
        Self::new(kernel, 1, (kernel - 1) / 2)
    }
}

/// Creates `y = x W + b` with He initialisation (He et al. 2015), `W ~ N(0, gain / d_in)`, and zero biases.
///
/// The gain is 2 in front of a ReLU and 1 in front of a linear output.
pub fn linear(d_in: usize, d_out: usize, gain: f64, rng: &mut impl Rng, device: &Device) -> Linear {
    let mut layer = LinearConfig::new(d_in, d_out)
        .with_initializer(Initializer::Zeros)
        .init(device);
    layer.weight = gaussian_parameter([d_in, d_out], (gain / d_in as f64).sqrt(), rng, device);
    layer.bias = Some(constant_bias(d_out, 0.0, device));
    layer
}

/// Linear layers with a ReLU between them.
#[derive(Module, Debug)]
pub struct Mlp {
    layers: Vec<Linear>,
}

impl Mlp {
    /// Creates layers of these `widths`, from the inputs to the outputs; `last` is the gain of the last layer, and the others
    /// have gain 2.
    pub fn new(widths: &[usize], last: f64, rng: &mut impl Rng, device: &Device) -> Self {
        let outputs = widths.len() - 1;
        let layer = |(place, pair): (usize, &[usize])| {
            let gain = if place + 1 == outputs { last } else { 2.0 };
            linear(pair[0], pair[1], gain, rng, device)
        };
        Self::from_layers(widths.windows(2).enumerate().map(layer).collect())
    }

    /// Creates a network from these layers.
    pub fn from_layers(layers: Vec<Linear>) -> Self {
        Self { layers }
    }

    /// Returns the number of features of a record.
    pub fn inputs(&self) -> usize {
        self.layers
            .first()
            .map_or(0, |first| first.weight.dims()[0])
    }

    /// Computes `[n, inputs] -> [n, outputs]`.
    pub fn forward(&self, rows: Tensor<2>) -> Tensor<2> {
        let mut layers = self.layers.iter();
        let first = layers.next().map(|layer| layer.forward(rows.clone()));
        layers.fold(first.unwrap_or(rows), |hidden, layer| {
            layer.forward(relu(hidden))
        })
    }

    /// Appends these layers to `chain`.
    pub fn behind<'a>(&'a self, chain: Chain<'a>) -> Chain<'a> {
        let layers = self.layers.iter().enumerate();
        layers.fold(chain, |chain, (place, layer)| match place {
            0 => chain.linear(layer),
            _ => chain.relu().linear(layer),
        })
    }
}

impl Network<2> for Mlp {
    fn layers(&self) -> Layers<'_, 2> {
        Layers::chain(self.behind(Chain::features(self.inputs())))
    }
}

/// Creates a square convolution of `channels = [c_in, c_out]` with He initialisation, `N(0, gain / (kernel^2 c_in))`, and a
/// constant bias.
pub fn conv2d(
    [c_in, c_out]: [usize; 2],
    window: Window,
    gain: f64,
    bias: f32,
    rng: &mut impl Rng,
    device: &Device,
) -> Conv2d {
    let Window {
        kernel: k,
        stride,
        padding: p,
    } = window;
    let mut layer = Conv2dConfig::new([c_in, c_out], [k, k])
        .with_stride([stride, stride])
        .with_padding(PaddingConfig2d::Explicit(p, p, p, p))
        .with_initializer(Initializer::Zeros)
        .init(device);
    let deviation = (gain / (k * k * c_in) as f64).sqrt();
    layer.weight = gaussian_parameter([c_out, c_in, k, k], deviation, rng, device);
    layer.bias = Some(constant_bias(c_out, bias, device));
    layer
}

/// Creates a square transposed convolution of `channels = [c_in, c_out]` with zero biases and He initialisation in front of a
/// ReLU: each pixel receives `c_in (kernel / stride)^2` values.
pub fn conv_transpose2d(
    [c_in, c_out]: [usize; 2],
    window: Window,
    rng: &mut impl Rng,
    device: &Device,
) -> ConvTranspose2d {
    let Window {
        kernel: k,
        stride,
        padding: p,
    } = window;
    let mut layer = ConvTranspose2dConfig::new([c_in, c_out], [k, k])
        .with_stride([stride, stride])
        .with_padding([p, p])
        .with_initializer(Initializer::Zeros)
        .init(device);
    let heard = (c_in * k * k) as f64 / (stride * stride) as f64;
    let deviation = (2.0 / heard).sqrt();
    layer.weight = gaussian_parameter([c_in, c_out, k, k], deviation, rng, device);
    layer.bias = Some(constant_bias(c_out, 0.0, device));
    layer
}

/// Creates a layer that takes the mean over each 2x2 block.
pub fn halve() -> AvgPool2d {
    AvgPool2dConfig::new([2, 2]).init()
}

/// Creates a layer that repeats each pixel in a 2x2 block.
pub(crate) fn double() -> Interpolate2d {
    let twice = Some([2.0, 2.0]);
    Interpolate2dConfig::new().with_scale_factor(twice).init()
}

/// Samples a parameter from `N(0, deviation^2)` on the host.
fn gaussian_parameter<const D: usize>(
    shape: [usize; D],
    deviation: f64,
    rng: &mut impl Rng,
    device: &Device,
) -> Param<Tensor<D>> {
    let count = shape.iter().product();
    let values: Vec<f32> = (0..count)
        .map(|_| {
            let x: f64 = StandardNormal.sample(rng);
            (x * deviation) as f32
        })
        .collect();
    Param::from_data(TensorData::new(values, shape), device)
}

/// Creates a parameter with one value everywhere.
pub(crate) fn constant_bias(length: usize, value: f32, device: &Device) -> Param<Tensor<1>> {
    Param::from_data(TensorData::new(vec![value; length], [length]), device)
}

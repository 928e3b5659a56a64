//! Convolutions of images, and of sequences as images of height 1.

use burn::nn::conv;
use burn::tensor::Tensor;
use burn::tensor::module::{conv_transpose2d, conv2d, conv2d_weight_backward};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions, UnfoldOptions};

use super::geometry::{Reason, Window, pair, pairs};
use super::patches::patches;
use super::rows::{gram_of_products, gram_of_sums, together};
use super::weight::{Weight, bias_on_host, slots};
use crate::per_sample::host::Plane;
use crate::per_sample::host::layers::{
    HostConv, HostConvPool, HostConvolution, Parameters, Sliding,
};
use crate::per_sample::{FusionHint, Gram, HostLayer, Layer, ParameterSlot};

/// A convolution with stride, padding, dilation and groups.
///
/// The rows of a record's Jacobian are products of its cotangents with the patches under the kernel.
pub(super) struct Conv {
    name: &'static str,
    /// `[c_out, c_in / groups, k_h, k_w]`.
    weight: Weight<4>,
    bias: Option<Weight<1>>,
    groups: usize,
    window: Window,
    places: [usize; 2],
}

impl Conv {
    /// A convolution of images of `size`; its output is `[c_out, height, width]`.
    pub(super) fn of_images(
        module: &conv::Conv2d,
        size: [usize; 2],
    ) -> Result<(Self, [usize; 3]), Reason> {
        let window = Window {
            size,
            kernel: module.kernel_size,
            stride: module.stride,
            dilation: module.dilation,
            padding: pairs(&module.padding, size, module.kernel_size, module.stride),
            ceil: false,
        };
        let layer = Self {
            name: "Conv2d",
            weight: Weight::of(&module.weight),
            bias: module.bias.as_ref().map(Weight::of),
            groups: module.groups,
            places: window.places()?,
            window,
        };
        let shape = [layer.channels().1, layer.places[0], layer.places[1]];
        Ok((layer, shape))
    }

    /// A convolution of sequences of `length`; its output is `[c_out, length]`.
    pub(super) fn of_sequences(
        module: &conv::Conv1d,
        length: usize,
    ) -> Result<(Self, [usize; 2]), Reason> {
        let (kernel, stride) = (module.kernel_size, module.stride);
        let window = Window {
            size: [1, length],
            kernel: [1, kernel],
            stride: [1, stride],
            dilation: [1, module.dilation],
            padding: [(0, 0), pair(&module.padding, length, kernel, stride)],
            ceil: false,
        };
        let [outputs, inputs, width] = module.weight.val().dims();
        let layer = Self {
            name: "Conv1d",
            weight: Weight::of(&module.weight).reshaped([outputs, inputs, 1, width]),
            bias: module.bias.as_ref().map(Weight::of),
            groups: module.groups,
            places: window.places()?,
            window,
        };
        let shape = [outputs, layer.places[1]];
        Ok((layer, shape))
    }

    /// The numbers of channels at the input and at the output.
    fn channels(&self) -> (usize, usize) {
        let [outputs, inputs, _, _] = self.weight.value.dims();
        (inputs * self.groups, outputs)
    }

    fn options(&self) -> ConvOptions<2> {
        let (window, padding) = self.window.evened();
        ConvOptions::new(window.stride, padding, window.dilation, self.groups)
    }

    /// Host kernels for small odd windows that keep the size of an image.
    fn same_on_host(&self) -> Option<HostConv> {
        let Window {
            size,
            kernel: [kernel, across],
            ..
        } = self.window;
        let trained = |bias: &Weight<1>| bias.trained() && self.weight.trained();
        let bias = self.bias.as_ref().filter(|bias| trained(bias))?;
        let plain =
            self.groups == 1 && self.window.stride == [1; 2] && self.window.dilation == [1; 2];
        let border = kernel.checked_sub(1)? / 2;
        if !plain
            || kernel != across
            || !HostConv::SIZES.contains(&kernel)
            || self.window.padding != [(border, border); 2]
        {
            return None;
        }
        let plane = Plane {
            height: size[0],
            width: size[1],
            kernel,
        };
        let (inputs, outputs) = self.channels();
        let weight = self.weight.on_host();
        Some(HostConv::new(
            [inputs, outputs],
            plane,
            &weight,
            bias.on_host(),
        ))
    }

    fn image(&self, input: Tensor<2>) -> Tensor<4> {
        let n = input.dims()[0];
        let [height, width] = self.window.size;
        let image = input.reshape([n, self.channels().0, height, width]);
        self.window.padded(image)
    }
}

impl Layer for Conv {
    fn name(&self) -> &'static str {
        self.name
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        slots(&self.weight, self.bias.as_ref())
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let weight = self.weight.beside(&input);
        let bias = self.bias.as_ref().map(|bias| bias.beside(&input));
        conv2d(self.image(input), weight, bias, self.options()).flatten(1, 3)
    }

    fn backward(&self, input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let [n, g, _] = delta.dims();
        let [down, across] = self.places;
        let (window, padding) = self.window.evened();
        // Values after the last place of the kernel belong to no window.
        let over = [0, 1].map(|a| {
            let reach = window.dilation[a] * (window.kernel[a] - 1) + 1;
            (window.size[a] + 2 * padding[a] - reach) % window.stride[a]
        });
        let delta = delta.reshape([n * g, self.channels().1, down, across]);
        let options =
            ConvTransposeOptions::new(window.stride, padding, over, window.dilation, self.groups);
        let image = conv_transpose2d(delta, self.weight.value.clone(), None, options);
        self.window.cropped(image).reshape([n, g, input.dims()[1]])
    }

    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Gram> {
        let [n, g, _] = delta.dims();
        let (_, outputs) = self.channels();
        let places = self.places[0] * self.places[1];
        let delta = delta.clone().reshape([n, g, outputs, places]);
        let bias = self.bias.as_ref().filter(|bias| bias.trained());
        let bias = bias.map(|_| gram_of_sums(delta.clone()));
        let weight = self.weight.trained().then(|| {
            let (window, padding) = self.window.evened();
            let options = UnfoldOptions::new(window.stride, padding, window.dilation);
            let patches = patches(self.image(input.clone()), window.kernel, options);
            let seen = patches.dims()[1] / self.groups;
            gram_of_products(
                &patches.reshape([n, self.groups, seen, places]),
                delta.reshape([n, g, self.groups, outputs / self.groups, places]),
            )
        });
        together(weight, bias).map(Gram::from)
    }

    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>> {
        let n = input.dims()[0];
        let [down, across] = self.places;
        let delta = delta.reshape([n, self.channels().1, down, across]);
        let mut parts = Vec::new();
        if self.weight.trained() {
            let (image, weight) = (self.image(input.clone()), self.weight.value.clone());
            let weight = conv2d_weight_backward(image, weight, delta.clone(), self.options());
            parts.push(weight.flatten(0, 3));
        }
        if self.bias.as_ref().is_some_and(Weight::trained) {
            parts.push(delta.sum_dim(3).sum_dim(2).sum_dim(0).flatten(0, 3));
        }
        parts
    }

    fn host(&self) -> Option<Box<dyn HostLayer>> {
        if let Some(conv) = self.same_on_host() {
            return Some(Box::new(conv));
        }
        let (bias, bias_trained) = bias_on_host(self.bias.as_ref());
        let (inputs, outputs) = self.channels();
        let sliding = Sliding {
            size: self.window.size,
            places: self.places,
            kernel: self.window.kernel,
            stride: self.window.stride,
            dilation: self.window.dilation,
            before: self.window.padding.map(|(before, _)| before),
        };
        let parameters = Parameters {
            weight: self.weight.on_host(),
            bias,
            trained: [self.weight.trained(), bias_trained],
        };
        let channels = [inputs, outputs];
        let conv = HostConvolution::new(channels, self.groups, &sliding, false, parameters);
        Some(Box::new(conv))
    }

    fn host_fused(&self, next: &[FusionHint]) -> Option<(Box<dyn HostLayer>, usize)> {
        let even = self.window.size.iter().all(|side| side.is_multiple_of(2));
        if let [FusionHint::LeakyRelu { slope }, FusionHint::AvgPool, ..] = *next
            && even
            && let Some(conv) = self.same_on_host()
        {
            return Some((Box::new(HostConvPool { conv, slope }), 2));
        }
        Some((self.host()?, 0))
    }
}

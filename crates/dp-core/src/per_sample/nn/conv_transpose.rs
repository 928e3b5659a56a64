//! The transposed convolution, which swaps input and output of a convolution.

use burn::nn::conv;
use burn::tensor::Tensor;
use burn::tensor::module::{conv_transpose2d, conv2d, conv2d_weight_backward};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions, UnfoldOptions};

use super::geometry::Reason;
use super::patches::patches;
use super::rows::{gram_of_products, gram_of_sums, together};
use super::weight::{Weight, bias_on_host, slots};
use crate::per_sample::host::layers::{HostConvolution, Parameters, Sliding};
use crate::per_sample::{Gram, HostLayer, Layer, ParameterSlot};

/// The transpose of the convolution from the output's image to the input's.
///
/// The rows of a record's Jacobian are products of its values with the patches of its cotangents.
pub(super) struct ConvTranspose {
    /// `[c_in, c_out / groups, k_h, k_w]`.
    weight: Weight<4>,
    bias: Option<Weight<1>>,
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    beyond: [usize; 2],
    dilation: [usize; 2],
    groups: usize,
    size: [usize; 2],
    out: [usize; 2],
}

impl ConvTranspose {
    /// A transposed convolution over images of `size`; its output is `[c_out, height, width]`.
    pub(super) fn new(
        module: &conv::ConvTranspose2d,
        size: [usize; 2],
    ) -> Result<(Self, [usize; 3]), Reason> {
        let mut out = [0; 2];
        for (axis, out) in out.iter_mut().enumerate() {
            let (stride, beyond) = (module.stride[axis], module.padding_out[axis]);
            if stride == 0 || module.dilation[axis] == 0 || module.kernel_size[axis] == 0 {
                return Err("a kernel, a stride or a dilation of 0".into());
            }
            if beyond >= stride.max(module.dilation[axis]) {
                return Err(format!(
                    "an output padding of {beyond} is not below the stride, {stride}, or the dilation"
                ));
            }
            let reach = module.dilation[axis] * (module.kernel_size[axis] - 1) + 1;
            let whole = (size[axis].max(1) - 1) * stride + reach + beyond;
            let cut = 2 * module.padding[axis];
            *out = whole
                .checked_sub(cut)
                .filter(|&out| out > 0)
                .ok_or_else(|| {
                    format!("a padding of {cut} on both sides leaves nothing of {whole}")
                })?;
        }
        let [_, outputs, _, _] = module.weight.val().dims();
        let shape = [outputs * module.groups, out[0], out[1]];
        let layer = Self {
            weight: Weight::of(&module.weight),
            bias: module.bias.as_ref().map(Weight::of),
            kernel: module.kernel_size,
            stride: module.stride,
            padding: module.padding,
            beyond: module.padding_out,
            dilation: module.dilation,
            groups: module.groups,
            size,
            out,
        };
        Ok((layer, shape))
    }

    /// The numbers of channels at the input and at the output.
    fn channels(&self) -> (usize, usize) {
        let [inputs, outputs, _, _] = self.weight.value.dims();
        (inputs, outputs * self.groups)
    }

    /// The options of the convolution from output to input.
    fn back(&self) -> ConvOptions<2> {
        ConvOptions::new(self.stride, self.padding, self.dilation, self.groups)
    }

    /// The number of places of the kernel over the output, down and across; the first `size` of them are used.
    fn places(&self) -> [usize; 2] {
        [0, 1].map(|a| {
            let reach = self.dilation[a] * (self.kernel[a] - 1) + 1;
            (self.out[a] + 2 * self.padding[a] - reach) / self.stride[a] + 1
        })
    }
}

impl Layer for ConvTranspose {
    fn name(&self) -> &'static str {
        "ConvTranspose2d"
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        slots(&self.weight, self.bias.as_ref())
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let n = input.dims()[0];
        let [height, width] = self.size;
        let image = input.reshape([n, self.channels().0, height, width]);
        let bias = self.bias.as_ref().map(|bias| bias.beside(&image));
        let weight = self.weight.beside(&image);
        let options = ConvTransposeOptions::new(
            self.stride,
            self.padding,
            self.beyond,
            self.dilation,
            self.groups,
        );
        conv_transpose2d(image, weight, bias, options).flatten(1, 3)
    }

    fn backward(&self, input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let [n, g, _] = delta.dims();
        let delta = delta.reshape([n * g, self.channels().1, self.out[0], self.out[1]]);
        conv2d(delta, self.weight.value.clone(), None, self.back())
            .narrow(2, 0, self.size[0])
            .narrow(3, 0, self.size[1])
            .reshape([n, g, input.dims()[1]])
    }

    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Gram> {
        let [n, g, _] = delta.dims();
        let (inputs, outputs) = self.channels();
        let [height, width] = self.size;
        let delta = delta.clone();
        let bias = self.bias.as_ref().filter(|bias| bias.trained());
        let bias = bias.map(|_| {
            let area = self.out[0] * self.out[1];
            gram_of_sums(delta.clone().reshape([n, g, outputs, area]))
        });
        let weight = self.weight.trained().then(|| {
            let delta = delta.reshape([n * g, outputs, self.out[0], self.out[1]]);
            let options = UnfoldOptions::new(self.stride, self.padding, self.dilation);
            let patches = patches(delta, self.kernel, options);
            let length = patches.dims()[1];
            let [down, across] = self.places();
            let patches = patches
                .reshape([n * g, length, down, across])
                .narrow(2, 0, height)
                .narrow(3, 0, width);
            let (seen, area) = (inputs / self.groups, height * width);
            gram_of_products(
                &input.clone().reshape([n, self.groups, seen, area]),
                patches.reshape([n, g, self.groups, length / self.groups, area]),
            )
        });
        together(weight, bias).map(Gram::from)
    }

    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>> {
        let n = input.dims()[0];
        let (inputs, outputs) = self.channels();
        let delta = delta.reshape([n, outputs, self.out[0], self.out[1]]);
        let mut parts = Vec::new();
        if self.weight.trained() {
            // Places without a value of the input have the cotangent 0.
            let [down, across] = self.places();
            let [height, width] = self.size;
            let values = input.clone().reshape([n, inputs, height, width]);
            let rest = [(0, down - height), (0, across - width)];
            let values = match rest {
                [(0, 0), (0, 0)] => values,
                _ => values.pad(rest, burn::tensor::ops::PadMode::Constant(0.0)),
            };
            let weight = self.weight.value.clone();
            let weight = conv2d_weight_backward(delta.clone(), weight, values, self.back());
            parts.push(weight.flatten(0, 3));
        }
        if self.bias.as_ref().is_some_and(Weight::trained) {
            parts.push(delta.sum_dim(3).sum_dim(2).sum_dim(0).flatten(0, 3));
        }
        parts
    }

    fn host(&self) -> Option<Box<dyn HostLayer>> {
        let (bias, bias_trained) = bias_on_host(self.bias.as_ref());
        let (inputs, outputs) = self.channels();
        let sliding = Sliding {
            size: self.out,
            places: self.size,
            kernel: self.kernel,
            stride: self.stride,
            dilation: self.dilation,
            before: self.padding,
        };
        let parameters = Parameters {
            weight: self.weight.on_host(),
            bias,
            trained: [self.weight.trained(), bias_trained],
        };
        let channels = [outputs, inputs];
        let conv = HostConvolution::new(channels, self.groups, &sliding, true, parameters);
        Some(Box::new(conv))
    }
}

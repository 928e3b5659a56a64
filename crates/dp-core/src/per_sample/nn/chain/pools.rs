//! Pools and upsampling of a chain.

use burn::nn::interpolate::{Interpolate2d, InterpolateMode};
use burn::nn::pool::{
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AvgPool1d, AvgPool2d, MaxPool1d, MaxPool2d,
};
use burn::tensor::Tensor;

use super::Chain;
use super::shape::{image, sequence};
use crate::per_sample::nn::geometry::{Window, pair, pairs};
use crate::per_sample::nn::pool::{MaxPool, Planes, adaptive_means, means, nearest};

impl<'a> Chain<'a> {
    /// Takes the largest value of each window of an image.
    pub fn max_pool2d(self, module: &'a MaxPool2d) -> Self {
        self.add("MaxPool2d", |shape| {
            let [channels, height, width] = image(shape)?;
            let window = Window {
                size: [height, width],
                kernel: module.kernel_size,
                stride: module.stride,
                dilation: module.dilation,
                padding: pairs(
                    &module.padding,
                    [height, width],
                    module.kernel_size,
                    module.stride,
                ),
                ceil: module.ceil_mode,
            };
            let (layer, [down, across]) = MaxPool::new("MaxPool2d", channels, window)?;
            Ok((Box::new(layer), vec![channels, down, across]))
        })
    }

    /// Takes the largest value of each window of a sequence.
    pub fn max_pool1d(self, module: &'a MaxPool1d) -> Self {
        self.add("MaxPool1d", |shape| {
            let [channels, length] = sequence(shape)?;
            let (kernel, stride) = (module.kernel_size, module.stride);
            let window = Window {
                size: [1, length],
                kernel: [1, kernel],
                stride: [1, stride],
                dilation: [1, module.dilation],
                padding: [(0, 0), pair(&module.padding, length, kernel, stride)],
                ceil: module.ceil_mode,
            };
            let (layer, [_, across]) = MaxPool::new("MaxPool1d", channels, window)?;
            Ok((Box::new(layer), vec![channels, across]))
        })
    }

    /// Takes the mean of each window of an image.
    pub fn avg_pool2d(self, module: &'a AvgPool2d) -> Self {
        self.add("AvgPool2d", |shape| {
            let [channels, height, width] = image(shape)?;
            let window = Window {
                size: [height, width],
                kernel: module.kernel_size,
                stride: module.stride,
                dilation: [1, 1],
                padding: pairs(
                    &module.padding,
                    [height, width],
                    module.kernel_size,
                    module.stride,
                ),
                ceil: module.ceil_mode,
            };
            let [down, across] = window.places()?;
            let module = module.clone();
            let map = move |x| module.forward(x);
            let layer = Planes::new("AvgPool2d", [channels, height, width], map)
                .along(means(&window, [down, across]));
            Ok((Box::new(layer), vec![channels, down, across]))
        })
    }

    /// Takes the mean of each window of a sequence.
    pub fn avg_pool1d(self, module: &'a AvgPool1d) -> Self {
        self.add("AvgPool1d", |shape| {
            let [channels, length] = sequence(shape)?;
            let (kernel, stride) = (module.kernel_size, module.stride);
            let window = Window {
                size: [1, length],
                kernel: [1, kernel],
                stride: [1, stride],
                dilation: [1, 1],
                padding: [(0, 0), pair(&module.padding, length, kernel, stride)],
                ceil: module.ceil_mode,
            };
            let [_, across] = window.places()?;
            let module = module.clone();
            let map = move |x: Tensor<4>| module.forward(x.squeeze_dim::<3>(2)).unsqueeze_dim(2);
            let layer = Planes::new("AvgPool1d", [channels, 1, length], map)
                .along(means(&window, [1, across]));
            Ok((Box::new(layer), vec![channels, across]))
        })
    }

    /// Takes means over a fixed number of windows, the output's size, for any image.
    pub fn adaptive_avg_pool2d(self, module: &'a AdaptiveAvgPool2d) -> Self {
        self.add("AdaptiveAvgPool2d", |shape| {
            let planes = image(shape)?;
            let [down, across] = module.output_size;
            let module = module.clone();
            let along = adaptive_means([planes[1], planes[2]], [down, across]);
            let layer = Planes::new("AdaptiveAvgPool2d", planes, move |x| module.forward(x))
                .along(Some(along));
            Ok((Box::new(layer), vec![planes[0], down, across]))
        })
    }

    /// Takes means over a fixed number of windows, the output's size, for any sequence.
    pub fn adaptive_avg_pool1d(self, module: &'a AdaptiveAvgPool1d) -> Self {
        self.add("AdaptiveAvgPool1d", |shape| {
            let [channels, length] = sequence(shape)?;
            let across = module.output_size;
            let module = module.clone();
            let map = move |x: Tensor<4>| module.forward(x.squeeze_dim::<3>(2)).unsqueeze_dim(2);
            let layer = Planes::new("AdaptiveAvgPool1d", [channels, 1, length], map)
                .along(Some(adaptive_means([1, length], [1, across])));
            Ok((Box::new(layer), vec![channels, across]))
        })
    }

    /// Enlarges an image, each pixel from the nearest one.
    pub fn interpolate2d(self, module: &'a Interpolate2d) -> Self {
        self.add("Interpolate2d", |shape| {
            let planes = image(shape)?;
            if !matches!(module.mode, InterpolateMode::Nearest) {
                let mode = &module.mode;
                return Err(format!("takes the nearest pixel, and its mode is {mode:?}"));
            }
            let size = match (module.output_size, module.scale_factor) {
                (Some(size), None) => size,
                (None, Some(factor)) => [0, 1].map(|axis| {
                    let size = planes[axis + 1] as f64 * f64::from(factor[axis]);
                    size as usize
                }),
                _ => return Err("needs either a size or a factor".into()),
            };
            let module = module.clone();
            let along = nearest([planes[1], planes[2]], size);
            let layer =
                Planes::new("Interpolate2d", planes, move |x| module.forward(x)).along(along);
            Ok((Box::new(layer), vec![planes[0], size[0], size[1]]))
        })
    }
}

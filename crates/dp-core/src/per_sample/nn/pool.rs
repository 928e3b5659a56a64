//! Pools: the largest value or the mean of each window.

use burn::tensor::module::max_pool2d_with_indices;
use burn::tensor::ops::MaxPoolOptions;
use burn::tensor::{IndexingUpdateOp, Tensor};

use super::geometry::{Reason, Window};
use super::pull::pulled;
use crate::per_sample::{Layer, ParameterSlot};

/// The largest value of each window.
pub(super) struct MaxPool {
    name: &'static str,
    channels: usize,
    window: Window,
    places: [usize; 2],
}

impl MaxPool {
    /// Over `channels` planes; its output is `[height, width]` for each.
    pub(super) fn new(
        name: &'static str,
        channels: usize,
        window: Window,
    ) -> Result<(Self, [usize; 2]), Reason> {
        let places = window.places()?;
        for axis in 0..2 {
            let (before, _) = window.padding[axis];
            let (stride, dilation) = (window.stride[axis], window.dilation[axis]);
            let inside = |at: usize| (before..before + window.size[axis]).contains(&at);
            let alone = (0..places[axis]).find(|place| {
                let taps = 0..window.kernel[axis];
                !taps.map(|tap| place * stride + tap * dilation).any(inside)
            });
            if alone.is_some() {
                return Err("has a window of padding alone, which has no largest value".into());
            }
        }
        let layer = Self {
            name,
            channels,
            window,
            places,
        };
        Ok((layer, places))
    }

    fn planes(&self, input: Tensor<2>) -> Tensor<4> {
        let n = input.dims()[0];
        let [height, width] = self.window.size;
        input.reshape([n, self.channels, height, width])
    }

    fn options(&self) -> MaxPoolOptions<2> {
        MaxPoolOptions::new(self.window.kernel)
            .with_stride(self.window.stride)
            .with_padding_pairs(self.window.padding)
            .with_dilation(self.window.dilation)
            .with_ceil_mode(self.window.ceil)
    }
}

impl Layer for MaxPool {
    fn name(&self) -> &'static str {
        self.name
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        Vec::new()
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        burn::tensor::module::max_pool2d(self.planes(input), self.options()).flatten(1, 3)
    }

    fn backward(&self, input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let [n, g, _] = delta.dims();
        let [height, width] = self.window.size;
        let (area, places) = (height * width, self.places[0] * self.places[1]);
        let planes = self.planes(input.clone());
        let (_, largest) = max_pool2d_with_indices(planes, self.options());
        let largest =
            largest
                .reshape([n, 1, self.channels, places])
                .expand([n, g, self.channels, places]);
        Tensor::<4>::zeros([n, g, self.channels, area], &delta.device())
            .scatter(
                3,
                largest,
                delta.reshape([n, g, self.channels, places]),
                IndexingUpdateOp::Add,
            )
            .reshape([n, g, self.channels * area])
    }

    fn gram(&self, _input: &Tensor<2>, _delta: &Tensor<3>) -> Option<Tensor<3>> {
        None
    }

    fn gradient(&self, _input: &Tensor<2>, _delta: Tensor<2>) -> Vec<Tensor<1>> {
        Vec::new()
    }
}

/// A linear map of planes without parameters, and its transpose by autodiff.
pub(super) struct Planes {
    name: &'static str,
    forward: Box<dyn Fn(Tensor<2>) -> Tensor<2>>,
}

impl Planes {
    /// `map` takes planes, `[n, c, h, w]`, of the shape that is given.
    pub(super) fn new(
        name: &'static str,
        [channels, height, width]: [usize; 3],
        map: impl Fn(Tensor<4>) -> Tensor<4> + 'static,
    ) -> Self {
        let forward = move |x: Tensor<2>| {
            let n = x.dims()[0];
            map(x.reshape([n, channels, height, width])).flatten(1, 3)
        };
        Self {
            name,
            forward: Box::new(forward),
        }
    }
}

impl Layer for Planes {
    fn name(&self) -> &'static str {
        self.name
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        Vec::new()
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        (self.forward)(input)
    }

    fn backward(&self, input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        // The map is linear, so what it is pulled back at does not matter: one that is finite.
        pulled(&input.zeros_like(), delta, &self.forward)
    }

    fn gram(&self, _input: &Tensor<2>, _delta: &Tensor<3>) -> Option<Tensor<3>> {
        None
    }

    fn gradient(&self, _input: &Tensor<2>, _delta: Tensor<2>) -> Vec<Tensor<1>> {
        Vec::new()
    }
}

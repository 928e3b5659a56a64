//! Pools: the largest value or the mean of each window.

use burn::tensor::ops::PadMode;
use burn::tensor::{Slice, Tensor};

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
        for (axis, &count) in places.iter().enumerate() {
            let (before, _) = window.padding[axis];
            let (stride, dilation) = (window.stride[axis], window.dilation[axis]);
            let inside = |at: usize| (before..before + window.size[axis]).contains(&at);
            let alone = (0..count).find(|place| {
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

    /// Records as planes, with nothing (`-inf`) around them where windows reach beyond: `[n, c, h, w]`.
    fn planes(&self, input: Tensor<2>) -> Tensor<4> {
        let n = input.dims()[0];
        let [height, width] = self.window.size;
        let planes = input.reshape([n, self.channels, height, width]);
        match self.around() {
            [(0, 0), (0, 0)] => planes,
            around => planes.pad(around, PadMode::Constant(f32::NEG_INFINITY)),
        }
    }

    /// What is added before and behind, of height and of width.
    fn around(&self) -> [(usize, usize); 2] {
        [0, 1].map(|axis| {
            let window = &self.window;
            let before = window.padding[axis].0;
            let covered = (self.places[axis] - 1) * window.stride[axis]
                + window.dilation[axis] * (window.kernel[axis] - 1)
                + 1;
            (before, covered.saturating_sub(before + window.size[axis]))
        })
    }

    /// What each value of a window is, over all places: ranges of height and width, in the order of memory.
    fn taps(&self) -> Vec<[Slice; 2]> {
        let [down, across] = self.window.kernel;
        let tap = |axis: usize, k: usize| {
            let stride = self.window.stride[axis];
            let first = k * self.window.dilation[axis];
            let end = first + (self.places[axis] - 1) * stride + 1;
            Slice::new(first as isize, Some(end as isize), stride as isize)
        };
        let row = |a: usize| (0..across).map(move |b| [tap(0, a), tap(1, b)]);
        (0..down).flat_map(row).collect()
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
        let planes = self.planes(input);
        let values = self.taps().into_iter().map(|[down, across]| {
            let all = Slice::full();
            planes.clone().slice([all, all, down, across])
        });
        let largest = values.reduce(Tensor::max_pair);
        largest.unwrap_or(planes).flatten(1, 3)
    }

    /// To the first value of each window that is the largest.
    fn backward(&self, input: &Tensor<2>, output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let [n, g, _] = delta.dims();
        let ([down, across], [height, width]) = (self.places, self.window.size);
        let planes = self.planes(input.clone());
        let [_, _, whole_height, whole_width] = planes.dims();
        let largest = output.clone().reshape([n, self.channels, down, across]);
        let delta = delta.reshape([n, g, self.channels, down, across]);
        let mut open = largest.ones_like().bool();
        let whole = [n, g, self.channels, whole_height, whole_width];
        let mut sum = Tensor::<5>::zeros(whole, &delta.device());
        let all = Slice::full();
        for [down, across] in self.taps() {
            let value = planes.clone().slice([all, all, down, across]);
            let here = value.equal(largest.clone()).bool_and(open.clone());
            open = open.bool_and(here.clone().bool_not());
            let part = delta.clone() * here.float().unsqueeze_dim::<5>(1);
            let at = [all, all, all, down, across];
            let so_far = sum.clone().slice(at);
            sum = sum.slice_assign(at, so_far + part);
        }
        let [(above, _), (before, _)] = self.around();
        sum.narrow(3, above, height)
            .narrow(4, before, width)
            .reshape([n, g, self.channels * height * width])
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

//! Pools, which take the largest value or the mean of each window.

use burn::tensor::ops::PadMode;
use burn::tensor::{Device, Slice, Tensor, TensorData};

use super::geometry::{Reason, Window};
use super::pull::pulled;
use crate::per_sample::host::layers::{Along, HostMaxPool, HostPlanes};
use crate::per_sample::{FusionHint, Gram, HostLayer, Layer, ParameterSlot};

/// The largest value of each window.
pub(super) struct MaxPool {
    name: &'static str,
    channels: usize,
    window: Window,
    places: [usize; 2],
}

impl MaxPool {
    /// A pool over `channels` planes; its output is `[height, width]` for each.
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

    /// Records as planes, `[n, c, h, w]`, padded with `-inf` if windows reach beyond the border.
    fn planes(&self, input: Tensor<2>) -> Tensor<4> {
        let n = input.dims()[0];
        let [height, width] = self.window.size;
        let planes = input.reshape([n, self.channels, height, width]);
        match self.around() {
            [(0, 0), (0, 0)] => planes,
            around => planes.pad(around, PadMode::Constant(f32::NEG_INFINITY)),
        }
    }

    /// The padding before and after, of height and of width.
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

    /// For each value of a window, its ranges of height and width over all places, in memory order.
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

    /// A cotangent goes to the first largest value of its window.
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

    fn gram(&self, _input: &Tensor<2>, _delta: &Tensor<3>) -> Option<Gram> {
        None
    }

    fn gradient(&self, _input: &Tensor<2>, _delta: Tensor<2>) -> Vec<Tensor<1>> {
        Vec::new()
    }

    fn host(&self) -> Option<Box<dyn HostLayer>> {
        let window = &self.window;
        Some(Box::new(HostMaxPool::new(
            self.channels,
            window.size,
            self.places,
            window.kernel,
            [window.stride, window.dilation],
            window.padding.map(|(before, _)| before),
        )))
    }
}

/// A linear map of planes without parameters, and its transpose by autodiff.
pub(super) struct Planes {
    name: &'static str,
    shape: [usize; 3],
    forward: Box<dyn Fn(Tensor<2>) -> Tensor<2>>,
    /// The map along each axis, if it is known.
    along: Option<[Along; 2]>,
    fusion_hint: FusionHint,
}

impl Planes {
    /// Takes a `map` of planes, `[n, c, h, w]`, of the given shape.
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
            shape: [channels, height, width],
            forward: Box::new(forward),
            along: None,
            fusion_hint: FusionHint::Other,
        }
    }

    /// Sets the map along each axis: `out[y, x] = sum_ij down[y, i] across[x, j] in[i, j]`.
    pub(super) fn along(self, along: Option<[Along; 2]>) -> Self {
        let halves = |along: &Along, size: usize| {
            let pair = |k: usize| vec![(2 * k, 0.5), (2 * k + 1, 0.5)];
            size.is_multiple_of(2) && *along == (0..size / 2).map(pair).collect::<Along>()
        };
        let [_, height, width] = self.shape;
        let fusion_hint = match &along {
            Some([down, across]) if halves(down, height) && halves(across, width) => {
                FusionHint::AvgPool
            }
            _ => FusionHint::Other,
        };
        Self {
            along,
            fusion_hint,
            ..self
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
        let [_, height, width] = self.shape;
        if let Some([down, across]) = &self.along {
            let [n, g, _] = delta.dims();
            let (device, inputs) = (delta.device(), input.dims()[1]);
            let down = matrix(down, height, &device).transpose().unsqueeze::<3>();
            let across = matrix(across, width, &device).unsqueeze::<3>();
            let planes = delta.reshape([-1, down.dims()[2] as i32, across.dims()[1] as i32]);
            return down.matmul(planes).matmul(across).reshape([n, g, inputs]);
        }
        // The map is linear, so any finite point will do for its derivative.
        pulled(&input.zeros_like(), delta, &self.forward)
    }

    fn gram(&self, _input: &Tensor<2>, _delta: &Tensor<3>) -> Option<Gram> {
        None
    }

    fn gradient(&self, _input: &Tensor<2>, _delta: Tensor<2>) -> Vec<Tensor<1>> {
        Vec::new()
    }

    fn fusion_hint(&self) -> FusionHint {
        self.fusion_hint
    }

    fn host(&self) -> Option<Box<dyn HostLayer>> {
        let [channels, height, width] = self.shape;
        let planes = HostPlanes::new(channels, [height, width], self.along.as_ref()?);
        Some(Box::new(planes))
    }
}

/// The matrix `[outputs, inputs]` of a map along an axis of `inputs` values.
fn matrix(along: &Along, inputs: usize, device: &Device) -> Tensor<2> {
    let mut values = vec![0.0f32; along.len() * inputs];
    for (row, terms) in values.chunks_exact_mut(inputs).zip(along) {
        for &(at, weight) in terms {
            row[at] += weight;
        }
    }
    Tensor::from_data(TensorData::new(values, [along.len(), inputs]), device)
}

/// The window means of an average pool without padding.
pub(super) fn means(window: &Window, places: [usize; 2]) -> Option<[Along; 2]> {
    (window.padding == [(0, 0); 2] && !window.ceil).then(|| {
        [0, 1].map(|axis| {
            let (kernel, stride) = (window.kernel[axis], window.stride[axis]);
            let weight = 1.0 / kernel as f32;
            let window = |place: usize| (0..kernel).map(move |k| (place * stride + k, weight));
            (0..places[axis])
                .map(|place| window(place).collect())
                .collect()
        })
    })
}

/// The window means of an adaptive pool, from `size` to `places`.
pub(super) fn adaptive_means(size: [usize; 2], places: [usize; 2]) -> [Along; 2] {
    [0, 1].map(|axis| {
        let (size, places) = (size[axis], places[axis]);
        let window = |place: usize| {
            let range = place * size / places..((place + 1) * size).div_ceil(places);
            let weight = 1.0 / range.len() as f32;
            range.map(|i| (i, weight)).collect()
        };
        (0..places).map(window).collect()
    })
}

/// The nearest values, from `size` to a multiple of it.
pub(super) fn nearest(size: [usize; 2], places: [usize; 2]) -> Option<[Along; 2]> {
    let whole = (0..2).all(|axis| size[axis] > 0 && places[axis].is_multiple_of(size[axis]));
    whole.then(|| {
        [0, 1].map(|axis| {
            let factor = places[axis] / size[axis];
            (0..places[axis])
                .map(|place| vec![(place / factor, 1.0)])
                .collect()
        })
    })
}

//! Activations, for eight records side by side.

use std::sync::Arc;

use crate::per_sample::{HostLayer, LANES, Lanes8, SavedActivations};

/// A function of one value.
pub(crate) type Function = Arc<dyn Fn(f32) -> f32 + Send + Sync>;
/// The derivative `f'(x)` from `x` and `f(x)`.
pub(crate) type Slope = Arc<dyn Fn(f32, f32) -> f32 + Send + Sync>;

/// The leaky ReLU: `y = x` for `x > 0`, else `slope x`.
pub(crate) struct HostLeakyRelu {
    pub slope: f32,
    pub features: usize,
}

/// Any activation `y = f(x)`.
pub(crate) struct HostPointwise {
    pub function: Function,
    pub slope: Slope,
    pub features: usize,
}

/// Calls `each` with input, output and cotangent of every value; it returns the cotangent at the input.
#[inline(always)]
fn pull_back(
    features: usize,
    g: usize,
    saved: &SavedActivations,
    delta: &[Lanes8],
    below: &mut [Lanes8],
    each: impl Fn(f32, f32, f32) -> f32,
) {
    for (index, (below, delta)) in below
        .chunks_exact_mut(features)
        .zip(delta.chunks_exact(features))
        .enumerate()
    {
        let record = index / g * features..(index / g + 1) * features;
        let values = saved.input[record.clone()]
            .iter()
            .zip(&saved.output[record]);
        for ((below, delta), (x, y)) in below.iter_mut().zip(delta).zip(values) {
            for lane in 0..LANES {
                below.0[lane] = each(x.0[lane], y.0[lane], delta.0[lane]);
            }
        }
    }
}

impl HostLayer for HostLeakyRelu {
    fn inputs(&self) -> usize {
        self.features
    }

    fn outputs(&self) -> usize {
        self.features
    }

    fn forward(&self, input: &[Lanes8], _signs: &mut [u8], output: &mut [Lanes8]) {
        for (y, x) in output.iter_mut().zip(input) {
            for lane in 0..LANES {
                let x = x.0[lane];
                y.0[lane] = if x > 0.0 { x } else { self.slope * x };
            }
        }
    }

    fn backward(&self, g: usize, saved: &SavedActivations, delta: &[Lanes8], below: &mut [Lanes8]) {
        pull_back(self.features, g, saved, delta, below, |x, _, delta| {
            if x > 0.0 { delta } else { self.slope * delta }
        });
    }

    without_parameters!();
}

impl HostLayer for HostPointwise {
    fn inputs(&self) -> usize {
        self.features
    }

    fn outputs(&self) -> usize {
        self.features
    }

    fn forward(&self, input: &[Lanes8], _signs: &mut [u8], output: &mut [Lanes8]) {
        for (y, x) in output.iter_mut().zip(input) {
            *y = Lanes8(x.0.map(&*self.function));
        }
    }

    fn backward(&self, g: usize, saved: &SavedActivations, delta: &[Lanes8], below: &mut [Lanes8]) {
        pull_back(self.features, g, saved, delta, below, |x, y, delta| {
            delta * (self.slope)(x, y)
        });
    }

    without_parameters!();
}

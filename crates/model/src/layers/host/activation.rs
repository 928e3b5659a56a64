//! The leaky rectifier on octets.

use dp_core::per_sample::{HostLayer, LANES, Octet, Seen};

pub struct HostLeakyRelu {
    pub slope: f32,
    pub features: usize,
}

impl HostLayer for HostLeakyRelu {
    fn inputs(&self) -> usize {
        self.features
    }

    fn outputs(&self) -> usize {
        self.features
    }

    fn parameters(&self) -> usize {
        0
    }

    fn forward(&self, input: &[Octet], _kept: &mut [Octet], output: &mut [Octet]) {
        for (y, x) in output.iter_mut().zip(input) {
            for lane in 0..LANES {
                let x = x.0[lane];
                y.0[lane] = if x > 0.0 { x } else { self.slope * x };
            }
        }
    }

    fn backward(&self, g: usize, seen: &Seen, delta: &[Octet], below: &mut [Octet]) {
        let f = self.features;
        for (index, (below, delta)) in below
            .chunks_exact_mut(f)
            .zip(delta.chunks_exact(f))
            .enumerate()
        {
            let input = &seen.input[index / g * f..][..f];
            for ((below, delta), x) in below.iter_mut().zip(delta).zip(input) {
                for lane in 0..LANES {
                    let d = delta.0[lane];
                    below.0[lane] = if x.0[lane] > 0.0 { d } else { self.slope * d };
                }
            }
        }
    }

    fn gram(&self, _: usize, _: &Seen, _: &[Octet], _: &mut [Octet], _: &mut [Octet]) {}

    fn gradient(&self, _: &Seen, _: &[Octet], _: &mut [f32]) {}
}

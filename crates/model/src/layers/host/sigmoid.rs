//! The logistic function on octets.

use dp_core::per_sample::{HostLayer, LANES, Octet, Seen};

pub struct HostSigmoid {
    pub shift: f32,
    pub features: usize,
}

impl HostLayer for HostSigmoid {
    fn inputs(&self) -> usize {
        self.features
    }

    fn outputs(&self) -> usize {
        self.features
    }

    fn parameters(&self) -> usize {
        0
    }

    fn forward(&self, input: &[Octet], _signs: &mut [u8], output: &mut [Octet]) {
        for (y, x) in output.iter_mut().zip(input) {
            *y = Octet(x.0.map(|x| 1.0 / (1.0 + (-x).exp()) - self.shift));
        }
    }

    fn backward(&self, g: usize, seen: &Seen, delta: &[Octet], below: &mut [Octet]) {
        let f = self.features;
        for (index, (below, delta)) in below
            .chunks_exact_mut(f)
            .zip(delta.chunks_exact(f))
            .enumerate()
        {
            let output = &seen.output[index / g * f..][..f];
            for ((below, delta), y) in below.iter_mut().zip(delta).zip(output) {
                for lane in 0..LANES {
                    let s = y.0[lane] + self.shift;
                    below.0[lane] = delta.0[lane] * (s - s * s);
                }
            }
        }
    }

    fn gram(&self, _: usize, _: &Seen, _: &[Octet], _: &mut [Octet], _: &mut [Octet]) {}

    fn gradient(&self, _: &Seen, _: &[Octet], _: &mut [f32]) {}
}

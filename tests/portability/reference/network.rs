//! Networks in `f64`, one record and one cotangent at a time, as their formulas stand.

/// A layer of one record.
#[derive(Clone)]
pub(crate) enum Step {
    /// `x W + b`.
    Linear { inputs: usize, outputs: usize },
    /// Cross-correlation with zeros around, at the same size.
    Conv {
        channels: [usize; 2],
        side: [usize; 2],
        kernel: usize,
    },
    /// `max(x, 0) + slope min(x, 0)`.
    LeakyRelu { slope: f64 },
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// Means of blocks of two by two.
    AvgPool { channels: usize, side: [usize; 2] },
    /// Each value four times.
    Upsample { channels: usize, side: [usize; 2] },
}

/// Layers with their weights.
#[derive(Clone, Default)]
pub(crate) struct ReferenceNetwork(Vec<(Step, Vec<f64>)>);

impl ReferenceNetwork {
    /// The network with one more layer that stands in a larger module, whose weights begin with it.
    pub(crate) fn then_step(mut self, step: Step, weights: &mut &[f64]) -> Self {
        let (here, rest) = weights.split_at(step.parameters());
        *weights = rest;
        self.0.push((step, here.to_vec()));
        self
    }

    /// The record, then what each layer makes of it.
    pub(crate) fn forward(&self, record: &[f64]) -> Vec<Vec<f64>> {
        let mut activations = vec![record.to_vec()];
        for (step, weights) in &self.0 {
            activations.push(step.forward(weights, &activations[activations.len() - 1]));
        }
        activations
    }

    /// The gradient of `<cotangent, output>` in all weights, and in the record.
    pub(crate) fn pull_back(
        &self,
        activations: &[Vec<f64>],
        cotangent: &[f64],
    ) -> (Vec<f64>, Vec<f64>) {
        let mut parts = Vec::new();
        let mut delta = cotangent.to_vec();
        for (l, (step, weights)) in self.0.iter().enumerate().rev() {
            let (gradient, before) = step.pull_back(weights, &activations[l], &delta);
            parts.push(gradient);
            delta = before;
        }
        parts.reverse();
        (parts.concat(), delta)
    }
}

/// Where the pixels of blocks of two by two stand: large index, small index.
fn blocks(channels: usize, [height, width]: [usize; 2]) -> impl Iterator<Item = (usize, usize)> {
    (0..channels * height * width).map(move |large| {
        let (line, column) = (large / width, large % width);
        (large, line / 2 * (width / 2) + column / 2)
    })
}

impl Step {
    fn parameters(&self) -> usize {
        match *self {
            Self::Linear { inputs, outputs } => (inputs + 1) * outputs,
            Self::Conv {
                channels: [from, to],
                kernel,
                ..
            } => (from * kernel * kernel + 1) * to,
            _ => 0,
        }
    }

    /// Weight, input and output of each product of a linear map; biases come after the weights.
    fn products(&self, mut visit: impl FnMut(usize, usize, usize)) {
        match *self {
            Self::Linear { inputs, outputs } => {
                for i in 0..inputs {
                    for o in 0..outputs {
                        visit(i * outputs + o, i, o);
                    }
                }
            }
            Self::Conv {
                channels: [from, to],
                side: [height, width],
                kernel,
            } => {
                let pad = kernel / 2;
                for (o, i) in (0..to).flat_map(|o| (0..from).map(move |i| (o, i))) {
                    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
                        for (a, b) in (0..kernel).flat_map(|a| (0..kernel).map(move |b| (a, b))) {
                            let (v, w) = ((y + a).wrapping_sub(pad), (x + b).wrapping_sub(pad));
                            if v < height && w < width {
                                visit(
                                    ((o * from + i) * kernel + a) * kernel + b,
                                    (i * height + v) * width + w,
                                    (o * height + y) * width + x,
                                );
                            }
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// Outputs of each bias.
    fn spread(&self) -> (usize, usize) {
        match *self {
            Self::Linear { outputs, .. } => (outputs, 1),
            Self::Conv { channels, side, .. } => (channels[1], side[0] * side[1]),
            _ => (0, 0),
        }
    }

    fn forward(&self, weights: &[f64], x: &[f64]) -> Vec<f64> {
        match *self {
            Self::Linear { .. } | Self::Conv { .. } => {
                let (biases, each) = self.spread();
                let bias = &weights[weights.len() - biases..];
                let mut y: Vec<f64> = bias.iter().flat_map(|&b| vec![b; each]).collect();
                self.products(|w, i, o| y[o] += weights[w] * x[i]);
                y
            }
            Self::LeakyRelu { slope } => {
                let bend = |&x: &f64| if x > 0.0 { x } else { slope * x };
                x.iter().map(bend).collect()
            }
            Self::Sigmoid => {
                let squash = |x: &f64| 1.0 / (1.0 + (-x).exp());
                x.iter().map(squash).collect()
            }
            Self::AvgPool { channels, side } => {
                let mut y = vec![0.0; x.len() / 4];
                blocks(channels, side).for_each(|(large, small)| y[small] += 0.25 * x[large]);
                y
            }
            Self::Upsample {
                channels,
                side: [height, width],
            } => {
                let mut y = vec![0.0; x.len() * 4];
                blocks(channels, [2 * height, 2 * width])
                    .for_each(|(large, small)| y[large] = x[small]);
                y
            }
        }
    }

    fn pull_back(&self, weights: &[f64], x: &[f64], delta: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut before = vec![0.0; x.len()];
        let mut gradient = vec![0.0; weights.len()];
        match *self {
            Self::Linear { .. } | Self::Conv { .. } => {
                self.products(|w, i, o| {
                    gradient[w] += x[i] * delta[o];
                    before[i] += weights[w] * delta[o];
                });
                let (biases, each) = self.spread();
                let at = weights.len() - biases;
                for (gradient, delta) in gradient[at..].iter_mut().zip(delta.chunks(each)) {
                    *gradient = delta.iter().sum();
                }
            }
            Self::LeakyRelu { slope } => {
                for ((before, &x), &delta) in before.iter_mut().zip(x).zip(delta) {
                    *before = if x > 0.0 { delta } else { slope * delta };
                }
            }
            Self::Sigmoid => {
                for ((before, &x), &delta) in before.iter_mut().zip(x).zip(delta) {
                    let s = 1.0 / (1.0 + (-x).exp());
                    *before = delta * s * (1.0 - s);
                }
            }
            Self::AvgPool { channels, side } => {
                blocks(channels, side)
                    .for_each(|(large, small)| before[large] = 0.25 * delta[small]);
            }
            Self::Upsample {
                channels,
                side: [height, width],
            } => {
                blocks(channels, [2 * height, 2 * width])
                    .for_each(|(large, small)| before[small] += delta[large]);
            }
        }
        (gradient, before)
    }
}

//! The network of the classifier, after LeNet-5 (LeCun et al., 1998).

use burn::module::{Module, Param};
use burn::tensor::{Device, TensorData};
use dp_core::per_sample::{Layer, Stack};
use model::layers::{AvgPool, Conv, LeakyRelu, Linear};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::supervised::Network;

/// Width of the penultimate layer, whose activations are the features.
pub(super) const FEATURES: usize = 84;
/// Channels of the two convolutions.
const CHANNELS: [usize; 2] = [8, 16];
/// Side of the convolutions' windows.
const KERNEL: usize = 5;
/// Width of the first fully connected layer.
const WIDTH: usize = 120;

/// The architecture in words: part of what names a cached classifier.
pub(super) const ARCHITECTURE: &str = "conv5x5(8) relu avgpool2 conv5x5(16) relu avgpool2 \
                                       linear(120) relu linear(84) relu linear(classes)";

/// Images `[n, side * side]` to logits `[n, classes]`; `side` is a multiple of 4.
#[derive(Module, Debug)]
pub(super) struct LeNet {
    conv1: Conv,
    act1: LeakyRelu,
    pool1: AvgPool,
    conv2: Conv,
    act2: LeakyRelu,
    pool2: AvgPool,
    fc1: Linear,
    act3: LeakyRelu,
    fc2: Linear,
    act4: LeakyRelu,
    fc3: Linear,
}

impl LeNet {
    /// He initialisation drawn from `rng`, zero biases.
    pub(super) fn new(side: usize, classes: usize, rng: &mut impl Rng, device: &Device) -> Self {
        let [c1, c2] = CHANNELS;
        let (half, quarter) = (side / 2, side / 4);
        Self {
            conv1: conv([1, c1], side, rng, device),
            act1: LeakyRelu::new(c1 * side * side, 0.0),
            pool1: AvgPool::new(c1, side, side),
            conv2: conv([c1, c2], half, rng, device),
            act2: LeakyRelu::new(c2 * half * half, 0.0),
            pool2: AvgPool::new(c2, half, half),
            fc1: Linear::new(c2 * quarter * quarter, WIDTH, 2.0, rng, device),
            act3: LeakyRelu::new(WIDTH, 0.0),
            fc2: Linear::new(WIDTH, FEATURES, 2.0, rng, device),
            act4: LeakyRelu::new(FEATURES, 0.0),
            fc3: Linear::new(FEATURES, classes, 1.0, rng, device),
        }
    }

    /// The layers up to the features, `[n, 84]`.
    pub(super) fn trunk(&self) -> Stack<'_> {
        Stack::new(self.trunk_layers())
    }

    /// The last layer: features to logits.
    pub(super) fn head(&self) -> Stack<'_> {
        Stack::new(vec![&self.fc3])
    }

    fn trunk_layers(&self) -> Vec<&dyn Layer> {
        vec![
            &self.conv1,
            &self.act1,
            &self.pool1,
            &self.conv2,
            &self.act2,
            &self.pool2,
            &self.fc1,
            &self.act3,
            &self.fc2,
            &self.act4,
        ]
    }
}

impl Network for LeNet {
    fn stack(&self) -> Stack<'_> {
        let mut layers = self.trunk_layers();
        layers.push(&self.fc3);
        Stack::new(layers)
    }
}

/// A 5x5 convolution with He initialisation, `N(0, 2 / (25 c_in))`, in front of a ReLU.
fn conv([c_in, c_out]: [usize; 2], side: usize, rng: &mut impl Rng, device: &Device) -> Conv {
    let shape = [c_out, c_in, KERNEL, KERNEL];
    let deviation = (2.0 / (c_in * KERNEL * KERNEL) as f64).sqrt();
    let weight: Vec<f32> = (0..shape.iter().product())
        .map(|_| {
            let x: f64 = StandardNormal.sample(rng);
            (x * deviation) as f32
        })
        .collect();
    Conv {
        weight: Param::from_data(TensorData::new(weight, shape), device),
        bias: Param::from_data(TensorData::new(vec![0.0_f32; c_out], [c_out]), device),
        height: side,
        width: side,
    }
}

//! The network of the classifier, after LeNet-5 (LeCun et al., 1998).

use burn::module::Module;
use burn::nn::Linear;
use burn::nn::conv::Conv2d;
use burn::nn::pool::AvgPool2d;
use burn::tensor::Device;
use data::Records;
use dp_core::per_sample::LayerError;
use dp_core::per_sample::Stack;
use dp_core::per_sample::nn::Chain;
use model::layers::{Window, conv2d, halve, linear};
use rand::Rng;

use crate::EvaluateError;
use crate::supervised::LayeredClassifier;

/// Width of the penultimate layer, whose activations are the features.
pub(super) const FEATURES: usize = 84;
/// Channels of the two convolutions.
const CHANNELS: [usize; 2] = [8, 16];
/// Side of the convolutions' windows.
const KERNEL: usize = 5;
/// Width of the first fully connected layer.
const WIDTH: usize = 120;

/// The architecture in words, which is part of the name of a cached classifier.
pub(super) const ARCHITECTURE: &str = "conv5x5(8) relu avgpool2 conv5x5(16) relu avgpool2 \
                                       linear(120) relu linear(84) relu linear(classes)";

/// Maps images `[n, channels * side * side]` to logits `[n, classes]`; `side` is a multiple of 4.
#[derive(Module, Debug)]
pub(crate) struct LeNet {
    conv1: Conv2d,
    conv2: Conv2d,
    fc1: Linear,
    fc2: Linear,
    fc3: Linear,
    pool: AvgPool2d,
    channels: usize,
    side: usize,
}

/// Returns the channels and the side of square images whose side can be halved twice.
pub(crate) fn shape_of(images: &Records) -> Result<[usize; 2], EvaluateError> {
    let side = images.width();
    if images.height() != side || !side.is_multiple_of(4) {
        return Err(EvaluateError::Shape {
            what: "side of the classifier's images",
            expected: format!("as high as wide ({side}), a multiple of 4"),
            found: images.height(),
        });
    }
    Ok([images.channels(), side])
}

impl LeNet {
    /// Samples weights from `rng` by He initialisation; biases are zero.
    pub(super) fn new(
        [channels, side]: [usize; 2],
        classes: usize,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Self {
        let [c1, c2] = CHANNELS;
        let quarter = side / 4;
        let mut conv = |channels| conv2d(channels, Window::same(KERNEL), 2.0, 0.0, rng, device);
        Self {
            conv1: conv([channels, c1]),
            conv2: conv([c1, c2]),
            fc1: linear(c2 * quarter * quarter, WIDTH, 2.0, rng, device),
            fc2: linear(WIDTH, FEATURES, 2.0, rng, device),
            fc3: linear(FEATURES, classes, 1.0, rng, device),
            pool: halve(),
            channels,
            side,
        }
    }

    /// Samples the network for the images and classes of a data set.
    pub(crate) fn for_images(
        images: &Records,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Result<Self, EvaluateError> {
        Ok(Self::new(shape_of(images)?, images.classes(), rng, device))
    }

    /// Returns the layers up to the features, `[n, 84]`.
    pub(super) fn trunk(&self) -> Result<Stack<'_>, LayerError> {
        self.features().build()
    }

    /// Returns the last layer, from features to logits.
    pub(super) fn head(&self) -> Result<Stack<'_>, LayerError> {
        Chain::features(FEATURES).linear(&self.fc3).build()
    }

    fn features(&self) -> Chain<'_> {
        Chain::image([self.channels, self.side, self.side])
            .conv2d(&self.conv1)
            .relu()
            .avg_pool2d(&self.pool)
            .conv2d(&self.conv2)
            .relu()
            .avg_pool2d(&self.pool)
            .flatten()
            .linear(&self.fc1)
            .relu()
            .linear(&self.fc2)
            .relu()
    }
}

impl LayeredClassifier for LeNet {
    fn stack(&self) -> Result<Stack<'_>, LayerError> {
        self.features().linear(&self.fc3).build()
    }
}

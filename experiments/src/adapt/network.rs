//! The networks of Rakotomamonjy and Ralaivola 2021, section 8.5.2.

use burn::module::Module;
use burn::nn::conv::Conv2d;
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::{Linear, PaddingConfig2d};
use burn::tensor::activation::{relu, sigmoid};
use burn::tensor::{Device, Tensor};
use dp_core::DpError;
use dp_core::per_sample::nn::Chain;
use model::layers::{Mlp, Window, conv2d, linear};
use private_training::{Forward, Layers};
use rand_chacha::ChaCha20Rng;

/// Units of the hidden layers.
const HIDDEN: usize = 100;
/// Filters of the published convolutions, and of those with a pool behind both; and the size of all.
const FILTERS: [usize; 2] = [32, 20];
const POOLED: [usize; 2] = [24, 48];
const KERNEL: usize = 5;

/// From records to the features that are compared.
#[derive(Module, Debug)]
pub(crate) struct Extractor {
    body: Body,
    bottleneck: Option<Linear>,
}

#[expect(clippy::large_enum_variant, reason = "a run has a few of them")]
#[derive(Module, Debug)]
enum Body {
    Images(Convolutions),
    Features(Mlp),
}

/// Two convolutions; a rectifier and a pool behind the first, and behind the second a logistic function, or the same again.
#[derive(Module, Debug)]
struct Convolutions {
    first: Conv2d,
    pool: MaxPool2d,
    second: Conv2d,
    pooled: bool,
    side: usize,
}

/// The extractor and the classifier behind it, as one network.
#[derive(Module, Debug)]
pub(crate) struct Path {
    /// From records to features.
    pub extractor: Extractor,
    head: Mlp,
}

/// All that is trained.
#[derive(Module, Debug)]
pub(crate) struct Model {
    /// From records of both domains to features.
    pub extractor: Extractor,
    /// From features to classes.
    pub classifier: Mlp,
}

/// What the networks are made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// Features of a record.
    pub width: usize,
    /// Pixels along a side of an image.
    pub side: Option<usize>,
    /// The number of classes.
    pub classes: usize,
    /// Dimension of the compared features, where it is not the extractor's own.
    pub bottleneck: Option<usize>,
    /// Whether there is a pool behind both convolutions.
    pub pooled: bool,
}

impl Sizes {
    /// Dimension of the features that are compared.
    pub(crate) fn compared(&self) -> usize {
        self.bottleneck.unwrap_or(self.extracted())
    }

    fn extracted(&self) -> usize {
        match self.side {
            Some(side) => {
                let behind = |side: usize| (side + 1).saturating_sub(KERNEL);
                let first = behind(side) / 2;
                match self.pooled {
                    true => POOLED[1] * (behind(first) / 2).pow(2),
                    false => FILTERS[1] * behind(first).pow(2),
                }
            }
            None => HIDDEN,
        }
    }
}

impl Model {
    /// Networks with fresh weights.
    pub(crate) fn new(sizes: &Sizes, rng: &mut ChaCha20Rng, device: &Device) -> Self {
        let extractor = Extractor::new(sizes, rng, device);
        let first = linear(sizes.compared(), HIDDEN, 8.0, rng, device);
        let last = linear(HIDDEN, sizes.classes, 1.0, rng, device);
        Self {
            classifier: Mlp::of(vec![first, last]),
            extractor,
        }
    }

    /// From records to classes, with the compared features on the way.
    pub(crate) fn classifier(&self) -> Path {
        Path {
            extractor: self.extractor.clone(),
            head: self.classifier.clone(),
        }
    }

    /// With another classifier.
    pub(crate) fn with_classifier(mut self, path: &Path) -> Self {
        self.extractor = path.extractor.clone();
        self.classifier = path.head.clone();
        self
    }
}

impl Extractor {
    fn new(sizes: &Sizes, rng: &mut ChaCha20Rng, device: &Device) -> Self {
        let window = Window::new(KERNEL, 1, 0);
        let (filters, gain) = match sizes.pooled {
            true => (POOLED, 2.0),
            false => (FILTERS, 1.0),
        };
        let body = match sizes.side {
            Some(side) => Body::Images(Convolutions {
                first: conv2d([1, filters[0]], window, 2.0, 0.0, rng, device),
                pool: MaxPool2dConfig::new([2, 2])
                    .with_strides([2, 2])
                    .with_padding(PaddingConfig2d::Valid)
                    .init(),
                second: conv2d(filters, window, gain, 0.0, rng, device),
                pooled: sizes.pooled,
                side,
            }),
            None => Body::Features(Mlp::new(&[sizes.width, HIDDEN, HIDDEN], 2.0, rng, device)),
        };
        // Logistic features are half on: more of them vary the sum less.
        let bottleneck = sizes.bottleneck;
        let bottleneck = bottleneck.map(|b| linear(sizes.extracted(), b, 4.0, rng, device));
        Self { body, bottleneck }
    }

    /// The compared features, `[n, d]`, of records `[n, width]`: within `[-1/2, 1/2]` each, but for rectified ones.
    pub(crate) fn forward(&self, rows: Tensor<2>) -> Tensor<2> {
        let n = rows.dims()[0];
        let mut features = match &self.body {
            Body::Images(layers) => {
                let images = rows.reshape([n, 1, layers.side, layers.side]);
                let first = layers.pool.forward(relu(layers.first.forward(images)));
                let second = layers.second.forward(first);
                match layers.pooled {
                    true => layers.pool.forward(relu(second)),
                    false => sigmoid(second),
                }
                .flatten(1, 3)
            }
            Body::Features(layers) => relu(layers.forward(rows)),
        };
        if let Some(layer) = &self.bottleneck {
            features = sigmoid(layer.forward(features));
        }
        match self.bounded() {
            true => features - 0.5,
            false => features,
        }
    }

    fn bounded(&self) -> bool {
        self.bottleneck.is_some() || matches!(&self.body, Body::Images(layers) if !layers.pooled)
    }

    /// The same as layers.
    pub(crate) fn chain(&self) -> Chain<'_> {
        let mut chain = match &self.body {
            Body::Images(layers) => {
                let first = Chain::image([1, layers.side, layers.side])
                    .conv2d(&layers.first)
                    .relu()
                    .max_pool2d(&layers.pool)
                    .conv2d(&layers.second);
                match layers.pooled {
                    true => first.relu().max_pool2d(&layers.pool),
                    false => first.sigmoid(),
                }
                .flatten()
            }
            Body::Features(layers) => layers.behind(Chain::features(layers.inputs())).relu(),
        };
        if let Some(layer) = &self.bottleneck {
            chain = chain.linear(layer).sigmoid();
        }
        match self.bounded() {
            true => chain.affine(1.0, -0.5),
            false => chain,
        }
    }
}

impl Path {
    /// The layers, with the compared features as an activation.
    pub(crate) fn chain(&self) -> Chain<'_> {
        self.head.behind(self.extractor.chain().activation())
    }
}

impl private_training::Network<2> for Extractor {
    fn forward(&self, rows: Tensor<2>) -> Forward {
        let features = Extractor::forward(self, rows);
        Forward::with_activation(features.clone(), features)
    }

    fn layers(&self) -> Result<Option<Layers<'_>>, DpError> {
        Layers::chain(self.chain().activation())
    }
}

impl private_training::Network<2> for Path {
    fn forward(&self, rows: Tensor<2>) -> Forward {
        let features = self.extractor.forward(rows);
        Forward::with_activation(self.head.forward(features.clone()), features)
    }

    fn layers(&self) -> Result<Option<Layers<'_>>, DpError> {
        Layers::chain(self.chain())
    }
}
